import msgspec
import pytest
from tests.rows import ns, pods, row, seconds, stamped, submission, workload

from kubedyno.measure.attributing import attribute
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.live import Live
from kubedyno.measure.sampling import absences, quantile, sample, summary
from kubedyno.measure.sightings import Sightings
from kubedyno.model.lifecycles import Lifecycle
from kubedyno.model.samples import Lag, Recording, SampledFile
from kubedyno.model.submissions import SubmittedFile, SubmittedWorkload

pytestmark = pytest.mark.unit

GENERAL = ("submitted", "accepted", "job", "volume_bound", "first_pod", "last_bound", "last_running")
WAY = Lifecycle(kinds=(), general=GENERAL, detailed=GENERAL, only={"volume_bound": frozenset({"pvc"})})
AT = "2026-01-02T03:05:00Z"


def seen(*rows: ObjectRow) -> Sightings:
    sightings = Sightings()
    sightings.note_all(rows)
    return sightings


def job(number: int, at_s: float = 0.005, **fields: str) -> ObjectRow:
    return row(f"job-{number}", "created", at_s, role="job", name=f"w-{number}", workload=f"w-{number}", **fields)


def sampled(submitted: SubmittedFile, *rows: ObjectRow, earlier: SampledFile | None = None) -> SampledFile:
    return sample(submitted, seen(*rows), WAY, sampled_at=AT, earlier=earlier)


TWO = submission(workload("w-0"), workload("w-1", uid="job-1", at_s=1))


def test_a_sample_has_each_submitted_workload_in_its_order() -> None:
    found = sampled(TWO, job(1, 1.001), job(0), *pods("a", created=0.1), *pods("b", created=1.2, owner="job-1"))
    assert [one.name for one in found.workloads] == ["w-0", "w-1"]
    assert [one.pods for one in found.workloads] == [1, 1]
    assert (found.submission, found.samples, found.sampled_at, found.dialect) == ("abc", 1, AT, "job")
    assert found.general == tuple(name for name in GENERAL if name != "volume_bound")


def test_only_workloads_with_volumes_wait_for_them() -> None:
    assert sampled(TWO, job(0), row("v", "created", 0.1, role="volume", workload="w-0")).general == GENERAL


def test_a_sample_counts_those_before_it_and_keeps_what_they_saw() -> None:
    first = sampled(TWO, job(0), *pods("a", created=0.1, scheduled=0.2, running=0.4))
    second = sampled(TWO, earlier=first)
    assert second.samples == 2
    assert second.workloads[0].steps == first.workloads[0].steps
    assert sampled(TWO, earlier=second).workloads == second.workloads


def test_workloads_that_are_not_asked_for_stay_as_they_were() -> None:
    first = sampled(TWO, job(0), job(1, 1.005))
    rows = seen(*pods("a", created=0.1), *pods("b", created=1.2, owner="job-1"))
    second = sample(TWO, rows, WAY, sampled_at=AT, earlier=first, is_asked=lambda one: one.name == "w-1")
    assert [one.pods for one in second.workloads] == [0, 1]
    alone = sample(TWO, rows, WAY, sampled_at=AT, is_asked=lambda one: one.name == "w-1")
    assert [one.name for one in alone.workloads] == ["w-1"]


@pytest.mark.parametrize(
    ("what", "rows"),
    [
        ("its owner is the workload", [row("x", "created", 1, owner="job-0")]),
        ("by two owners", [row("x", "created", 1, owner="set"), row("set", "created", 1, role="job", owner="job-0")]),
        ("its label names the workload", [row("x", "created", 1, workload="w-0")]),
        ("its owner is nobody's, its label ours", [row("x", "created", 1, workload="w-0", owner="rs")]),
        (
            "its owner's label",
            [row("x", "created", 1, owner="pg"), row("pg", "created", 1, role="podgroup", workload="w-0")],
        ),
        (
            "an event on a group of it",
            [row("x", "evicted", 1, role="event", owner="pg"), row("pg", "created", 1, role="podgroup", owner="job-0")],
        ),
        (
            "a decision that has the name of its pod",
            [row("x", "created", 1, role="decision", name="p"), row("p", "created", 1, owner="job-0")],
        ),
    ],
)
def test_objects_belong_where_owners_labels_and_names_lead(what: str, rows: list[ObjectRow]) -> None:
    for order in (rows, rows[::-1]):
        members = attribute(seen(*order), TWO.workloads)
        assert "x" in [uid for uids in members[0].values() for uid in uids], what
        assert set(members) == {0}


