"""Zones and pods together: where pods are put, what is taken off for them, and when exporters have caught up."""

import msgspec
import pytest
from tests.rooms import CAPACITY_PER_NODE, gang, nodes
from tests.unit.schedulers.reference.test_aligning import (
    GIB,
    as_pod,
    exported,
    filled,
    random_node,
    random_spec,
    spec_of,
)
from tests.unit.schedulers.reference.worlds_of_scheduling import World, node, played, quota

from kubedyno.kit import randomness
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES, PODS
from kubedyno.model.numa import admission
from kubedyno.model.numa.admission import Admitted, Scope
from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.model.numa.merging import Policy
from kubedyno.model.workloads import Workload
from kubedyno.schedulers.reference.fitting import GPU, Amounts, Needs, needs_of
from kubedyno.schedulers.reference.jobs import Job, Task
from kubedyno.schedulers.reference.nodes_table import Facts
from kubedyno.schedulers.reference.room import NodesRoom
from kubedyno.schedulers.reference.zones import Report, Zones

pytestmark = pytest.mark.unit

NRT = NODE_RESOURCE_TOPOLOGIES[0]


def zones(*free: int, policy: Policy = Policy.SINGLE_NUMA_NODE, scope: Scope = Scope.CONTAINER) -> Zones:
    """Zones of 8 CPUs with so many free."""
    rows, left = ((8000,),) * len(free), tuple((1000 * one,) for one in free)
    return Zones(policy, scope, ("cpu",), rows, rows, left)


def room_with(**free: tuple[int, ...] | None) -> NodesRoom:
    """Nodes of 32 CPUs; those with zones have so many free in each."""
    room = NodesRoom()
    for name, left in free.items():
        room.put_node(name, plain(nodes(1)["n000"]))
        if left is not None:
            room.packing.put_zones(name, Report(zones(*left), "1"))
    return room


def plain(amounts: Amounts) -> Facts:
    return Facts({}, b"[]", unschedulable=False, allocatable={**CAPACITY_PER_NODE, **amounts})


def cpus(count: int) -> Needs:
    return needs_of({"metadata": {}, "spec": spec_of({"cpu": count, "memory": GIB})})


def job(name: str, count: int, *, pods: int = 1, least: int | None = None, on: list[str] | None = None) -> Job:
    """A gang of pods with whole CPUs."""
    made = gang(name, pods=pods, least=least, on=on or [])
    own = {"needs": cpus(count)}
    return msgspec.structs.replace(
        made,
        pending=tuple(msgspec.structs.replace(one, **own) for one in made.pending),
        running=tuple(msgspec.structs.replace(one, **own) for one in made.running),
    )


def placed(room: NodesRoom, wanted: Job) -> list[str]:
    return [name for _, name in room.place(wanted)]


def held(room: NodesRoom, wanted: Job) -> tuple[Task, ...]:
    """Let running tasks have their nodes, as pods that are in the report."""
    for task in wanted.running:
        room.packing.hold(task.uid, task.needs, task.node or "", key=task.key, is_running=True)
    return wanted.running


def test_pods_go_where_one_zone_has_enough_and_are_told_where_none_has() -> None:
    room = room_with(a=(4, 4), b=(3, 6), plain=None)
    room.drop_node("plain")
    assert placed(room, job("six", 6)) == ["b"]
    assert placed(room, job("five", 5)) == []
    assert room.why_not(job("five", 5)) == "0/2 nodes are available: 2 cannot align container."
    room.packing.put_zones("a", Report(zones(4, 4, scope=Scope.POD), "2"))
    assert room.why_not(job("five", 5)) == ("0/2 nodes are available: 1 cannot align container, 1 cannot align pod.")
    room.put_node("plain", plain(nodes(1)["n000"]))
    assert placed(room, job("five", 5)) == ["plain"]


def test_of_nodes_that_are_equal_otherwise_the_tightest_zone_is_filled() -> None:
    room = room_with(a=(8, 8), b=(8, 5), c=(6, 8))
    assert [placed(room, job(f"p{index}", 5)) for index in range(3)] == [["b"], ["c"], ["a"]]


def test_a_node_is_believed_again_when_its_zones_are_gone() -> None:
    room = room_with(a=(1, 1))
    assert placed(room, job("p", 5)) == []
    room.packing.put_zones("a", None)
    assert placed(room, job("p", 5)) == ["a"]


def test_what_was_placed_is_taken_off_every_zone_and_given_back() -> None:
    room = room_with(a=(8, 8))
    assert placed(room, job("one", 5)) == ["a"]
    assert placed(room, job("two", 5)) == [], "nobody knows which zone the first is on"
    assert placed(room, job("three", 3)) == ["a"]
    room.back(0)
    assert placed(room, job("four", 8)) == ["a"]


