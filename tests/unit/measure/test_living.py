"""The lives of pods, nodes and queues, as the streams tell them."""

import tracemalloc

import pytest
from clusters_told import BEGAN_NS, Told

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.resources import JOBS, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from kubedyno.measure.columns import ClaimRow
from kubedyno.measure.lived import claim_rows, lived
from kubedyno.measure.lives import PodLife

pytestmark = pytest.mark.unit


def life(told: Told, name: str) -> PodLife:
    return next(one for one in told.watched.lives().pods if one.name == name)


def at(seconds: float) -> int:
    return BEGAN_NS + round(seconds * NS_PER_S)


def test_a_pod_is_followed_from_its_creation_to_its_end() -> None:
    told = Told()
    told.node("n0")
    told.pod("a-0", gpus=2, priority=7)
    told.sleep(1)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    told.change(PODS, "a-0", status={"conditions": [condition]})
    told.sleep(1)
    told.bind("a-0", "n0", runs=False)
    told.sleep(1)
    told.change(PODS, "a-0", status={"phase": "Running"})
    told.sleep(1)
    told.change(PODS, "a-0", status={"phase": "Succeeded"})
    told.sleep(1)
    told.delete(PODS, "a-0")
    assert life(told, "a-0") == PodLife(
        uid="uid-2",
        namespace="ns",
        name="a-0",
        workload="a",
        group=None,
        least=1,
        queue=None,
        gpus=2.0,
        priority=7,
        created_ns=at(0),
        unschedulable_ns=at(1),
        bound_ns=at(2),
        node="n0",
        running_ns=at(3),
        ended_ns=at(4),
        end="succeeded",
    )


def test_a_pod_has_the_queue_the_priority_and_the_least_number_of_its_group_though_that_comes_later() -> None:
    told = Told()
    told.pod("g-0", group="g")
    told.pod("single", metadata={"labels": {"kai.scheduler/queue": "other", "priorityClassName": "build"}})
    told.group("g", 4, queue="team", priorityClassName="inference")
    first = life(told, "g-0")
    assert (first.group, first.least, first.queue, first.priority) == ("PodGroup/ns/g", 4, "team", 125)
    single = life(told, "single")
    assert (single.group, single.least, single.queue, single.priority) == (None, 1, "other", 100)


@pytest.mark.parametrize("is_told_first", [True, False])
def test_a_pod_that_its_scheduler_took_is_evicted_and_others_are_deleted(*, is_told_first: bool) -> None:
    told = Told()
    told.node("n0")
    for name in ("low", "gone"):
        told.group(name, 1)
        told.place(f"{name}-0", "n0", group=name)
    told.excuse("gone")
    for name in ("low", "gone"):
        if is_told_first:
            told.tell_eviction("low", by="high", action="reclaim")
        told.delete(PODS, f"{name}-0")
    if not is_told_first:
        told.tell_eviction("low", by="high", action="reclaim")
    told.end(after_s=20)
    assert (life(told, "low-0").end, life(told, "gone-0").end) == ("evicted", "deleted")


def test_gpus_are_whole_ones_parts_and_devices_of_claims() -> None:
    told = Told()
    told.node("n0", labels={"nvidia.com/gpu.memory": "80000"})
    told.pod("whole", gpus=3)
    two = {"runai-gpu-group/x": "x", "runai-gpu-group/y": "y"}
    told.place("parts", "n0", gpus=0, metadata={"annotations": {"gpu-fraction": "0.25"}, "labels": two})
    told.pod("memory", gpus=0, metadata={"annotations": {"gpu-memory": "20000"}, "labels": {"runai-gpu-group": "x"}})
    told.sleep(5)
    told.bind("memory", "n0")
    told.pod("devices", gpus=0)
    told.claim("c", "gpu-0", "gpu-1")
    told.change(RESOURCE_CLAIMS, "c", status={"reservedFor": [{"uid": told.get(PODS, "devices")["metadata"]["uid"]}]})
    told.delete(RESOURCE_CLAIMS, "c")
    found = {one.name: one.gpus for one in told.watched.lives().pods}
    assert found == {"whole": 3.0, "parts": 0.5, "memory": 0.25, "devices": 2.0}


def given(device: str, **more: object) -> dict[str, object]:
    return {"driver": "gpu.example.com", "pool": "n0", "device": device, **more}


def allocated(*results: dict[str, object]) -> dict[str, object]:
    return {"allocation": {"devices": {"results": list(results)}}}


def test_a_claim_is_followed_from_its_creation_until_its_devices_are_free() -> None:
    told = Told()
    told.node("n0")
    told.make(RESOURCE_CLAIMS, "c")
    told.pod("p-0", gpus=0)
    told.sleep(1)
    told.change(RESOURCE_CLAIMS, "c", status=allocated(given("g0"), given("g1"), given("watched", adminAccess=True)))
    told.sleep(1)
    told.change(RESOURCE_CLAIMS, "c", status={"reservedFor": [{"uid": told.get(PODS, "p-0")["metadata"]["uid"]}]})
    told.bind("p-0", "n0")
    told.sleep(1)
    told.delete(RESOURCE_CLAIMS, "c")
    assert list(claim_rows(told.watched.lives())) == [
        ClaimRow(
            uid="uid-2",
            namespace="ns",
            name="c",
            pod="p-0",
            node="n0",
            driver="gpu.example.com",
            devices="n0/g0,n0/g1",
            count=2,
            created_ns=at(0),
            allocated_ns=at(1),
            reserved_ns=at(2),
            released_ns=at(3),
        )
    ]
    (claim,) = told.watched.lives().claims
    assert claim.gone_ns == at(3)