@pytest.mark.parametrize(
    "rows",
    [
        [row("x", "created", 1)],
        [row("x", "created", 1, workload="w-0", namespace="other")],
        [row("x", "created", 1, owner="x")],
        [row("x", "created", 1, owner="y"), row("y", "created", 1, owner="x")],
        [row("x", "created", 1, role="decision", name="p")],
    ],
)
def test_what_belongs_to_nobody_is_left_out(rows: list[ObjectRow]) -> None:
    assert attribute(seen(*rows), TWO.workloads) == {}


def test_a_namesake_and_all_that_is_its_own_is_left_out() -> None:
    """A lab records all of its life: a workload of that name was there before, and another one after it."""
    submitted = [workload("w-0", at_s=10)]
    rows = [
        *(
            row(uid, "created", at_s, role="job", name="w-0", workload="w-0")
            for uid, at_s in (("job-before", 1.0), ("job-0", 10.005), ("job-after", 20.0))
        ),
        *pods("before", created=1.1, owner="job-before"),
        *pods("ours", created=10.1, owner="job-0"),
        *pods("after", created=20.1, owner="job-after"),
        *(row(f"loose-{at_s}", "created", at_s, workload="w-0") for at_s in (1.2, 10.2, 20.2)),
    ]
    assert attribute(seen(*rows), submitted) == {0: {"job": ["job-0"], "pod": ["ours", "loose-10.2"]}}


@pytest.mark.parametrize(
    ("submitted", "is_its_own"),
    [
        (workload(uid=None, error="jobs.batch w-0 already exists"), False),
        (workload(uid=None), True),  # its answer is under way
    ],
)
def test_what_is_there_under_the_name_of_a_workload_without_uid(submitted: SubmittedWorkload, is_its_own: bool) -> None:
    rows = [job(0), *pods("p", created=0.1)]
    assert bool(attribute(seen(*rows), [submitted])) is is_its_own


def test_what_is_not_listed_any_more_was_deleted_since_it_was_seen_last() -> None:
    sightings = seen(
        job(0), *pods("there", "gone", created=0.1, running=2), row("elsewhere", "created", 1, namespace="other"),
        row("pg", "created", 1, role="podgroup"), *pods("known", created=0.1, deleted=3),
    )  # fmt: skip
    rows = list(absences(sightings, {"there", "job-0"}, {"Pod", "Job", "PodGroup"}, {"default"}, ns(60)))
    assert [(one.uid, one.phase) for one in rows] == [("gone", "deleted")]
    assert seconds(rows[0].lower_ns or 0) == pytest.approx(2.005)
    assert (seconds(rows[0].upper_ns), rows[0].source) == (60.0, "server")
    assert [one.uid for one in absences(sightings, set(), {"Job"}, {"default"}, ns(60))] == ["job-0"]


def test_a_summary_tells_counts_and_times_since_the_step_before() -> None:
    rows = [
        job(0),
        job(1, 1.005),
        *pods("a", created=0.1, scheduled=0.3, running=0.8),
        *pods("b", created=1.3, owner="job-1"),
    ]
    figures = summary(sampled(TWO, *rows))
    told = {step.name: (step.workloads, step.p50_s, step.p99_s) for step in figures.steps}
    assert told["submitted"] == (2, None, None)
    assert told["accepted"] == (2, pytest.approx(0.01), pytest.approx(0.01))
    assert told["first_pod"] == (2, pytest.approx(0.095), pytest.approx(0.295))
    assert told["last_bound"] == (1, pytest.approx(0.2), pytest.approx(0.2))
    assert told["total"] == (1, pytest.approx(0.8), pytest.approx(0.8))
    assert (figures.workloads, figures.pods, figures.refused, figures.erroneous) == (2, 2, 0, 0)


