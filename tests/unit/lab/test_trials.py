"""Whole trials on the embedded engine in virtual time: what the runner makes of good and bad scenarios."""

from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.kit import tasks
from kubedyno.kit.errors import CheckFailed, EngineError
from kubedyno.kube.resources import PODS
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Function, scenario
from kubedyno.lab.shapes import distributed, elastic, training
from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.testing import try_scenario

pytestmark = pytest.mark.unit


def tried(function: Function, **options: Any) -> TrialRecord:
    return try_scenario(scenario("mine", tags=("a",))(function), time="virtual", **options)


def test_setup_and_timed_part_are_apart() -> None:
    async def waits(lab: Lab) -> None:
        """Waits."""
        await lab.clock.sleep(10)
        with lab.timed():
            await lab.clock.sleep(5)

    record = tried(waits)
    assert (record.verdict, record.timed_s) == (Verdict.PASSED, 5.0)
    assert record.duration_s == pytest.approx(15.0)
    assert record.tags == ("a",)


async def never(lab: Lab) -> None:
    """Two gangs of which one never fits, and pods for which nobody looks."""
    await lab.nodes("gpu", count=2)
    gangs = await lab.submit(distributed(workers=3, gpus=8), count=2)
    await lab.scheduled(gangs, stalled_after_s=7)


def test_a_stall_says_who_waits_and_why() -> None:
    record = tried(never)
    assert record.verdict == Verdict.FAILED
    first, *lines = record.message.splitlines()
    assert first == (
        "6 of 6 pods were not scheduled, and nothing happened to them for 7 s; "
        "distributed wants 24 GPUs at once, and all nodes together have 16:"
    )
    assert "pod distributed-0-0, pod distributed-0-1" in lines[0]
    assert "and 1 more" in lines[0]
    assert "the scheduler has not looked" not in record.message
    assert 7.0 <= record.duration_s < 9.0


def test_a_paused_scheduler_has_not_looked() -> None:
    async def paused(lab: Lab) -> None:
        """Waits while the scheduler is paused."""
        await lab.nodes("gpu", count=1)
        async with lab.scheduler.paused():
            jobs = await lab.submit(training(gpus=1), count=7)
            await lab.scheduled(jobs, stalled_after_s=30)

    record = tried(paused)
    assert record.verdict == Verdict.FAILED
    assert record.message.startswith(
        "7 of 7 pods were not scheduled, and nothing happened to them for 30 s; the scheduler is paused:\n"
    )
    assert record.message.endswith("and 2 more: no condition and no event: the scheduler has not looked at it")


@pytest.mark.parametrize(("others", "quiet_s"), [(4, 25), (80, 50)])
def test_while_others_are_bound_there_is_more_patience_but_not_without_end(others: int, quiet_s: int) -> None:
    async def starved(lab: Lab) -> None:
        """A pod that never fits; another one is bound every five seconds meanwhile."""
        await lab.nodes("gpu", count=1)
        never = await lab.submit(training(gpus=9), name="never")
        async with tasks.owning() as group:
            small = training(gpus=0)
            beside = group.create_task(lab.submit(small, count=others, over_s=5 * others, name="other"))
            try:
                await lab.scheduled(never, stalled_after_s=10)
            finally:
                beside.cancel()

    record = tried(starved)
    assert record.verdict == Verdict.FAILED
    assert record.message.startswith(
        f"1 of 1 pods were not scheduled, and nothing happened to them for {quiet_s} s, while others were bound; "
    )


def test_a_pod_that_no_node_can_hold_is_told() -> None:
    async def large(lab: Lab) -> None:
        """A pod of nine GPUs."""
        await lab.nodes("gpu", count=4)
        await lab.scheduled(await lab.submit(training(gpus=9)), stalled_after_s=5)

    assert "; a pod of training wants 9 GPUs, and no node has more than 8:" in tried(large).message


def test_progress_keeps_a_slow_fill_alive() -> None:
    async def slow(lab: Lab) -> None:
        """Workloads that come one every two seconds, awaited with three seconds of patience."""
        await lab.nodes("gpu", count=2)
        jobs = await lab.submit(training(gpus=1, runs_for="5s"), count=10, over_s=20.0)
        await lab.completed(jobs, stalled_after_s=6)
        lab.record("late", "s", max(0.0, 20.0 - (jobs.submitted.upper_ns - jobs.submitted.lower_ns) / 1e9))

    record = tried(slow)
    assert record.verdict == Verdict.PASSED, record.message
    (late,) = record.measurements
    assert late.value <= 2.0
    assert {line.name for line in record.audit} >= {"submit lateness p99"}


def test_what_is_left_when_pods_are_deleted_completed_and_evicted() -> None:
    seen: dict[str, Any] = {}

    async def lives(lab: Lab) -> None:
        """Pods that are deleted by us, by somebody else, and that end."""
        nodes = await lab.nodes("gpu", topology={"rack": 2, "node": 2})
        assert lab.standing.waiting == 0
        gang = await lab.submit(distributed(workers=4, gpus=8), name="gang")
        await lab.running(gang)
        seen["domains"] = dict(lab.domains(gang, nodes.levels["rack"]))
        seen["placed"] = dict(lab.placed(gang))
        await lab.delete(gang)
        seen["after"] = (dict(lab.placement(gang)), lab.evicted(gang))
        short = await lab.submit(training(gpus=1, runs_for="3s"), count=3, name="gang")
        await lab.completed(short)
        seen["names"] = sorted(short.names)
        taken = await lab.submit(distributed(workers=2, gpus=1), name="taken")
        await lab.running(taken)
        await lab._client.delete(PODS, "taken-0-1", namespace=lab._namespace)
        await lab.settled(quiet_s=2)
        seen["taken"] = [(one.name, one.gpus) for one in lab.evicted(taken)]

    record = tried(lives)
    assert record.verdict in {Verdict.PASSED, Verdict.FAILED}, record.message  # a pod vanished without a cause
    assert seen == {
        "domains": {"rack-0": 2, "rack-1": 2},
        "placed": {"gang-0": 4},
        "after": ({}, ()),
        "names": ["gang-1", "gang-2", "gang-3"],
        "taken": [("taken-0-1", 1.0)],
    }


