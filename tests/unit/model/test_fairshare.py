"""Fair shares: KAI's figures, and random trees against water that is poured drop by drop."""

from random import Random

import pytest

from kubedyno.model.fairshare import RESOURCES, divide, fair_shares, lineage, with_parents
from kubedyno.model.queues import UNLIMITED, Queue, Share

pytestmark = pytest.mark.unit


def tree(*queues: Queue) -> dict[str, Queue]:
    return {queue.name: queue for queue in queues}


def gpus(queues: dict[str, Queue], wanted: dict[str, float], total: float) -> dict[str, float]:
    shares = fair_shares(queues, {name: {"gpu": amount} for name, amount in wanted.items()}, {"gpu": total})
    return {name: share["gpu"] for name, share in shares.items()}


def leaf(name: str, quota: float, *, weight: float = 1, limit: float = UNLIMITED, priority: int = 100) -> Queue:
    share = Share(quota=quota, over_quota_weight=weight, limit=limit)
    return Queue(name=name, parent="root", gpu=share, priority=priority)


def test_unused_quota_is_lent_out_as_was_seen_on_kai() -> None:
    queues = tree(Queue(name="root"), leaf("qa", 80), leaf("qb", 80))
    assert gpus(queues, {"qa": 160, "qb": 40}, 160) == {"root": 160, "qa": 120, "qb": 40}


@pytest.mark.parametrize(
    ("queues", "wanted", "total", "expected"),
    [
        pytest.param(
            [leaf("a", 10), leaf("b", 10)], {"a": 5, "b": 50}, 100, {"a": 5, "b": 50}, id="enough for everybody"
        ),
        pytest.param(
            [leaf("a", 0, weight=3), leaf("b", 0, weight=1)], {"a": 99, "b": 99}, 40, {"a": 30, "b": 10}, id="by weight"
        ),
        pytest.param(
            [leaf("a", 0, priority=200), leaf("b", 0)], {"a": 30, "b": 99}, 40, {"a": 30, "b": 10}, id="by priority"
        ),
        pytest.param(
            [leaf("a", 20), leaf("b", 0, priority=200)], {"a": 99, "b": 99}, 40, {"a": 20, "b": 20}, id="quota first"
        ),
        pytest.param([leaf("a", 0, weight=0), leaf("b", 0)], {"a": 99, "b": 10}, 40, {"a": 0, "b": 10}, id="no weight"),
        pytest.param([leaf("a", 30, limit=5), leaf("b", 0)], {"a": 99, "b": 99}, 40, {"a": 5, "b": 35}, id="limit"),
        pytest.param([leaf("a", -1), leaf("b", 10)], {"a": 15, "b": 99}, 40, {"a": 15, "b": 25}, id="unlimited quota"),
        pytest.param([leaf("a", 30), leaf("b", 30)], {"a": 99, "b": 99}, 40, {"a": 30, "b": 30}, id="too much quota"),
        pytest.param(
            [leaf("a", 0), leaf("b", 0), leaf("c", 0)],
            {"a": 9, "b": 9, "c": 9},
            10,
            {"a": 4, "b": 3, "c": 3},
            id="whole units, the rest by name",
        ),
        pytest.param([leaf("a", 0), leaf("b", 0)], {"a": 0.5, "b": 9}, 4, {"a": 0.5, "b": 3.5}, id="parts of GPUs"),
    ],
)
def test_one_level(queues: list[Queue], wanted: dict[str, float], total: float, expected: dict[str, float]) -> None:
    found = gpus(tree(Queue(name="root"), *queues), wanted, total)
    assert {name: found[name] for name in expected} == expected


def test_children_divide_what_their_parent_gets() -> None:
    queues = tree(
        Queue(name="d1", gpu=Share(quota=30)),
        Queue(name="d2", gpu=Share(quota=10)),
        Queue(name="t1", parent="d1", gpu=Share(quota=0)),
        Queue(name="t2", parent="d1", gpu=Share(quota=20)),
        Queue(name="t3", parent="d2", gpu=Share(quota=99)),
    )
    assert gpus(queues, {"t1": 99, "t2": 99, "t3": 5}, 40) == {"d1": 35, "d2": 5, "t1": 8, "t2": 27, "t3": 5}


def test_resources_are_divided_one_by_one() -> None:
    queues = tree(Queue(name="a", gpu=Share(quota=4), cpu=Share(quota=0)), Queue(name="b", gpu=Share(quota=0)))
    wanted = {"a": {"gpu": 8.0, "cpu": 1000.0}, "b": {"gpu": 8.0, "memory": 5.0}}
    shares = fair_shares(queues, wanted, {"gpu": 8.0, "cpu": 500.0, "memory": 10.0})
    assert shares == {
        "a": {"gpu": 6.0, "cpu": 500.0, "memory": 0.0},
        "b": {"gpu": 2.0, "cpu": 0.0, "memory": 5.0},
    }


def test_queues_whose_parents_are_unknown_have_no_share_and_circles_do_no_harm() -> None:
    queues = tree(Queue(name="a", parent="gone"), Queue(name="b", parent="c"), Queue(name="c", parent="b"))
    assert gpus(queues, {"a": 9, "b": 9}, 10) == {"a": 0, "b": 0, "c": 0}
    assert lineage(queues, "b") == ["b", "c"]
    assert lineage(queues, None) == lineage(queues, "nobody") == []


