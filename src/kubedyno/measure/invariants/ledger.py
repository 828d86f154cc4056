"""Who uses how much of what queues have: of a queue and of all above it, kept as pods come and go."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from kubedyno.measure.invariants.facts import Shares

UNLIMITED = -1.0
_TOLERANCE = 1e-6
"""Sums of fractions are not exact."""

Path: TypeAlias = tuple[str, ...]
"""A queue and those above it, leaf first."""


class Charge(msgspec.Struct, frozen=True, gc=False):
    """What a pod takes of a queue and of all above it."""

    path: Path
    shares: Shares


def exceeded(used: Shares, bound: Shares) -> tuple[int, ...]:
    """Which of the resources are used beyond the bound."""
    return tuple(
        at
        for at, (have, most) in enumerate(zip(used, bound, strict=True))
        if most != UNLIMITED and have > most + _TOLERANCE
    )


class Ledger:
    """What pods take of their queues, and when each queue was last beyond what it deserves."""

    def __init__(self, quota: Callable[[str], Shares | None]) -> None:
        self._quota = quota
        self._used: dict[str, list[float]] = {}
        self._charges: dict[str, Charge] = {}
        self._over_ns: dict[str, int] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._charges

    def used(self, queue: str) -> Shares:
        """What is taken of a queue now."""
        gpu, cpu, memory = self._used.get(queue) or (0.0, 0.0, 0.0)
        return gpu, cpu, memory

    def charge(self, uid: str, charge: Charge) -> None:
        """A pod takes something; it takes it once."""
        if uid in self._charges:
            return
        self._charges[uid] = charge
        for queue in charge.path:
            used = self._used.setdefault(queue, [0.0, 0.0, 0.0])
            for at, amount in enumerate(charge.shares):
                used[at] += amount

    def release(self, uid: str, at_ns: int) -> None:
        """A pod gives back what it took."""
        charge = self._charges.pop(uid, None)
        if charge is None:
            return
        for queue in charge.path:
            self.note(queue, at_ns)
            used = self._used[queue]
            for at, amount in enumerate(charge.shares):
                used[at] -= amount

    def note(self, queue: str, at_ns: int) -> None:
        """Something of a queue is about to change: remember when it was beyond what it deserves."""
        quota = self._quota(queue)
        if quota is not None and exceeded(self.used(queue), quota):
            self._over_ns[queue] = at_ns

    def was_over(self, queue: str, since_ns: int) -> bool:
        """Whether a queue has been beyond what it deserves at any time since then."""
        quota = self._quota(queue)
        if quota is None or exceeded(self.used(queue), quota):
            return True
        return self._over_ns.get(queue, -1) >= since_ns
