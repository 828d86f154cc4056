"""Histograms and counters of a component's `/metrics`, summed over their labels, and what they gained. Pure.

A histogram knows of each sample only between which two bounds it lies. So a percentile of it is interpolated within
its bucket, and the interval that is told with it reaches to the ends of the buckets.
"""

import math
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Final

import msgspec

from kubedyno.measure import statistics
from kubedyno.measure.records import Percentile

Labels = Mapping[str, str]
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def every(_: Labels) -> bool:
    """All series of a name."""
    return True


class Histogram(msgspec.Struct, frozen=True):
    """How many samples lie in each bucket; the last bound is infinite."""

    bounds: tuple[float, ...] = (math.inf,)
    counts: tuple[float, ...] = (0.0,)
    """Of each bucket alone, not cumulated."""
    total: float = 0.0
    """Sum of the samples."""

    @property
    def count(self) -> int:
        """How many samples there are."""
        return round(sum(self.counts))

    def __add__(self, other: "Histogram") -> "Histogram":
        """Both together; one without samples may have any bounds."""
        if not self.count:
            return other
        if not other.count:
            return self
        return Histogram(
            self.bounds, tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)), self.total + other.total
        )

    def since(self, before: "Histogram") -> "Histogram":
        """What was gained; a process that was started anew counts from zero again."""
        if not before.count:
            return self
        if self.bounds != before.bounds or any(a < b for a, b in zip(self.counts, before.counts, strict=True)):
            return self
        gained = tuple(a - b for a, b in zip(self.counts, before.counts, strict=True))
        return Histogram(self.bounds, gained, self.total - before.total)

    def percentile(self, percent: float) -> float | None:
        """Interpolated within its bucket; beyond the last finite bound it is that bound. None: no samples."""
        if not self.count:
            return None
        sums = list(accumulate(self.counts))
        wanted = sums[-1] * percent / 100
        at = next(index for index, reached in enumerate(sums) if reached >= wanted and self.counts[index])
        below, above = self._edges(at)
        part = (wanted - (sums[at] - self.counts[at])) / self.counts[at]
        return below + (above - below) * max(0.0, part)

    def percentiles(self, percents: Iterable[float] = statistics.PERCENTS) -> tuple[Percentile, ...]:
        """With 95 % intervals that reach to the ends of the buckets; none of fewer than two samples."""
        if self.count < 2:  # noqa: PLR2004 - one sample is no distribution
            return ()
        sums = list(accumulate(self.counts))
        found = []
        for percent in percents:
            value = self.percentile(percent)
            below, above = statistics.ranks(self.count, percent)
            assert value is not None  # noqa: S101 - there are samples
            # The samples' own percentile is interpolated between two of them, which may be of different buckets.
            place = math.floor((self.count - 1) * percent / 100)
            lowest = min(0 if below is None else below, place)
            highest = max(self.count - 1 if above is None else above, min(place + 1, self.count - 1))
            found.append(
                Percentile(
                    percent=percent,
                    value=value,
                    lower=min(value, self._edges(bisect_left(sums, lowest + 1))[0]),
                    upper=max(value, self._edges(bisect_left(sums, highest + 1))[1]),
                )
            )
        return tuple(found)

    def _edges(self, at: int) -> tuple[float, float]:
        """The bounds of a bucket; the last one ends where it begins, for nothing else is known."""
        below = self.bounds[at - 1] if at else 0.0
        above = self.bounds[at]
        return below, above if math.isfinite(above) else below


class Page:
    """One answer of `/metrics`. Only the names that are asked for are read: pages have megabytes."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def counter(self, name: str, chosen: Callable[[Labels], bool] = every) -> float:
        """The sum of all series of a counter or a gauge; 0 where it is not there."""
        return sum(value for labels, value in self._rows(name, "") if chosen(labels))

    def counter_by(self, name: str, label: str, chosen: Callable[[Labels], bool] = every) -> dict[str, float]:
        """The same by the value of a label."""
        found: defaultdict[str, float] = defaultdict(float)
        for labels, value in self._rows(name, ""):
            if chosen(labels):
                found[labels.get(label, "")] += value
        return dict(found)

    def histogram(self, name: str, chosen: Callable[[Labels], bool] = every) -> Histogram:
        """The sum of all series of a histogram; an empty one where it is not there."""
        cumulated: defaultdict[float, float] = defaultdict(float)
        for labels, value in self._rows(name, "_bucket"):
            if chosen(labels):
                cumulated[float(labels["le"])] += value
        if not cumulated:
            return Histogram()
        bounds = tuple(sorted(cumulated))
        sums = [cumulated[bound] for bound in bounds]
        counts = tuple(after - before for before, after in zip([0.0, *sums], sums, strict=False))
        total = sum(value for labels, value in self._rows(name, "_sum") if chosen(labels))
        return Histogram(bounds, counts, total)

    def _rows(self, name: str, suffix: str) -> Iterable[tuple[Labels, float]]:
        """The series of a name, of which a histogram has several with suffixes. They all stand below their type."""
        begin = self._text.find(f"# TYPE {name} ".encode())
        if begin < 0:
            return
        end = self._text.find(b"\n# ", begin)
        for line in self._text[begin : end if end >= 0 else None].split(b"\n"):
            if line.startswith(b"#") or not line:
                continue
            series, _, value = line.rpartition(b" ")
            called, _, labels = series.partition(b"{")
            if called == f"{name}{suffix}".encode():
                yield _labels(labels), float(value)


@lru_cache(maxsize=65536)
def _labels(text: bytes) -> Labels:
    """Pages repeat themselves, so labels are read once."""
    return dict(_LABEL.findall(text.decode()))


def together(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of several."""
    return sum(histograms, Histogram())