def test_what_queues_want_is_wanted_by_those_above_them() -> None:
    queues = tree(Queue(name="root"), leaf("a", 0), leaf("b", 0))
    sums = with_parents(queues, {"a": {"gpu": 1.0}, "b": {"gpu": 2.0, "cpu": 5.0}, "nobody": {"gpu": 9.0}})
    assert sums["root"] == {"gpu": 3.0, "cpu": 5.0, "memory": 0.0}
    assert sums["a"] == {"gpu": 1.0, "cpu": 0.0, "memory": 0.0}


def poured(total: float, siblings: dict[str, tuple[int, Share]], wanted: dict[str, float]) -> dict[str, float]:
    """Quotas first; then drop by drop to whoever has got the least for its weight, by priority."""
    most = {
        name: wanted[name] if share.limit == UNLIMITED else min(wanted[name], share.limit)
        for name, (_, share) in siblings.items()
    }
    got = {
        name: min(most[name], total if share.quota == UNLIMITED else share.quota)
        for name, (_, share) in siblings.items()
    }
    over = dict.fromkeys(siblings, 0.0)
    left, drop = total - sum(got.values()), 1 / 16
    while left > 0:
        wanting = [name for name in siblings if got[name] < most[name] and siblings[name][1].over_quota_weight > 0]
        if not wanting:
            break
        first = max(siblings[name][0] for name in wanting)
        name = min(
            (name for name in wanting if siblings[name][0] == first),
            key=lambda name: (over[name] / siblings[name][1].over_quota_weight, name),
        )
        got[name] += drop
        over[name] += drop
        left -= drop
    return got


def random_siblings(rng: Random, total: int) -> tuple[dict[str, tuple[int, Share]], dict[str, float]]:
    siblings, wanted = {}, {}
    for i in range(rng.randint(1, 5)):
        quota = rng.choice([0.0, float(rng.randint(0, total)), float(rng.randint(0, total // 4)), UNLIMITED])
        limit = rng.choice([UNLIMITED, UNLIMITED, float(rng.randint(0, total))])
        share = Share(quota=quota, over_quota_weight=float(rng.choice([0, 1, 1, 2, 3])), limit=limit)
        siblings[f"q{i}"] = (rng.choice([100, 100, 200]), share)
        wanted[f"q{i}"] = float(rng.randint(0, total))
    return siblings, wanted


def test_division_agrees_with_pouring_to_a_unit() -> None:
    rng = Random(7)  # noqa: S311 - simulation
    for seed in range(400):
        total = rng.randint(4, 60)
        siblings, wanted = random_siblings(rng, total)
        found, slow = divide(float(total), siblings, wanted), poured(float(total), siblings, wanted)
        for name in siblings:
            assert found[name] == pytest.approx(slow[name], abs=1.0 + 1 / 8), (seed, name, found, slow)


def test_shares_add_up_keep_limits_and_grow_with_the_cluster() -> None:
    rng = Random(8)  # noqa: S311 - simulation
    for _ in range(400):
        total = rng.randint(4, 60)
        siblings, wanted = random_siblings(rng, total)
        found = divide(float(total), siblings, wanted)
        owed = 0.0
        for name, (_, share) in siblings.items():
            most = wanted[name] if share.limit == UNLIMITED else min(wanted[name], share.limit)
            own = min(most, float(total) if share.quota == UNLIMITED else share.quota)
            assert own <= found[name] <= most
            owed += own
        assert sum(found.values()) <= max(total, owed) + 1e-9
        willing = [name for name, (_, share) in siblings.items() if share.over_quota_weight > 0]
        if sum(found.values()) < total - 1e-9:
            for name in willing:
                limit = siblings[name][1].limit
                assert found[name] == (wanted[name] if limit == UNLIMITED else min(wanted[name], limit))
        bigger = divide(float(2 * total), siblings, wanted)
        assert sum(bigger.values()) >= sum(found.values()) - 1e-9


def test_trees_of_any_shape_are_divided_level_by_level() -> None:
    rng = Random(9)  # noqa: S311 - simulation
    for _ in range(100):
        queues: dict[str, Queue] = {}
        for i in range(rng.randint(2, 12)):
            parent = rng.choice([None, *queues])
            queues[f"q{i}"] = Queue(
                name=f"q{i}", parent=parent, gpu=Share(quota=float(rng.randint(0, 20))), priority=rng.choice([100, 200])
            )
        parents = {queue.parent for queue in queues.values()}
        wanted = {name: float(rng.randint(0, 30)) for name in queues if name not in parents}
        found = gpus(queues, wanted, 64)
        sums = with_parents(queues, {name: {"gpu": amount} for name, amount in wanted.items()})
        for parent in parents:
            members = {q.name: (q.priority, q.gpu) for q in queues.values() if q.parent == parent}
            whole = 64.0 if parent is None else found[parent]
            expected = divide(whole, members, {name: sums[name]["gpu"] for name in members})
            assert {name: found[name] for name in members} == expected
    assert RESOURCES == ("gpu", "cpu", "memory")
