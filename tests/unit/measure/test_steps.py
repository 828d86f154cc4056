from collections.abc import Sequence

import pytest
from tests.rows import pods, row, seconds, stamped, workload

from kubedyno.kit import randomness
from kubedyno.measure.attributing import attribute
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.sightings import Sightings
from kubedyno.measure.steps import EARLIER, sample
from kubedyno.model.lifecycles import STEPS
from kubedyno.model.samples import WorkloadSample
from kubedyno.model.submissions import SubmittedWorkload

pytestmark = pytest.mark.unit

GENERAL = ("submitted", "accepted", "job", "first_pod", "last_bound", "last_running")
JOB = row("job-0", "created", 0.005, role="job", name="w-0", workload="w-0")
GANG = row("pg", "created", 0.02, role="podgroup", owner="job-0", detail="3")


def sampled(
    rows: Sequence[ObjectRow], submitted: SubmittedWorkload | None = None, *, distributed: bool = False
) -> WorkloadSample:
    submitted = submitted or workload()
    sightings = Sightings()
    sightings.note_all(rows)
    members = attribute(sightings, [submitted]).get(0, {})
    seen = {role: [sightings.sighting(uid) for uid in uids] for role, uids in members.items()}
    return sample(submitted, seen, distributed=distributed, general=GENERAL)


def at(found: WorkloadSample, step: str) -> float:
    return round(seconds(found.steps[step].at_ns), 6)


def span(found: WorkloadSample, step: str) -> tuple[float, float]:
    instant = found.steps[step]
    return round(seconds(instant.lower_ns), 6), round(seconds(instant.upper_ns), 6)


def test_a_training_job_goes_all_its_way() -> None:
    found = sampled([JOB, *pods("p", created=0.1, scheduled=0.2, running=0.5, ready=0.6)])
    assert list(found.steps) == [name for name in STEPS if name in found.steps]
    assert (found.pods, found.gang, found.errors) == (1, 1, ())
    assert [at(found, name) for name in GENERAL] == [0.0, 0.01, 0.005, 0.1, 0.2, 0.5]
    assert at(found, "ready") == 0.6
    assert found.steps["submitted"].source == "submitter"
    assert found.steps["last_bound"].source == "watch"


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [JOB, GANG, *pods("a", "b", "c", created=0.1, scheduled=0.4, running=1.0)]
    expected = sampled(rows, distributed=True)
    for seed in range(20):
        shuffled = rows * 2
        randomness.stream(seed, "rows").shuffle(shuffled)
        assert sampled(shuffled, distributed=True) == expected


@pytest.mark.parametrize(
    ("name", "rows", "workers", "distributed", "gang"),
    [
        ("a group says how many", [GANG], 5, True, 3),
        (
            "a group of somebody else does not count",
            [GANG, row("pg2", "created", 0, role="podgroup", detail="1")],
            2,
            True,
            3,
        ),
        (
            "several groups make one gang",
            [GANG, row("g2", "created", 0, role="podgroup", owner="job-0", detail="2")],
            1,
            True,
            5,
        ),
        (
            "one group for each pod",
            [row(g, "created", 0, role="podgroup", owner="job-0", detail="1") for g in "ab"],
            4,
            True,
            1,
        ),
        ("a group that says nothing", [row("g", "created", 0, role="podgroup", owner="job-0")], 4, True, 4),
        ("no group: all pods", pods("a", "b", created=0.1), 1, True, 2),
        ("no group: at least the workers", pods("a", "b", created=0.1), 7, True, 7),
        ("a training job", pods("a", "b", created=0.1), 1, False, 1),
    ],
)
def test_the_size_of_a_gang(name: str, rows: list[ObjectRow], workers: int, distributed: bool, gang: int) -> None:
    assert sampled([JOB, *rows], workload(workers=workers), distributed=distributed).gang == gang, name


def test_gangs_are_measured_whole() -> None:
    """An elastic gang: three of five must run together."""
    found = sampled(
        [JOB, GANG, *pods("a", "b", "c", "d", "e", created=0.1, scheduled=0.4, running=1.0)],
        workload(workers=5),
        distributed=True,
    )
    assert {name: at(found, name) for name in found.steps if name.startswith(("first_", "gang_", "last_"))} == {
        "first_pod": 0.1,
        "gang_ready": 0.12,
        "last_pod": 0.14,
        "first_bound": 0.4,
        "gang_bound": 0.42,
        "last_bound": 0.44,
        "first_running": 1.0,
        "gang_running": 1.02,
        "last_running": 1.04,
    }


def test_the_last_is_the_last_of_all_pods_not_of_those_that_got_there() -> None:
    found = sampled(
        [JOB, *pods("a", "b", "c", created=0.1), *pods("a", "b", scheduled=0.4)], workload(workers=3), distributed=True
    )
    assert "first_bound" in found.steps
    assert "last_bound" not in found.steps
    assert "gang_bound" not in found.steps
    assert found.errors == ()


