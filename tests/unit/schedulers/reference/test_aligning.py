"""What fits the zones of a node: against the kubelet's own managers, and against trying everything."""

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kubedyno.kinds.strategies.qos import qos_class
from kubedyno.kit import randomness
from kubedyno.kube.codec import Object
from kubedyno.model.numa import admission
from kubedyno.model.numa.admission import Admitted, Ledger, Node, Scope
from kubedyno.model.numa.cpus import StaticCpus
from kubedyno.model.numa.devices import Plugin
from kubedyno.model.numa.machine import Layout
from kubedyno.model.numa.merging import Policy
from kubedyno.model.numa.options import CpuOptions
from kubedyno.model.numa.pods import Pod
from kubedyno.model.numa.zones import zones as zones_of_ledger
from kubedyno.schedulers.reference.aligning import (
    UNLIMITED,
    charged,
    covers,
    emptied,
    fits,
    looseness,
    takes,
    takes_beside,
)
from kubedyno.schedulers.reference.demands import demand_of
from kubedyno.schedulers.reference.zones import Zones, report_of

pytestmark = pytest.mark.unit

GPU = "nvidia.com/gpu"
GIB = 2**30


def exported(node: Node, ledger: Ledger) -> Zones:
    """What the scheduler reads of a node whose exporter tells the truth."""
    amounts = zones_of_ledger(node, ledger)
    written = {
        "metadata": {"name": "n", "resourceVersion": "1"},
        "attributes": [
            {"name": "topologyManagerPolicy", "value": str(node.policy)},
            {"name": "topologyManagerScope", "value": str(node.scope)},
        ],
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "resources": [
                    {
                        "name": name,
                        "capacity": str(amount.capacity),
                        "allocatable": str(amount.allocatable),
                        "available": str(amount.available),
                    }
                    for name, amount in resources.items()
                ],
            }
            for number, resources in amounts.items()
        ],
    }
    report = report_of(written)
    assert report is not None
    return report.zones


def spec_of(*containers: Mapping[str, Any], init: Sequence[Mapping[str, Any]] = (), equal: bool = True) -> Object:
    """A pod's spec; `equal`: what it may use is what it asks for."""

    def written(index: int, amounts: Mapping[str, Any], kind: str) -> Object:
        texts = {name: str(amount) for name, amount in amounts.items() if name != "sidecar"}
        limits = texts if equal else {name: amount for name, amount in texts.items() if "/" in name}
        found: Object = {"name": f"{kind}{index}", "resources": {"requests": texts, "limits": limits}}
        return {**found, "restartPolicy": "Always"} if amounts.get("sidecar") else found

    spec: Object = {"containers": [written(i, one, "c") for i, one in enumerate(containers)]}
    if init:
        spec["initContainers"] = [written(i, one, "i") for i, one in enumerate(init)]
    return spec


def as_pod(uid: str, spec: Object) -> Pod:
    return Pod.read({"metadata": {"uid": uid}, "spec": spec, "status": {"qosClass": qos_class({"spec": spec})}})


def fits_spec(zones: Zones, spec: Object) -> bool:
    demand = demand_of(spec)
    return demand is None or fits(zones, demand)


def random_node(rng: random.Random, policy: Policy) -> Node:
    layout = Layout(
        sockets=rng.choice([1, 2]),
        nodes_per_socket=rng.choice([1, 2]),
        cores_per_cache=rng.choice([4, 8]),
        memory_per_node={"memory": 16 * GIB, **({"hugepages-1Gi": 4 * GIB} if rng.random() < 0.3 else {})},
    )
    machine = layout.machine()
    numbers = sorted(machine.memory)
    gpus = {f"g{i}": 1 << numbers[i % len(numbers)] for i in range(rng.choice([0, 4, 8]))}
    return Node(
        machine=machine,
        policy=policy,
        scope=rng.choice(list(Scope)),
        cpus=StaticCpus.reserving(machine, rng.choice([1, 2]), CpuOptions()) if rng.random() < 0.8 else None,
        reserved_memory={0: {"memory": GIB}} if rng.random() < 0.6 else None,
        plugins={GPU: Plugin(gpus)} if gpus else {},
    )


def random_container(rng: random.Random, node: Node, most: int) -> dict[str, Any]:
    amounts: dict[str, Any] = {
        "cpu": rng.choice([1, 2, 3, most, "500m", "1500m"]),
        "memory": rng.choice([1, 4, 9]) * GIB,
    }
    if node.plugins and rng.random() < 0.6:
        amounts[GPU] = rng.choice([1, 2, 4, 5])
    if "hugepages-1Gi" in node.machine.memory[0] and rng.random() < 0.4:
        amounts["hugepages-1Gi"] = rng.choice([1, 3]) * GIB
    return amounts


