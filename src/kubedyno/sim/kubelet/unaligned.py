"""The device manager of a node on which nothing is aligned: devices are given out in their order.

The same answers as `model.numa.devices` gives without a place for any device, several times as fast; most nodes of
a large fleet are like this.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from kubedyno.model.numa import refusals
from kubedyno.model.numa.bits import Bits
from kubedyno.sim.kubelet.machines import Build
from kubedyno.sim.kubelet.requests import Needs

Held = tuple[tuple[str, str, Bits], ...]
"""Container, resource, and devices by their places in the resource's list."""


def given(
    uid: str,
    needs: Needs,
    build: Build,
    *,
    lost: AbstractSet[int],
    in_use: Mapping[str, Bits],
    recorded: Held = (),
) -> Held:
    """The devices of each container of a pod; `refusals.Refused` where they cannot be given.

    `in_use` are all that are given out, with those that a restarted kubelet has `recorded` for this pod.
    """
    before = {(container, resource): devices for container, resource, devices in recorded} if recorded else {}
    taken: dict[str, Bits] = {}
    reusable: dict[str, Bits] = {}
    held = []
    for asking in needs.limits:
        for resource, count in asking.counts:
            if resource not in build.devices:
                continue
            healthy = build.healthy(resource, lost)
            earlier = before.get((asking.container, resource))
            if earlier is not None or not healthy:
                _check(uid, asking.container, resource, count=count, earlier=earlier, healthy=healthy)
            left = reusable.get(resource, 0)
            if earlier is None:
                free = healthy & ~in_use.get(resource, 0) & ~taken.get(resource, 0)
                chosen = _chosen(resource, count, left, free)
            else:
                chosen = earlier
            if chosen:
                held.append((asking.container, resource, chosen))
                taken[resource] = taken.get(resource, 0) | chosen
                # What an init container had, those after it may have.
                reusable[resource] = left | chosen if asking.passes else left & ~chosen
    return tuple(held)


def _check(uid: str, container: str, resource: str, *, count: int, earlier: Bits | None, healthy: Bits) -> None:
    """Refuse what cannot be given whatever is free."""
    if earlier is not None and earlier.bit_count() != count:
        raise refusals.failed(
            f'pod "{uid}" container "{container}" changed request for resource "{resource}" '
            f"from {earlier.bit_count()} to {count}"
        )
    if not healthy:
        raise refusals.failed(f"no healthy devices present; cannot allocate unhealthy devices {resource}")
    if earlier is not None and earlier & ~healthy:
        raise refusals.failed(
            f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {resource}"
        )


def _chosen(resource: str, count: int, reusable: Bits, free: Bits) -> Bits:
    chosen = _lowest(reusable, count)
    needed = count - chosen.bit_count()
    if needed:
        if free.bit_count() < needed:
            raise refusals.failed(
                f"requested number of devices unavailable for {resource}. "
                f"Requested: {needed}, Available: {free.bit_count()}"
            )
        chosen |= _lowest(free, needed)
    return chosen


def _lowest(devices: Bits, count: int) -> Bits:
    """The first so many of them, or all."""
    left = devices
    for _ in range(count):
        left &= left - 1
        if not left:
            return devices
    return devices ^ left if count else 0
