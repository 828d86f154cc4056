"""The reference scheduler's decisions: pods packed onto as few nodes as can be, gangs whole or not at all.

Pure: what is known of the cluster in, placements out. The full scheduler will take the place of this first one behind
the same functions.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.fitting import GPU, Amounts, Needs
from kubedyno.schedulers.reference.volumes import Key, claims_of


class Pending(msgspec.Struct, frozen=True):
    """A pod without a node."""

    key: Key
    uid: str
    needs: Needs
    priority: int
    created: str
    gang: Key | None
    """The (namespace, name) of its PodGroup."""
    claims: tuple[Key, ...] = ()
    """Its volume claims."""


class Placement(msgspec.Struct, frozen=True):
    """A pod and the node it is bound to."""

    pod: Pending
    node: str


class Refusal(msgspec.Struct, frozen=True):
    """A pod that fits nowhere now, and why."""

    pod: Pending
    message: str


class Decisions(msgspec.Struct, frozen=True):
    """What one cycle decided."""

    placements: tuple[Placement, ...]
    refusals: tuple[Refusal, ...]


def pending_of(pod: Object) -> Pending:
    """What the scheduler has to know of a pod without a node."""
    metadata, spec = pod["metadata"], pod["spec"]
    group = (spec.get("schedulingGroup") or {}).get("podGroupName")
    return Pending(
        (metadata["namespace"], metadata["name"]),
        metadata["uid"],
        fitting.needs_of(pod),
        spec.get("priority", 0),
        metadata["creationTimestamp"],
        (metadata["namespace"], group) if group else None,
        claims_of(pod),
    )


def decide(
    nodes: Mapping[str, Object],
    free: Mapping[str, Amounts],
    pending: Iterable[Pending],
    gangs: Mapping[Key, int],
    started: Mapping[Key, int],
) -> Decisions:
    """Place what can be placed: by priority, then age, then name.

    `free` is what is left on each node; it is not changed. `gangs` tells how many pods each PodGroup needs at least,
    `started` how many of its pods have a node already.
    """
    room = _Room(nodes, free)
    placements: list[Placement] = []
    refusals: list[Refusal] = []
    for unit in _units(pending):
        gang = unit[0].gang
        if gang is not None and gang not in gangs:
            refusals += [Refusal(pod, f"waiting for pod group {gang[1]}, which does not exist") for pod in unit]
            continue
        missing = 0 if gang is None else gangs[gang] - started.get(gang, 0)
        if missing > len(unit):
            said = f"waiting for {missing - len(unit)} more pods of pod group {gang[1] if gang else ''}"
            refusals += [Refusal(pod, said) for pod in unit]
            continue
        placed = room.place(unit, at_least=max(missing, 0) if gang else 1)
        placements += placed
        kept = {placement.pod.key for placement in placed}
        refusals += [Refusal(pod, room.why_not(pod.needs)) for pod in unit if pod.key not in kept]
    return Decisions(tuple(placements), tuple(refusals))


def _units(pending: Iterable[Pending]) -> list[list[Pending]]:
    """Pods in the order in which they are looked at, those of one gang together at the place of its first."""
    ordered = sorted(pending, key=lambda pod: (-pod.priority, pod.created, pod.key))
    units: list[list[Pending]] = []
    by_gang: dict[Key, list[Pending]] = {}
    for pod in ordered:
        if pod.gang is None:
            units.append([pod])
        elif pod.gang in by_gang:
            by_gang[pod.gang].append(pod)
        else:
            units.append([pod])
            by_gang[pod.gang] = units[-1]
    return units


class _Room:
    """What is left during a cycle. For each kind of need the nodes are ordered once, the fullest that fit first."""

    def __init__(self, nodes: Mapping[str, Object], free: Mapping[str, Amounts]) -> None:
        self._nodes = nodes
        self._free = {name: dict(amounts) for name, amounts in free.items() if name in nodes}
        self._orders: dict[Needs, list[str]] = {}

    def place(self, unit: Sequence[Pending], *, at_least: int) -> list[Placement]:
        """Nodes for the pods, as many as there is room for; none at all when it is less than `at_least`."""
        placed: list[Placement] = []
        for pod in unit:
            node = self._take(pod.needs)
            if node is not None:
                placed.append(Placement(pod, node))
        if len(placed) < at_least:
            for placement in placed:
                self._give_back(placement)
            return []
        return placed

    def _take(self, needs: Needs) -> str | None:
        order = self._orders.get(needs)
        if order is None:
            order = self._orders[needs] = self._ordered(needs)
        # Nodes that became too full for this need stay so within the cycle: they leave its order for good.
        while order:
            free = self._free[order[-1]]
            if fitting.fits(free, needs):
                for name, amount in needs.requests:
                    free[name] = free.get(name, 0) - amount
                return order[-1]
            order.pop()
        return None

    def _ordered(self, needs: Needs) -> list[str]:
        """The usable nodes, the fullest last: those with the fewest GPUs left, then the least CPU, then by name."""
        usable = [
            name
            for name, free in self._free.items()
            if fitting.fits(free, needs) and not fitting.admits(self._nodes[name], needs)
        ]
        return sorted(usable, key=lambda name: (self._free[name].get(GPU, 0), self._free[name].get("cpu", 0), name))[
            ::-1
        ]

    def _give_back(self, placement: Placement) -> None:
        free = self._free[placement.node]
        for name, amount in placement.pod.needs.requests:
            free[name] = free.get(name, 0) + amount
        self._orders.clear()  # nodes that had left an order may fit again

    def why_not(self, needs: Needs) -> str:
        """Why no node takes a pod with these needs, in kube-scheduler's words."""
        reasons: Counter[str] = Counter()
        for name, free in self._free.items():
            refused = fitting.admits(self._nodes[name], needs)
            reasons.update([refused] if refused else fitting.lacking(free, needs))
        if not self._free:
            return "no nodes available to schedule pods"
        # A gang that was given up as a whole may leave room that was too little for it.
        told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return f"0/{len(self._free)} nodes are available: {told or 'not enough room for the whole pod group'}."
