"""The checks of the catalogue can fail: each is shown an outcome that it must not accept."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from tests.trials import failed_checks, played

from kubedyno.lab.handles import Evicted, Stamp, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.standing import PodState
from kubedyno.measure.records import Verdict
from kubedyno.scenarios import kai, sharing, sizes, stability

pytestmark = pytest.mark.unit

CATALOGUE = {scenario.name: scenario for scenario in (*kai.SCENARIOS, *stability.SCENARIOS)}
VICTIM = Evicted(name="a-pod", workload="a", gpus=1, node="gpu-0", at=Stamp.exactly(1))


def doctored(name: str, change: Callable[[Any], None]) -> Scenario:
    """The scenario on a lab that tells something else than what happened."""
    scenario = CATALOGUE[name]

    async def function(lab: Lab, **parameters: Any) -> None:
        change(lab)
        await scenario(lab, **parameters)

    return msgspec.structs.replace(scenario, function=function)


def one_pod_less(lab: Any) -> None:
    true = lab.placement
    lab.placement = lambda workloads: dict(list(true(workloads).items())[1:])


def one_pod_less_of_each(lab: Any) -> None:
    true = lab.placed
    lab.placed = lambda workloads: {name: pods - 1 for name, pods in true(workloads).items()}


def one_pod_for_each(lab: Any) -> None:
    true = lab.placed
    lab.placed = lambda workloads: dict.fromkeys(true(workloads), 1)


def all_on_one_node(lab: Any) -> None:
    true = lab.placement
    lab.placement = lambda workloads: dict.fromkeys(true(workloads), "gpu-0")


def some_have_a_node(lab: Any) -> None:
    lab.placement = lambda workloads: dict.fromkeys(workloads.names, "gpu-0")


def one_domain_more(lab: Any) -> None:
    true = lab.domains
    lab.domains = lambda workloads, key: {**true(workloads, key), "elsewhere": 1}


def a_domain_for_each_node(lab: Any) -> None:
    true = lab.domain_of
    lab.domain_of = lambda key: {node: node for node in true(key)}


def nobody_evicted(lab: Any) -> None:
    lab.evicted = lambda _: ()


def everybody_meets_a_victim(lab: Any) -> None:
    lab.evicted = lambda _: (VICTIM,) * 1000


def a_pod_unknown(lab: Any) -> None:
    true = lab.standing.pods

    def pods(names: Any) -> Iterator[PodState]:
        found = true(names)
        next(found, None)
        yield from found

    lab.standing.pods = pods


def nobody_moved(lab: Any) -> None:
    true, places = lab.standing.pods, dict[str, str]()

    def pods(names: Any) -> Iterator[PodState]:
        for pod in true(names):
            node = places.setdefault(pod.workload, pod.node) if pod.holds_node else pod.node
            yield PodState(pod.uid, pod.name, pod.workload, pod.created_ns, node=node, end=pod.end)

    lab.standing.pods = pods


def only_the_last_has_a_node(lab: Any) -> None:
    true = lab.placement
    lab.placement = lambda work: dict.fromkeys(work.names, "gpu-0") if "one-more-0" in work.names else true(work)


def settings_silent(lab: Any) -> None:
    lab.setting = lambda *_: None


def late_ones_wait_long(lab: Any) -> None:
    true = lab.measure_latency

    def measure_latency(name: str, workloads: Workloads, **phases: str) -> Any:
        measurement = true(name, workloads, **phases)
        return msgspec.structs.replace(measurement, value=100.0) if "last" in name else measurement

    lab.measure_latency = measure_latency


def all_bound_long_ago(lab: Any) -> None:
    async def kill() -> None:
        lab.standing.bound = 1_000_000

    lab.scheduler.kill = kill


RECLAIMED = "as many GPUs as were needed were reclaimed"
SPARED = "nobody was taken from the queue that reclaims"
ACCOUNTED = "there were as many pods as submitted"


@pytest.mark.parametrize(
    ("name", "change", "check"),
    [
        ("kai/topology-preferred", one_domain_more, "the gang is in as few racks as can hold it"),
        ("kai/topology-none", one_pod_less_of_each, "every pod has a node"),
        ("kai/fill", one_pod_less, "all GPUs of all nodes are in use"),
        ("kai/fill", all_on_one_node, "all GPUs of all nodes are in use"),
        ("kai/fill-live", one_pod_less_of_each, "every pod has a node"),
        ("kai/fill-with-pending", some_have_a_node, "no job of a queue with limit 0 runs"),
        ("kai/reclaim-unschedulable", some_have_a_node, "no gang runs for which one GPU is missing"),
        ("kai/reclaim-unschedulable", everybody_meets_a_victim, "nobody is taken for a gang that cannot run"),
        ("kai/reclaim-large", nobody_evicted, RECLAIMED),
        ("kai/reclaim-large", everybody_meets_a_victim, SPARED),
        ("kai/reclaim-large", one_pod_less_of_each, "no GPU lies idle while victims wait"),
        ("kai/reclaim-latency", nobody_evicted, RECLAIMED),
        ("kai/reclaim-many", everybody_meets_a_victim, SPARED),
        ("kai/reclaim-distributed", nobody_evicted, RECLAIMED),
        ("kai/reclaim-full-nodes", nobody_evicted, RECLAIMED),
        ("kai/consolidate", nobody_moved, "jobs moved to other nodes"),
        ("kai/consolidate", settings_silent, "consolidation was on"),
        ("kai/burst", a_pod_unknown, "every pod is accounted for"),
        ("kai/burst", everybody_meets_a_victim, "nobody was taken away"),
        ("kai/disaggregated-inference", a_domain_for_each_node, "each part of a service is in one rack"),
        ("kai/disaggregated-inference", a_domain_for_each_node, "each service is in one block"),
        ("kai/elastic-reclaim", one_pod_for_each, "every elastic gang keeps its least of 2 pods"),
        ("kai/hero-job", one_domain_more, "the hero job is in one zone"),
        ("kai/multi-queue-mix", one_pod_less_of_each, "no GPU lies idle while others wait"),
        ("kai/multi-queue-mix", everybody_meets_a_victim, "no notebook was taken away"),
        ("kai/fractions", all_on_one_node, "no node holds more GPUs than it has"),
        ("stability/concurrent-creation", a_pod_unknown, ACCOUNTED),
        ("stability/churn", everybody_meets_a_victim, "nobody was taken away"),
        ("stability/churn", a_pod_unknown, ACCOUNTED),
        ("stability/churn", late_ones_wait_long, "the last third waits no longer than the first"),
        ("stability/fragmentation", only_the_last_has_a_node, "a pod for which no node is free waits"),
        ("stability/scheduler-crash", all_bound_long_ago, "it was killed in the middle"),
        ("stability/scheduler-crash", a_pod_unknown, ACCOUNTED),
    ],
)
def test_a_wrong_outcome_fails_the_trial(name: str, change: Callable[[Any], None], check: str) -> None:
    small = {"samples": 1} if name in {"kai/reclaim-unschedulable", "kai/reclaim-latency"} else {}
    if name == "stability/churn":
        small = {"duration_s": 30}
    nodes = 8 if name == "kai/disaggregated-inference" else 4
    record = played(doctored(name, change), nodes=nodes, **small)
    assert check in failed_checks(record)
    assert record.verdict == Verdict.FAILED


def test_a_gang_for_which_no_gpu_is_missing_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    true = sizes.one_too_many
    monkeypatch.setattr(
        sizes, "one_too_many", lambda nodes: msgspec.structs.replace(true(nodes), quota=true(nodes).quota - 1)
    )
    record = played(CATALOGUE["kai/reclaim-unschedulable"], nodes=4, samples=1)
    assert record.verdict == Verdict.FAILED


def test_nothing_moves_when_consolidation_is_off() -> None:
    settings = {"reference": {"max-consolidation-preemptees": "0"}}
    record = played(CATALOGUE["kai/consolidate"], settings=settings, nodes=4)
    assert record.verdict == Verdict.FAILED
    assert "pods were not scheduled, and nothing happened to them" in record.message


def test_a_gang_without_the_wish_on_a_scheduler_that_spreads_is_in_too_many_racks() -> None:
    async def without(lab: Lab, **parameters: Any) -> None:
        true = lab.submit
        lab.submit = lambda shape, **more: true(  # type: ignore[method-assign]
            msgspec.structs.replace(shape, closeness=None), **more
        )
        await CATALOGUE["kai/topology-preferred"](lab, **parameters)

    scenario = msgspec.structs.replace(CATALOGUE["kai/topology-preferred"], function=without)
    record = played(scenario, settings={"reference": {"placement": "spread"}}, nodes=16)
    assert failed_checks(record) == ["the gang is in as few racks as can hold it"]


def test_queues_with_other_weights_than_planned_are_not_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    true = sharing.create

    async def create(lab: Lab, teams: tuple[sharing.Team, ...]) -> None:
        await true(lab, tuple(msgspec.structs.replace(team, weight=1.0) for team in teams))

    monkeypatch.setattr(sharing, "create", create)
    record = played(CATALOGUE["stability/quota-fairness"], nodes=4, duration_s=20, tolerance=0.05)
    assert record.verdict == Verdict.FAILED
    assert "fair-share error of heavy" in record.message
