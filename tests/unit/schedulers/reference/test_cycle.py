"""Who gets room, who waits and why: the actions of a cycle that take nothing from anybody, and broken gangs."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from tests.rooms import capacity_of, gang, nodes, room_of

from kubedyno.model.feasibility import can_place
from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.cycle import decide
from kubedyno.schedulers.reference.jobs import Decisions, Job, JobKey
from kubedyno.schedulers.reference.settings import Settings

pytestmark = pytest.mark.unit


def queues(*below_root: Queue) -> dict[str, Queue]:
    return {queue.name: queue for queue in (Queue(name="root"), *below_root)}


def leaf(name: str, *, quota: float = -1, limit: float = -1, weight: float = 1, priority: int = 100) -> Queue:
    share = Share(quota=quota, limit=limit, over_quota_weight=weight)
    return Queue(name=name, parent="root", gpu=share, priority=priority)


def run(
    jobs: Sequence[Job],
    known: dict[str, Queue],
    count: int,
    *,
    gpus: int = 8,
    stale: frozenset[JobKey] = frozenset(),
    preemptees: int = 0,
) -> Decisions:
    cluster = nodes(count, gpus=gpus)
    settings = Settings(consolidation_preemptees=preemptees)
    return decide(jobs, known, capacity_of(cluster), room_of(cluster, jobs), settings=settings, stale=stale)


def started(decisions: Decisions) -> dict[str, int]:
    return dict(Counter(placement.job[2] for placement in decisions.placements))


def refused(decisions: Decisions) -> dict[str, str]:
    return {refusal.job[2]: refusal.reason for refusal in decisions.refusals}


def test_a_gang_starts_whole_or_not_at_all() -> None:
    known = queues(leaf("qa"))
    assert started(run([gang("g", queue="qa", pods=11, gpus=8)], known, 10)) == {}
    assert started(run([gang("g", queue="qa", pods=10, gpus=8)], known, 10)) == {"g": 10}


def test_a_gang_waits_for_pods_that_do_not_exist_yet() -> None:
    decisions = run([gang("g", queue="qa", pods=3, least=4)], queues(leaf("qa")), 4)
    assert [(one.reason, one.message) for one in decisions.refusals] == [
        ("NotReady", "waiting for 4 pods, of which 3 exist")
    ]


def test_an_elastic_gang_gets_its_least_number_and_then_as_many_as_fit() -> None:
    assert started(run([gang("g", queue="qa", pods=16, least=2)], queues(leaf("qa")), 2)) == {"g": 16}
    assert started(run([gang("g", queue="qa", pods=16, least=2)], queues(leaf("qa")), 1)) == {"g": 8}
    assert started(run([gang("g", queue="qa", pods=16, least=9)], queues(leaf("qa")), 1)) == {}


def test_elastic_gangs_all_get_their_least_before_any_gets_more() -> None:
    jobs = [gang(f"g{i}", queue="qa", pods=8, least=2, created=i) for i in range(4)]
    assert started(run(jobs, queues(leaf("qa")), 1)) == {f"g{i}": 2 for i in range(4)}


def test_priority_goes_first_then_age() -> None:
    jobs = [
        gang("old", queue="qa", gpus=8, created=1),
        gang("new", queue="qa", gpus=8, created=2),
        gang("urgent", queue="qa", gpus=8, created=3, priority=75),
    ]
    assert list(started(run(jobs, queues(leaf("qa")), 3))) == ["urgent", "old", "new"]
    assert list(started(run(jobs, queues(leaf("qa")), 1))) == ["urgent"]


def test_of_equally_old_jobs_the_lower_numbers_go_first_however_long_their_names_are() -> None:
    known = queues(leaf("qa"))
    names = ["of-16-0", "of-2-10", "of-1-0-0", "of-2-9", "of-1-0-1"]
    jobs = [gang(name, queue="qa", gpus=8) for name in names]
    for count in range(1, 5):
        assert sorted(started(run(jobs, known, count))) == sorted(
            ["of-1-0-0", "of-1-0-1", "of-2-9", "of-2-10", "of-16-0"][:count]
        )


def test_queues_share_what_is_free_by_their_weights() -> None:
    jobs = [gang(f"{q}{i}", queue=q, created=i) for q in ("qa", "qb") for i in range(40)]
    known = queues(leaf("qa", quota=0, weight=3), leaf("qb", quota=0, weight=1))
    counts = Counter(name[:2] for name in started(run(jobs, known, 4)))
    assert counts == {"qa": 24, "qb": 8}


def test_quota_comes_before_priority_of_queues_and_priority_before_weight() -> None:
    jobs = [gang(f"{q}{i}", queue=q, created=i) for q in ("qa", "qb") for i in range(40)]
    known = queues(leaf("qa", quota=8), leaf("qb", quota=0, priority=200))
    assert Counter(name[:2] for name in started(run(jobs, known, 4))) == {"qa": 8, "qb": 24}


def test_a_limit_is_kept_and_told_with_its_figures() -> None:
    jobs = [gang("in", queue="qa", gpus=8), gang("out", queue="qa", gpus=1, created=1)]
    decisions = run(jobs, queues(leaf("qa", limit=8)), 4)
    assert started(decisions) == {"in": 1}
    assert [(one.job[2], one.reason, one.message) for one in decisions.refusals] == [
        ("out", "OverLimit", "queue qa is at its limit of 8 GPUs: 8 are in use, and the job asks for 1")
    ]


def test_a_limit_of_a_parent_holds_for_all_below_it() -> None:
    known = {
        "root": Queue(name="root", gpu=Share(limit=3)),
        "qa": leaf("qa"),
        "qb": leaf("qb"),
    }
    jobs = [gang(f"{q}{i}", queue=q, created=i) for q in ("qa", "qb") for i in range(4)]
    decisions = run(jobs, known, 4)
    assert len(decisions.placements) == 3
    assert set(refused(decisions).values()) == {"OverLimit"}


def test_what_is_not_preemptible_must_fit_in_the_quota() -> None:
    known = queues(leaf("qa", quota=80))
    decisions = run([gang("build", queue="qa", pods=11, gpus=8, priority=100)], known, 20)
    (refusal,) = decisions.refusals
    assert refusal.reason == "NonPreemptibleOverQuota"
    assert refusal.message == (
        "queue qa has a quota of 80 GPUs, of which jobs that are not preemptible use 0, and this one asks for 88; "
        "a preemptible job could go beyond"
    )
    assert started(run([gang("train", queue="qa", pods=11, gpus=8)], known, 20)) == {"train": 11}


@pytest.mark.parametrize(
    ("queue", "said"),
    [
        ("none", "queue none does not exist"),
        ("root", "queue root has queues below it: jobs go to those"),
        ("lost", "queue lost names gone as its parent, which does not exist"),
    ],
)
def test_a_queue_that_cannot_have_jobs_is_told(queue: str, said: str) -> None:
    known = queues(leaf("qa"), Queue(name="lost", parent="gone"))
    decisions = run([gang("g", queue=queue)], known, 1)
    assert not decisions.placements
    assert [(one.reason, one.message) for one in decisions.refusals] == [("QueueDoesNotExist", said)]


def test_jobs_of_no_queue_are_limited_by_room_alone() -> None:
    decisions = run([gang(f"g{i}", created=i) for i in range(9)], {}, 1)
    assert list(started(decisions)) == [f"g{i}" for i in range(8)]
    assert refused(decisions) == {"g8": "PodSchedulingErrors"}


def test_sub_groups_each_get_their_least_number() -> None:
    known = queues(leaf("qa"))
    job = gang("g", queue="qa", gpus=4, groups={"prefill": 2, "decode": 3})
    assert started(run([job], known, 3)) == {"g": 5}
    assert started(run([job], known, 2)) == {}


def test_what_is_left_of_a_broken_gang_is_evicted() -> None:
    broken = gang("g", queue="qa", pods=3, least=3, gpus=8, on=["n000", "n001"])
    lost = gang("g", queue="qa", pods=2, least=3, gpus=8, on=["n000", "n001"])
    filler = gang("f", queue="qa", gpus=8, on=["n002"], priority=100)
    known = queues(leaf("qa"))
    decisions = run([lost, filler], known, 3, stale=frozenset({lost.key}))
    assert [(one.task.uid, one.action, one.by) for one in decisions.evictions] == [
        ("g-0", "stalegangeviction", None),
        ("g-1", "stalegangeviction", None),
    ]
    assert run([lost, filler], known, 3).evictions == ()
    mended = run([broken], known, 3, stale=frozenset({broken.key}))
    assert started(mended) == {"g": 1}
    assert mended.evictions == ()


def test_whether_a_gang_is_placed_agrees_with_what_is_feasible() -> None:
    """Random nodes with random gangs of alike pods: placed if and only if an exhaustive search places it."""
    rng = Random(1)  # noqa: S311 - simulation
    seen: Counter[bool] = Counter()
    for _ in range(300):
        cluster = nodes(rng.randint(1, 5))
        fillers = [gang(f"f{i}", queue="qa", gpus=rng.randint(1, 7), on=[name]) for i, name in enumerate(cluster)]
        job = gang("g", queue="qa", pods=rng.randint(1, 6), gpus=rng.randint(1, 8), created=1)
        room = room_of(cluster, fillers)
        feasible = can_place(room.gpus(), [task.needs.gpus // 1000 for task in job.pending])
        decisions = decide(
            [*fillers, job],
            queues(leaf("qa")),
            capacity_of(cluster),
            room,
            settings=Settings(consolidation_preemptees=0),
        )
        assert started(decisions) == ({"g": len(job.pending)} if feasible else {})
        seen[feasible] += 1
    assert min(seen.values()) > 50


def test_required_closeness_is_kept() -> None:
    labels = {f"n{i:03}": {"rack": f"r{i // 4}"} for i in range(8)}
    cluster = nodes(8)
    close = Closeness(topology="t", required="rack")
    filled = [gang("f", queue="qa", gpus=8, on=["n000"])]
    for pods, expected in ((4, {"g": 4}), (5, {})):
        job = gang("g", queue="qa", pods=pods, gpus=8, closeness=close)
        room = room_of(cluster, filled, labels=labels)
        decisions = decide(
            [*filled, job],
            queues(leaf("qa")),
            capacity_of(cluster),
            room,
            settings=Settings(consolidation_preemptees=0),
        )
        assert started(decisions) == expected
        assert {labels[placement.node]["rack"] for placement in decisions.placements} <= {"r1"}