def test_pods_and_nodes_are_rows_with_their_gpus_and_where_they_stand() -> None:
    told = Told()
    told.node("n0")
    told.pod("a-0", gpus=2)
    told.sleep(1)
    told.bind("a-0", "n0")
    lives = told.watched.lives()
    lives.nodes[0].labels.update({"zone": "z1", "rack": "r2", "host": "n0"})
    lives.levels = ("zone", "rack", "host")
    rows = lived(lives)
    (pod,) = rows.pods
    assert (pod.name, pod.workload, pod.gpus, pod.node, pod.created_ns, pod.bound_ns) == (
        "a-0",
        "a",
        2.0,
        "n0",
        at(0),
        at(1),
    )
    (node,) = rows.nodes
    assert (node.name, node.gpus, node.place, node.gone_ns) == ("n0", 8.0, "z1/r2", None)


def test_a_claim_may_lose_its_devices_and_get_others_or_only_look_at_some() -> None:
    told = Told()
    told.make(RESOURCE_CLAIMS, "looks", status=allocated(given("g0", adminAccess=True)))
    told.make(RESOURCE_CLAIMS, "twice", status=allocated(given("g0", shareID="a")))
    told.make(RESOURCE_CLAIMS, "waits")
    told.sleep(1)
    told.change(RESOURCE_CLAIMS, "twice", status={"allocation": None})
    told.sleep(1)
    told.change(RESOURCE_CLAIMS, "twice", status=allocated(given("g1")))
    told.claim("elsewhere")
    told.make(RESOURCE_CLAIMS, "other", metadata={"namespace": "kube-system"})
    looks, twice, waits, elsewhere = told.watched.lives().claims
    assert [(one.since_ns, one.until_ns, one.devices) for one in twice.allocations] == [
        (at(0), at(1), (("gpu.example.com", "n0", "g0"),)),
        (at(2), None, (("gpu.example.com", "n0", "g1"),)),
    ]
    assert [one.devices for one in looks.allocations] == [()]
    assert waits.allocations == []
    assert elsewhere.name == "elsewhere"
    rows = {row.name: row for row in claim_rows(told.watched.lives())}
    assert (rows["looks"].count, rows["looks"].driver, rows["looks"].allocated_ns) == (0, None, at(0))
    assert (rows["twice"].devices, rows["twice"].released_ns) == ("n0/g0", at(1))
    assert (rows["waits"].pod, rows["waits"].devices, rows["waits"].allocated_ns) == (None, None, None)


@pytest.mark.parametrize(
    ("spec", "abreast"),
    [({"parallelism": 4}, 4), ({"parallelism": 4, "completions": 3}, 3), ({"completions": 5}, 1), ({}, 1)],
)
def test_a_pod_knows_how_many_its_job_runs_at_a_time_though_that_comes_later(
    spec: dict[str, int], abreast: int
) -> None:
    told = Told()
    owner = {"kind": "Job", "name": "j", "uid": "uid-2", "controller": True}
    told.pod("j-0", metadata={"ownerReferences": [owner]})
    assert (life(told, "j-0").job, life(told, "j-0").abreast) == (None, 1)
    told.make(JOBS, "j", spec=spec)
    assert (life(told, "j-0").job, life(told, "j-0").abreast) == ("Job/ns/j", abreast)
    told.delete(JOBS, "j")
    assert life(told, "j-0").abreast == abreast


def test_pods_of_other_namespaces_and_reservations_have_no_life_here() -> None:
    told = Told()
    told.pod("other", metadata={"namespace": "kube-system"})
    told.pod("reservation", metadata={"labels": {"app": "kai-resource-reservation"}})
    assert told.watched.lives().pods == []


def test_nodes_live_until_they_are_gone_and_a_new_one_of_the_name_is_another() -> None:
    told = Told()
    told.node("n0", labels={"rack": "r0"})
    told.sleep(1)
    told.change(NODES, "n0", metadata={"labels": {"rack": "r1"}})
    told.delete(NODES, "n0")
    told.sleep(1)
    told.node("n0", gpus=0)
    devices = [{"name": f"gpu-{number}"} for number in range(4)]
    told.make(RESOURCE_SLICES, "s", spec={"nodeName": "n0", "devices": devices})
    told.topology("small", "rack")
    told.topology("large", "zone", "rack")
    lives = told.watched.lives()
    assert [(one.gpus, one.labels, one.seen_ns, one.gone_ns) for one in lives.nodes] == [
        (8.0, {"rack": "r1"}, at(0), at(1)),
        (4.0, {}, at(2), None),
    ]
    assert lives.levels == ("zone", "rack")


def test_each_state_of_a_queue_is_kept_with_its_time() -> None:
    told = Told()
    told.queue("team", quota=4)
    told.sleep(1)
    told.queue("team", quota=4)
    told.queue("team", quota=8, limit=16)
    found = [(one.name, one.parent, one.quota, one.limit, one.since_ns) for one in told.watched.lives().queues]
    assert found == [("team", "root", 4.0, -1.0, at(0)), ("team", "root", 8.0, 16.0, at(1))]


def test_thousands_of_pods_take_little_memory() -> None:
    told = Told()
    for number in range(100):
        told.node(f"n{number}", gpus=80)
    told.sleep(5)
    count = 200
    told.pod("warm")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(count):
            told.place(f"a-{number}", f"n{number % 100}")
            told.delete(PODS, f"a-{number}")
            told.sleep(0.05)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / count < 2_000