@pytest.mark.parametrize("pods", [3, 30])
def test_gangs_get_no_more_places_than_zones_have(pods: int) -> None:
    room = room_with(a=(8, 8), b=(4, 2), c=(0, 0))
    assert sorted(placed(room, job("g", 4, pods=pods, least=3))) == ["a", "a", "b"]
    room.back(0)
    assert placed(room, job("g", 4, pods=4)) == []
    assert "cannot align container" in room.why_not(job("h", 8, pods=4))


def test_a_pod_takes_the_place_of_one_like_it_and_that_one_cannot_have_it_back() -> None:
    room = room_with(a=(0, 0))
    first, second = held(room, job("old", 4, pods=2, on=["a", "a"]))
    new = job("new", 4)
    assert placed(room, new) == []
    room.evict(first)
    assert room.takes(new.pending[0], "a") == 1
    assert placed(room, new) == ["a"]
    assert placed(room, job("more", 4)) == []
    room.evict(second)
    assert room.restore(second)
    assert not room.restore(first)
    room.back(0)
    assert room.takes(new.pending[0], "a") == 0


def test_a_larger_pod_waits_until_enough_others_go() -> None:
    room = room_with(a=(0, 0))
    old = held(room, job("old", 4, pods=4, on=["a"] * 4))
    new = job("new", 8)
    for task in old[:3]:
        room.evict(task)
        assert room.takes(new.pending[0], "a") == 0, "those that stay may be on different zones"
    room.evict(old[3])
    assert room.takes(new.pending[0], "a") == 1
    assert placed(room, new) == ["a"]
    assert not any(room.restore(task) for task in old)


def test_a_report_that_names_all_pods_replaces_what_was_taken_off() -> None:
    room = room_with(a=(8, 8))
    packing = room.packing
    one = packing.hold("one", cpus(5), "a")
    assert placed(room, job("p", 5)) == []
    assert not packing.is_heard_of(one, ("default", "one"), is_running=False)
    packing.put_zones("a", Report(zones(3, 8), "2", fingerprint([("default", "other")])))
    assert placed(room, job("p", 5)) == []
    packing.put_zones("a", Report(zones(3, 8), "3", fingerprint([("default", "one")])))
    assert placed(room, job("p", 5)) == ["a"]


def test_pods_that_hold_nothing_may_be_missing_in_a_fingerprint_of_those_that_do() -> None:
    room = room_with(a=(8, 8))
    light = needs_of({"metadata": {}, "spec": spec_of({"cpu": "100m"}, equal=False)})
    for name, needs in (("one", cpus(5)), ("light", light)):
        room.packing.hold(name, needs, "a", key=("default", name))
    room.packing.put_zones("a", Report(zones(3, 8), "2", fingerprint([("default", "one")])))
    assert placed(room, job("p", 5)) == []
    room.packing.put_zones("a", Report(zones(3, 8), "3", fingerprint([("default", "one")]), only_exclusive=True))
    assert placed(room, job("p", 5)) == ["a"]


def test_without_a_fingerprint_a_newer_report_is_believed_of_pods_that_run() -> None:
    room = room_with(a=(8, 8))
    packing = room.packing
    one = packing.hold("one", cpus(5), "a")
    packing.put_zones("a", Report(zones(8, 8), "2"))
    assert placed(room, job("p", 5)) == []
    assert packing.is_heard_of(one, ("default", "one"), is_running=True)
    assert placed(room, job("p", 5)) == ["a"]
    room.back(0)
    packing.hold("two", cpus(5), "a")
    two = packing.held["two"]
    packing.is_heard_of(two, ("default", "two"), is_running=True)
    assert placed(room, job("p", 5)) == [], "the report is older than the pod"
    packing.put_zones("a", Report(zones(3, 8), "3"))
    assert placed(room, job("p", 5)) == ["a"]


def test_a_pod_that_ends_is_not_taken_off_any_more() -> None:
    room = room_with(a=(8, 8))
    room.packing.hold("one", cpus(5), "a")
    assert placed(room, job("p", 5)) == []
    room.packing.release("one")
    assert placed(room, job("p", 5)) == ["a"]


def test_the_place_of_a_pod_that_went_is_given_but_once() -> None:
    room = room_with(a=(0, 0))
    (old,) = held(room, job("old", 4, on=["a"]))
    packing = room.packing
    packing.leave(old.uid)
    new = packing.hold("new", cpus(4), "a", waiting=True)
    assert placed(room, job("more", 4)) == []
    packing.release(old.uid)
    packing.is_heard_of(new, ("default", "new"), is_running=True)
    packing.put_zones("a", Report(zones(0, 0), "2"))
    assert placed(room, job("more", 4)) == []
    packing.leave("new")
    assert placed(room, job("more", 4)) == ["a"]