def random_spec(rng: random.Random, node: Node, *, many: bool, init: bool) -> Object:
    most = rng.choice([4, 7, 8, 10])
    containers = [random_container(rng, node, most) for _ in range(rng.randint(1, 3) if many else 1)]
    before = [
        {**random_container(rng, node, most), **({"sidecar": True} if rng.random() < 0.3 else {})}
        for _ in range(rng.randint(0, 2) if init else 0)
    ]
    return spec_of(*containers, init=before, equal=rng.random() < 0.8)


def filled(rng: random.Random, node: Node, pods: int) -> Ledger:
    """The ledger of a node where some pods came and some of them went."""
    ledger = admission.empty(node)
    there: list[str] = []
    for index in range(pods):
        outcome = admission.admit(node, ledger, as_pod(f"p{index}", random_spec(rng, node, many=False, init=False)))
        if isinstance(outcome, Admitted):
            ledger, there = outcome.ledger, [*there, f"p{index}"]
        if there and rng.random() < 0.3:
            ledger = admission.release(node, ledger, there.pop(rng.randrange(len(there))))
    return ledger


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("many", [False, True])
def test_under_single_numa_node_what_fits_is_what_the_kubelet_admits(seed: int, many: bool) -> None:
    rng = randomness.stream(seed, "aligning")
    node = random_node(rng, Policy.SINGLE_NUMA_NODE)
    for _ in range(10):
        ledger = filled(rng, node, rng.randint(0, 6))
        spec = random_spec(rng, node, many=many, init=False)
        admitted = isinstance(admission.admit(node, ledger, as_pod("new", spec)), Admitted)
        found = fits_spec(exported(node, ledger), spec)
        assert not found or admitted, spec
        # Pods whose memory no set of zones has are admitted, container by container, but not aligned.
        if not (many and node.scope is Scope.POD and node.reserved_memory):
            assert found == admitted, spec


@pytest.mark.parametrize("seed", range(15))
def test_what_fits_is_admitted_with_init_containers_and_sidecars_too(seed: int) -> None:
    rng = randomness.stream(seed, "aligning")
    node = random_node(rng, Policy.SINGLE_NUMA_NODE)
    for _ in range(10):
        ledger = filled(rng, node, rng.randint(0, 6))
        spec = random_spec(rng, node, many=True, init=True)
        if fits_spec(exported(node, ledger), spec):
            assert isinstance(admission.admit(node, ledger, as_pod("new", spec)), Admitted), spec


@pytest.mark.parametrize("seed", range(15))
def test_under_restricted_what_fits_is_admitted_and_on_an_empty_node_nothing_else(seed: int) -> None:
    rng = randomness.stream(seed, "aligning")
    node = random_node(rng, Policy.RESTRICTED)
    for index in range(10):
        ledger = admission.empty(node)
        spec = random_spec(rng, node, many=index % 2 == 1, init=False)
        admitted = isinstance(admission.admit(node, ledger, as_pod("new", spec)), Admitted)
        found = fits_spec(exported(node, ledger), spec)
        assert not found or admitted, spec
        if len(spec["containers"]) == 1:
            assert found == admitted, spec


@pytest.mark.parametrize("seed", range(15))
def test_under_restricted_what_fits_is_admitted_beside_others(seed: int) -> None:
    """Without the memory manager, whose groups of zones nobody exports."""
    rng = randomness.stream(seed, "aligning")
    node = random_node(rng, Policy.RESTRICTED)
    for _ in range(10):
        ledger = filled(rng, node, rng.randint(0, 6))
        spec = random_spec(rng, node, many=True, init=True)
        if node.reserved_memory is None and fits_spec(exported(node, ledger), spec):
            assert isinstance(admission.admit(node, ledger, as_pod("new", spec)), Admitted), spec


