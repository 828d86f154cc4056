"""The figures of a component over time: what it gained, and when it was busy. Pure."""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.audit.metrics import Figures


class Busy(msgspec.Struct, frozen=True):
    """How long a component had work, and for how long at a time it had none in between."""

    busy_s: float
    gaps_s: tuple[float, ...] = ()
    """Pauses between the first work and the last."""


class History:
    """Figures at moments, in the order of time; restarts in between are seen by counters that fell."""

    def __init__(self) -> None:
        self._samples: list[tuple[int, Figures]] = []

    def add(self, time_ns: int, figures: Figures) -> None:
        """A further sample."""
        self._samples.append((time_ns, figures))

    def within(self, since_ns: int, until_ns: int) -> "History":
        """The samples of a part of the time, with the one before it and the one after it: what happened is between."""
        times = [time_ns for time_ns, _ in self._samples]
        before = sum(1 for time_ns in times if time_ns <= since_ns)
        after = sum(1 for time_ns in times if time_ns < until_ns)
        part = History()
        part._samples = self._samples[max(0, before - 1) : after + 1]
        return part

    def gained(self, figure: str) -> float:
        """By how much a counter grew."""
        return sum(gain for _, _, gain in self._gains(figure))

    def gained_by_name(self, prefix: str) -> dict[str, float]:
        """By how much each counter grew whose name begins so, by the rest of the name."""
        names = {name for _, figures in self._samples for name in figures if name.startswith(prefix)}
        return {name.removeprefix(prefix): self.gained(name) for name in sorted(names)}

    def writes(self) -> float:
        """How many requests were sent that change something."""
        return sum(count for method, count in self.gained_by_name("requests.").items() if method != "GET")

    def _gains(self, figure: str) -> Iterator[tuple[int, int, float]]:
        for (before_ns, before), (after_ns, after) in pairwise(self._samples):
            value, old = after.get(figure, 0.0), before.get(figure, 0.0)
            yield before_ns, after_ns, value - old if value >= old else value

    def busy(self) -> Busy:
        """When something was worked on or waited in a queue; of an interval with one busy end it is half."""
        segments: list[tuple[float, bool]] = []
        for (before_ns, before), (after_ns, after) in pairwise(self._samples):
            half_s = (after_ns - before_ns) / NS_PER_S / 2
            segments += [(half_s, _has_work(before)), (half_s, _has_work(after))]
        return _busy(segments)

    def busy_by(self, counter: str) -> Busy:
        """When there was work, by a counter of the seconds spent on it, one thing after another."""
        segments: list[tuple[float, bool]] = []
        for before_ns, after_ns, gain_s in self._gains(counter):
            segments += [(gain_s, True), ((after_ns - before_ns) / NS_PER_S - gain_s, False)]
        return _busy(segments)


def _busy(segments: list[tuple[float, bool]]) -> Busy:
    """From stretches of time with work and without, in their order."""
    gaps_s: list[float] = []
    busy_s = gap_s = 0.0
    for length_s, has_work in segments:
        if length_s <= 0:
            continue
        if not has_work:
            gap_s += length_s
            continue
        if busy_s and gap_s:
            gaps_s.append(gap_s)
        gap_s = 0.0
        busy_s += length_s
    return Busy(busy_s, tuple(gaps_s))


def _has_work(figures: Figures) -> bool:
    return figures.get("work.active", 0.0) > 0 or figures.get("queue.depth", 0.0) > 0
