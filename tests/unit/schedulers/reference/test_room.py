"""Room on nodes, case by case, and against one that is slow and obviously right."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from tests.rooms import SlowRoom, gang, needs, nodes

from kubedyno.kit import randomness
from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.fitting import GPU, Amounts, Needs
from kubedyno.schedulers.reference.jobs import Job, Subgroup, Task
from kubedyno.schedulers.reference.nodes_table import Facts
from kubedyno.schedulers.reference.room import NodesRoom
from kubedyno.schedulers.reference.settings import Placement

pytestmark = pytest.mark.unit

LEVELS = ("zone", "rack", "host")


def room_with(
    allocatable: Mapping[str, Amounts],
    running: Iterable[Task] = (),
    *,
    labels: Mapping[str, Mapping[str, str]] | None = None,
    taints: Mapping[str, Sequence[Mapping[str, str]]] | None = None,
    cordoned: Iterable[str] = (),
    placement: Placement = "binpack",
) -> NodesRoom:
    room = NodesRoom(placement)
    room.topologies["t"] = LEVELS
    for name, amounts in allocatable.items():
        written = msgspec.json.encode((taints or {}).get(name, []))
        room.put_node(name, Facts((labels or {}).get(name, {}), written, name in cordoned, amounts))
    for task in running:
        room.packing.hold(task.uid, task.needs, task.node or "")
    return room


def facts(labels: dict[str, str], amounts: Amounts, *, cordoned: bool = False) -> Facts:
    return Facts(labels, b"[]", cordoned, amounts)


def cluster(**gpus: int) -> dict[str, Amounts]:
    return {name: {**nodes(1)["n000"], GPU: count * 1000} for name, count in gpus.items()}


def placed(room: NodesRoom | SlowRoom, job: Job) -> list[str]:
    return [node for _, node in room.place(job)]


def picky(job: Job, **wishes: Any) -> Job:
    """The job with other needs."""
    tasks = tuple(
        msgspec.structs.replace(task, needs=msgspec.structs.replace(task.needs, **wishes)) for task in job.pending
    )
    return msgspec.structs.replace(job, pending=tasks)


@pytest.mark.parametrize(
    ("free", "gpus", "expected"),
    [
        # The node with the fewest GPUs left that are enough.
        ({"a": 8, "b": 2, "c": 5}, [1], ["b"]),
        ({"a": 8, "b": 2, "c": 5}, [3], ["c"]),
        ({"a": 8, "b": 2, "c": 5}, [8], ["a"]),
        # It is filled up before the next one is begun.
        ({"a": 8, "b": 2, "c": 5}, [1, 1, 1, 1], ["b", "b", "c", "c"]),
        ({"a": 2, "b": 2, "c": 2}, [1, 1, 1, 1, 1], ["a", "a", "b", "b", "c"]),
        # Equal nodes by name.
        ({"c": 4, "a": 4, "b": 4}, [4, 4, 4], ["a", "b", "c"]),
        # What others took is seen, whatever they asked for.
        ({"a": 1, "b": 8}, [2, 1], ["b", "a"]),
        ({"a": 8, "b": 6}, [8, 4, 1, 2], ["a", "b", "b", ""]),
        ({"a": 4, "b": 5}, [3, 4, 1, 1], ["a", "b", "a", "b"]),
    ],
)
def test_pods_are_packed_onto_as_few_nodes_as_can_be(
    free: dict[str, int], gpus: list[int], expected: list[str]
) -> None:
    room = room_with(cluster(**free))
    found = [placed(room, gang(f"p{index}", gpus=count)) for index, count in enumerate(gpus)]
    assert [one[0] if one else "" for one in found] == expected


@pytest.mark.parametrize(
    ("free", "gpus", "expected"),
    [
        ({"a": 8, "b": 2, "c": 5}, [1, 1], ["a", "a"]),
        ({"a": 4, "b": 4, "c": 4}, [1, 1, 1, 1], ["a", "b", "c", "a"]),
        ({"a": 4, "b": 4}, [2, 4, 2], ["a", "b", "a"]),
    ],
)
def test_pods_are_spread_where_that_is_wanted(free: dict[str, int], gpus: list[int], expected: list[str]) -> None:
    room = room_with(cluster(**free), placement="spread")
    found = [placed(room, gang(f"p{index}", gpus=count)) for index, count in enumerate(gpus)]
    assert [one[0] for one in found] == expected


@pytest.mark.parametrize("pods", [3, 20])
def test_gangs_are_spread_alike_however_many_they_are(pods: int) -> None:
    room = room_with(cluster(a=8, b=8, c=8), placement="spread")
    counts = {name: placed(room, gang("g", pods=pods)).count(name) for name in "a"}
    room.back(0)
    found = placed(room, gang("g", pods=pods))
    assert max(map(found.count, "abc")) - min(map(found.count, "abc")) <= 1
    assert counts["a"] == found.count("a")


def test_of_nodes_with_equal_gpus_the_one_with_the_least_cpu_is_taken() -> None:
    free = cluster(a=4, b=4)
    free["b"]["cpu"] = 2000
    assert placed(room_with(free), gang("p")) == ["b"]


@pytest.mark.parametrize(
    ("free", "count", "least", "started", "expected"),
    [
        ({"a": 4}, 4, 4, 0, ["a"] * 4),
        ({"a": 3}, 4, 4, 0, []),
        ({"a": 2, "b": 2}, 4, 4, 0, ["a", "a", "b", "b"]),
        ({"a": 2, "b": 1}, 4, 4, 0, []),
        # More than it needs at least: as many as there is room for.
        ({"a": 3}, 4, 2, 0, ["a"] * 3),
        ({"a": 1}, 4, 2, 0, []),
        # Pods that have a node already count.
        ({"a": 2}, 4, 4, 2, ["a"] * 2),
        ({"a": 1}, 4, 4, 2, []),
        ({"a": 1}, 5, 4, 3, ["a"]),
        ({"a": 1}, 4, 2, 2, ["a"]),
        ({"a": 0}, 3, 2, 2, []),
        # Fewer than it needs: none.
        ({"a": 8}, 3, 4, 0, []),
    ],
)
def test_a_gang_is_placed_whole_or_not_at_all(
    free: dict[str, int], count: int, least: int, started: int, expected: list[str]
) -> None:
    room = room_with(cluster(**free))
    job = gang("g", pods=count, least=least, on=["elsewhere"] * started)
    before = room.table.free.copy()
    assert placed(room, job) == expected
    if not expected:
        assert (room.table.free == before).all(), "nothing was taken"


def test_nodes_that_do_not_admit_a_pod_are_passed_over() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    room = room_with(
        cluster(cordoned=1, tainted=2, zoned=5, other=8),
        taints={"tainted": [taint]},
        cordoned=["cordoned"],
        labels={"zoned": {"zone": "z"}},
    )
    tolerant = msgspec.json.encode([{"key": "k", "operator": "Exists"}])
    assert placed(room, gang("plain")) == ["zoned"]
    assert placed(room, picky(gang("tolerant"), tolerations=tolerant)) == ["tainted"]
    elsewhere = {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["z"]}]}
    term = msgspec.json.encode({"nodeSelectorTerms": [elsewhere]})
    assert placed(room, picky(gang("elsewhere"), affinity=term)) == ["other"]
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}
    term = msgspec.json.encode({"nodeSelectorTerms": [named]})
    assert placed(room, picky(gang("named"), affinity=term)) == ["other"]
    assert placed(room, picky(gang("volume"), volumes=(term,))) == ["other"]
    assert placed(room, picky(gang("lost"), selector=(("zone", "nowhere"),))) == []


def test_a_node_that_changes_is_seen_as_it_is_now() -> None:
    room = room_with(cluster(a=8, b=8), labels={"a": {"zone": "1"}})
    inside = picky(gang("p", gpus=4), selector=(("zone", "1"),))
    assert placed(room, inside) == ["a"]
    room.back(0)
    amounts = cluster(a=8)["a"]
    room.put_node("a", facts({"zone": "2"}, amounts))
    room.put_node("b", facts({"zone": "1"}, amounts))
    assert placed(room, inside) == ["b"]
    room.back(0)
    room.put_node("b", facts({"zone": "1"}, amounts, cordoned=True))
    assert placed(room, inside) == []
    room.put_node("c", facts({"zone": "1"}, {**amounts, GPU: 3000}))
    assert placed(room, inside) == []
    room.put_node("c", facts({"zone": "1"}, amounts))
    assert placed(room, inside) == ["c"]
    room.back(0)
    room.drop_node("c")
    assert placed(room, inside) == []


def test_pods_hold_their_room_whenever_their_node_comes() -> None:
    room = NodesRoom()
    room.packing.hold("early", needs(6), "a")
    room.put_node("a", facts({}, cluster(a=8)["a"]))
    assert placed(room, gang("p", gpus=4)) == []
    room.drop_node("a")
    assert placed(room, gang("p", gpus=1)) == []
    room.put_node("a", facts({}, cluster(a=8)["a"]))
    assert placed(room, gang("p", gpus=4)) == []
    room.packing.release("early")
    assert placed(room, gang("p", gpus=8)) == ["a"]


def test_many_nodes_come_and_go_and_slots_are_used_again() -> None:
    room = room_with(nodes(300))
    for index in range(0, 300, 2):
        room.drop_node(f"n{index:03}")
    for name, amounts in nodes(100, prefix="m").items():
        room.put_node(name, facts({}, amounts))
    assert len(room.table) == 250
    found = placed(room, gang("g", pods=250, gpus=8))
    assert len(set(found)) == 250
    assert room.capacity()["gpu"] == 2000


@pytest.mark.parametrize("later", [False, True])
def test_reasons_are_counted_in_kube_schedulers_words(later: bool) -> None:
    free = cluster(a=0, b=0, c=8, d=8)
    free["d"]["cpu"] = 0
    room = room_with(free, cordoned=["c"])
    if later:
        assert placed(room, gang("first")) == []
    assert room.why_not(gang("p")) == (
        f"0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, 2 Insufficient {GPU}."
    )
    assert room.why_not(picky(gang("q"), selector=(("zone", "a"),))) == (
        "0/4 nodes are available: 1 node(s) were unschedulable, 3 node(s) didn't match Pod's node affinity/selector."
    )
    assert room_with({}).why_not(gang("p")) == "no nodes available to schedule pods"


def test_gangs_are_told_how_many_would_fit() -> None:
    room = room_with(cluster(a=8, b=7))
    assert room.why_not(gang("g", pods=3, gpus=8)) == (
        "Resources were found for 1 pods while 3 are required for gang scheduling: "
        f"0/2 nodes are available: 1 Insufficient {GPU}."
    )


# Closeness.


def tree(racks: Mapping[str, Sequence[int]]) -> tuple[dict[str, Amounts], dict[str, dict[str, str]]]:
    """Nodes by rack (`zone/rack`) with the GPUs that are free on each."""
    free: dict[str, Amounts] = {}
    labels: dict[str, dict[str, str]] = {}
    for rack, gpus in racks.items():
        for index, count in enumerate(gpus):
            name = f"{rack.replace('/', '-')}-{index}"
            free |= cluster(**{name: count})
            labels[name] = {"zone": rack.partition("/")[0], "rack": rack.partition("/")[2], "host": name}
    return free, labels


def racks_of(found: Iterable[str]) -> list[str]:
    return sorted({name.rpartition("-")[0] for name in found})


@pytest.mark.parametrize(
    ("racks", "pods", "gpus", "wish", "expected"),
    [
        # The fullest rack that has room for all.
        ({"z/a": [8, 8, 8], "z/b": [8, 8], "z/c": [8]}, 2, 8, {"required": "rack"}, ["z-b"]),
        ({"z/a": [8, 8, 8], "z/b": [8, 8], "z/c": [8]}, 3, 8, {"required": "rack"}, ["z-a"]),
        ({"z/a": [8, 8, 8], "z/b": [8, 8], "z/c": [8]}, 4, 8, {"required": "rack"}, []),
        # GPUs on several nodes are no room for a pod that needs more than each has.
        ({"z/a": [4, 4, 4, 4], "z/b": [8]}, 1, 8, {"required": "rack"}, ["z-b"]),
        ({"z/a": [4, 4, 4, 4], "z/b": [8]}, 2, 8, {"required": "rack"}, []),
        ({"y/a": [8], "y/b": [8], "z/a": [8]}, 2, 8, {"required": "zone"}, ["y-a", "y-b"]),
        # Racks of the same name in two zones are two.
        ({"y/a": [8], "z/a": [8]}, 2, 8, {"required": "rack"}, []),
        # One rack if any has room, however full others are.
        ({"z/a": [8, 8], "z/b": [8, 8, 8]}, 3, 8, {"preferred": "rack"}, ["z-b"]),
        ({"z/a": [8, 8], "z/b": [8, 8]}, 2, 8, {"preferred": "rack"}, ["z-a"]),
        # Else one zone, and as few racks of it as can be.
        ({"y/a": [8], "y/b": [8], "y/c": [8], "z/a": [8, 8], "z/b": [8]}, 3, 8, {"preferred": "rack"}, ["z-a", "z-b"]),
        # Else as few racks as can be anywhere.
        (
            {"y/a": [8], "y/b": [8, 8], "z/a": [8, 8], "z/b": [8]},
            4,
            8,
            {"preferred": "rack"},
            ["y-b", "z-a"],
        ),
        # Required and preferred together.
        (
            {"y/a": [8], "y/b": [8], "z/a": [8, 8], "z/b": [8, 8]},
            2,
            8,
            {"required": "zone", "preferred": "rack"},
            ["z-a"],
        ),
        ({"z/a": [4, 8], "z/b": [8, 4]}, 2, 4, {"required": "rack", "preferred": "host"}, ["z-a"]),
    ],
)
def test_gangs_are_as_close_as_they_ask(
    racks: dict[str, list[int]], pods: int, gpus: int, wish: dict[str, str], expected: list[str]
) -> None:
    free, labels = tree(racks)
    room = room_with(free, labels=labels)
    job = gang("g", pods=pods, gpus=gpus, closeness=Closeness(topology="t", **wish))
    if wish == {"required": "zone"} and expected:
        assert {name.partition("-")[0] for name in placed(room, job)} in ({"y"}, {"z"})
    else:
        assert racks_of(placed(room, job)) == expected


def test_what_joins_a_gang_goes_where_it_runs() -> None:
    free, labels = tree({"z/a": [8, 8], "z/b": [8, 8, 8, 8]})
    wish = Closeness(topology="t", required="rack")
    running = gang("g", pods=3, least=1, on=["z-b-0"], gpus=8, closeness=wish)
    room = room_with(free, running.running, labels=labels)
    assert racks_of(placed(room, running)) == ["z-b"]


def test_an_elastic_gang_takes_the_domain_with_room_for_most() -> None:
    free, labels = tree({"z/a": [8, 8], "z/b": [8, 8, 8], "z/c": [8]})
    wish = Closeness(topology="t", required="rack")
    room = room_with(free, labels=labels)
    assert racks_of(placed(room, gang("g", pods=5, least=2, gpus=8, closeness=wish))) == ["z-b"]
    assert racks_of(placed(room, gang("h", pods=5, least=2, gpus=8, closeness=wish))) == ["z-a"]
    assert placed(room, gang("i", pods=5, least=2, gpus=8, closeness=wish)) == []


def test_sub_groups_have_their_own_closeness_within_that_of_the_job() -> None:
    free, labels = tree({"y/a": [8, 8], "y/b": [8, 8], "z/a": [8, 8], "z/b": [8, 8, 8]})
    rack = Closeness(topology="t", required="rack")
    job = gang("g", gpus=8, groups={"big": 3, "small": 2}, closeness=Closeness(topology="t", required="zone"))
    job = msgspec.structs.replace(job, groups=(Subgroup("big", 3, rack), Subgroup("small", 2, rack)))
    room = room_with(free, labels=labels)
    found = room.place(job)
    by_group: dict[str, set[str]] = {}
    for task, node in found:
        by_group.setdefault(task.group, set()).add(node.rpartition("-")[0])
    assert by_group == {"big": {"z-b"}, "small": {"z-a"}}


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        (Closeness(topology="lost", required="rack"), "topology lost does not exist"),
        (
            Closeness(topology="t", required="row"),
            "topology t has no level row: its levels are zone, rack, host",
        ),
        (
            Closeness(topology="t", required="rack"),
            "No domain of level rack has room for 3 pods: of 2 the one with most room takes 2",
        ),
    ],
)
def test_what_cannot_be_close_enough_is_told_why(wish: Closeness, said: str) -> None:
    free, labels = tree({"z/a": [8, 8], "z/b": [8]})
    room = room_with(free, labels=labels)
    job = gang("g", pods=3, gpus=8, closeness=wish)
    assert placed(room, job) == []
    assert room.why_not(job) == said


def test_native_groups_name_a_label_without_a_topology() -> None:
    free, labels = tree({"z/a": [8, 8], "z/b": [8]})
    room = room_with(free, labels=labels)
    assert racks_of(placed(room, gang("g", pods=2, gpus=8, closeness=Closeness(topology="", required="rack")))) == [
        "z-a"
    ]


# Leaving.


def test_room_that_others_are_leaving_is_given_away_last() -> None:
    old = gang("old", gpus=8, on=["a"])
    room = room_with(cluster(a=8, b=8), old.running)
    room.packing.leave("old-0")
    assert placed(room, gang("first", gpus=8)) == ["b"]
    assert placed(room, gang("second", gpus=8)) == ["a"]
    assert placed(room, gang("third", gpus=1)) == []


def test_reserved_room_is_there_when_all_of_it_is_free() -> None:
    old = gang("old", pods=2, gpus=4, on=["a", "b"])
    room = room_with(cluster(a=4, b=4), old.running)
    packing = room.packing
    packing.leave("old-0")
    packing.leave("old-1")
    packing.hold("new-0", needs(4), "a", waiting=True)
    packing.hold("new-1", needs(4), "b", waiting=True)
    assert not packing.are_there(["new-0", "new-1"])
    assert placed(room, gang("other")) == [], "it is reserved"
    packing.release("old-0")
    assert not packing.are_there(["new-0", "new-1"])
    assert placed(room, gang("other")) == []
    packing.release("old-1")
    assert packing.are_there(["new-0", "new-1"])
    packing.release("new-0")
    assert placed(room, gang("other", gpus=4)) == ["a"]


def test_of_two_that_wait_for_one_node_the_one_gets_it_whose_room_is_free() -> None:
    old = gang("old", pods=2, gpus=4, on=["a", "a"])
    room = room_with(cluster(a=8), old.running)
    packing = room.packing
    for uid in ("old-0", "old-1"):
        packing.leave(uid)
    packing.hold("x", needs(4), "a", waiting=True)
    packing.hold("y", needs(4), "a", waiting=True)
    packing.release("old-1")
    assert packing.are_there(["x"])
    assert not packing.are_there(["y"])
    packing.release("old-0")
    assert packing.are_there(["y"])


def test_a_victim_gets_its_room_back_unless_it_was_given_away() -> None:
    old = gang("old", pods=2, gpus=4, on=["a", "a"])
    room = room_with(cluster(a=8), old.running)
    first, second = old.running
    room.evict(first)
    room.evict(second)
    assert room.takes(gang("p", gpus=4).pending[0], "a") == 2
    assert placed(room, gang("new", gpus=4)) == ["a"]
    assert room.restore(second)
    assert not room.restore(first)
    assert room.takes(gang("p", gpus=1).pending[0], "a") == 0
    room.back(0)
    assert room.takes(gang("p", gpus=1).pending[0], "a") == 0
    assert not room.packing.going


# Shared GPUs.


def part(fraction: int = 0, *, memory: int = 0) -> Needs:
    requests = (("cpu", 1000), ("pods", 1000))
    return Needs(requests, (), b"", b"[]", fraction=fraction, gpu_memory=memory)


def parts(name: str, count: int, asks: Needs, least: int | None = None) -> Job:
    tasks = tuple(Task(("default", f"{name}-{i}"), f"{name}-{i}", asks) for i in range(count))
    job = gang(name, pods=count, least=least)
    return msgspec.structs.replace(job, pending=tasks)


def test_parts_of_gpus_share_them_and_none_is_given_twice() -> None:
    room = room_with(cluster(a=2))
    for index, fraction in enumerate([500, 300, 600, 200, 400, 100]):
        room.place(parts(f"p{index}", 1, part(fraction)))
    held = room.packing.tried
    groups: dict[str, int] = {}
    for one in held.values():
        groups[one.group] = groups.get(one.group, 0) + one.part
    assert sorted(groups.values()) == [1000, 1000]
    assert len(held) == 5, "the last found nothing left"
    assert placed(room, gang("whole")) == []
    room.back(0)
    assert not room.packing.shared.groups
    assert placed(room, gang("whole", gpus=2)) == ["a"]


def test_whole_gpus_and_parts_do_not_overlap() -> None:
    room = room_with(cluster(a=2, b=1))
    assert placed(room, parts("p", 1, part(500))) == ["b"]
    assert placed(room, gang("whole", gpus=2)) == ["a"]
    assert placed(room, parts("q", 2, part(500))) == []
    assert placed(room, parts("r", 2, part(500), least=1)) == ["b"]


def test_memory_of_a_gpu_is_a_part_of_it_that_depends_on_the_node() -> None:
    labels = {"a": {"nvidia.com/gpu.memory": "40000"}, "b": {"nvidia.com/gpu.memory": "80000"}}
    room = room_with(cluster(a=1, b=1, c=1), labels=labels)
    found = [placed(room, parts(f"p{index}", 1, part(memory=30_000))) for index in range(4)]
    assert found == [["a"], ["b"], ["b"], []]


def test_a_shared_gpu_is_free_again_when_the_last_has_left() -> None:
    room = room_with(cluster(a=1))
    packing = room.packing
    packing.hold("x", part(500), "a", group="g")
    packing.hold("y", part(500), "a", group="g")
    packing.release("x")
    assert placed(room, gang("whole")) == []
    room.packing.leave("y")
    assert placed(room, gang("whole")) == ["a"], "it will be"
    room.back(0)
    packing.release("y")
    assert placed(room, gang("whole")) == ["a"]


# Against the slow one.


def _random_cluster(rng: random.Random) -> tuple[dict[str, Amounts], dict[str, dict[str, str]], list[Job]]:
    free, labels = tree(
        {f"z{zone}/r{rack}": [8] * rng.randint(1, 3) for zone in range(2) for rack in range(rng.randint(1, 3))}
    )
    jobs: list[Job] = []
    slow = SlowRoom(free, labels=labels)
    for index in range(rng.randint(0, 10)):
        name = rng.choice(list(free))
        gpus = rng.choice([1, 2, 4, 8])
        if slow.takes(Task(("", ""), "", needs(gpus)), name):
            job = gang(f"r{index}", gpus=gpus, on=[name])
            slow = SlowRoom(free, [task for one in [*jobs, job] for task in one.running], labels=labels)
            jobs.append(job)
    return free, labels, jobs


@pytest.mark.parametrize("seed", range(60))
def test_both_rooms_agree_on_whom_they_place_and_where(seed: int) -> None:
    rng = randomness.stream(seed, "rooms")
    placement: Placement = rng.choice(["binpack", "spread"])
    free, labels, jobs = _random_cluster(rng)
    running = [task for job in jobs for task in job.running]
    fast = room_with(free, running, labels=labels, placement=placement)
    slow = SlowRoom(free, running, labels=labels, spread=placement == "spread")
    marks: list[tuple[int, int]] = []
    for index in range(30):
        pods = rng.choice([1, 1, 1, 2, 3, 12])
        job = gang(f"j{index}", pods=pods, gpus=rng.choice([1, 2, 3, 8]), least=rng.randint(1, pods))
        if rng.random() < 0.2:
            marks.append((fast.mark(), slow.mark()))
        if marks and rng.random() < 0.2:
            mark, theirs_mark = marks.pop(rng.randrange(len(marks)))
            marks = [pair for pair in marks if pair[0] <= mark and pair[1] < theirs_mark]
            fast.back(mark)
            slow.back(theirs_mark)
        ours, theirs = fast.place(job), slow.place(job)
        assert {task.uid for task, _ in ours} == {task.uid for task, _ in theirs}
        assert sorted(node for _, node in ours) == sorted(node for _, node in theirs)


@pytest.mark.parametrize("seed", range(40))
def test_both_rooms_agree_on_what_can_be_close(seed: int) -> None:
    rng = randomness.stream(seed, "rooms")
    free, labels, jobs = _random_cluster(rng)
    running = [task for job in jobs for task in job.running]
    for index in range(10):
        level = rng.choice(LEVELS)
        wish = Closeness(topology="t", **{rng.choice(["required", "preferred"]): level})
        pods = rng.randint(1, 6)
        job = gang(f"j{index}", pods=pods, gpus=rng.choice([1, 2, 4, 8]), closeness=wish)
        fast = room_with(free, running, labels=labels)
        slow = SlowRoom(
            free, running, labels={name: {**one, "rack": one["zone"] + one["rack"]} for name, one in labels.items()}
        )
        ours, theirs = placed(fast, job), placed(slow, job)
        assert len(ours) == len(theirs)
        if wish.required and ours:
            key = {"zone": 1, "rack": 2, "host": 3}[level]
            assert len({tuple(name.split("-")[:key]) for name in ours}) == 1
        if wish.preferred and ours:
            key = {"zone": 1, "rack": 2, "host": 3}[level]
            domains = [len({tuple(name.split("-")[:key]) for name in found}) for found in (ours, theirs)]
            assert domains[0] <= domains[1]


@pytest.mark.parametrize("seed", range(40))
def test_both_rooms_agree_on_room_that_victims_make(seed: int) -> None:
    rng = randomness.stream(seed, "rooms")
    free, labels, jobs = _random_cluster(rng)
    running = [task for job in jobs for task in job.running]
    fast, slow = room_with(free, running, labels=labels), SlowRoom(free, running, labels=labels)
    victims = rng.sample(running, k=rng.randint(0, len(running)))
    for task in victims:
        fast.evict(task)
        slow.evict(task)
    for name in free:
        one = gang("x", gpus=rng.choice([1, 3, 8])).pending[0]
        assert fast.takes(one, name) == slow.takes(one, name)
    pods = rng.randint(1, 8)
    job = gang("new", pods=pods, gpus=rng.choice([1, 2, 4, 8]))
    ours, theirs = fast.place(job), slow.place(job)
    assert len(ours) == len(theirs)
    fast.back(0)
    fresh = room_with(free, running, labels=labels)
    for name in free:
        assert fast.takes(one, name) == fresh.takes(one, name)
