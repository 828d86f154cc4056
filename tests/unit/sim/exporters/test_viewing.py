"""What the kubelets of simulated nodes tell about their pods."""

import pytest
from tests.numanodes import GIB, GPU, kubelet, node, pod

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa.podresources import Devices, Holding, Host, Memory, Pod
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.kubelet.ledger import NodeLedger
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

pytestmark = pytest.mark.unit

# 32 CPUs in two NUMA nodes with two threads a core: 0-7 and 16-23, 8-15 and 24-31; 0 and 16 are reserved.
FIRST, SECOND = (*range(8), *range(16, 24)), (*range(8, 16), *range(24, 32))


def test_an_idle_node_tells_all_that_it_can_give() -> None:
    view = view_of(NodeLedger(node(kubelet())))
    assert view.pods == ()
    assert set(view.allocatable.cpus) == {*FIRST, *SECOND} - {0, 16}
    assert view.allocatable.memory == (Memory("memory", 31 * GIB, (0,)), Memory("memory", 31 * GIB, (1,)))
    assert view.allocatable.devices == (
        Devices(GPU, ("0", "1", "2", "3"), (0,)),
        Devices(GPU, ("4", "5", "6", "7"), (1,)),
    )


def test_containers_tell_their_cpus_memory_and_devices() -> None:
    ledger = NodeLedger(node(kubelet()))
    assert ledger.admit(pod("a", {"cpu": "2", "memory": "4Gi", GPU: "1"}, {"cpu": "4", "memory": "1Gi"})) is None
    assert view_of(ledger).pods == (
        Pod(
            "d",
            "a",
            {
                "app0": Holding((1, 17), (Memory("memory", 4 * GIB, (0,)),), (Devices(GPU, ("0",), (0,)),)),
                "app1": Holding((2, 3, 18, 19), (Memory("memory", GIB, (0,)),)),
            },
        ),
    )


def test_memory_on_several_numa_nodes_is_told_with_all_of_them() -> None:
    ledger = NodeLedger(node(kubelet("restricted")))
    assert ledger.admit(pod("wide", {"cpu": "20", "memory": "40Gi"})) is None
    [wide] = view_of(ledger).pods
    assert wide.containers["app0"].memory == (Memory("memory", 40 * GIB, (0, 1)),)


def test_pods_of_the_shared_pool_are_told_with_nothing() -> None:
    ledger = NodeLedger(node(kubelet()))
    assert ledger.admit(pod("burst", {"cpu": "2", "memory": "1Gi"}, qos="Burstable")) is None
    assert ledger.admit(pod("fraction", {"cpu": "1500m", "memory": "1Gi"})) is None
    burst, fraction = view_of(ledger).pods
    assert burst == Pod("d", "burst", {"app0": Holding()}, guaranteed=False)
    assert fraction.containers == {"app0": Holding(memory=(Memory("memory", GIB, (0,)),))}
    assert (fraction.guaranteed, fraction.whole_cpus) == (True, False)


def test_init_containers_that_pass_are_not_told_and_sidecars_are() -> None:
    ledger = NodeLedger(node(kubelet()))
    asked = {"cpu": "2", "memory": "1Gi"}
    assert ledger.admit(pod("a", asked, init=[asked], sidecars=[asked])) is None
    [told] = view_of(ledger).pods
    assert list(told.containers) == ["sidecar0", "app0"]
    assert all(len(held.cpus) == 2 for held in told.containers.values())


def test_a_node_on_which_nothing_is_aligned_tells_devices_alone() -> None:
    ledger = NodeLedger(node(KubeletSettings(numa=Numa(sockets=2))))
    assert ledger.admit(pod("a", {"cpu": "2", "memory": "1Gi", GPU: "2"}, init=[{"cpu": "1", GPU: "2"}])) is None
    view = view_of(ledger)
    assert view.pods == (Pod("d", "a", {"app0": Holding(devices=(Devices(GPU, ("0", "1"), (0,)),))}),)
    assert view.allocatable == Holding(
        devices=(Devices(GPU, ("0", "1", "2", "3"), (0,)), Devices(GPU, ("4", "5", "6", "7"), (1,)))
    )


@pytest.mark.parametrize("manner", [kubelet(), KubeletSettings(numa=Numa(sockets=2))])
def test_broken_gpus_are_not_allocatable_but_told_of_who_has_them(manner: KubeletSettings) -> None:
    found = node(manner)
    ledger = NodeLedger(found)
    assert ledger.admit(pod("a", {"cpu": "1", "memory": "1Gi", GPU: "1"})) is None
    ledger.update(found, {0, 5})
    view = view_of(ledger)
    assert view.allocatable.devices == (Devices(GPU, ("1", "2", "3"), (0,)), Devices(GPU, ("4", "6", "7"), (1,)))
    assert view.pods[0].containers["app0"].devices == (Devices(GPU, ("0",), (0,)),)


def test_pods_that_are_gone_are_told_no_more() -> None:
    ledger = NodeLedger(node(kubelet()))
    assert ledger.admit(pod("a", {"cpu": "2", "memory": "1Gi"})) is None
    ledger.release("uid-of-a")
    assert view_of(ledger) == view_of(NodeLedger(node(kubelet())))


def test_the_machine_shows_its_cpus_memory_and_distances() -> None:
    expected = Host(
        cpus={0: FIRST, 1: SECOND},
        memory={0: {"memory": 32 * GIB}, 1: {"memory": 32 * GIB}},
        distances={0: {0: 10, 1: 21}, 1: {0: 21, 1: 10}},
        policy="restricted",
        scope="pod",
    )
    assert host_of(NodeLedger(node(kubelet("restricted", "pod")))) == expected


def test_a_machine_is_there_even_where_nothing_is_aligned() -> None:
    host = host_of(NodeLedger(node(KubeletSettings(numa=Numa(sockets=2)))))
    assert (host.cpus, host.policy) == ({0: FIRST, 1: SECOND}, "none")
    assert host_of(NodeLedger(node(cpus=3))).cpus == {0: (0, 1, 2)}


def test_a_machine_that_cannot_be_is_told_with_its_field() -> None:
    ledger = NodeLedger(node(KubeletSettings(numa=Numa(sockets=2)), cpus=7))
    with pytest.raises(UsageError, match=r"annotation kubedyno/kubelet: numa: 7 CPUs cannot be divided into 2 NUMA"):
        host_of(ledger)
