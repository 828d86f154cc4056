"""How NodeResourceTopologyMatch scores a node for a guaranteed pod of one container, from what its zones have left.

An oracle, written down from what the plugin documents; nothing of it is used to decide.
"""

import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kubedyno.scenarios.numa.matching import Scoring

_MOST: Final = 100
_ZONES_AT_MOST: Final = 8
"""What a kubelet takes by default, and the plugin assumes."""
_UNKNOWN_COST: Final = 255

Amounts = Mapping[str, int]


def score(strategy: Scoring, request: Amounts, zones: Sequence[Amounts], costs: Sequence[Sequence[int]] = ()) -> int:
    """0 to 100, more is better; `costs` are the distances between zones, row by row."""
    if strategy == "LeastNUMANodes":
        return _least_zones(request, zones, costs)
    scored = [_BY_ZONE[strategy](request, zone) for zone in zones]
    return min((one for one in scored if one), default=0)


def _most_allocated(request: Amounts, zone: Amounts) -> int:
    return sum(_MOST * asked // left if 0 < left >= asked else 0 for asked, left in _pairs(request, zone)) // len(
        request
    )


def _least_allocated(request: Amounts, zone: Amounts) -> int:
    terms = (_MOST * (left - asked) // left if 0 < left >= asked else 0 for asked, left in _pairs(request, zone))
    return sum(terms) // len(request)


def _balanced(request: Amounts, zone: Amounts) -> int:
    shares = [asked / left if left else 1.0 for asked, left in _pairs(request, zone)]
    if any(share > 1 for share in shares):
        return 0
    return int(_MOST * (1 - statistics.variance(shares)))


def _pairs(request: Amounts, zone: Amounts) -> list[tuple[int, int]]:
    return [(asked, zone.get(resource, 0)) for resource, asked in request.items()]


def _least_zones(request: Amounts, zones: Sequence[Amounts], costs: Sequence[Sequence[int]]) -> int:
    step = _MOST // _ZONES_AT_MOST
    for count in range(1, len(zones) + 1):
        sets = list(itertools.combinations(range(len(zones)), count))
        fitting = [
            some
            for some in sets
            if all(sum(zones[zone].get(resource, 0) for zone in some) >= asked for resource, asked in request.items())
        ]
        if fitting:
            distances = {some: _distance(some, costs) for some in sets}
            is_nearest = min(distances[some] for some in fitting) == min(distances.values())
            return _MOST - count * step + (step // 2 if is_nearest else 0)
    return 0


def _distance(some: Sequence[int], costs: Sequence[Sequence[int]]) -> float:
    known = [costs[one][other] if costs else _UNKNOWN_COST for one in some for other in some]
    return sum(known) / len(known)


_BY_ZONE: Final[Mapping[Scoring, Callable[[Amounts, Amounts], int]]] = {
    "LeastAllocated": _least_allocated,
    "MostAllocated": _most_allocated,
    "BalancedAllocation": _balanced,
}
