"""Fair shares: how much of the cluster each queue of a hierarchy is entitled to now, divided as KAI does.

On each level and for each resource by itself: first every queue gets its quota, as far as it wants it; what is left
goes to those that want more, by priority, then in proportion to their weights. What a queue does not want is lent to
others. A parent's share is what its children divide.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from kubedyno.model.queues import UNLIMITED, Queue, Share

RESOURCES: Final = ("gpu", "cpu", "memory")
"""In the units of `Queue`: GPUs, thousandths of CPUs, millions of bytes."""


def fair_shares(
    queues: Mapping[str, Queue], requested: Mapping[str, Mapping[str, float]], total: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """What each queue is entitled to, by queue and resource.

    `requested` is what the work in each queue takes and waits for; that of a parent is what its children request and
    what it requests itself. Queues whose parents are unknown have no share. Shares are whole units unless a queue wants
    no more than a part; where quotas exceed the total, so do shares.
    """
    wanted = with_parents(queues, requested)
    children: dict[str | None, list[Queue]] = {}
    for queue in queues.values():
        children.setdefault(queue.parent, []).append(queue)
    shares: dict[str, dict[str, float]] = {name: dict.fromkeys(RESOURCES, 0.0) for name in queues}
    levels: list[tuple[str | None, Mapping[str, float]]] = [(None, total)]
    while levels:
        parent, amounts = levels.pop()
        siblings = children.get(parent, [])
        for resource in RESOURCES:
            divided = divide(
                amounts.get(resource, 0.0),
                {queue.name: (queue.priority, getattr(queue, resource)) for queue in siblings},
                {queue.name: wanted[queue.name][resource] for queue in siblings},
            )
            for name, amount in divided.items():
                shares[name][resource] = amount
        levels += [(queue.name, shares[queue.name]) for queue in siblings]
    return shares


def with_parents(
    queues: Mapping[str, Queue], amounts: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Amounts of queues, each added to all queues above it as well."""
    sums = {name: dict.fromkeys(RESOURCES, 0.0) for name in queues}
    for name, own in amounts.items():
        for queue in lineage(queues, name):
            for resource in RESOURCES:
                sums[queue][resource] += own.get(resource, 0.0)
    return sums


def lineage(queues: Mapping[str, Queue], name: str | None) -> list[str]:
    """A queue and those above it, itself first; as far as they exist, and none twice."""
    line: list[str] = []
    while name is not None and name in queues and name not in line:
        line.append(name)
        name = queues[name].parent
    return line


def divide(total: float, siblings: Mapping[str, tuple[int, Share]], wanted: Mapping[str, float]) -> dict[str, float]:
    """One resource among queues with one parent, given as (priority, share)."""
    most = {name: _capped(wanted.get(name, 0.0), share.limit) for name, (_, share) in siblings.items()}
    quotas = {name: total if share.quota == UNLIMITED else share.quota for name, (_, share) in siblings.items()}
    got = {name: min(most[name], quotas[name]) for name in siblings}
    left = total - sum(got.values())
    remainders: dict[int, dict[str, float]] = {}
    for priority in _priorities(siblings):
        weights = {name: share.over_quota_weight for name, (own, share) in siblings.items() if own == priority}
        left, remainders[priority] = _by_weight(left, weights, most, got)
    for priority in _priorities(siblings):
        left = _round_up(left, remainders[priority], most, got)
    return got


def _capped(amount: float, limit: float) -> float:
    return amount if limit == UNLIMITED else min(amount, limit)


def _priorities(siblings: Mapping[str, tuple[int, Share]]) -> Iterable[int]:
    return sorted({priority for priority, _ in siblings.values()}, reverse=True)


def _by_weight(
    left: float, weights: Mapping[str, float], most: Mapping[str, float], got: dict[str, float]
) -> tuple[float, dict[str, float]]:
    """Give in proportion to weights, in whole units, until all have what they want or nothing whole is left.

    Returns what is left, and by how much each was rounded down.
    """
    remainders: dict[str, float] = {}
    while left > 0:
        wanting = {name: weight for name, weight in weights.items() if weight > 0 and got[name] < most[name]}
        if not wanting:
            break
        whole, satisfied = sum(wanting.values()), False
        round_total = left
        for name, weight in wanting.items():
            part, missing = round_total * weight / whole, most[name] - got[name]
            given = missing if missing <= part else float(math.floor(part))
            remainders[name] = 0.0 if missing <= part else part - given
            satisfied = satisfied or missing < part
            got[name] += given
            left -= given
        if not satisfied:
            break
    return left, {name: remainder for name, remainder in remainders.items() if remainder > 0}


def _round_up(left: float, remainders: Mapping[str, float], most: Mapping[str, float], got: dict[str, float]) -> float:
    """One unit more for those that were rounded down, the most first, as long as there are any."""
    for name in sorted(remainders, key=lambda name: (-remainders[name], name)):
        given = max(0.0, min(1.0, left, most[name] - got[name]))
        got[name] += given
        left -= given
    return left
