"""How nodes are compared by their zones: against trying all sets of zones, with exact fractions."""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st
from tests.rooms import gang
from tests.unit.schedulers.reference.test_aligning import GPU, spec_of

from kubedyno.kube.codec import Object
from kubedyno.schedulers.reference.aligning import looseness
from kubedyno.schedulers.reference.demands import demand_of
from kubedyno.schedulers.reference.fitting import Amounts, needs_of
from kubedyno.schedulers.reference.nodes_table import Facts
from kubedyno.schedulers.reference.room import NodesRoom
from kubedyno.schedulers.reference.settings import Placement
from kubedyno.schedulers.reference.zones import Report, report_of

pytestmark = pytest.mark.unit

NIC = "example.com/nic"
NAMES = ("cpu", "memory", GPU, NIC)
EVEN = (2, 4, 5, 8, 10, 20, 25, 40)
"""Sizes of which one unit is a whole number of thousandths."""
ENOUGH = 1_000_000
"""Thousandths of whatever a node has: its zones are what pods are kept away by."""
PART = "500m"
"""Of a CPU: no zone is asked for it."""


class Has(msgspec.Struct, frozen=True):
    """What one zone has of a resource, in its units."""

    installed: int
    allocatable: int
    free: int
    """Less than nothing where more was taken off than there was."""


Zone = Mapping[str, Has]
Asked = Mapping[str, Any]


class Machine(msgspec.Struct, frozen=True):
    """The zones of a node, and how its kubelet aligns."""

    zones: tuple[Zone, ...]
    is_single: bool
    by_pod: bool

    def report(self) -> Report:
        """What the scheduler reads of it."""
        words = "SingleNUMANode" if self.is_single else "Restricted"
        written: Object = {
            "metadata": {"name": "n", "resourceVersion": "1"},
            "topologyPolicies": [f"{words}{'PodLevel' if self.by_pod else 'ContainerLevel'}"],
            "zones": [
                {
                    "name": f"node-{number}",
                    "type": "Node",
                    "resources": [
                        {"name": name, "capacity": has.installed, "allocatable": has.allocatable, "available": has.free}
                        for name, has in zone.items()
                    ],
                }
                for number, zone in enumerate(self.zones)
            ],
        }
        found = report_of(written)
        assert found is not None
        return found


# Slow and obviously right.


def counted(machine: Machine, asked: Asked) -> dict[str, int]:
    """What is looked for: whole CPUs and all else, unless no zone lists it."""
    return {
        name: amount for name, amount in asked.items() if amount != PART and any(name in zone for zone in machine.zones)
    }


def sets_of(machine: Machine) -> list[tuple[Zone, ...]]:
    sizes = range(1, len(machine.zones) + 1)
    return [some for size in sizes for some in itertools.combinations(machine.zones, size)]


def smallest(machine: Machine, name: str, amount: int) -> int | None:
    """How many zones could ever have so much: of memory what is allocatable counts, of all else what is installed."""
    for some in sets_of(machine):
        has = [zone[name] for zone in some if name in zone]
        if sum(one.allocatable if name == "memory" else one.installed for one in has) >= amount:
            return len(some)
    return None


def is_right(machine: Machine, some: Sequence[Zone], asked: Mapping[str, int]) -> bool:
    """Whether zones are such that the policy lets a container have them: enough, and no more than it needs at least."""
    if machine.is_single and len(some) > 1:
        return False
    for name, amount in asked.items():
        if not all(name in zone for zone in some) or smallest(machine, name, amount) != len(some):
            return False
        has = [zone[name] for zone in some]
        if sum(max(0, one.free) for one in has) < amount:
            return False
        if name == "memory" and len(some) > 1 and any(one.free < one.allocatable for one in has):
            return False
    return True


def left_over(some: Sequence[Zone], asked: Mapping[str, int]) -> Fraction:
    """Thousandths of one zone; of several zones nothing but their number counts."""
    if len(some) > 1:
        return Fraction(1000 * (len(some) - 1))
    shares = [Fraction(some[0][name].free - amount, some[0][name].allocatable) for name, amount in asked.items()]
    return 1000 * sum(shares, Fraction(0)) / len(shares)


