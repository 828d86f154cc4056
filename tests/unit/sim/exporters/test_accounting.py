"""How exporters count, held against the truth of the ledger."""

import random
from typing import Any

import pytest
from tests.numanodes import GIB, GPU, kubelet, node, pod

from kubedyno.model.numa.podresources import Devices, Holding, Host, Memory, Pod, View
from kubedyno.model.numa.zones import Amount
from kubedyno.sim.exporters.accounting import Zone, zones_of
from kubedyno.sim.exporters.settings import Style
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.kubelet.ledger import NodeLedger
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

pytestmark = pytest.mark.unit

STYLES: tuple[Style, ...] = ("rte", "nfd")
HUGE = "hugepages-2Mi"
HOST = Host(
    cpus={0: (0, 1, 2, 3), 1: (4, 5, 6, 7)},
    memory={0: {"memory": 10 * GIB}, 1: {"memory": 10 * GIB}},
    distances={0: {0: 10, 1: 20}, 1: {0: 20, 1: 10}},
)
ALLOCATABLE = Holding(
    cpus=(1, 2, 3, 4, 5, 6, 7),
    memory=(Memory("memory", 8 * GIB, (0,)), Memory("memory", 8 * GIB, (1,))),
    devices=(Devices(GPU, ("a", "b"), (0,)), Devices(GPU, ("c",), (1,))),
)


def counted(
    style: Style, *held: Holding, allocatable: Holding = ALLOCATABLE, **facts: bool
) -> dict[int, dict[str, Any]]:
    """Amounts by NUMA node, for pods of one container that hold these."""
    pods = tuple(Pod("d", f"p{place}", {"app": one}, **facts) for place, one in enumerate(held))
    return numbered(zones_of(View(pods, allocatable), HOST, style))


def numbered(zones: tuple[Zone, ...]) -> dict[int, dict[str, Any]]:
    assert [zone.name for zone in zones] == [f"node-{number}" for number in range(len(zones))]
    assert {zone.type for zone in zones} <= {"Node"}
    return {number: dict(zone.resources) for number, zone in enumerate(zones)}


def true(ledger: NodeLedger) -> dict[int, dict[str, Amount]]:
    return {number: dict(sorted(zone.items())) for number, zone in ledger.zones().items()}


def test_both_styles_count_cpus_memory_and_devices_by_zone() -> None:
    held = Holding(cpus=(1, 4, 5), memory=(Memory("memory", GIB, (1,)),), devices=(Devices(GPU, ("b",), (0,)),))
    for style in STYLES:
        assert counted(style, held) == {
            0: {"cpu": Amount(4, 3, 2), "memory": Amount(10 * GIB, 8 * GIB, 8 * GIB), GPU: Amount(2, 2, 1)},
            1: {"cpu": Amount(4, 4, 2), "memory": Amount(10 * GIB, 8 * GIB, 7 * GIB), GPU: Amount(1, 1, 1)},
        }


def test_costs_are_rows_of_the_distance_table_by_names_of_zones() -> None:
    for style in STYLES:
        zones = zones_of(View(allocatable=ALLOCATABLE), HOST, style)
        assert [zone.costs for zone in zones] == [{"node-0": 10, "node-1": 20}, {"node-0": 20, "node-1": 10}]