@pytest.mark.parametrize("policy", [Policy.SINGLE_NUMA_NODE, Policy.RESTRICTED])
@pytest.mark.parametrize("seed", range(15))
def test_pods_that_were_placed_since_do_not_keep_others_from_being_admitted(seed: int, policy: Policy) -> None:
    """Whatever fits beside pods that no exporter has seen yet is admitted, in whatever order they arrive."""
    rng = randomness.stream(seed, "aligning")
    node = random_node(rng, policy)
    if policy is Policy.RESTRICTED and node.reserved_memory is not None:
        return
    ledger = filled(rng, node, rng.randint(0, 4))
    zones, placed, since = exported(node, ledger), [], []
    for _ in range(12):
        spec = random_spec(rng, node, many=True, init=rng.random() < 0.3)
        demand = demand_of(spec)
        if demand is None or takes_beside(zones, since, demand):
            placed.append(spec)
            since += [] if demand is None else [demand]
    rng.shuffle(placed)
    for index, spec in enumerate(placed):
        outcome = admission.admit(node, ledger, as_pod(f"new-{index}", spec))
        assert isinstance(outcome, Admitted), (index, placed)
        ledger = outcome.ledger


# Against trying everything.


def by_trying(zones: Sequence[Mapping[str, tuple[int, int]]], asked: Mapping[str, int], *, single: bool) -> bool:
    """Whether some set of zones (by resource: installed and free) is the right one.

    Every resource counts by itself. A set is right if it has enough of everything, and is as small as the smallest that
    could ever have enough of each.
    """
    asked = {name: amount for name, amount in asked.items() if any(name in zone for zone in zones)}
    sets = [some for size in range(1, len(zones) + 1) for some in itertools.combinations(zones, size)]
    smallest = {
        name: min((len(one) for one in sets if sum(zone.get(name, (0, 0))[0] for zone in one) >= amount), default=-1)
        for name, amount in asked.items()
    }
    right = [
        some
        for some in sets
        if all(
            all(name in zone for zone in some)
            and sum(zone[name][1] for zone in some) >= amount
            and len(some) == smallest[name]
            for name, amount in asked.items()
        )
    ]
    return not asked or any(len(some) == 1 or not single for some in right)


@pytest.mark.parametrize("seed", range(15))
def test_it_agrees_with_trying_all_sets_of_zones(seed: int) -> None:
    rng = randomness.stream(seed, "trying")
    names = ["cpu", GPU, "example.com/nic"]
    for _ in range(20):
        zones = []
        for _ in range(rng.randint(1, 4)):
            installed = {name: rng.randint(1, 8) for name in names if rng.random() < 0.8}
            zones.append({name: (most, rng.randint(0, most)) for name, most in installed.items()})
        single = rng.random() < 0.5
        written = {
            "metadata": {"name": "n"},
            "topologyPolicies": ["SingleNUMANodePodLevel" if single else "RestrictedPodLevel"],
            "zones": [
                {
                    "name": f"node-{3 * number}",
                    "type": "Node",
                    "resources": [
                        {"name": name, "capacity": most, "allocatable": most, "available": free}
                        for name, (most, free) in zone.items()
                    ],
                }
                for number, zone in enumerate(zones)
            ],
        }
        report = report_of(written)
        assert report is not None
        asked = {name: rng.randint(1, 12) for name in names if rng.random() < 0.6}
        spec = spec_of({"memory": GIB, "cpu": "500m", **asked})
        assert fits_spec(report.zones, spec) == by_trying(zones, asked, single=single), (zones, asked)


# Case by case.


def two_zones(
    *free: int, policy: Policy = Policy.SINGLE_NUMA_NODE, scope: Scope = Scope.CONTAINER, exact: bool = True
) -> Zones:
    """Zones of 8 CPUs with so many free."""
    return Zones(
        policy,
        scope,
        ("cpu",),
        ((8000,),) * len(free),
        ((8000,),) * len(free),
        tuple((1000 * one,) for one in free),
        exact,
    )


def cpus(*counts: int, init: Sequence[int] = ()) -> Any:
    demand = demand_of(
        spec_of(*({"cpu": one, "memory": GIB} for one in counts), init=[{"cpu": one, "memory": GIB} for one in init])
    )
    assert demand is not None
    return demand


@pytest.mark.parametrize(
    ("zones", "counts", "expected"),
    [
        (two_zones(4, 4), (4,), True),
        (two_zones(4, 4), (5,), False),
        (two_zones(4, 4), (4, 4), True),
        (two_zones(4, 4), (3, 3), True),
        (two_zones(4, 4), (3, 3, 1, 1), True),
        (two_zones(4, 4), (3, 3, 2), False),
        # The lowest zone that has enough is taken, not the one that is left best.
        (two_zones(4, 3), (3, 4), False),
        (two_zones(4, 4, scope=Scope.POD), (3, 3), False),
        (two_zones(2, 6, scope=Scope.POD), (3, 3), True),
        # Where it is not known how exact the figures are, the others may have been put anywhere.
        (two_zones(4, 4, exact=False), (3, 3), False),
        (two_zones(4, 4, exact=False), (2, 2), True),
        (two_zones(8, 8, policy=Policy.RESTRICTED), (12,), True),
        (two_zones(5, 6, policy=Policy.RESTRICTED), (12,), False),
        (two_zones(5, 6, policy=Policy.RESTRICTED), (7,), False),
    ],
)
def test_pods_fit_or_do_not(zones: Zones, counts: tuple[int, ...], expected: bool) -> None:
    assert fits(zones, cpus(*counts)) is expected