def least_left_over(machine: Machine, asked: Asked) -> Fraction | None:
    """Of all sets of zones that a container could have, what the tightest would have left; None: there is none."""
    wanted = counted(machine, asked)
    if not wanted:
        return Fraction(0)
    return min((left_over(some, wanted) for some in sets_of(machine) if is_right(machine, some, wanted)), default=None)


def whole(containers: Sequence[Asked], init: Sequence[Asked]) -> dict[str, int]:
    """What a pod needs at once when that is most."""
    return {
        name: max(sum(_whole(one, name) for one in containers), max((_whole(one, name) for one in init), default=0))
        for name in NAMES
        if any(_whole(one, name) for one in (*containers, *init))
    }


def _whole(asked: Asked, name: str) -> int:
    amount = asked.get(name, 0)
    return 0 if amount == PART else int(amount)


def compared_by(machine: Machine, containers: Sequence[Asked], init: Sequence[Asked] = ()) -> Asked:
    """The pod by its scope, or of its containers the first of those that ask for most resources that zones list."""
    if machine.by_pod:
        return whole(containers, init)
    return max((*init, *containers), key=lambda one: len(counted(machine, one)))


def charged(machine: Machine, asked: Asked) -> Machine:
    """With what a pod of one container needs taken off every zone where it could have gone."""
    wanted = counted(machine, asked)
    fits_one = machine.is_single or {smallest(machine, name, amount) for name, amount in wanted.items()} == {1}

    def could(zone: Zone) -> bool:
        if fits_one:
            return all(name in zone and zone[name].allocatable >= amount for name, amount in wanted.items())
        return any(name in zone for name in wanted)

    def less(zone: Zone) -> Zone:
        return {
            name: msgspec.structs.replace(has, free=has.free - min(wanted.get(name, 0), has.allocatable))
            for name, has in zone.items()
        }

    return msgspec.structs.replace(machine, zones=tuple(less(zone) if could(zone) else zone for zone in machine.zones))


# What is drawn.


EVEN_SIZES = st.sampled_from(EVEN)
LISTED = st.lists(st.sampled_from(NAMES), min_size=1, unique=True)
AMOUNTS = st.sampled_from([st.integers(1, 4), st.integers(1, 10), st.integers(15, 60)])
"""What a container asks for of each resource: less than a zone has, about as much, or more."""
POLICIES = {"single-numa-node": True, "restricted": False}
SCOPES = {"pod": True, "container": False}


@st.composite
def machines(
    draw: st.DrawFn, sizes: st.SearchStrategy[int], names: Sequence[str], *, is_single: bool, by_pod: bool
) -> Machine:
    """One to four zones, which are alike and have as much of everything, or are each of its own."""
    count = draw(st.integers(1, 4))
    if draw(st.booleans()):
        amounts = [dict.fromkeys(names, draw(sizes))] * count
    else:
        amounts = [{name: draw(sizes) for name in names if draw(st.integers(0, 7))} for _ in range(count)]
    return Machine(tuple(draw(zones_with(one)) for one in amounts), is_single, by_pod)


@st.composite
def zones_with(draw: st.DrawFn, amounts: Mapping[str, int]) -> Zone:
    """A zone with so much allocatable, all of it free or a part."""
    reserved, taken = draw(st.integers(0, 2)), draw(st.booleans())
    return {
        name: Has(amount + reserved, amount, draw(st.integers(0, amount)) if taken else amount)
        for name, amount in amounts.items()
    }


@st.composite
def asking(draw: st.DrawFn, names: Sequence[str]) -> Asked:
    """A container: all of a guaranteed pod have CPUs and memory. Some ask for as much of everything."""
    found: dict[str, Any] = {"cpu": 1, "memory": 1}
    amounts = draw(AMOUNTS)
    if draw(st.booleans()):
        amounts = st.just(draw(amounts))
    for name in names:
        if name == "cpu":
            found[name] = draw(amounts | st.just(PART))
        elif name == "memory" or draw(st.booleans()):
            found[name] = draw(amounts)
    return found


