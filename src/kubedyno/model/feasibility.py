"""What can be placed at all: exact answers for small clusters, and what is free and how broken up it is."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence


def can_place(free: Mapping[str, int], gang: Sequence[int]) -> bool:
    """Whether pods that take so many GPUs each fit on nodes with so many free, all of them at once.

    Exact: it searches, so it is for small cases; gangs of alike pods are counted, however big they are.
    """
    sizes = Counter(pod for pod in gang if pod > 0)
    if len(sizes) <= 1:
        return all(fitting(free, size) >= count for size, count in sizes.items())
    return _search(sorted(free.values(), reverse=True), sorted(sizes.elements(), reverse=True), set())


def _search(free: list[int], pods: list[int], failed: set[tuple[tuple[int, ...], int]]) -> bool:
    """Place the biggest pod on each different amount of free GPUs in turn, then the rest."""
    if not pods:
        return True
    known = (tuple(free), len(pods))
    if known in failed or sum(pods) > sum(free):
        return False
    pod, rest = pods[0], pods[1:]
    for amount in sorted({amount for amount in free if amount >= pod}):
        after = list(free)
        after.remove(amount)
        if _search(sorted([*after, amount - pod], reverse=True), rest, failed):
            return True
    failed.add(known)
    return False


def fitting(free: Mapping[str, int], gpus: int) -> int:
    """How many pods of so many GPUs each fit on nodes with so many free."""
    return sum(amount // gpus for amount in free.values() if amount > 0)


def free_gpus(allocatable: Mapping[str, float], taken: Iterable[tuple[str, float]]) -> dict[str, float]:
    """What is left on each node after pods took so much of theirs; below 0: the node is over-committed."""
    free = dict(allocatable)
    for node, amount in taken:
        if node in free:
            free[node] -= amount
    return free


def fragmentation(free: Mapping[str, float], allocatable: Mapping[str, float]) -> float:
    """The part of the free GPUs that a pod which takes a whole node cannot use: 0 none, 1 all; 0 where none is free."""
    total = sum(amount for amount in free.values() if amount > 0)
    whole = sum(amount for node, amount in free.items() if 0 < amount >= allocatable.get(node, amount))
    return (total - whole) / total if total > 0 else 0.0