@pytest.mark.parametrize("seed", range(15))
def test_whatever_is_placed_on_nodes_with_zones_is_admitted_there(seed: int) -> None:
    """Singles, gangs and second thoughts on random nodes; then the kubelets decide, in any order."""
    rng = randomness.stream(seed, "zones of rooms")
    kubelets = {f"n{index}": random_node(rng, Policy.SINGLE_NUMA_NODE) for index in range(4)}
    ledgers = {name: filled(rng, one, rng.randint(0, 3)) for name, one in kubelets.items()}
    room = NodesRoom(rng.choice(["binpack", "spread"]))
    for name, one in kubelets.items():
        room.put_node(name, plain(dict.fromkeys((*one.plugins, *one.machine.memory[0]), 10**15)))
        room.packing.put_zones(name, Report(exported(one, ledgers[name]), "1"))
    before = {name: room.packing.zones.left(name) for name in kubelets}
    specs: dict[str, Object] = {}
    found: dict[str, str] = {}
    for index in range(15):
        spec = random_spec(rng, kubelets["n0"], many=True, init=rng.random() < 0.3)
        made = gang(f"j{index}", pods=rng.choice([1, 1, 3, 12]), least=1)
        needs = needs_of({"metadata": {}, "spec": spec})
        own = tuple(msgspec.structs.replace(task, needs=needs) for task in made.pending)
        mark = room.mark()
        got = room.place(msgspec.structs.replace(made, pending=own))
        if rng.random() < 0.3:
            room.back(mark)
            continue
        specs |= {task.uid: spec for task in own}
        found |= {task.uid: name for task, name in got}
    arriving = list(found)
    rng.shuffle(arriving)
    assert arriving
    for uid in arriving:
        name = found[uid]
        outcome = admission.admit(kubelets[name], ledgers[name], as_pod(uid, specs[uid]))
        assert isinstance(outcome, Admitted), (uid, specs[uid])
        ledgers[name] = outcome.ledger
    room.back(0)
    assert before == {name: room.packing.zones.left(name) for name in kubelets}


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_given_the_place_of_others_is_admitted_when_they_have_left(seed: int) -> None:
    rng = randomness.stream(seed, "places on zones")
    kubelet = random_node(rng, Policy.SINGLE_NUMA_NODE)
    ledger = admission.empty(kubelet)
    room = NodesRoom()
    room.put_node("n", plain(dict.fromkeys((*kubelet.plugins, *kubelet.machine.memory[0]), 10**15)))
    running: list[Task] = []
    for index in range(8):
        spec = random_spec(rng, kubelet, many=False, init=False)
        outcome = admission.admit(kubelet, ledger, as_pod(f"old-{index}", spec))
        if isinstance(outcome, Admitted):
            ledger = outcome.ledger
            needs = needs_of({"metadata": {}, "spec": spec})
            running.append(Task(("default", f"old-{index}"), f"old-{index}", needs, node="n"))
    for task in running:
        room.packing.hold(task.uid, task.needs, "n", key=task.key, is_running=True)
    room.packing.put_zones("n", Report(exported(kubelet, ledger), "1"))
    gone = rng.sample(running, k=rng.randint(1, len(running)))
    for task in gone:
        room.evict(task)
    specs: dict[str, Object] = {}
    for index in range(6):
        spec = random_spec(rng, kubelet, many=False, init=False)
        made = gang(f"new{index}", pods=1)
        own = tuple(
            msgspec.structs.replace(task, needs=needs_of({"metadata": {}, "spec": spec})) for task in made.pending
        )
        specs |= {task.uid: spec for task, _ in room.place(msgspec.structs.replace(made, pending=own))}
    gone = [task for task in gone if not room.restore(task)]
    for task in gone:
        ledger = admission.release(kubelet, ledger, task.uid)
    for uid, spec in specs.items():
        outcome = admission.admit(kubelet, ledger, as_pod(uid, spec))
        assert isinstance(outcome, Admitted), (uid, spec)
        ledger = outcome.ledger


# In whole worlds.


def nrt(name: str, *free: int, pods: list[str] | None = None, policy: str = "single-numa-node") -> Object:
    """The object of a node with zones of 32 CPUs."""
    attributes = {"topologyManagerPolicy": policy}
    if pods is not None:
        attributes["nodeTopologyPodsFingerprint"] = fingerprint([("default", pod) for pod in pods])
    return {
        "apiVersion": NRT.api_version,
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": [{"name": key, "value": value} for key, value in attributes.items()],
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "resources": [{"name": "cpu", "capacity": "32", "allocatable": "32", "available": str(count)}],
            }
            for number, count in enumerate(free)
        ],
    }