def test_memory_of_several_numa_nodes_is_charged_to_each_by_one_and_drained_in_order_by_the_other() -> None:
    wide = Holding(memory=(Memory("memory", 9 * GIB, (0, 1)),))
    left = {style: [zone["memory"].available // GIB for zone in counted(style, wide).values()] for style in STYLES}
    assert left == {"rte": [0, 0], "nfd": [0, 7]}
    smaller = Holding(memory=(Memory("memory", 3 * GIB, (0, 1)),))
    left = {style: [zone["memory"].available // GIB for zone in counted(style, smaller).values()] for style in STYLES}
    assert left == {"rte": [5, 5], "nfd": [5, 8]}


def test_what_is_given_out_twice_is_nothing_left_for_one_and_less_than_nothing_for_the_other() -> None:
    everything = Holding(cpus=(1, 2, 3), devices=(Devices(GPU, ("a", "b"), (0,)),))
    for style, cpus, gpus in (("rte", 0, 0), ("nfd", -3, -2)):
        zone = counted(style, everything, everything)[0]  # type: ignore[arg-type] # of the table above
        assert (zone["cpu"].available, zone[GPU].available) == (cpus, gpus)


def test_the_second_style_leaves_out_pods_that_are_not_guaranteed_or_have_neither_whole_cpus_nor_devices() -> None:
    device = Holding(devices=(Devices(GPU, ("a",), (0,)),))
    memory = Holding(memory=(Memory("memory", GIB, (0,)),))
    assert counted("nfd", device, guaranteed=False)[0][GPU].available == 2
    assert counted("rte", device, guaranteed=False)[0][GPU].available == 1
    assert counted("nfd", memory, whole_cpus=False)[0]["memory"].available == 8 * GIB
    assert counted("rte", memory, whole_cpus=False)[0]["memory"].available == 7 * GIB
    both = Holding(memory=memory.memory, devices=device.devices)
    assert counted("nfd", both, whole_cpus=False) == counted("rte", both)


@pytest.mark.parametrize("style", STYLES)
def test_a_zone_of_which_nothing_can_be_given_out_has_cpus_that_are_all_reserved(style: Style) -> None:
    found = counted(style, allocatable=Holding(devices=(Devices(GPU, ("c",), (1,)),)))
    assert found == {0: {"cpu": Amount(4, 0, 0)}, 1: {GPU: Amount(1, 1, 1)}}


@pytest.mark.parametrize("style", STYLES)
def test_what_is_told_without_a_numa_node_or_with_one_that_is_not_there_counts_nowhere(style: Style) -> None:
    allocatable = Holding(
        cpus=(1, 99), devices=(Devices(GPU, ("a",)), Devices(GPU, ("b",), (-1,)), Devices(GPU, ("c",), (5,)))
    )
    held = Holding(
        cpus=(99,), memory=(Memory("memory", GIB),), devices=(Devices(GPU, ("a",)), Devices("x.com/y", ("b",), (-1,)))
    )
    assert counted(style, held, allocatable=allocatable) == {0: {"cpu": Amount(4, 1, 1)}, 1: {"cpu": Amount(4, 0, 0)}}


@pytest.mark.parametrize("style", STYLES)
def test_devices_near_several_numa_nodes_are_in_each_zone(style: Style) -> None:
    near_both = Devices(GPU, ("a",), (0, 1))
    found = counted(style, Holding(devices=(near_both,)), allocatable=Holding(devices=(near_both,)))
    # One charges them to each, the other to the last that was told.
    assert [zone[GPU].available for zone in found.values()] == ([0, 0] if style == "rte" else [1, 0])


@pytest.mark.parametrize("style", STYLES)
def test_more_allocatable_than_there_is_is_believed(style: Style) -> None:
    found = counted(style, allocatable=Holding(cpus=(0, 1, 2, 3), memory=(Memory("memory", 12 * GIB, (0,)),)))
    assert found[0]["memory"] == Amount(12 * GIB if style == "rte" else 10 * GIB, 12 * GIB, 12 * GIB)
    assert found[0]["cpu"] == Amount(4, 4, 4)


@pytest.mark.parametrize("style", STYLES)
def test_numbers_of_zones_go_from_zero_even_where_the_machine_leaves_some_out(style: Style) -> None:
    sparse = Host(cpus={0: (0, 1), 2: (2, 3)}, distances={0: {0: 10, 1: 20}, 2: {0: 20, 1: 10}})
    zones = zones_of(View(allocatable=Holding(cpus=(0, 1, 2, 3))), sparse, style)
    assert [(zone.name, zone.resources) for zone in zones] == [
        ("node-0", {"cpu": Amount(2, 2, 2)}),
        ("node-1", {"cpu": Amount(0, 0, 0)}),
    ]


def test_the_second_style_has_zones_in_random_order_and_the_first_has_not() -> None:
    view, host = View(), Host(cpus={number: (number,) for number in range(8)})
    ascending = zones_of(view, host, "nfd")
    drawn = [zones_of(view, host, "nfd", random.Random(seed)) for seed in range(8)]  # noqa: S311 # no secret
    assert len({tuple(zone.name for zone in zones) for zones in drawn}) > 4
    assert all(sorted(zones, key=lambda zone: zone.name) == list(ascending) for zones in drawn)
    assert zones_of(view, host, "rte", random.Random(1)) == zones_of(view, host, "rte")  # noqa: S311 # no secret


# Machines and policies on which pods come and go below.
NODES = {
    "single": node(kubelet()),
    "single, pod scope": node(kubelet(scope="pod")),
    "restricted, four zones": node(kubelet("restricted", zones=4)),
    "best-effort, no GPUs": node(kubelet("best-effort"), gpus=0),
    "no policy, but pinned": node(kubelet("none")),
    "huge pages": node(kubelet(numa=Numa(sockets=2, hugepages={HUGE: "8Gi"}))),
    "strict reservation": node(kubelet(cpu_manager_policy_options={"strict-cpu-reservation": "true"})),
    "one thread a core": node(kubelet(zones=2, numa=Numa(sockets=1, nodes_per_socket=2, threads_per_core=1))),
    "CPUs alone": node(kubelet(memory_manager_policy="None", reserved_memory={})),
}


def random_pod(rng: random.Random, name: str, *, whole: bool) -> Any:
    """Mostly what fits into a zone; where not `whole`, also pods of other classes and shares of CPUs."""

    def container() -> dict[str, str]:
        cpus = rng.choice(["1", "2", "3", "4"] if whole else ["500m", "1", "2", "1500m"])
        asked = {"cpu": cpus, "memory": f"{rng.randint(1, 6)}Gi"}
        if rng.random() < 0.3:
            asked[HUGE] = f"{rng.randint(1, 3)}Gi"
        if rng.random() < 0.4:
            asked[GPU] = str(rng.randint(1, 2))
        return asked

    containers = [container() for _ in range(rng.randint(1, 2))]
    sidecars = [container()] if rng.random() < 0.2 else []
    # As large as the first container in every way: it leaves nothing that is charged and not told.
    init = [containers[0]] if rng.random() < 0.2 else []
    qos = "Guaranteed" if whole or rng.random() < 0.6 else "Burstable"
    return pod(name, *containers, init=init, sidecars=sidecars, qos=qos)


def come_and_go(ledger: NodeLedger, rng: random.Random, steps: int, *, whole: bool) -> Any:
    """After each step the names of all pods that are there."""
    there: list[str] = []
    for step in range(steps):
        if there and rng.random() < 0.4:
            gone = there.pop(rng.randrange(len(there)))
            ledger.release(f"uid-of-{gone}")
        elif ledger.admit(random_pod(rng, f"p{step}", whole=whole)) is None:
            there.append(f"p{step}")
        yield there


def is_spread(view: View) -> bool:
    """Whether memory of some container lies on several NUMA nodes."""
    return any(len(m.nodes) > 1 for one in view.pods for held in one.containers.values() for m in held.memory)


@pytest.mark.parametrize("kind", NODES)
def test_at_rest_zones_tell_the_truth_of_the_ledger(kind: str) -> None:
    rng = random.Random(kind)  # noqa: S311 # no secret
    ledger = NodeLedger(NODES[kind])
    held = 0
    for there in come_and_go(ledger, rng, 60, whole=False):
        view = view_of(ledger)
        found, truth = numbered(zones_of(view, host_of(ledger), "rte")), true(ledger)
        held = max(held, len(there))
        if is_spread(view):
            for number, zone in truth.items():
                assert {name: found[number][name] for name in ("cpu", GPU) if name in zone} == {
                    name: zone[name] for name in ("cpu", GPU) if name in zone
                }
                assert found[number]["memory"].available <= zone["memory"].available
        else:
            assert found == truth
    assert held > 2


@pytest.mark.parametrize("kind", NODES)
def test_the_second_style_tells_the_truth_of_guaranteed_pods_with_whole_cpus(kind: str) -> None:
    rng = random.Random(kind)  # noqa: S311 # no secret
    ledger = NodeLedger(NODES[kind])
    for _ in come_and_go(ledger, rng, 60, whole=True):
        view = view_of(ledger)
        if not is_spread(view):
            assert numbered(zones_of(view, host_of(ledger), "nfd")) == true(ledger)


def test_more_than_is_true_is_told_where_init_containers_had_more_than_those_after_them() -> None:
    ledger = NodeLedger(node(kubelet()))
    small, large = {"cpu": "2", "memory": "2Gi", GPU: "1"}, {"cpu": "6", "memory": "4Gi", GPU: "2"}
    assert ledger.admit(pod("a", small, init=[large])) is None
    told = zones_of(view_of(ledger), host_of(ledger), "rte")[0].resources
    # The kubelet keeps them for the pod, and does not tell of containers that have passed.
    over = {name: told[name].available - amount.available for name, amount in ledger.zones()[0].items()}
    assert over == {"cpu": 4, "memory": 2 * GIB, GPU: 1}


def test_a_broken_gpu_that_a_pod_has_is_charged_by_one_and_not_by_the_other() -> None:
    found = node(kubelet())
    ledger = NodeLedger(found)
    assert ledger.admit(pod("a", {"cpu": "1", "memory": "1Gi", GPU: "1"})) is None
    ledger.update(found, {0})
    view, host = view_of(ledger), host_of(ledger)
    left = {style: zones_of(view, host, style)[0].resources[GPU] for style in STYLES}
    assert left == {"rte": Amount(3, 3, 2), "nfd": Amount(3, 3, 3)}
    assert ledger.zones()[0][GPU] == Amount(4, 3, 3)


@pytest.mark.parametrize("style", STYLES)
def test_a_node_on_which_nothing_is_aligned_has_zones_with_devices_alone(style: Style) -> None:
    ledger = NodeLedger(node(KubeletSettings(numa=Numa(sockets=2))))
    assert ledger.admit(pod("a", {"cpu": "2", "memory": "1Gi", GPU: "1"})) is None
    found = numbered(zones_of(view_of(ledger), host_of(ledger), style))
    assert found == {0: {GPU: Amount(4, 4, 3)}, 1: {GPU: Amount(4, 4, 4)}}