@st.composite
def pods(draw: st.DrawFn) -> tuple[list[Asked], list[Asked]]:
    """One to three containers and perhaps one that goes before."""
    one = asking(NAMES)
    return draw(st.lists(one, min_size=1, max_size=3)), draw(st.lists(one, max_size=1))


def score(machine: Machine, containers: Sequence[Asked], init: Sequence[Asked] = ()) -> int:
    """What is under test."""
    demand = demand_of(spec_of(*containers, init=init))
    assert demand is not None
    return looseness(machine.report().zones, demand)


# One node.


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("policy", POLICIES)
@hypothesis.settings(max_examples=200)
@hypothesis.given(data=st.data())
def test_a_score_is_what_the_tightest_of_all_sets_of_zones_would_have_left(
    data: st.DataObject, policy: str, scope: str
) -> None:
    shape = machines(EVEN_SIZES, data.draw(LISTED), is_single=POLICIES[policy], by_pod=SCOPES[scope])
    machine = data.draw(shape)
    containers, init = data.draw(pods())
    exact = least_left_over(machine, compared_by(machine, containers, init))
    hypothesis.assume(exact is not None)
    assert exact is not None
    assert score(machine, containers, init) == math.floor(exact)


@hypothesis.settings(max_examples=200)
@hypothesis.given(data=st.data(), is_single=st.booleans(), by_pod=st.booleans())
def test_zones_of_any_size_are_scored_to_thousandths(data: st.DataObject, is_single: bool, by_pod: bool) -> None:
    shape = machines(st.integers(1, 60), data.draw(LISTED), is_single=is_single, by_pod=by_pod)
    machine = data.draw(shape)
    containers, init = data.draw(pods())
    exact = least_left_over(machine, compared_by(machine, containers, init))
    hypothesis.assume(exact is not None)
    assert exact is not None
    # Each resource is cut to thousandths, and so is what they are on average.
    assert exact - 2 < score(machine, containers, init) <= exact


@hypothesis.settings(max_examples=200)
@hypothesis.given(
    data=st.data(), names=LISTED, size=st.sampled_from([5, 8, 10]), count=st.integers(2, 4), by_pod=st.booleans()
)
def test_under_restricted_each_zone_beyond_one_counts_as_a_whole_one(
    data: st.DataObject, names: list[str], size: int, count: int, by_pod: bool
) -> None:
    zones = tuple(data.draw(zones_with(dict.fromkeys(names, size))) for _ in range(count))
    machine = Machine(zones, is_single=False, by_pod=by_pod)
    # More than any zone has installed.
    amount = data.draw(st.integers(size + 3, count * size))
    asked = {"cpu": 1, "memory": 1, **dict.fromkeys(names, amount)}
    exact = least_left_over(machine, asked)
    hypothesis.assume(exact is not None)
    assert score(machine, [asked]) == math.floor(exact or 0)


@pytest.mark.parametrize("extra", [{}, {NIC: 1}])
def test_what_no_zone_lists_does_not_decide_which_container_counts(extra: Asked) -> None:
    zone = {GPU: Has(8, 8, 6)}
    machine = Machine((zone,), is_single=True, by_pod=False)
    first, second = {"cpu": 2, "memory": 1, **extra}, {"cpu": PART, "memory": 1, GPU: 2}
    assert score(machine, [second]) == 500
    assert score(machine, [first, second]) == 500


# Several nodes.


