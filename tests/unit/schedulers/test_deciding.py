"""The reference scheduler's decisions: order, packing, gangs, and the words of its refusals."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.deciding import Decisions, Key, Pending, decide, pending_of
from kubedyno.schedulers.reference.fitting import GPU, Amounts

pytestmark = pytest.mark.unit


def pod(name: str, *, gpus: int = 1, gang: str = "", priority: int = 0, created: str = "1", **spec: Any) -> Pending:
    return pending_of(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"uid-{name}",
                "creationTimestamp": f"2026-01-01T00:00:0{created}Z",
            },
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"requests": {GPU: str(gpus), "cpu": "1"}}}],
                **({"priority": priority} if priority else {}),
                **({"schedulingGroup": {"podGroupName": gang}} if gang else {}),
                **spec,
            },
        }
    )


def gang_of(name: str, count: int, **more: Any) -> list[Pending]:
    return [pod(f"{name}-{index}", gang=name, **more) for index in range(count)]


class Cluster:
    """Nodes by name with the GPUs that are left on each."""

    def __init__(self, **gpus: int) -> None:
        self.nodes: dict[str, dict[str, Any]] = {name: {"metadata": {"name": name}, "spec": {}} for name in gpus}
        self.free: dict[str, Amounts] = {
            name: {GPU: count * 1000, "cpu": 32_000, "pods": 110_000} for name, count in gpus.items()
        }

    def decide(
        self, *pending: Pending, gangs: dict[str, int] | None = None, started: dict[str, int] | None = None
    ) -> Decisions:
        def keyed(counts: dict[str, int] | None) -> dict[Key, int]:
            return {("default", name): count for name, count in (counts or {}).items()}

        return decide(self.nodes, self.free, pending, keyed(gangs), keyed(started))


def placed(decisions: Decisions) -> dict[str, str]:
    return {placement.pod.key[1]: placement.node for placement in decisions.placements}


def refused(decisions: Decisions) -> dict[str, str]:
    return {refusal.pod.key[1]: refusal.message for refusal in decisions.refusals}


def test_what_is_known_of_a_pending_pod() -> None:
    found = pod("p", gpus=2, gang="g", priority=5)
    assert (found.key, found.uid, found.priority) == (("default", "p"), "uid-p", 5)
    assert (found.created, found.gang) == ("2026-01-01T00:00:01Z", ("default", "g"))
    assert found.needs.gpus == 2000
    assert (pod("q").priority, pod("q").gang) == (0, None)


@pytest.mark.parametrize(
    ("pending", "order"),
    [
        ([pod("b"), pod("a"), pod("c")], ["a", "b", "c"]),
        ([pod("a", created="3"), pod("b", created="1"), pod("c", created="2")], ["b", "c", "a"]),
        ([pod("a"), pod("b", priority=1), pod("c", priority=-1)], ["b", "a", "c"]),
        ([pod("a", created="1"), pod("b", created="2", priority=1)], ["b", "a"]),
        # A gang stands where its first pod does.
        ([pod("a", created="2"), *gang_of("g", 2, created="1")], ["g-0", "g-1", "a"]),
        (
            [pod("g-0", gang="g", created="1"), pod("a", created="2"), pod("g-1", gang="g", created="3")],
            ["g-0", "g-1", "a"],
        ),
    ],
)
def test_by_priority_then_age_then_name(pending: list[Pending], order: list[str]) -> None:
    decisions = Cluster(n=8).decide(*pending, gangs={"g": 2})
    assert [placement.pod.key[1] for placement in decisions.placements] == order


def test_who_comes_first_gets_the_last_place() -> None:
    decisions = Cluster(n=1).decide(pod("a"), pod("b", priority=1))
    assert placed(decisions) == {"b": "n"}
    assert refused(decisions) == {"a": f"0/1 nodes are available: 1 Insufficient {GPU}."}


@pytest.mark.parametrize(
    ("cluster", "gpus", "nodes"),
    [
        # The node with the fewest GPUs left that are enough.
        (Cluster(a=8, b=2, c=5), [1], ["b"]),
        (Cluster(a=8, b=2, c=5), [3], ["c"]),
        (Cluster(a=8, b=2, c=5), [8], ["a"]),
        # It is filled up before the next one is begun.
        (Cluster(a=8, b=2, c=5), [1, 1, 1, 1], ["b", "b", "c", "c"]),
        (Cluster(a=2, b=2, c=2), [1, 1, 1, 1, 1], ["a", "a", "b", "b", "c"]),
        # Equal nodes by name.
        (Cluster(c=4, a=4, b=4), [4, 4, 4], ["a", "b", "c"]),
        (Cluster(a=1, b=8), [2, 1], ["b", "a"]),
    ],
)
def test_pods_are_packed_onto_as_few_nodes_as_can_be(cluster: Cluster, gpus: list[int], nodes: list[str]) -> None:
    decisions = cluster.decide(*(pod(f"p{index}", gpus=count) for index, count in enumerate(gpus)))
    assert [placed(decisions)[f"p{index}"] for index in range(len(gpus))] == nodes


def test_of_nodes_with_equal_gpus_the_one_with_the_least_cpu_is_taken() -> None:
    cluster = Cluster(a=4, b=4)
    cluster.free["b"]["cpu"] = 2000
    assert placed(cluster.decide(pod("p"))) == {"p": "b"}


def test_what_is_left_is_not_changed() -> None:
    cluster = Cluster(a=4)
    cluster.decide(pod("p"), pod("q", gpus=3))
    assert cluster.free == Cluster(a=4).free


def test_nodes_that_do_not_admit_a_pod_are_passed_over() -> None:
    cluster = Cluster(cordoned=1, tainted=2, other=8)
    cluster.nodes["cordoned"]["spec"] = {"unschedulable": True}
    cluster.nodes["tainted"]["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    tolerant = pod("tolerant", tolerations=[{"key": "k", "operator": "Exists"}])
    assert placed(cluster.decide(pod("plain"), tolerant)) == {"plain": "other", "tolerant": "tainted"}


def test_what_is_left_on_a_node_that_is_gone_is_no_room() -> None:
    cluster = Cluster(a=8)
    del cluster.nodes["a"]
    assert placed(cluster.decide(pod("p"))) == {}


@pytest.mark.parametrize(
    ("cluster", "count", "least", "started", "nodes"),
    [
        (Cluster(a=4), 4, 4, 0, ["a"] * 4),
        (Cluster(a=3), 4, 4, 0, []),
        (Cluster(a=2, b=2), 4, 4, 0, ["a", "a", "b", "b"]),
        (Cluster(a=2, b=1), 4, 4, 0, []),
        # More than it needs at least: as many as there is room for.
        (Cluster(a=3), 4, 2, 0, ["a"] * 3),
        (Cluster(a=1), 4, 2, 0, []),
        # Pods that have a node already count.
        (Cluster(a=2), 2, 4, 2, ["a"] * 2),
        (Cluster(a=1), 2, 4, 2, []),
        (Cluster(a=1), 2, 4, 3, ["a"]),
        (Cluster(a=1), 2, 2, 2, ["a"]),
        (Cluster(a=0), 1, 2, 2, []),
    ],
)
def test_a_gang_is_placed_whole_or_not_at_all(
    cluster: Cluster, count: int, least: int, started: int, nodes: list[str]
) -> None:
    decisions = cluster.decide(*gang_of("g", count), gangs={"g": least}, started={"g": started})
    assert [placement.node for placement in decisions.placements] == nodes
    assert len(decisions.placements) + len(decisions.refusals) == count


@pytest.mark.parametrize(
    ("count", "least", "started", "missing"),
    [(3, 4, 0, 1), (1, 4, 0, 3), (1, 4, 1, 2)],
)
def test_a_gang_that_is_not_complete_waits_for_its_pods(count: int, least: int, started: int, missing: int) -> None:
    decisions = Cluster(a=8).decide(*gang_of("g", count), gangs={"g": least}, started={"g": started})
    assert decisions.placements == ()
    assert set(refused(decisions).values()) == {f"waiting for {missing} more pods of pod group g"}


def test_a_gang_that_finds_too_little_room_is_told_why() -> None:
    decisions = Cluster(a=1, b=1).decide(*gang_of("g", 3), gangs={"g": 3})
    assert set(refused(decisions).values()) != {"0/2 nodes are available: no nodes."}


def test_a_gang_without_its_group_waits() -> None:
    decisions = Cluster(a=8).decide(*gang_of("g", 2))
    assert decisions.placements == ()
    assert set(refused(decisions)) == {"g-0", "g-1"}


def test_the_room_that_a_gang_could_not_use_is_given_to_others() -> None:
    decisions = Cluster(a=2, b=1).decide(
        *gang_of("g", 4, created="1"), pod("p", gpus=2, created="2"), pod("q", created="3"), gangs={"g": 4}
    )
    assert placed(decisions) == {"p": "a", "q": "b"}


def test_gangs_of_the_same_name_in_two_namespaces_are_two() -> None:
    import msgspec  # noqa: PLC0415 - used once

    other = msgspec.structs.replace(pod("x", gang="g"), key=("other", "x"), gang=("other", "g"))
    cluster = Cluster(a=8)
    decisions = decide(
        cluster.nodes, cluster.free, [pod("x", gang="g"), other], {("default", "g"): 1, ("other", "g"): 2}, {}
    )
    assert [placement.pod.key for placement in decisions.placements] == [("default", "x")]
    assert [refusal.pod.key for refusal in decisions.refusals] == [("other", "x")]


def test_a_refusal_counts_the_reasons() -> None:
    cluster = Cluster(a=0, b=0, c=8, d=8)
    cluster.nodes["c"]["spec"] = {"unschedulable": True}
    cluster.free["d"]["cpu"] = 0
    decisions = cluster.decide(pod("p"), pod("q", nodeSelector={"zone": "a"}))
    assert refused(decisions) == {
        "p": f"0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, 2 Insufficient {GPU}.",
        "q": (
            "0/4 nodes are available: 1 node(s) were unschedulable, "
            "3 node(s) didn't match Pod's node affinity/selector."
        ),
    }


def test_without_nodes_nothing_is_placed() -> None:
    decisions = Cluster().decide(pod("p"))
    assert decisions.placements == ()
    assert refused(decisions) == {"p": "no nodes available to schedule pods"}


def test_nothing_to_decide_is_nothing_decided() -> None:
    assert Cluster(a=8).decide() == Decisions((), ())


@given(
    free=st.lists(st.integers(min_value=0, max_value=8), max_size=6),
    singles=st.lists(st.integers(min_value=0, max_value=8), max_size=12),
    gangs=st.lists(st.tuples(st.integers(min_value=1, max_value=6), st.integers(min_value=1, max_value=6)), max_size=4),
)
def test_no_node_is_over_committed_and_no_gang_is_torn(
    free: list[int], singles: list[int], gangs: list[tuple[int, int]]
) -> None:
    cluster = Cluster(**{f"n{index}": count for index, count in enumerate(free)})
    pending = [pod(f"s{index}", gpus=gpus) for index, gpus in enumerate(singles)]
    for index, (count, _) in enumerate(gangs):
        pending += gang_of(f"g{index}", count)
    least = {f"g{index}": minimum for index, (_, minimum) in enumerate(gangs)}
    decisions = cluster.decide(*pending, gangs=least)
    used: Counter[str] = Counter()
    members: Counter[str] = Counter()
    for placement in decisions.placements:
        used[placement.node] += placement.pod.needs.gpus
        if placement.pod.gang is not None:
            members[placement.pod.gang[1]] += 1
    assert all(total <= cluster.free[name][GPU] for name, total in used.items())
    assert all(count >= least[name] for name, count in members.items())
    keys = [one.pod.key for one in (*decisions.placements, *decisions.refusals)]
    assert sorted(keys) == sorted(one.key for one in pending)
    # Whoever was refused alone would find no room in what is left.
    for refusal in decisions.refusals:
        if refusal.pod.gang is None:
            assert not any(
                fitting.fits({**cluster.free[name], GPU: cluster.free[name][GPU] - used[name]}, refusal.pod.needs)
                for name in cluster.free
            )