def test_bounds_hold_for_the_order_not_for_one_pod() -> None:
    rows = [
        JOB,
        row("a", "created", 0.30, bound_s=0.25, owner="job-0"),
        row("b", "created", 0.20, bound_s=0.01, owner="job-0"),
    ]
    found = sampled(rows, workload(workers=2), distributed=True)
    assert span(found, "first_pod") == (0.05, 0.2)
    assert span(found, "last_pod") == (0.19, 0.3)


def test_stamps_of_the_server_have_bounds_of_a_second_and_their_middle_is_the_estimate() -> None:
    found = sampled([stamped("job-0", "created", 0, role="job"), stamped("p", "created", 3, owner="job-0")])
    assert span(found, "first_pod") == (3.0, 4.0)
    assert at(found, "first_pod") == 3.5
    assert found.steps["first_pod"].source == "server"


def test_the_submitter_knows_better_when_its_object_was_made() -> None:
    found = sampled([stamped("job-0", "created", 0, role="job")], workload(at_s=0.5))
    assert span(found, "job") == (0.5, 0.51)


def test_what_comes_before_something_is_not_after_it() -> None:
    rows = [JOB, stamped("p", "created", 1, owner="job-0"), row("p", "scheduled", 1.3, owner="job-0")]
    found = sampled(rows)
    assert span(found, "first_pod") == (1.0, 1.3)
    assert at(found, "first_pod") == 1.15


def test_without_a_lower_bound_it_was_not_before_its_submission() -> None:
    found = sampled([JOB, row("p", "created", 0.5, owner="job-0", lower_ns=None)])
    assert span(found, "first_pod") == (0.0, 0.5)


def test_an_eviction_and_who_did_it_and_the_binding_after_it() -> None:
    rows = [
        JOB,
        GANG,
        *pods("a", "b", "c", created=0.1, scheduled=0.4, running=1.0),
        row("b", "evicted", 2.0, owner="job-0", detail="preemption by default-scheduler"),
        row("b", "deleted", 2.2, owner="job-0"),
        *pods("d", created=2.1, scheduled=3.0, running=3.5),
    ]
    found = sampled(rows, workload(workers=3), distributed=True)
    assert (found.pods, found.gang, found.evictions) == (4, 3, 1)
    assert found.evicted_by == ("preemption by default-scheduler",)
    assert at(found, "evicted") == 2.0
    assert at(found, "rescheduled") == 3.0
    assert at(found, "last_running") == 1.02, "the gang ran before it was evicted"
    assert found.errors == ()


def test_the_victims_own_binding_is_not_the_one_after_its_eviction() -> None:
    bound_late = row("a", "scheduled", 2.5, owner="job-0", node="n")  # as a stamp of whole seconds may tell
    evicted = row("a", "evicted", 2.0, owner="job-0", detail="eviction API")
    rows = [JOB, *pods("a", created=0.1), bound_late, evicted]
    assert "rescheduled" not in sampled(rows, workload()).steps
    again = sampled([*rows, *pods("b", created=2.1, scheduled=3.0)], workload())
    assert at(again, "rescheduled") == 3.0


def test_a_gang_is_bound_again_when_it_is_complete_again() -> None:
    """KAI tells of the group only; pods that are deleted from then on are its victims."""
    rows = [
        JOB,
        GANG,
        *pods("a", "b", "c", created=0.1, scheduled=0.4, running=1.0),
        row("e1", "evicted", 2.0, role="event", owner="pg", detail="reclaim by default/other"),
        row("e2", "evicted", 2.01, role="event", owner="pg", detail="reclaim by default/other"),
        *pods("a", "b", "c", deleted=2.1),
        *pods("d", "e", "f", created=2.2, scheduled=5.0),
        row("job-0", "deleted", 9.0, role="job"),
        *pods("d", "e", "f", deleted=9.1),
    ]
    found = sampled(rows, workload(workers=3), distributed=True)
    assert (found.evictions, found.evicted_by) == (3, ("reclaim by default/other",))
    assert at(found, "evicted") == 2.0
    assert at(found, "rescheduled") == 5.02
    assert at(found, "deleted") == 9.0


def test_what_replaces_an_evicted_pod_moves_no_step_of_the_way_before() -> None:
    """As KAI does it: a group for each pod of a Job; the evicted pod fails, its successor gets a group of its own."""
    rows = [
        JOB,
        *pods("a", created=0.1, scheduled=0.4, running=1.0, failed=9.5, deleted=9.6),
        row("pg-a", "created", 0.2, role="podgroup", owner="a", detail="1"),
        row("br-a", "created", 0.3, role="decision", owner="a"),
        row("e", "evicted", 9.0, role="event", owner="pg-a", detail="preempt by default/other"),
        *pods("b", created=20.0, queued=21.0),
        row("pg-b", "created", 20.1, role="podgroup", owner="b", detail="1"),
    ]
    found = sampled(rows)
    assert (found.pods, found.gang, found.evictions, found.errors) == (2, 1, 1, ())
    assert {name: at(found, name) for name in ("podgroup", "last_pod", "last_decided", "last_running", "evicted")} == {
        "podgroup": 0.2,
        "last_pod": 0.1,
        "last_decided": 0.3,
        "last_running": 1.0,
        "evicted": 9.0,
    }
    assert not {"queued", "rescheduled", "deleted"} & found.steps.keys()


