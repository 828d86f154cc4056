"""Whether a kubelet would admit a pod, by what the zones of its node have left. Pure.

As the topology manager does: under `single-numa-node` each container (or the pod, by scope) gets all that zones list
from one zone; under `restricted` from as many as the neediest resource must have, if all agree on that number. What no
zone lists is not looked at.

What is said to fit, fits. The other way round there are exceptions, where an object does not tell enough and too little
is assumed: memory that is used anywhere is not combined with that of other zones; CPUs of init containers keep those
after them on their zone; an init container that needs several zones is refused; so is a pod whose memory no zone has as
a whole, though by pod scope a kubelet then aligns nothing. Not known at all: devices that are near to several zones,
whole cores, `prefer-closest-numa-nodes`, and memory that pods share out over several zones already.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final

import msgspec

from kubedyno.model.numa.admission import Scope
from kubedyno.model.numa.merging import Policy
from kubedyno.schedulers.reference.demands import Demand, Request
from kubedyno.schedulers.reference.zones import ABSENT, Zones

UNLIMITED: Final = 1 << 40
_MOST: Final = 256
"""Pods of several containers on one node are counted up to this."""
_CACHED: Final = 16_384

_Wanted = tuple[tuple[int, int], ...]
"""Columns of resources, and how much."""


@functools.lru_cache(maxsize=_CACHED)
def fits(zones: Zones, demand: Demand) -> bool:
    """Whether the pod would be admitted."""
    if zones.scope is Scope.POD:
        return _Trial(zones).take(demand.whole)
    if not zones.is_exact and any(one.passes for one in demand.containers):
        return _fits_wherever_it_begins(zones, demand)
    trial = _Trial(zones)
    return all(trial.take(one) for one in demand.containers)


@functools.lru_cache(maxsize=_CACHED)
def takes(zones: Zones, demand: Demand) -> int:
    """How many such pods would be admitted, wherever each of them goes."""
    wanted = _wanted(zones, demand.whole)
    if not wanted:
        return UNLIMITED
    requests = _requests(zones, demand)
    if len(requests) == 1 and not requests[0].passes and _width(zones, wanted) == 1:
        return max(min(max(0, row[column]) // amount for column, amount in wanted) for row in zones.left)
    count = 0
    while count < _MOST and fits(zones, demand):
        count, zones = count + 1, charged(zones, demand)
    return count


def remaining(zones: Zones, since: Iterable[Demand]) -> Zones:
    """What is left at least when these pods were placed since."""
    for demand in since:
        zones = charged(zones, demand)
    return zones


def takes_beside(zones: Zones, since: Sequence[Demand], demand: Demand) -> int:
    """How many such pods would be admitted beside those that were placed since, in whatever order all of them arrive.

    Where zones differ, one that can go to few of them could lose its place to one that can go to others as well.
    """
    left = remaining(zones, since)
    count = takes(left, demand)
    others = {other for other in since if other != demand}
    if not others or not count or count == UNLIMITED:
        return count
    while count and not all(_fits_beside(zones, since, demand, count, other) for other in others):
        count -= 1
    return count


def _fits_beside(zones: Zones, since: Sequence[Demand], demand: Demand, count: int, one: Demand) -> bool:
    """Whether one of those that were placed since fits beside the rest of them and so many more."""
    rest = list(since)
    rest.remove(one)
    return fits(remaining(zones, (*rest, *([demand] * count))), one)


@functools.lru_cache(maxsize=_CACHED)
def charged(zones: Zones, demand: Demand) -> Zones:
    """The zones with what a pod needs taken off each where it could have gone: which one it is nobody knows."""
    wanted = _wanted(zones, demand.whole)
    if not wanted:
        return zones
    parts = [_wanted(zones, one) for one in _requests(zones, demand)]
    left = tuple(
        _less(row, [(column, min(amount, max(0, most[column]))) for column, amount in wanted])
        if any(_could(zones, most, part) for part in parts if part)
        else row
        for row, most in zip(zones.left, zones.allocatable, strict=True)
    )
    return msgspec.structs.replace(zones, left=left, is_exact=False)


def emptied(zones: Zones, staying: Iterable[Demand]) -> Zones:
    """What is left at least when of the pods that were counted those alone stay."""
    rest = msgspec.structs.replace(zones, left=zones.allocatable)
    for demand in staying:
        rest = charged(rest, demand)
    left = tuple(tuple(map(max, *rows)) for rows in zip(zones.left, rest.left, strict=True))
    return msgspec.structs.replace(zones, left=left, is_exact=False)


@functools.lru_cache(maxsize=_CACHED)
def covers(zones: Zones, gone: Demand, coming: Demand) -> bool:
    """Whether the place of a pod that goes is surely enough for another one."""
    if gone == coming:
        return True
    ours, theirs = _requests(zones, coming), _requests(zones, gone)
    if len(ours) > 1 or len(theirs) > 1:
        return False
    wanted, had = _wanted(zones, ours[0]), dict(_wanted(zones, theirs[0]))
    return (
        all(had.get(column, 0) >= amount for column, amount in wanted)
        and _width(zones, wanted) == 1
        and _width(zones, tuple(had.items())) == 1
    )


def holds_any(zones: Zones, demand: Demand) -> bool:
    """Whether the pod holds anything of a zone."""
    return bool(_wanted(zones, demand.whole))


@functools.lru_cache(maxsize=_CACHED)
def looseness(zones: Zones, demand: Demand) -> int:
    """How much a pod would leave over: thousandths of its tightest zone, and 1000 for each zone beyond one.

    Of several containers the first of those counts that ask for most of the resources that zones list.
    """
    wanted = max((_wanted(zones, one) for one in _requests(zones, demand)), key=len)
    width = _width(zones, wanted) if wanted else 1
    if not wanted or width is None:
        return 0
    over = [
        sum((row[column] - amount) * 1000 // most[column] for column, amount in wanted) // len(wanted)
        for row, most in zip(zones.left, zones.allocatable, strict=True)
        if all(0 < amount <= row[column] for column, amount in wanted)
    ]
    return 1000 * (width - 1) + (min(over, default=1000) if width == 1 else 0)


def _requests(zones: Zones, demand: Demand) -> tuple[Request, ...]:
    return (demand.whole,) if zones.scope is Scope.POD else demand.containers


def _wanted(zones: Zones, request: Request) -> _Wanted:
    columns = _columns(zones.resources)
    return tuple((columns[name], amount) for name, amount in request.amounts if name in columns)


@functools.lru_cache(maxsize=_CACHED)
def _columns(resources: tuple[str, ...]) -> dict[str, int]:
    """Shared: do not change it."""
    return {name: column for column, name in enumerate(resources)}


def _less(row: Sequence[int], taken: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    after = list(row)
    for column, amount in taken:
        after[column] -= amount
    return tuple(after)


def _is_memory(resource: str) -> bool:
    return resource == "memory" or resource.startswith("hugepages-")


def _groups(zones: Zones, wanted: _Wanted) -> Iterator[_Wanted]:
    """What is looked for together: memory of all sizes; anything else by itself."""
    memory = tuple(pair for pair in wanted if _is_memory(zones.resources[pair[0]]))
    if memory:
        yield memory
    yield from ((pair,) for pair in wanted if pair not in memory)


@functools.lru_cache(maxsize=_CACHED)
def _width(zones: Zones, wanted: _Wanted) -> int | None:
    """How many zones it must be; None: resources disagree, or all zones together are too small."""
    if zones.policy is Policy.SINGLE_NUMA_NODE:
        return 1
    widths = {_least(zones, group) for group in _groups(zones, wanted)}
    return widths.pop() if len(widths) == 1 else None


def _least(zones: Zones, group: _Wanted) -> int | None:
    """How many zones could ever serve it: the kubelet goes by what is installed, for memory by what is allocatable."""
    installed = zones.allocatable if _is_memory(zones.resources[group[0][0]]) else zones.capacity
    for width in range(1, len(installed) + 1):
        for some in combinations(installed, width):
            if all(sum(max(0, row[column]) for row in some) >= amount for column, amount in group):
                return width
    return None


def _could(zones: Zones, most: Sequence[int], wanted: _Wanted) -> bool:
    """Whether a zone with so much allocatable is one where a container may be."""
    if _width(zones, wanted) == 1:
        return all(most[column] >= amount for column, amount in wanted)
    return any(most[column] != ABSENT for column, _ in wanted)


def _fits_wherever_it_begins(zones: Zones, demand: Demand) -> bool:
    """For pods with init containers where it is not known which zone these will be on: each must have all of it."""
    parts = [part for one in demand.containers if (part := _wanted(zones, one))]
    whole = _wanted(zones, demand.whole)
    if any(_width(zones, part) != 1 for part in parts):
        return False
    begin = [
        row
        for row, most in zip(zones.left, zones.allocatable, strict=True)
        if any(_could(zones, most, part) for part in parts)
    ]
    return not parts or (bool(begin) and all(row[column] >= amount for row in begin for column, amount in whole))


class _Trial:
    """The admission of one pod, container by container."""

    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._is_exact = zones.is_exact
        self._left = [list(row) for row in zones.left]
        self._reusable = [[0] * len(zones.resources) for _ in zones.left]
        """What init containers leave to those after them."""
        self._pinned: list[set[int]] = [set() for _ in zones.resources]
        """Zones with what init containers may have left, which must be among those that are used."""

    def take(self, request: Request) -> bool:
        """Give a container what it asks for from the lowest zones that the policy admits; False: there are none."""
        wanted = _wanted(self._zones, request)
        if not wanted:
            return True
        width = _width(self._zones, wanted)
        if width is None or (request.passes and (width > 1 or not self._is_exact)):
            return False
        chosen = next((some for some in combinations(range(len(self._left)), width) if self._has(some, wanted)), None)
        if chosen is None:
            return False
        if self._is_exact and width == 1:
            self._charge(chosen[0], wanted, passes=request.passes)
        else:
            self._charge_all(wanted)
        return True

    def _has(self, some: Sequence[int], wanted: _Wanted) -> bool:
        zones, reusable = self._zones, self._reusable
        for group in _groups(zones, wanted):
            is_memory = _is_memory(zones.resources[group[0][0]])
            if any(all(zones.capacity[i][column] <= 0 for column, _ in group) for i in some):
                return False
            if is_memory and len(some) > 1 and any(self._is_used(i, group) for i in some):
                return False
            for column, amount in group:
                if sum(max(0, self._left[i][column]) + reusable[i][column] for i in some) < amount:
                    return False
                if not self._pinned[column].issubset(some):
                    return False
        return True

    def _is_used(self, i: int, group: _Wanted) -> bool:
        return any(self._left[i][column] < self._zones.allocatable[i][column] for column, _ in group)

    def _charge(self, i: int, wanted: _Wanted, *, passes: bool) -> None:
        left, reusable = self._left[i], self._reusable[i]
        for column, amount in wanted:
            fresh = max(0, amount - reusable[column])
            left[column] -= fresh
            reusable[column] += fresh if passes else -min(amount, reusable[column])
            self._pin(i, column)

    def _pin(self, i: int, column: int) -> None:
        """Memory need not be used again; of CPUs it is not known whether they have been."""
        resource = self._zones.resources[column]
        if self._reusable[i][column] and not _is_memory(resource):
            self._pinned[column].add(i)
        elif resource != "cpu":
            self._pinned[column].discard(i)

    def _charge_all(self, wanted: _Wanted) -> None:
        """It is not known any more what is left where: nothing is counted as left by init containers."""
        self._is_exact = False
        self._reusable = [[0] * len(row) for row in self._reusable]
        for row, most in zip(self._left, self._zones.allocatable, strict=True):
            if _could(self._zones, most, wanted):
                for column, amount in wanted:
                    row[column] -= min(amount, max(0, most[column]))