def test_a_scheduler_that_was_killed_goes_on_after_its_restart() -> None:
    async def crash(lab: Lab) -> None:
        """Kill it in the middle."""
        await lab.nodes("gpu", count=2)
        await lab.scheduler.kill()
        jobs = await lab.submit(training(gpus=1), count=4)
        await lab.created(jobs)
        await lab.clock.sleep(5)
        assert not lab.placement(jobs)
        await lab.scheduler.restart()
        lab.measure("recovery", since=lab.scheduler.resumed_at, until=await lab.scheduled(jobs))

    record = tried(crash)
    assert (record.verdict, record.message) == (Verdict.PASSED, "")
    assert record.measurements[0].value < 5


async def _breaks(lab: Lab) -> None:
    """Breaks."""
    await lab.nodes("gpu", count=1)
    raise KeyError("mine")


async def _asserts(lab: Lab) -> None:
    """Asserts."""
    del lab
    assert [1] == [2], "one is not two"


async def _gives_up(lab: Lab) -> None:
    """Gives up."""
    lab.expect("first", holds=False, detail="a")
    raise CheckFailed("it was enough")


async def _loses_the_lab(lab: Lab) -> None:
    """The lab is gone."""
    del lab
    raise EngineError("etcd is gone")


async def _loses_it_in_a_task(lab: Lab) -> None:
    """The lab goes while the scenario waits for a task of its own."""
    async with tasks.owning() as group:
        group.create_task(_loses_the_lab(lab))


@pytest.mark.parametrize(
    ("function", "verdict", "message"),
    [
        (_breaks, "error", "scenario mine broke off with KeyError: 'mine' (test_trials.py, line "),
        (_asserts, "failed", "an assertion of the scenario does not hold (test_trials.py, line "),
        (_gives_up, "failed", "it was enough; first: a"),
        (_loses_the_lab, "error", "etcd is gone"),
        (_loses_it_in_a_task, "error", "etcd is gone"),
    ],
)
def test_a_scenario_that_goes_wrong_has_a_record(function: Function, verdict: str, message: str) -> None:
    record = tried(function)
    assert (record.verdict, record.message[: len(message)]) == (verdict, message)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda lab: lab.nodes("gpu", count=-1), "pool gpu: count: -1 is less than nothing"),
        (lambda lab: lab.scheduler.resume(), "the scheduler is not paused"),
    ],
)
def test_wrong_use_of_the_lab_is_told(act: Callable[[Lab], Any], said: str) -> None:
    async def wrong(lab: Lab) -> None:
        """Wrong."""
        await act(lab)

    record = tried(wrong)
    assert record.verdict == Verdict.ERROR
    assert said in record.message


def test_thresholds_of_the_scenario_are_checks() -> None:
    async def measured(lab: Lab) -> None:
        """Measures."""
        lab.record("waits", "s", (1.0, 2.0, 9.0))
        lab.expect_at_most("waits", 3)
        lab.expect_at_most("waits", 5, percent=99)
        lab.expect_at_most("wait", 5)

    record = tried(measured)
    assert record.verdict == Verdict.FAILED
    assert [(check.name, check.passed) for check in record.checks] == [
        ("waits is at most 3", True),
        ("p99 of waits is at most 5", False),
        ("wait is at most 5", False),
    ]
    assert "the trial has no measurement of that name: did you mean 'waits'?" in record.message
    assert [one.percent for one in record.measurements[0].percentiles] == [50.0, 90.0, 99.0]


def test_what_a_scheduler_lacks_makes_a_trial_not_applicable_before_anything_starts() -> None:
    async def unused(lab: Lab) -> None:
        """Never called."""
        raise AssertionError

    numa = scenario("numa", needs=("fractions",))(unused)
    record = try_scenario(numa, engine="embedded", scheduler="kube-scheduler")
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert record.message.startswith("scheduler kube-scheduler cannot do it: fractions: ")
    assert (record.duration_s, record.checks, record.audit) == (0, (), ())


def test_the_same_seed_repeats_to_the_nanosecond() -> None:
    async def random(lab: Lab) -> None:
        """Draws."""
        await lab.nodes("gpu", count=3)
        jobs = await lab.submit(training(gpus=1, runs_for="uniform(1s, 9s)"), count=lab.rng.randint(5, 20))
        lab.measure("all", since=jobs.submitted, until=await lab.completed(jobs))
        lab.record("drawn", "jobs", len(jobs.names))

    first, again, other = (tried(random, seed=seed) for seed in (7, 7, 8))
    assert first.verdict == Verdict.PASSED, first.message
    assert first.measurements == again.measurements
    assert first.quality == again.quality
    assert first.measurements != other.measurements


def test_an_elastic_gang_needs_no_more_than_its_least_number_to_fit() -> None:
    async def grows(lab: Lab) -> None:
        """Eight workers where four fit."""
        await lab.nodes("gpu", count=1)
        gang = await lab.submit(elastic(workers=8, least=2, gpus=2))
        await lab.scheduled(gang, stalled_after_s=5)

    message = tried(grows).message
    assert "4 of 8 pods were not scheduled" in message
    assert "at once" not in message
