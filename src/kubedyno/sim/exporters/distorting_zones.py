"""Distortions of zones: their amounts, names, types and order. Pure.

A zone is named by the number of its NUMA node; without one, all are meant.
"""

import random
import re
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.quantities import Quantity
from kubedyno.model.numa.zones import Amount
from kubedyno.sim.exporters.accounting import Zone, zone_name
from kubedyno.sim.exporters.distortion import BaseDistortion, Stage
from kubedyno.sim.exporters.drafting import Draft

_NUMBERED: Final = re.compile(r"node-(-?\d+)", re.ASCII)
_LEAST_STEP: Final = 2
_MOST_STEP: Final = 1000


class MoreAvailable(BaseDistortion, frozen=True, tag="more-available"):
    """`by` (a quantity) more of the resource is available in the zone, or in each that lists it."""

    resource: str
    by: str
    zone: int | None = None

    def apply(self, draft: Draft) -> Draft:
        """More than allocatable, if need be."""
        by = Quantity.parse(self.by).to_int()
        return _with_available(draft, self.resource, self.zone, lambda available: available + by)

    def check(self) -> None:
        """A quantity above zero."""
        _check_by(self.by)


class LessAvailable(BaseDistortion, frozen=True, tag="less-available"):
    """`by` (a quantity) less of the resource is available in the zone, or in each that lists it."""

    resource: str
    by: str
    zone: int | None = None

    def apply(self, draft: Draft) -> Draft:
        """Not less than nothing."""
        by = Quantity.parse(self.by).to_int()
        return _with_available(draft, self.resource, self.zone, lambda available: max(0, available - by))

    def check(self) -> None:
        """A quantity above zero."""
        _check_by(self.by)


class SwappedZones(BaseDistortion, frozen=True, tag="swapped-zones"):
    """Two zones tell each other's resources."""

    zones: tuple[int, int] = (0, 1)

    def apply(self, draft: Draft) -> Draft:
        """Names and costs stay where they are."""
        one, other = (_zone(draft, number) for number in self.zones)
        told = {one.name: other.resources, other.name: one.resources}
        return _with_zones(
            draft,
            (msgspec.structs.replace(zone, resources=told.get(zone.name, zone.resources)) for zone in draft.zones),
        )

    def check(self) -> None:
        """Two zones, not one."""
        if self.zones[0] == self.zones[1]:
            raise UsageError(f"zones names {self.zones[0]} twice: write two zones that differ, like [0, 1]")


class MissingResource(BaseDistortion, frozen=True, tag="missing-resource"):
    """The zone does not list the resource, or no zone does."""

    resource: str
    zone: int | None = None

    def apply(self, draft: Draft) -> Draft:
        """Other resources stay."""
        names = _listing(draft, self.resource, self.zone)
        return _with_zones(draft, (self._without(zone) if zone.name in names else zone for zone in draft.zones))

    def _without(self, zone: Zone) -> Zone:
        kept = {name: amount for name, amount in zone.resources.items() if name != self.resource}
        return msgspec.structs.replace(zone, resources=kept)


class WrongZoneType(BaseDistortion, frozen=True, tag="wrong-zone-type"):
    """Zones are of another type than `Node`."""

    type: str = "Socket"

    def apply(self, draft: Draft) -> Draft:
        """All of them."""
        return _with_zones(draft, (msgspec.structs.replace(zone, type=self.type) for zone in draft.zones))


class ShuffledOrder(BaseDistortion, frozen=True, tag="shuffled-order"):
    """Zones are in another order."""

    seed: int = 0

    def apply(self, draft: Draft) -> Draft:
        """One order for each seed, but never the one that it was."""
        zones = list(draft.zones)
        random.Random(self.seed).shuffle(zones)  # noqa: S311 # an order, no secret
        if tuple(zones) == draft.zones:
            zones = [*zones[1:], *zones[:1]]
        return _with_zones(draft, zones)


