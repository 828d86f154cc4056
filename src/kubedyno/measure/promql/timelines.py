"""One series over time, in two arrays."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql.values import Labels, Window

LOOKBACK_NS: Final = 300 * NS_PER_S
"""A value counts for so long, unless its series ended."""


class Timeline:
    """Values and when they were scraped, and when the series was found to have ended; times rise."""

    __slots__ = ("_ends_ns", "_times_ns", "_values", "labels")

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._times_ns = array("q")
        self._values = array("d")
        self._ends_ns = array("q")

    def add(self, at_ns: int, value: float) -> None:
        """A value; one that is not later than the last is dropped, as Prometheus drops it."""
        if not self._times_ns or at_ns > self._times_ns[-1]:
            self._times_ns.append(at_ns)
            self._values.append(value)

    def end(self, at_ns: int) -> None:
        """The series is not there any more; it may come again."""
        self._ends_ns.append(at_ns)

    def latest(self, at_ns: int) -> tuple[int, float] | None:
        """What counts at a moment: since when, and the value."""
        place = bisect_right(self._times_ns, at_ns) - 1
        if place < 0 or self._times_ns[place] <= at_ns - LOOKBACK_NS:
            return None
        since_ns = self._times_ns[place]
        end = bisect_right(self._ends_ns, at_ns) - 1
        if end >= 0 and self._ends_ns[end] > since_ns:
            return None
        return since_ns, self._values[place]

    def window(self, begin_ns: int, end_ns: int) -> Window | None:
        """What there is after `begin_ns` and not after `end_ns`; None: nothing."""
        first, after = bisect_right(self._times_ns, begin_ns), bisect_right(self._times_ns, end_ns)
        if first >= after:
            return None
        return Window(self.labels, self._times_ns[first:after], self._values[first:after], begin_ns, end_ns)

    def forget(self, before_ns: int) -> bool:
        """Drop what is older; whether anything is left."""
        first = bisect_left(self._times_ns, before_ns)
        del self._times_ns[:first]
        del self._values[:first]
        del self._ends_ns[: bisect_left(self._ends_ns, before_ns)]
        return bool(self._times_ns)
