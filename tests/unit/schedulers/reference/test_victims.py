"""Who loses room to whom: what real KAI was seen to do in the same situations, and what its rules say."""

from collections import Counter
from collections.abc import Sequence

import pytest
from tests.rooms import capacity_of, gang, nodes, real_room_of, room_of

from kubedyno.model.queues import Queue, Share
from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.cycle import decide
from kubedyno.schedulers.reference.jobs import Decisions, Job, Task
from kubedyno.schedulers.reference.settings import Settings

pytestmark = pytest.mark.unit


def queues(**quotas: float) -> dict[str, Queue]:
    return {
        "root": Queue(name="root"),
        **{name: Queue(name=name, parent="root", gpu=Share(quota=quota)) for name, quota in quotas.items()},
    }


def run(
    jobs: Sequence[Job],
    known: dict[str, Queue],
    count: int,
    *,
    preemptees: int = 0,
    labels: dict[str, dict[str, str]] | None = None,
) -> Decisions:
    cluster = nodes(count)
    room = room_of(cluster, jobs, labels=labels)
    decisions = decide(jobs, known, capacity_of(cluster), room, settings=Settings(consolidation_preemptees=preemptees))
    assert all(amount >= 0 for amount in room.gpus().values())
    return decisions


def started(decisions: Decisions) -> dict[str, int]:
    return dict(Counter(placement.job[2] for placement in decisions.placements))


def victims(decisions: Decisions) -> dict[str, int]:
    return dict(Counter(eviction.job[2] for eviction in decisions.evictions))


def actions(decisions: Decisions) -> set[tuple[str, str | None]]:
    return {(eviction.action, eviction.by[2] if eviction.by else None) for eviction in decisions.evictions}


def node(i: int) -> str:
    return f"n{i:03}"


def test_a_queue_takes_back_its_share_from_the_newest_gangs_of_another() -> None:
    held = [gang(f"a{i}", queue="qa", pods=8, on=[node(i)] * 8, created=i) for i in range(20)]
    decisions = run([*held, gang("b", queue="qb", pods=5, gpus=8, created=30)], queues(qa=80, qb=80), 20)
    assert victims(decisions) == {f"a{i}": 8 for i in range(15, 20)}
    assert started(decisions) == {"b": 5}
    assert actions(decisions) == {("reclaim", "b")}


def test_bound_pods_wait_for_all_that_must_go_before_their_gang_can_start() -> None:
    held = [gang(f"a{i}", queue="qa", pods=8, on=[node(i)] * 8, created=i) for i in range(3)]
    decisions = run([*held, gang("b", queue="qb", pods=2, gpus=8, created=30)], queues(qa=16, qb=16), 4)
    assert victims(decisions) == {"a2": 8}
    assert {placement.node for placement in decisions.placements} == {"n002", "n003"}
    for placement in decisions.placements:
        assert placement.after == {f"a2-{i}" for i in range(8)}


