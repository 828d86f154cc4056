"""Where a series of figures changed its level: change points, by ranks. Pure.

A stretch of the series is as odd as its figures are unlike all others, by the test of Mann and Whitney; a stretch that
reaches to the end is a step, one in the middle a bump that was mended. The oddest of all stretches looks odd by chance,
too: so figures without any order are drawn, and it is counted how often their oddest stretch is as odd. The parts are
then looked at by themselves.
"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]

LEAST: Final = 4
"""So many figures a level has at least: fewer may be a bad night."""
_BOUNDS: Final = 48
"""So many places where a stretch may begin or end are tried: of long series spread evenly, and then around the best."""
_DRAWN: Final = 2000
_AT_ONCE: Final = 250
_COUNTED: Final = 20
"""Where fewer of those that were drawn are as odd, their tail is told by its shape: counting would be too coarse."""
_WITHIN: Final = 0.002
"""Chance of a turn by chance within a series that is known to have one."""
_EULER: Final = 0.5772156649015329


def chance_of_no_turn(values: Sequence[float]) -> float:
    """How often a series whose level never changed would have so odd a stretch; 1 for too few figures."""
    if len(values) < 2 * LEAST:
        return 1.0
    return _oddest(values)[1]


def turns(values: Sequence[float]) -> list[int]:
    """The places at which a new level begins, in order, of a series that is known to change somewhere."""
    if len(values) < 2 * LEAST:
        return []
    found: set[int] = set()
    waiting = [(0, len(values), True)]
    while waiting:
        start, end, is_known = waiting.pop()
        if end - start < 2 * LEAST:
            continue
        (first, last), chance = _oddest(values[start:end])
        if not is_known and chance > _WITHIN:
            continue
        inner = [place for place in (start + first, start + last) if start < place < end]
        found.update(inner)
        parts = (start, *inner, end)
        waiting += [(one, other, False) for one, other in itertools.pairwise(parts)]
    return sorted(found)


def _oddest(values: Sequence[float]) -> tuple[tuple[int, int], float]:
    """Begin and end of the oddest stretch, and the chance of one as odd among figures without any order."""
    ranks = _ranks(values)
    begins, ends = _stretches(len(values))
    oddness = _oddness(ranks[None, :], begins, ends)[0]
    best = int(oddness.argmax())
    stretch = _sharpened(ranks, int(begins[best]), int(ends[best]))
    return stretch, _chance(len(values), float(oddness[best]))


def _chance(count: int, oddness: float) -> float:
    drawn = _by_chance(count)
    as_odd = int((drawn >= oddness - 1e-9).sum())
    if as_odd >= _COUNTED:
        return as_odd / len(drawn)
    # The largest of many is distributed as Gumbel says, and soonest so where each falls off like an exponential.
    squares = drawn**2
    width = float(squares.std()) * math.sqrt(6) / math.pi
    middle = float(squares.mean()) - _EULER * width
    return -math.expm1(-math.exp(-(oddness**2 - middle) / width))


@lru_cache(maxsize=256)
def _by_chance(count: int) -> Floats:
    """The oddness of the oddest stretch of series without any order."""
    generator = np.random.default_rng(count)
    begins, ends = _stretches(count)
    ordered = np.tile(np.arange(1.0, count + 1), (_AT_ONCE, 1))
    found = [_oddness(generator.permuted(ordered, axis=1), begins, ends).max(axis=1) for _ in range(_DRAWN // _AT_ONCE)]
    return np.concatenate(found)


@lru_cache(maxsize=256)
def _stretches(count: int) -> tuple[Places, Places]:
    """Where the stretches of a series begin and end that are tried; neither they nor what is left are too short."""
    bounds = sorted({round(place) for place in np.linspace(0, count, min(count, _BOUNDS) + 1)})
    pairs = [
        (begin, end)
        for begin, end in itertools.combinations(bounds, 2)
        if LEAST <= end - begin <= count - LEAST
        and (begin == 0 or begin >= LEAST)
        and (end == count or count - end >= LEAST)
    ]
    return np.array([begin for begin, _ in pairs]), np.array([end for _, end in pairs])


def _oddness(rows: Floats, begins: Places, ends: Places) -> Floats:
    """How far the sum of ranks of each stretch is from what it would be by chance, in deviations."""
    count = rows.shape[1]
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    lengths = ends - begins
    deviation = np.sqrt(lengths * (count - lengths) * (count + 1) / 12)
    found: Floats = np.abs(sums[:, ends] - sums[:, begins] - lengths * (count + 1) / 2) / deviation
    return found


def _sharpened(ranks: Floats, begin: int, end: int) -> tuple[int, int]:
    """The stretch near this one that is odder still: bounds of long series are tried at some places only."""
    count = len(ranks)
    step = math.ceil(count / _BOUNDS)
    near = [
        (one, other)
        for one in (range(max(LEAST, begin - step), begin + step + 1) if begin else (0,))
        for other in (range(end - step, min(count - LEAST, end + step) + 1) if end < count else (count,))
        if LEAST <= other - one <= count - LEAST
    ]
    oddness = _oddness(ranks[None, :], np.array([one for one, _ in near]), np.array([other for _, other in near]))[0]
    return near[int(oddness.argmax())]


def _ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1 on; equal figures share theirs."""
    array = np.asarray(values, dtype=float)
    order = np.sort(array)
    found: Floats = (np.searchsorted(order, array, "left") + np.searchsorted(order, array, "right") + 1) / 2
    return found