class Cluster:
    """Nodes as mappings of numbers, with zones or without; a pod goes where nothing better is found by looking."""

    def __init__(self, free: Mapping[str, Amounts], zones: Mapping[str, Machine | None], placement: Placement) -> None:
        self._free = {name: dict(amounts) for name, amounts in free.items()}
        self._zones = dict(zones)
        self._sign = 1 if placement == "binpack" else -1

    def place(self, asked: Asked) -> str | None:
        """The node that a pod of one container gets: by GPUs, by CPUs, then by what its zone has left, then by name."""
        ranked = []
        for name, machine in self._zones.items():
            over = Fraction(0) if machine is None else least_left_over(machine, asked)
            if over is not None:
                left = (self._free[name][GPU], self._free[name]["cpu"], math.floor(over))
                ranked.append((*(self._sign * one for one in left), name))
        if not ranked:
            return None
        chosen = min(ranked)[-1]
        assert isinstance(chosen, str)
        for name, amount in asked.items():
            self._free[chosen][name] -= 500 if amount == PART else 1000 * amount
        machine = self._zones[chosen]
        self._zones[chosen] = machine and charged(machine, asked)
        return chosen


def room_with(free: Mapping[str, Amounts], zones: Mapping[str, Machine | None], placement: Placement) -> NodesRoom:
    room = NodesRoom(placement)
    for name, amounts in free.items():
        room.put_node(name, Facts({}, b"[]", unschedulable=False, allocatable=amounts))
        machine = zones[name]
        if machine is not None:
            room.packing.put_zones(name, machine.report())
    return room


def placed(room: NodesRoom, name: str, asked: Asked, count: int) -> list[str]:
    """Where alike pods of one container go; so many of them as find room."""
    needs = needs_of({"metadata": {}, "spec": spec_of(asked)})
    made = gang(name, pods=count, least=1)
    pending = tuple(msgspec.structs.replace(task, needs=needs) for task in made.pending)
    return [node for _, node in room.place(msgspec.structs.replace(made, pending=pending))]


@st.composite
def worlds(draw: st.DrawFn, *, is_single: bool) -> dict[str, tuple[Amounts, Machine | None]]:
    """By name, in any order: what nodes have, which is the same for most of them, and their zones if they have any."""
    names = draw(st.permutations("abcde"))[: draw(st.integers(2, 5))]
    listed = draw(LISTED)
    sizes = st.sampled_from([ENOUGH, ENOUGH, ENOUGH, ENOUGH + 1000])
    others = dict.fromkeys(("memory", NIC, "pods"), ENOUGH)
    found = {}
    for name in names:
        zones = machines(EVEN_SIZES, listed, is_single=is_single, by_pod=draw(st.booleans()))
        is_zoned = draw(st.integers(0, 5)) > 0
        found[name] = {**others, GPU: draw(sizes), "cpu": draw(sizes)}, draw(zones) if is_zoned else None
    return found


@pytest.mark.parametrize(
    ("placement", "together", "most"),
    [
        ("binpack", False, 8),
        ("binpack", True, 8),
        ("binpack", True, 12),
        ("spread", False, 8),
        ("spread", True, 12),
    ],
)
@pytest.mark.parametrize("policy", POLICIES)
@hypothesis.settings(max_examples=100)
@hypothesis.given(data=st.data())
def test_pods_go_to_the_best_zone_of_nodes_that_are_equal_otherwise(
    data: st.DataObject, policy: str, placement: Placement, together: bool, most: int
) -> None:
    """The tightest, or the loosest when spreading; what was placed is taken off every zone where it could have gone."""
    world = data.draw(worlds(is_single=POLICIES[policy]))
    free, zones = {name: one for name, (one, _) in world.items()}, {name: one for name, (_, one) in world.items()}
    asked = data.draw(asking(NAMES))
    count = data.draw(st.integers(1, most))
    room, cluster = room_with(free, zones, placement), Cluster(free, zones, placement)
    expected = [node for _ in range(count) if (node := cluster.place(asked)) is not None]
    if together:
        # Alike pods that come at once may be handed out node by node: what counts is how many each node got.
        assert sorted(placed(room, "p", asked, count)) == sorted(expected)
    else:
        assert [node for index in range(count) for node in placed(room, f"p{index}", asked, 1)] == expected