def test_elastic_gangs_lose_what_is_beyond_their_least_number_first() -> None:
    """Ten gangs of ten, of which two must run; the eight others of the newest fill a node, as they did on KAI."""
    places = [node(i // 8) for i in range(92)]
    held = [gang(f"x{i}", queue="qa", pods=10, least=2, on=places[i * 10 : i * 10 + 10], created=i) for i in range(9)]
    held.append(gang("x9", queue="qa", pods=10, least=2, on=[*places[90:92], *[node(12)] * 8], created=9))
    decisions = run([*held, gang("b", queue="qb", pods=8, gpus=8, created=30)], queues(qa=80, qb=80), 20)
    assert [eviction.task.uid for eviction in decisions.evictions] == [f"x9-{i}" for i in range(9, 1, -1)]
    assert started(decisions) == {"b": 8}


def test_a_higher_priority_displaces_the_newest_of_its_queue() -> None:
    held = [gang(f"t{i}", queue="qp", pods=2, gpus=4, on=[node(i)] * 2, created=i) for i in range(20)]
    new = gang("new", queue="qp", pods=2, gpus=8, priority=75, created=30)
    decisions = run([*held, new], queues(qp=160), 20)
    assert victims(decisions) == {"t19": 2, "t18": 2}
    assert actions(decisions) == {("preempt", "new")}
    assert started(decisions) == {"new": 2}


@pytest.mark.parametrize(
    ("held_priority", "new_priority", "preemptible", "expected"),
    [
        pytest.param(50, 50, None, {}, id="never the same priority"),
        pytest.param(50, 100, None, {"t19": 2, "t18": 2}, id="what is not preemptible displaces what is"),
        pytest.param(100, 125, None, {}, id="what is not preemptible is never displaced"),
        pytest.param(100, 125, True, {"t19": 2, "t18": 2}, id="unless it says that it is"),
        pytest.param(75, 50, None, {}, id="never a higher priority"),
    ],
)
def test_preemption_within_a_queue(
    held_priority: int, new_priority: int, preemptible: bool | None, expected: dict[str, int]
) -> None:
    held = [
        gang(
            f"t{i}",
            queue="qp",
            pods=2,
            gpus=4,
            on=[node(i)] * 2,
            created=i,
            priority=held_priority,
            preemptible=preemptible,
        )
        for i in range(20)
    ]
    new = gang("new", queue="qp", pods=2, gpus=8, priority=new_priority, created=30)
    decisions = run([*held, new], queues(qp=160), 20)
    assert victims(decisions) == expected
    assert started(decisions) == ({"new": 2} if expected else {})


def test_a_full_queue_of_what_is_not_preemptible_says_that_the_quota_is_used_up() -> None:
    held = [gang(f"t{i}", queue="qp", gpus=8, on=[node(i)], created=i, priority=100) for i in range(10)]
    new = gang("new", queue="qp", gpus=8, priority=125, created=30)
    decisions = run([*held, new], queues(qp=80), 20)
    assert decisions.evictions == ()
    assert [(one.job[2], one.reason) for one in decisions.refusals] == [("new", "NonPreemptibleOverQuota")]


def test_running_jobs_are_moved_together_to_make_whole_nodes_free() -> None:
    held = [gang(f"t{i}", queue="qa", gpus=4, on=[node(i)], created=i) for i in range(20)]
    new = gang("new", queue="qa", pods=3, gpus=8, created=30)
    decisions = run([*held, new], queues(qa=160), 20, preemptees=16)
    assert started(decisions) == {"new": 3}
    assert len(decisions.evictions) == 3
    assert actions(decisions) == {("consolidation", "new")}
    off = run([*held, new], queues(qa=160), 20, preemptees=0)
    assert (started(off), off.evictions) == ({}, ())


def test_no_more_jobs_are_moved_than_allowed() -> None:
    held = [gang(f"t{i}", queue="qa", gpus=4, on=[node(i)], created=i) for i in range(10)]
    new = gang("new", queue="qa", pods=3, gpus=8, created=30)
    assert run([*held, new], queues(qa=80), 10, preemptees=2).evictions == ()
    assert len(run([*held, new], queues(qa=80), 10, preemptees=3).evictions) == 3
    assert len(run([*held, new], queues(qa=80), 10, preemptees=-1).evictions) == 3


def test_only_what_fits_elsewhere_is_moved() -> None:
    held = [gang(f"t{i}", queue="qa", gpus=5, on=[node(i)], created=i) for i in range(6)]
    decisions = run([*held, gang("new", queue="qa", gpus=8, created=30)], queues(qa=48), 6, preemptees=16)
    assert decisions.evictions == ()


def test_what_is_not_preemptible_is_not_moved() -> None:
    held = [gang(f"t{i}", queue="qa", gpus=4, on=[node(i)], created=i, priority=100) for i in range(6)]
    decisions = run([*held, gang("new", queue="qa", gpus=8, created=30)], queues(qa=48), 6, preemptees=16)
    assert decisions.evictions == ()


def test_nothing_is_taken_from_a_queue_within_its_share() -> None:
    held = [gang(f"a{i}", queue="qa", gpus=8, on=[node(i)], created=i) for i in range(10)]
    other = [gang(f"b{i}", queue="qb", gpus=8, on=[node(10 + i)], created=i) for i in range(10)]
    waiting = gang("b", queue="qb", gpus=8, created=30)
    assert run([*held, *other, waiting], queues(qa=80, qb=80), 20).evictions == ()


def test_a_queue_that_would_go_beyond_its_fair_share_takes_nothing() -> None:
    held = [gang(f"a{i}", queue="qa", pods=8, on=[node(i)] * 8, created=i) for i in range(20)]
    too_much = gang("b", queue="qb", pods=11, gpus=8, created=30)
    assert run([*held, too_much], queues(qa=80, qb=80), 20).evictions == ()
    exact = gang("b", queue="qb", pods=10, gpus=8, created=30)
    assert victims(run([*held, exact], queues(qa=80, qb=80), 20)) == {f"a{i}": 8 for i in range(10, 20)}


def test_a_job_that_fails_by_one_gpu_evicts_nobody() -> None:
    kept = gang("kept", queue="qa", gpus=1, on=[node(0)], priority=100)
    held = [gang(f"a{i}", queue="qa", gpus=1, on=[node(0)], created=i) for i in range(7)]
    held += [gang(f"c{i}", queue="qa", gpus=1, on=[node(1)], created=10 + i) for i in range(8)]
    new = gang("b", queue="qb", pods=2, gpus=8, created=30)
    decisions = run([kept, *held, new], queues(qa=1, qb=16), 2)
    assert (started(decisions), decisions.evictions) == ({}, ())


def test_victims_are_found_node_by_node_where_the_newest_are_scattered() -> None:
    """The newest eight, all that may be taken, are on eight nodes; a whole node can only be had elsewhere."""
    held = [gang(f"a{i}-{j}", queue="qa", on=[node(i)], created=i + 8 * j) for i in range(8) for j in range(8)]
    decisions = run([*held, gang("b", queue="qb", gpus=8, created=100)], queues(qa=56, qb=8), 8)
    assert len(decisions.evictions) == 8
    assert len({eviction.task.node for eviction in decisions.evictions}) == 1
    assert started(decisions) == {"b": 1}


def test_room_that_others_left_behind_is_used_before_more_is_taken() -> None:
    held = [gang(f"a{i}", queue="qa", gpus=8, on=[node(i)], created=i) for i in range(4)]
    new = [gang(f"b{i}", queue="qb", created=30 + i) for i in range(8)]
    decisions = run([*held, *new], queues(qa=16, qb=16), 4)
    assert victims(decisions) == {"a3": 1}
    assert started(decisions) == {f"b{i}": 1 for i in range(8)}
    assert {placement.after for placement in decisions.placements} == {frozenset({"a3-0"})}


def test_the_queue_furthest_beyond_its_share_gives_first_and_several_give_in_turn() -> None:
    held = [gang(f"a{i}", queue="qa", gpus=8, on=[node(i)], created=i) for i in range(6)]
    held += [gang(f"c{i}", queue="qc", gpus=8, on=[node(6 + i)], created=i) for i in range(4)]
    new = [gang(f"b{i}", queue="qb", gpus=8, created=30 + i) for i in range(4)]
    decisions = run([*held, *new], queues(qa=16, qb=32, qc=16), 10)
    assert victims(decisions) == {f"a{i}": 1 for i in (5, 4, 3)} | {"c3": 1}


def test_sides_of_a_hierarchy_compete_where_they_part() -> None:
    """Team two is within its own quota, but its department has more than its share: the other one takes it back."""
    departments = [Queue(name=name, gpu=Share(quota=16)) for name in ("d1", "d2")]
    teams = [
        Queue(name="t1", parent="d1", gpu=Share(quota=16)),
        Queue(name="t2", parent="d2", gpu=Share(quota=32)),
        Queue(name="t3", parent="d2", gpu=Share(quota=0)),
    ]
    known = {queue.name: queue for queue in (*departments, *teams)}
    held = [gang(f"u{i}", queue="t2", gpus=8, on=[node(i)], created=i) for i in range(3)]
    held.append(gang("v", queue="t3", gpus=8, on=[node(3)], created=9))
    decisions = run([*held, gang("w", queue="t1", gpus=8, created=30)], known, 4)
    assert victims(decisions) == {"v": 1}
    more = run([*held, gang("w", queue="t1", pods=2, gpus=8, created=30)], known, 4)
    assert victims(more) == {"v": 1, "u2": 1}


def test_required_closeness_takes_the_domain_with_the_fewest_victims() -> None:
    labels = {node(i): {"rack": f"r{i // 4}"} for i in range(12)}
    held = [gang(f"a{i}", queue="qa", pods=8, on=[node(i)] * 8, created=i) for i in range(12) if i not in (4, 5)]
    held.append(gang("half", queue="qa", gpus=4, on=[node(4)], created=1))
    new = gang("b", queue="qb", pods=4, gpus=8, closeness=Closeness(topology="t", required="rack"), created=30)
    decisions = run([*held, new], queues(qa=48, qb=48), 12, labels=labels)
    assert {labels[placement.node]["rack"] for placement in decisions.placements} == {"r1"}
    assert victims(decisions) == {"half": 1, "a6": 8, "a7": 8}


def test_a_queue_at_its_limit_makes_room_for_its_own_higher_priority() -> None:
    known = {"qa": Queue(name="qa", gpu=Share(limit=16))}
    held = [gang(f"a{i}", queue="qa", gpus=8, on=[node(i)], created=i) for i in range(2)]
    decisions = run([*held, gang("new", queue="qa", gpus=8, priority=75, created=30)], known, 4)
    assert victims(decisions) == {"a1": 1}
    assert started(decisions) == {"new": 1}


def test_a_whole_gang_goes_with_what_it_has_beyond_its_least_number() -> None:
    held = [gang("g", queue="qa", pods=4, least=2, gpus=4, on=[node(0), node(1), node(0), node(1)], created=1)]
    decisions = run([*held, gang("b", queue="qb", pods=2, gpus=8, created=30)], queues(qa=0, qb=16), 2)
    assert victims(decisions) == {"g": 4}
    assert started(decisions) == {"b": 2}


def test_room_left_behind_is_seen_after_others_were_placed_without_victims() -> None:
    held = [gang(f"a{i}", queue="qa", gpus=8, on=[node(i)], created=i) for i in range(3)]
    first = gang("first", queue="qb", pods=2, gpus=4, priority=75, created=20)
    new = [gang(f"b{i}", queue="qb", gpus=4, created=30 + i) for i in range(2)]
    decisions = run([*held, first, *new], queues(qa=8, qb=16), 4)
    assert victims(decisions) == {"a2": 1}
    assert started(decisions) == {"first": 2, "b0": 1, "b1": 1}


def test_a_gang_that_just_got_what_it_lacked_is_no_victim() -> None:
    """Its new task would be left alone."""
    broken = gang("g", queue="qa", pods=2, gpus=8, on=[node(0)], created=1)
    held = gang("a", queue="qa", gpus=8, on=[node(1)], created=0)
    new = gang("b", queue="qb", pods=2, gpus=8, created=30)
    decisions = run([broken, held, new], queues(qa=0, qb=24), 3)
    placed = started(decisions)
    assert not ("g" in placed and "g" in victims(decisions))


def test_who_loses_something_gets_nothing_in_the_same_cycle() -> None:
    grown = gang("g", queue="qa", pods=4, least=1, gpus=4, on=[node(0), node(0), node(1)], created=1, priority=75)
    small = gang("s", queue="qa", gpus=4, on=[node(1)], created=0)
    new = gang("b", queue="qb", gpus=8, created=30)
    decisions = run([grown, small, new], queues(qa=8, qb=8), 2)
    assert started(decisions)["b"] == 1
    assert not set(started(decisions)) & set(victims(decisions))


def test_each_of_many_who_take_costs_about_as_much_as_one() -> None:
    """Work is counted, not timed: a placement or two and an eviction or two for each, however many there are."""
    cluster = nodes(50)
    held = [gang(f"a{i}", queue="qa", on=[node(i // 8)], created=i) for i in range(400)]
    new = [gang(f"b{i}", queue="qb", created=500 + i) for i in range(200)]
    room, calls = real_room_of(cluster, held), Counter[str]()
    place, evict = room.place, room.evict

    def placing(job: Job, *, only: tuple[Task, ...] | None = None) -> tuple[tuple[Task, str], ...]:
        calls["place"] += 1
        return place(job, only=only)

    def evicting(task: Task) -> None:
        calls["evict"] += 1
        evict(task)

    room.place, room.evict = placing, evicting  # type: ignore[method-assign]
    settings = Settings(consolidation_preemptees=0)
    decisions = decide([*held, *new], queues(qa=200, qb=200), capacity_of(cluster), room, settings=settings)
    assert len(decisions.placements) == len(decisions.evictions) == 200
    assert {eviction.job[2] for eviction in decisions.evictions} == {f"a{i}" for i in range(200, 400)}
    assert calls["place"] <= 2 * 200 + 10
    assert calls["evict"] <= 2 * 200 + 10