def pod(name: str, count: int) -> Object:
    spec = spec_of({"cpu": count, "memory": GIB})
    spec["containers"][0]["image"] = "example/image"
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def export(world: World, wanted: Object) -> None:
    found = await world.client.get(NRT, wanted["metadata"]["name"])
    wanted["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
    await world.client.update(NRT, wanted)


def test_zones_are_followed_from_whenever_they_are_told_and_forgotten_with_their_object() -> None:
    async def play(world: World) -> None:
        await world.create(node("a"), nrt("a", 8, 8), nrt("gone", 32, 32))
        await world.create(pod("wide", 20))
        assert (await world.settled())["wide"] == ""
        told = meta.condition((await world.pods())["wide"], "PodScheduled") or {}
        assert told["message"] == "0/1 nodes are available: 1 cannot align container."
        await export(world, nrt("a", 8, 24))
        assert (await world.settled())["wide"] == "a"
        await world.create(pod("more", 20))
        assert (await world.settled())["more"] == ""
        await world.client.delete(NRT, "a")
        assert (await world.settled())["more"] == "a"

    played(play)


def test_a_burst_on_a_report_that_stands_still_waits_for_the_next_one() -> None:
    async def play(world: World) -> None:
        await world.create(node("a"), nrt("a", 32, 32, pods=[]))
        await world.create(*(pod(f"p{index}", 20) for index in range(3)))
        first = await world.settled()
        assert sum(map(bool, first.values())) == 1
        await export(world, nrt("a", 12, 32, pods=[name for name, on in first.items() if on]))
        second = await world.settled()
        assert sum(map(bool, second.values())) == 2
        await export(world, nrt("a", 12, 12, pods=["elsewhere"]))
        assert await world.settled() == second

    played(play)


def test_a_scheduler_that_starts_again_takes_off_what_does_not_run_yet() -> None:
    async def play(world: World) -> None:
        await world.create(node("a"), nrt("a", 32, 32, pods=[]))
        await world.create(pod("first", 20))
        assert (await world.settled())["first"] == "a"
        await world.stop()
        await world.create(pod("second", 20))
        world.start()
        assert (await world.settled())["second"] == ""
        await world.client.delete(PODS, "first", namespace="default", grace_s=0)
        assert (await world.settled())["second"] == "a"

    played(play)


def test_a_job_displaces_one_whose_place_on_a_zone_it_can_take() -> None:
    def of_gpus(name: str, pods: list[str]) -> Object:
        made = nrt(name, 0, 0, pods=pods)
        for zone in made["zones"]:
            zone["resources"] = [{"name": GPU, "capacity": "4", "allocatable": "4", "available": "0"}]
        return made

    async def play(world: World) -> None:
        await world.create(node("a", gpus=12))  # more than its zones tell of, so that it is they that are full
        await world.queues(quota("q", 12))
        for name in ("t0", "t1"):
            await world.submit(Workload(name=name, queue="q", pods=1, gpus=4))
            await world.clock.sleep(1.1)
        running = sorted(await world.settled())
        assert len(running) == 2
        await world.create(of_gpus("a", running))
        await world.submit(Workload(name="same", queue="q", pods=1, gpus=4))
        await world.submit(Workload(name="wide", queue="q", pods=1, gpus=6, priority="build-preemptible"))
        waiting = await world.settled()
        assert sorted(name for name, on in waiting.items() if on) == running, "nobody goes for one that cannot fit"
        await world.submit(Workload(name="vip", queue="q", pods=1, gpus=3, priority="build-preemptible"))
        found = await world.settled()
        left = [name for name, on in found.items() if on]
        assert running[0] in left
        assert running[1] not in left
        assert any(name.startswith("vip") for name in left)

    played(play)


def test_bad_objects_stop_nobody() -> None:
    async def play(world: World) -> None:
        await world.create(node("a"), node("b"), node("c"))
        strange = nrt("a", 1, 1)
        strange["zones"][0]["name"], strange["zones"][1]["name"] = "node--1", "numa-7"
        sparse = nrt("b", 1, 24)
        sparse["zones"][1]["name"] = "node-63"
        del sparse["zones"][0]["resources"]
        await world.create(strange, sparse, nrt("c", 1, 1, policy="tight"))
        await world.create(*(pod(f"p{index}", 24) for index in range(3)))
        assert sorted((await world.settled()).values()) == ["a", "a", "b"]

    played(play)