def test_a_summary_counts_refusals_and_errors() -> None:
    figures = summary(sampled(submission(workload(), workload("w-1", uid=None, error="no quota"))))
    assert (figures.refused, figures.erroneous) == (1, 2)


@pytest.mark.parametrize(
    ("began_s", "whole", "expected"),
    [
        ([], [], (False, "Nothing was recorded: times are the server's own stamps.")),
        ([-1.0], [True], (True, "proof 0")),
        ([-1.0], [False], (False, "proof 0")),
        ([2.0], [True], (False, "Recording began 2.0 s after the first workload was submitted.")),
        ([-1.0, -2.0], [False, True], (True, "proof 1")),
    ],
)
def test_a_sample_is_whole_if_a_recording_saw_all_of_it(
    began_s: list[float], whole: list[bool], expected: tuple[bool, str]
) -> None:
    lag = Lag(probes=1, p50_s=0.1, p99_s=0.2, max_s=0.3)
    made = [
        Recording(began_ns=ns(begin), ended_ns=ns(9), lag=lag, watches=(), whole=is_whole, proof=f"proof {number}")
        for number, (begin, is_whole) in enumerate(zip(began_s, whole, strict=True))
    ]
    only_stamps = seen(stamped("job-0", "created", 0, role="job"))
    figures = summary(sample(TWO, only_stamps, WAY, sampled_at=AT, recordings=made))
    assert (figures.whole, figures.proof) == expected
    assert figures.lag == (lag if made else None)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([], 0.5, None), ([3.0], 0.99, 3.0), ([1, 2, 3, 4], 0.5, 2), ([1, 2, 3], 0.5, 2), (range(1, 101), 0.99, 99)],
)
def test_quantiles(values: list[float], share: float, expected: float | None) -> None:
    assert quantile(values, share) == expected


def test_a_sampled_file_comes_back_from_disk_as_it_was() -> None:
    found = sampled(TWO, job(0), *pods("a", created=0.1, scheduled=0.2), stamped("b", "created", 3, owner="job-1"))
    assert msgspec.json.decode(msgspec.json.encode(found), type=SampledFile) == found


def test_live_figures_count_and_end() -> None:
    live = Live(TWO, WAY)
    rows = [job(0), *pods("a", created=0.1, scheduled=0.2, running=0.5)]
    live.note_all(msgspec.structs.replace(one, workload="w-0") for one in rows)
    figures = live.figures(ns(1))
    assert [(phase.role, phase.phase, phase.objects) for phase in figures.phases] == [
        ("job", "created", 1),
        ("pod", "created", 1),
        ("pod", "scheduled", 1),
        ("pod", "running", 1),
    ]
    assert figures.phases[-1].p50_s == pytest.approx(0.5)
    assert figures.phases[-1].per_s == pytest.approx(0.1)
    assert (figures.submitted, figures.done, live.is_over) == (2, 1, False)
    live.note(row("job-1", "failed", 2, role="job", workload="w-1"))
    assert live.is_over
    assert live.figures(ns(60)).phases[-1].per_s == 0


def test_live_figures_of_what_is_seen_before_it_is_known_to_be_submitted() -> None:
    live = Live(submission(ended_at=None), WAY)
    live.note(row("p", "created", 1, workload="w-0"))
    live.note(row("q", "created", 1, workload="somebody-elses"))
    live.submitted(submission(ended_at=None))
    live.submitted(submission(workload()))
    assert [phase.objects for phase in live.figures(ns(1)).phases] == [1]
    live.note(row("q", "running", 1, workload="somebody-elses"))
    live.submitted(submission(workload(), workload("somebody-elses", uid="q")))
    assert [phase.objects for phase in live.figures(ns(1)).phases] == [1], "all that was submitted was known"


def test_a_distributed_workload_is_through_when_all_of_its_pods_are() -> None:
    live = Live(submission(workload(workers=2), workload_type="distributed"), WAY)
    for uid in "ab":
        assert not live.is_over
        live.note(row(uid, "created", 1, workload="w-0"))
        live.note(row(uid, "running", 2, workload="w-0"))
    assert live.is_over
