"""A kubelet that miscounts gives pods what others hold; when they go, nothing of it is left."""

import pytest

from kubedyno.kit.randomness import stream
from kubedyno.model.numa import admission
from kubedyno.model.numa.admission import Ledger, Node, Rejection, Scope, admit
from kubedyno.model.numa.cpus import StaticCpus
from kubedyno.model.numa.devices import Plugin
from kubedyno.model.numa.machine import Layout
from kubedyno.model.numa.merging import Policy
from kubedyno.model.numa.options import CpuOptions
from kubedyno.model.numa.overcommitting import overcommitted
from kubedyno.model.numa.pods import Pod
from kubedyno.model.numa.zones import overlaps, zones

pytestmark = pytest.mark.unit

GIB = 2**30
GPU = "nvidia.com/gpu"


def machine(policy: Policy = Policy.SINGLE_NUMA_NODE, scope: Scope = Scope.CONTAINER) -> Node:
    """Two NUMA nodes with eight CPUs, 16 GiB and two GPUs each; a core and a GiB each are reserved."""
    found = Layout(sockets=2, cores_per_cache=4, threads_per_core=2, memory_per_node={"memory": 16 * GIB}).machine()
    return Node(
        machine=found,
        policy=policy,
        scope=scope,
        cpus=StaticCpus.reserving(found, 2, CpuOptions()),
        reserved_memory={0: {"memory": GIB}, 1: {"memory": GIB}},
        plugins={GPU: Plugin({f"gpu-{number}": 1 << number // 2 for number in range(4)})},
    )


def pod(uid: str, cpus: int, gibibytes: int = 1, gpus: int = 0, *, init: int = 0) -> Pod:
    def container(name: str, count: int) -> dict[str, object]:
        asked = {"cpu": str(count), "memory": f"{gibibytes}Gi", **({GPU: str(gpus)} if gpus else {})}
        return {"name": name, "resources": {"requests": asked, "limits": asked}}

    spec = {"containers": [container("main", cpus)], "initContainers": [container("init", init)] if init else []}
    return Pod.read({"metadata": {"uid": uid}, "spec": spec, "status": {"qosClass": "Guaranteed"}})


def taken(node: Node, ledger: Ledger, *pods: Pod) -> Ledger:
    for one in pods:
        answer = admit(node, ledger, one)
        assert not isinstance(answer, Rejection)
        ledger = answer.ledger
    return ledger


def test_a_pod_without_room_gets_cpus_of_one_numa_node_that_others_hold() -> None:
    node = machine()
    full = taken(node, admission.empty(node), pod("a", 4), pod("b", 6))
    late = pod("c", 4)
    assert isinstance(admit(node, full, late), Rejection)
    ledger = overcommitted(node, full, late)
    given = ledger.cpus.assigned["c"]["main"]
    assert given.bit_count() == 4
    assert any(given & ~cpus == 0 for cpus in node.machine.nodes.values())
    assert any(" is held by pods a and c" in told or " is held by pods b and c" in told for told in overlaps(ledger))
    assert all(told.startswith("cpu ") for told in overlaps(ledger))


def test_a_pod_that_is_too_large_for_the_policy_is_spread() -> None:
    node = machine()
    ledger = overcommitted(node, admission.empty(node), pod("a", 10))
    assert ledger.cpus.assigned["a"]["main"].bit_count() == 10
    assert overlaps(ledger) == []


def test_a_pod_that_is_too_large_for_the_machine_gets_nothing() -> None:
    node = machine()
    empty = admission.empty(node)
    assert overcommitted(node, empty, pod("a", 99)) == empty


def test_devices_are_held_twice() -> None:
    node = machine()
    full = taken(node, admission.empty(node), pod("a", 1, gpus=2), pod("b", 1, gpus=2))
    ledger = overcommitted(node, full, pod("c", 1, gpus=2))
    assert {"nvidia.com/gpu gpu-0 is held by pods a and c", "nvidia.com/gpu gpu-1 is held by pods a and c"} <= set(
        overlaps(ledger)
    )
    assert zones(node, ledger)[0][GPU].available == 0


def test_memory_is_charged_as_far_as_it_goes() -> None:
    node = machine()
    full = taken(node, admission.empty(node), pod("a", 1, 12), pod("b", 1, 12))
    ledger = overcommitted(node, full, pod("c", 1, 12))
    (block,) = ledger.memory.assigned["c"]["main"]
    assert block.size == 3 * GIB
    assert sorted(zone["memory"].available for zone in zones(node, ledger).values()) == [0, 3 * GIB]


def test_memory_of_a_group_of_numa_nodes_is_left_alone() -> None:
    node = machine(Policy.BEST_EFFORT)
    spread = taken(node, admission.empty(node), pod("a", 1, 20))
    assert overcommitted(node, spread, pod("b", 1, 12)).memory == spread.memory


def test_what_one_holds_twice_stays_charged_until_the_last_is_gone() -> None:
    node = machine()
    full = taken(node, admission.empty(node), pod("a", 4), pod("b", 6))
    ledger = overcommitted(node, full, pod("c", 4))
    assert admission.release(node, ledger, "c") == full
    one_left = admission.release(node, admission.release(node, ledger, "a"), "b")
    assert sum(zone["cpu"].available for zone in zones(node, one_left).values()) == 14 - 4
    assert admission.release(node, one_left, "c") == admission.empty(node)


@pytest.mark.parametrize("seed", range(40))
def test_pods_that_come_anyway_and_go_in_any_order_leave_nothing_behind(seed: int) -> None:
    rng = stream(seed, "pods")
    node = machine(rng.choice(list(Policy)), rng.choice(list(Scope)))
    start = ledger = admission.empty(node)
    there: dict[str, Pod] = {}
    wrong = False
    for number in range(30):
        if there and rng.random() < 0.4:
            uid = rng.choice(sorted(there))
            del there[uid]
            ledger = admission.release(node, ledger, uid)
        else:
            one = pod(f"u{number}", rng.randint(1, 9), rng.randint(1, 18), rng.randint(0, 3), init=rng.randint(0, 2))
            answer = admit(node, ledger, one)
            wrong = wrong or isinstance(answer, Rejection)
            ledger = overcommitted(node, ledger, one) if isinstance(answer, Rejection) else answer.ledger
            there[one.uid] = one
        held = 0
        for containers in ledger.cpus.assigned.values():
            for cpus in containers.values():
                held |= cpus
        assert ledger.cpus.shared == node.machine.all_cpus & ~held
        for zone in zones(node, ledger).values():
            assert all(0 <= amount.available <= amount.allocatable for amount in zone.values())
    assert wrong
    for uid in rng.sample(sorted(there), len(there)):
        ledger = admission.release(node, ledger, uid)
    assert ledger == start
