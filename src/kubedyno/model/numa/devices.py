"""The device manager: which devices of a plugin a container is given.

Where the kubelet takes any of several equal devices (it walks a hash set), the lowest ids are taken here.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import msgspec

from kubedyno.model.numa import bits, refusals
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.hints import Hint, Hints, marked
from kubedyno.model.numa.pods import Container, Pod

Preference: TypeAlias = Callable[[AbstractSet[str], AbstractSet[str], int], AbstractSet[str]]
"""A plugin's GetPreferredAllocation: out of the available devices, with those that must be in it, so many."""

Reusable: TypeAlias = Mapping[str, AbstractSet[str]]
"""Devices that init containers of the pod leave behind, by resource."""


class Plugin(msgspec.Struct, frozen=True):
    """The devices of one resource with the NUMA nodes that each is near to (none: it has no place)."""

    devices: Mapping[str, Bits]
    unhealthy: AbstractSet[str] = frozenset()
    preference: Preference | None = None

    @property
    def healthy(self) -> AbstractSet[str]:
        """Devices that may be given out."""
        return self.devices.keys() - self.unhealthy

    @property
    def has_places(self) -> bool:
        """Whether any device is near to a NUMA node: only then does alignment matter."""
        return any(self.devices.values())

    def by_affinity(
        self, available: AbstractSet[str], affinity: Hint
    ) -> tuple[AbstractSet[str], AbstractSet[str], AbstractSet[str]]:
        """Available devices near to the affinity's nodes, those near to others only, and those without a place."""
        if not self.has_places or affinity.nodes is None:
            return frozenset(), frozenset(), available
        near = {device for device in available if self.devices[device] & affinity.nodes}
        placeless = {device for device in available if not self.devices[device]}
        return near, available - near - placeless, placeless

    def preferred(self, available: AbstractSet[str], must: AbstractSet[str], count: int) -> AbstractSet[str]:
        """What the plugin would rather give; nothing if it has no opinion."""
        return self.preference(available, must, count) if self.preference else frozenset()

    def hints(self, nodes: Bits, available: AbstractSet[str], reusable: AbstractSet[str], count: int) -> list[Hint]:
        """The sets of NUMA nodes that have enough of the available devices and all of the reusable ones."""
        places = self.devices
        bearing = 0
        for near in places.values():
            bearing |= near
        candidates = bits.members(bearing & nodes or nodes)
        smallest = len(candidates)
        left = [near for device in reusable if (near := places.get(device, 0))]
        fitting = []
        for mask in bits.subsets(candidates):
            if sum(1 for near in places.values() if near & mask) >= count:
                smallest = min(smallest, mask.bit_count())
            matching = len(left) + sum(1 for device in available if places.get(device, 0) & mask)
            if matching >= count and all(near & mask for near in left):
                fitting.append(mask)
        return marked(fitting, smallest)


class DeviceLedger(msgspec.Struct, frozen=True):
    """Devices by pod, container and resource."""

    assigned: Mapping[str, Mapping[str, Mapping[str, AbstractSet[str]]]] = {}

    def of(self, resource: str) -> set[str]:
        """All devices of a resource that are held."""
        return {
            device
            for containers in self.assigned.values()
            for held in containers.values()
            for device in held.get(resource, ())
        }


