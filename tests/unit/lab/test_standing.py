"""How pods stand, told row by row."""

import pytest

from kubedyno.lab.standing import Standing
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.kept import Kept

pytestmark = pytest.mark.unit


class Told:
    """A recording that is told in short words."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.standing = Standing(self.kept)
        self._now_ns = 0

    def row(
        self,
        uid: str,
        *phases: str,
        workload: str | None = "w",
        role: str = "pod",
        node: str | None = None,
        detail: str | None = None,
        owner: str | None = None,
    ) -> None:
        for phase in phases:
            self._now_ns += 1
            self.kept.add(
                ObjectRow(
                    uid, "Kind", role, "ns", f"pod-{uid}", owner, workload, node, phase, detail, self._now_ns, None,
                    None, self._now_ns,
                )
            )  # fmt: skip


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_job_that_lost_its_pod_is_not_scheduled_until_the_next_one_is(told: Told) -> None:
    awaited = told.standing.awaiting("scheduled", {"w": 1}, 0)
    told.row("a", "created")
    assert not awaited.reached.is_set()
    told.row("a", "scheduled", node="n-0")
    assert awaited.reached.is_set()
    told.row("a", "deleted")
    told.row("b", "created")
    assert not awaited.reached.is_set()
    assert awaited.missing == 1
    told.row("b", "scheduled", node="n-1")
    assert awaited.reached.is_set()
    assert [(pod.name, pod.holds_node) for pod in told.standing.pods(["w"])] == [("pod-a", False), ("pod-b", True)]


def test_one_workload_with_too_many_pods_does_not_stand_for_another(told: Told) -> None:
    awaited = told.standing.awaiting("running", {"w": 1, "v": 1}, 0)
    for uid in "ab":
        told.row(uid, "created", "scheduled", "running", node="n-0")
    assert (awaited.missing, awaited.reached.is_set()) == (1, False)
    told.row("c", "created", "scheduled", "running", node="n-0", workload="v")
    assert awaited.reached.is_set()


def test_what_succeeded_counts_for_good_even_when_it_is_gone(told: Told) -> None:
    told.row("a", "created", "scheduled", "running", "succeeded", "deleted", node="n-0")
    for goal in ("created", "scheduled", "running", "completed", "gone"):
        assert told.standing.awaiting(goal, {"w": 1}, 0).reached.is_set(), goal  # type: ignore[arg-type]
    told.row("b", "created", "scheduled", "running", "failed", "deleted", node="n-0", workload="v")
    for goal in ("scheduled", "running", "completed"):
        assert not told.standing.awaiting(goal, {"v": 1}, 0).reached.is_set(), goal  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("role", "detail", "shown", "declared"),
    [
        ("pod", "Unschedulable", ("queued", "unschedulable"), True),
        ("pod", "SchedulingGated", ("queued",), False),
        ("podgroup", "OverLimit", ("queued", "unschedulable"), True),
        ("workload", "Pending", ("queued", "unschedulable"), True),
    ],
)
def test_whoever_says_that_a_workload_cannot_be_scheduled(
    told: Told, role: str, detail: str, shown: tuple[str, ...], declared: bool
) -> None:
    awaited = told.standing.awaiting("unschedulable", {"w": 1}, 0)
    told.row("a", "created", *shown, role=role, detail=detail)
    assert awaited.reached.is_set() == declared


def test_progress_is_when_something_happened_to_those_that_are_awaited(told: Told) -> None:
    awaited = told.standing.awaiting("scheduled", {"w": 2}, 0)
    told.row("x", "created", "scheduled", workload="other", node="n-0")
    assert awaited.progress_ns == 0
    told.row("a", "created", "scheduled", node="n-0")
    assert awaited.progress_ns == 4
    told.standing.forget(awaited)
    told.row("b", "created", "scheduled", node="n-0")
    assert awaited.missing == 1


@pytest.mark.parametrize(
    ("evictor", "is_ours", "taken"),
    [
        (None, False, True),
        (None, True, False),
        ("preemption by ns/boss", True, True),
        ("taint manager", False, False),
        ("kubelet", False, False),
    ],
)
def test_whom_the_scheduler_took(told: Told, evictor: str | None, is_ours: bool, taken: bool) -> None:
    told.row("a", "created", "scheduled", "running", node="n-0")
    if evictor is not None:
        told.row("a", "evicted", detail=evictor)
    told.row("a", "deleted")
    found = list(told.standing.taken(["w"], lambda _: is_ours))
    assert [pod.uid for pod in found] == (["a"] if taken else [])


def test_an_event_about_a_pod_tells_who_evicted_it(told: Told) -> None:
    told.row("a", "created", "scheduled", node="n-0")
    told.row("e", "evicted", role="event", owner="a", workload=None, detail="reclaim by ns/big")
    (pod,) = told.standing.taken(["w"], lambda _: False)
    assert pod.evictor == "reclaim by ns/big"


def test_pods_that_wait_are_counted(told: Told) -> None:
    told.row("a", "created")
    told.row("b", "created")
    told.row("c", "created", workload=None)
    assert told.standing.waiting == 2
    told.row("a", "scheduled", node="n-0")
    told.row("b", "deleted")
    assert (told.standing.waiting, told.standing.bound) == (0, 1)
    told.row("a", "succeeded", "deleted")
    assert told.standing.waiting == 0