def test_what_init_containers_have_is_used_again_on_the_same_zone() -> None:
    assert fits(two_zones(4, 8), cpus(4, init=[4]))
    assert not fits(two_zones(4, 8), cpus(5, init=[4])), "it begins on the lower zone and must stay there"
    assert fits(two_zones(4, 8), cpus(5, init=[5]))
    assert not fits(two_zones(4, 8, exact=False), cpus(5, init=[5])), "it may begin on either"


def test_how_many_fit_does_not_depend_on_where_they_go() -> None:
    assert takes(two_zones(8, 8), cpus(4)) == 2
    assert takes(two_zones(8, 3), cpus(3)) == 2
    assert takes(two_zones(8, 8), cpus(2, 2)) == 2
    assert takes(two_zones(8, 8, policy=Policy.RESTRICTED), cpus(12)) == 1
    plain = demand_of(spec_of({"memory": GIB, "cpu": "500m"}))
    assert plain is not None
    assert takes(two_zones(0, 0), plain) == UNLIMITED
    assert charged(two_zones(1, 0), plain) == two_zones(1, 0)


def test_a_pod_is_taken_off_every_zone_where_it_could_have_gone() -> None:
    zones = Zones(
        Policy.SINGLE_NUMA_NODE, Scope.POD, ("cpu",), ((8000,), (4000,)), ((8000,), (4000,)), ((6000,), (3000,))
    )
    assert charged(zones, cpus(3)).left == ((3000,), (0,))
    assert charged(zones, cpus(5)).left == ((1000,), (3000,)), "it is larger than the other zone"
    assert charged(charged(zones, cpus(3)), cpus(4)).left == ((-1000,), (-4000,))


def test_a_pod_must_not_take_the_only_place_of_one_that_may_arrive_later() -> None:
    rows = ((8000,), (4000,))
    zones = Zones(Policy.SINGLE_NUMA_NODE, Scope.POD, ("cpu",), rows, rows, rows)
    assert takes(charged(zones, cpus(6)), cpus(3)) == 1, "the smaller zone has room"
    assert takes_beside(zones, [cpus(6)], cpus(3)) == 0, "but it may go to the larger one"
    assert takes_beside(zones, [cpus(6)], cpus(2)) == 1


def test_what_is_left_when_pods_go_is_no_more_than_is_sure() -> None:
    zones = two_zones(0, 0)
    assert emptied(zones, []).left == ((8000,), (8000,))
    assert emptied(zones, [cpus(3)]).left == ((5000,), (5000,))
    assert emptied(two_zones(0, 6), [cpus(3), cpus(2)]).left == ((3000,), (6000,))
    assert covers(zones, cpus(4), cpus(4))
    assert covers(zones, cpus(4), cpus(3))
    assert not covers(zones, cpus(4), cpus(5))
    assert covers(zones, cpus(2, 2), cpus(2, 2))
    assert not covers(zones, cpus(2, 2), cpus(3))
    assert not covers(two_zones(0, 0, policy=Policy.RESTRICTED), cpus(12), cpus(4)), "half of it is on either zone"


def test_the_tightest_zone_that_has_enough_tells_how_much_is_left_over() -> None:
    assert looseness(two_zones(8, 5), cpus(4)) == 125
    assert looseness(two_zones(8, 3), cpus(4)) == 500
    assert looseness(two_zones(8, 8, policy=Policy.RESTRICTED), cpus(12)) == 1000


def test_bigger_than_one_zone_in_one_resource_alone_is_refused_under_restricted() -> None:
    rows = ((8000, 4000),) * 2
    zones = Zones(Policy.RESTRICTED, Scope.POD, ("cpu", GPU), rows, rows, rows)
    fitting = {
        (cpu, gpu): fits_spec(zones, spec_of({"cpu": cpu, "memory": GIB, GPU: gpu}))
        for cpu in (4, 12)
        for gpu in (4, 8)
    }
    assert fitting == {(4, 4): True, (4, 8): False, (12, 4): False, (12, 8): True}