class SparseIds(BaseDistortion, frozen=True, tag="sparse-ids"):
    """Numbers of zones are left out: with `step` 2 they are `node-0`, `node-2`, `node-4`."""

    stage: ClassVar[Stage] = Stage.NUMBER

    step: int = 2

    def apply(self, draft: Draft) -> Draft:
        """Also where costs name them."""
        return _renamed(draft, lambda number: zone_name(number * self.step))

    def check(self) -> None:
        """A step that leaves something out."""
        if not _LEAST_STEP <= self.step <= _MOST_STEP:
            raise UsageError(f"step {self.step} must be {_LEAST_STEP} to {_MOST_STEP}")


class NegativeIds(BaseDistortion, frozen=True, tag="negative-ids"):
    """Numbers of zones are below zero: `node--1`, `node--2`."""

    stage: ClassVar[Stage] = Stage.NUMBER

    def apply(self, draft: Draft) -> Draft:
        """Also where costs name them."""
        return _renamed(draft, lambda number: zone_name(-1 - number))


class WrongZoneNames(BaseDistortion, frozen=True, tag="wrong-zone-names"):
    """Zones are named otherwise: `numa-node-0` instead of `node-0`."""

    stage: ClassVar[Stage] = Stage.NAME

    prefix: str = "numa-node-"

    def apply(self, draft: Draft) -> Draft:
        """Also where costs name them."""
        return _renamed(draft, lambda number: f"{self.prefix}{number}")

    def check(self) -> None:
        """Not the right names."""
        if self.prefix == zone_name(0).removesuffix("0"):
            raise UsageError(f"prefix {self.prefix!r} is the right one: write another, like 'numa-node-'")


def _check_by(written: str) -> None:
    with located("by"):
        if Quantity.parse(written).nanos <= 0:
            raise UsageError(f"{written!r} is not above zero: write a quantity like 2 or 1Gi")


def _with_zones(draft: Draft, zones: Iterable[Zone]) -> Draft:
    return msgspec.structs.replace(draft, zones=tuple(zones))


def _with_available(draft: Draft, resource: str, number: int | None, change: Callable[[int], int]) -> Draft:
    names = _listing(draft, resource, number)

    def changed(zone: Zone) -> Zone:
        amount = zone.resources[resource]
        told = Amount(amount.capacity, amount.allocatable, change(amount.available))
        return msgspec.structs.replace(zone, resources={**zone.resources, resource: told})

    return _with_zones(draft, (changed(zone) if zone.name in names else zone for zone in draft.zones))


def _listing(draft: Draft, resource: str, number: int | None) -> set[str]:
    """The names of the zones that are meant and list the resource: one at least."""
    meant = draft.zones if number is None else [_zone(draft, number)]
    names = {zone.name for zone in meant if resource in zone.resources}
    if not names:
        where = "no zone lists" if number is None else f"zone {number} does not list"
        known = {name for zone in meant for name in zone.resources}
        raise UsageError(f"{where} the resource {resource!r}: {suggestion(resource, known)}")
    return names


def _zone(draft: Draft, number: int) -> Zone:
    found = next((zone for zone in draft.zones if zone.name == zone_name(number)), None)
    if found is None:
        names = ", ".join(sorted(zone.name for zone in draft.zones))
        raise UsageError(f"there is no zone {number}: the node has {names}")
    return found


def _renamed(draft: Draft, name: Callable[[int], str]) -> Draft:
    """Zones under new names; one whose name has no number keeps it."""

    def changed(old: str) -> str:
        numbered = _NUMBERED.fullmatch(old)
        return name(int(numbered[1])) if numbered else old

    return _with_zones(
        draft,
        (
            msgspec.structs.replace(
                zone, name=changed(zone.name), costs={changed(other): cost for other, cost in zone.costs.items()}
            )
            for zone in draft.zones
        ),
    )