class Devices(msgspec.Struct, frozen=True):
    """The plugins of one machine by resource, and its NUMA nodes."""

    plugins: Mapping[str, Plugin] = {}
    nodes: Bits = 0

    def hints(self, ledger: DeviceLedger, pod: Pod, container: Container, reusable: Reusable) -> Hints:
        """Where the container's devices could come from."""
        answers = {}
        for resource, count in self._limits(container).items():
            held = ledger.assigned.get(pod.uid, {}).get(container.name, {}).get(resource, frozenset())
            left = reusable.get(resource, frozenset())
            answers[resource] = self._answer(resource, ledger, count, held=held, reusable=left)
        return answers

    def pod_hints(self, ledger: DeviceLedger, pod: Pod) -> Hints:
        """Where the devices of all containers together could come from."""
        answers = {}
        for resource, count in self.pod_requests(pod).items():
            containers = ledger.assigned.get(pod.uid, {}).values()
            held = {device for container in containers for device in container.get(resource, ())}
            answers[resource] = self._answer(resource, ledger, count, held=held, reusable=frozenset())
        return answers

    def pod_requests(self, pod: Pod) -> dict[str, int]:
        """Devices that the pod needs at most at a time."""
        return pod.longest_need(self._limits)

    def allocate(
        self, ledger: DeviceLedger, pod: Pod, container: Container, affinity: Hint, reusable: Reusable
    ) -> tuple[DeviceLedger, Reusable]:
        """The ledger with the container's devices charged, and what later containers of the pod may reuse."""
        before = ledger.assigned.get(pod.uid, {}).get(container.name, {})
        held = dict(before)
        for resource, count in self._limits(container).items():
            if resource in container.claimed:
                continue
            earlier = held.get(resource)
            self._check(pod, container, resource, count, earlier)
            if count and earlier is None:
                left = reusable.get(resource, frozenset())
                held[resource] = self.choose(resource, count, affinity, in_use=ledger.of(resource), reusable=left)
        if held != before:
            containers = {**ledger.assigned.get(pod.uid, {}), container.name: held}
            ledger = DeviceLedger({**ledger.assigned, pod.uid: containers})
        after: dict[str, AbstractSet[str]] = dict(reusable)
        for resource, devices in held.items():
            left = after.get(resource, frozenset())
            after[resource] = left | devices if container.passes else left - devices
        return ledger, after

    def choose(
        self, resource: str, count: int, affinity: Hint, *, in_use: AbstractSet[str], reusable: AbstractSet[str]
    ) -> frozenset[str]:
        """The devices to give: what init containers left, then near ones, then what the plugin prefers, then others."""
        plugin = self.plugins[resource]
        chosen = set(sorted(reusable)[:count])
        needed = count - len(chosen)
        if not needed:
            return frozenset(chosen)
        available = plugin.healthy - in_use - chosen
        if len(available) < needed:
            raise refusals.failed(
                f"requested number of devices unavailable for {resource}. "
                f"Requested: {needed}, Available: {len(available)}"
            )
        near, far, placeless = plugin.by_affinity(available, affinity)
        tiers: list[AbstractSet[str]] = [near, far, placeless]
        if needed < len(near):
            tiers.insert(0, plugin.preferred(near | chosen, chosen, count) & near)
        elif needed > len(near):
            chosen |= near
            tiers.insert(0, plugin.preferred(available | chosen, chosen, count) & available)
        for tier in tiers:
            chosen |= set(sorted(tier - chosen)[: count - len(chosen)])
        return frozenset(chosen)

    def _check(
        self, pod: Pod, container: Container, resource: str, count: int, earlier: AbstractSet[str] | None
    ) -> None:
        """Refuse what cannot be given whatever is free."""
        healthy = self.plugins[resource].healthy
        if earlier is not None and len(earlier) != count:
            raise refusals.failed(
                f'pod "{pod.uid}" container "{container.name}" changed request for resource "{resource}" '
                f"from {len(earlier)} to {count}"
            )
        if not healthy:
            raise refusals.failed(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
        if earlier is not None and not earlier <= healthy:
            raise refusals.failed(
                f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
            )

    def _limits(self, container: Container) -> dict[str, int]:
        """Requests and limits of extended resources are equal; the kubelet reads the limits."""
        return {resource: asked.to_int() for resource, asked in container.limits.items() if resource in self.plugins}

    def _answer(
        self, resource: str, ledger: DeviceLedger, count: int, *, held: AbstractSet[str], reusable: AbstractSet[str]
    ) -> list[Hint] | None:
        plugin = self.plugins[resource]
        if not plugin.has_places:
            return None
        if held:
            return plugin.hints(self.nodes, held, frozenset(), count) if len(held) == count else []
        available = plugin.healthy - ledger.of(resource)
        if len(available | reusable) < count:
            return []
        return plugin.hints(self.nodes, available, reusable, count)


def release(ledger: DeviceLedger, uid: str) -> DeviceLedger:
    """The ledger without a pod: devices are freed with the whole pod only."""
    return DeviceLedger({other: containers for other, containers in ledger.assigned.items() if other != uid})