def test_a_pod_that_had_ended_before_was_not_evicted() -> None:
    rows = [
        JOB,
        GANG,
        *pods("a", "b", created=0.1, scheduled=0.4),
        row("a", "succeeded", 1.0, owner="job-0"),
        row("e", "evicted", 2.0, role="event", owner="pg"),
        *pods("a", "b", deleted=2.1),
    ]
    assert sampled(rows).evictions == 1


def test_an_event_on_a_pod_counts_that_pod() -> None:
    rows = [JOB, *pods("a", "b", created=0.1, scheduled=0.2), row("e", "evicted", 1.0, role="event", owner="a")]
    assert sampled(rows).evictions == 1


def test_an_evicted_pod_that_nobody_makes_again_is_not_bound_again() -> None:
    found = sampled([JOB, *pods("a", created=0.1, scheduled=0.2), row("a", "evicted", 1.0, owner="job-0")])
    assert "evicted" in found.steps
    assert "rescheduled" not in found.steps


def test_completed_and_deleted() -> None:
    rows = [
        JOB,
        *pods("a", created=0.1, scheduled=0.2, running=0.3, succeeded=1.0, deleted=2.5),
        row("job-0", "completed", 1.1, role="job"),
    ]
    found = sampled(rows)
    assert at(found, "completed") == 1.1
    assert "deleted" not in found.steps, "its pod is gone, the workload is there"
    assert at(sampled([*rows, row("job-0", "deleted", 3.0, role="job")]), "deleted") == 3.0


def test_a_bare_pod_is_its_own_workload() -> None:
    rows = pods("p", created=0.1, scheduled=0.2, running=0.3, deleted=4.0)
    found = sampled(rows, workload("p", uid="p", kind="Pod"))
    assert at(found, "deleted") == 4.0
    assert found.pods == 1


def test_all_volumes_must_be_bound() -> None:
    volumes = [row(name, "created", 0.1, role="volume", workload="w-0") for name in "ab"]
    bound = [row(name, "bound", 0.5, role="volume", workload="w-0") for name in "ab"]
    assert "volume_bound" not in sampled([JOB, *volumes, bound[0]]).steps
    assert at(sampled([JOB, *volumes, *bound]), "volume_bound") == 0.5


def test_decisions_are_those_of_all_pods() -> None:
    decided = [row(f"br-{pod}", "created", 0.3, role="decision", owner=pod) for pod in "abc"]
    rows = [JOB, GANG, *pods("a", "b", "c", created=0.1)]
    assert "last_decided" not in sampled([*rows, *decided[:2]], distributed=True).steps
    assert "first_decided" in sampled([*rows, *decided[:2]], distributed=True).steps
    assert at(sampled([*rows, *decided], distributed=True), "last_decided") == 0.3


@pytest.mark.parametrize(
    ("rows", "submitted", "error"),
    [
        ([], workload(uid=None, error="quota is used up"), "refused: quota is used up"),
        ([], workload(), "unseen: nothing of it is in a recording or in the cluster"),
        (
            [JOB, *pods("p", created=0.1, running=0.5)],
            workload(),
            "missing: last pod bound, though last pod running was seen",
        ),
        (
            [JOB, *pods("p", created=0.5, scheduled=0.2, running=1.0)],
            workload(),
            "impossible order: first pod bound at least 0.295000 s before first pod created",
        ),
        (
            [JOB, row("job-0", "failed", 5, role="job", name="w-0", detail="Deadline")],
            workload(),
            "Job w-0 failed: Deadline",
        ),
        (
            [JOB, *pods("p", created=0.1, scheduled=0.2), row("p", "scheduled", 0.9, owner="job-0")],
            workload(),
            "recordings contradict each other about scheduled of Pod p",
        ),
    ],
)
def test_what_is_wrong_with_its_times_is_said(rows: list[ObjectRow], submitted: SubmittedWorkload, error: str) -> None:
    assert sampled(rows, submitted).errors[0] == error


def test_a_workload_that_waits_is_no_error() -> None:
    assert sampled([JOB, *pods("p", created=0.1, queued=0.2)]).errors == ()


def test_no_step_comes_before_itself() -> None:
    assert all(name not in earlier for name, earlier in EARLIER.items())


def test_uncertain_order_is_no_error() -> None:
    rows = [JOB, stamped("p", "created", 1, owner="job-0"), stamped("p", "scheduled", 1, owner="job-0")]
    found = sampled(rows)
    assert found.errors == ()
    assert found.steps["first_pod"].at_ns <= found.steps["first_bound"].at_ns
