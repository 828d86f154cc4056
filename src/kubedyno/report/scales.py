"""Axes for durations that may be microseconds or hours: linear or logarithmic, with ticks that carry their unit."""

import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_UNITS: Final = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_WIDE: Final = 15.0
"""From this ratio of the longest to the middle on, a linear axis would show most as one line."""
_FEW: Final = 0.01
"""Up to this share of durations may lie at or below zero, and be drawn on the floor of a logarithmic axis."""
_PAD: Final = 0.06
_STRETCH: Final = 2.0
"""An axis grows up to this much for the sake of bounds; beyond that they run off it."""
_APART: Final = 0.2
"""Least distance of two ticks, as a share of the axis."""
_STEPS_OF_TICKS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """An axis of durations, in seconds."""

    kind: Literal["linear", "log", "asinh"]
    low_s: float
    high_s: float
    threshold_s: float = 0.0
    """An axis that is logarithmic on both sides of zero is linear up to about this."""
    ticks_s: tuple[float, ...]
    labels: tuple[str, ...]

    def heights(self, values_s: Floats) -> Floats:
        """Where on the axis they are: 0 at its foot, 1 at its top."""
        low, high = self._bent(np.array([self.low_s, self.high_s]))
        return np.asarray((self._bent(values_s) - low) / (high - low), dtype=np.float64)

    def edges_s(self, count: int) -> Floats:
        """Edges of so many bins of equal height on the axis."""
        if self.kind == "log":
            return np.geomspace(self.low_s, self.high_s, count + 1)
        if self.kind == "linear":
            return np.linspace(self.low_s, self.high_s, count + 1)
        low, high = self._bent(np.array([self.low_s, self.high_s]))
        edges = np.sinh(np.linspace(low, high, count + 1)) * self.threshold_s
        edges[0], edges[-1] = self.low_s, self.high_s
        return np.asarray(edges, dtype=np.float64)

    def _bent(self, values_s: Floats) -> Floats:
        if self.kind == "log":
            return np.log(np.maximum(values_s, self.low_s))
        if self.kind == "asinh":
            return np.arcsinh(values_s / self.threshold_s)
        return values_s


def scale(values_s: Floats, reach_s: Floats | None = None) -> Scale:
    """The axis on which these durations are seen best; `reach_s` is held too if that costs little detail."""
    nonzero = np.abs(values_s[values_s != 0])
    if not nonzero.size:
        return _linear(0.0, 1.0)
    low, high = float(values_s.min()), float(values_s.max())
    middle = float(np.median(nonzero))
    if max(high, -low) > _WIDE * middle:
        if (values_s <= 0).mean() <= _FEW:
            return _logarithmic(values_s[values_s > 0])
        return _symmetric(low, high, float(np.quantile(nonzero, 0.1)))
    if reach_s is not None and reach_s.size:
        room = (_STRETCH - 1) * ((high - min(low, 0.0)) or abs(high))
        low, high = max(min(low, float(reach_s.min())), low - room), min(max(high, float(reach_s.max())), high + room)
    return _linear(low, high)


def duration(time_s: float) -> str:
    """A measured duration in three digits and the unit that suits it: `12.3 ms`, `1.50 s`, `2.05 min`."""
    if time_s == 0:
        return "0 s"
    size = float(f"{abs(time_s):.3g}")
    factor, unit = next(((factor, unit) for factor, unit in _UNITS if size >= factor), _UNITS[-1])
    scaled = time_s / factor
    decimals = max(0, 2 - math.floor(math.log10(abs(scaled)))) if abs(scaled) >= 1 else 2
    return _signed(f"{scaled:.{decimals}f} {unit}")


def span(time_s: float) -> tuple[float, str]:
    """Seconds and name of the unit for an axis that ends at `time_s`."""
    long = ((factor, unit) for factor, unit in _UNITS if time_s >= (3 * factor if factor > 1 else factor))
    return next(long, _UNITS[-1])


def nice_ticks(low: float, high: float, *, about: int) -> list[float]:
    """Round numbers from `low` to `high`, about so many."""
    raw = (high - low) / max(1, about)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in _STEPS_OF_TICKS if factor * magnitude >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def _linear(low: float, high: float) -> Scale:
    if 0 < low < high / 2:
        low = 0.0
    spread = (high - low) or abs(high) or 1.0
    high += _PAD * spread
    if low != 0:
        low -= _PAD * spread
    factor, unit = span(max(abs(low), abs(high)))
    ticks = nice_ticks(low / factor, high / factor, about=4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    if not math.isclose(round(step, decimals), step):
        decimals += 1
    return Scale(
        kind="linear",
        low_s=low,
        high_s=high,
        ticks_s=tuple(tick * factor for tick in ticks),
        labels=tuple("0" if tick == 0 else _signed(f"{tick:.{decimals}f} {unit}") for tick in ticks),
    )


def _logarithmic(values_s: Floats) -> Scale:
    low, high = float(values_s.min()) / 1.3, float(values_s.max()) * 1.3
    ticks = _decades(low, high)
    return Scale(kind="log", low_s=low, high_s=high, ticks_s=ticks, labels=_plain(ticks))


def _symmetric(low: float, high: float, smallest: float) -> Scale:
    threshold = 10.0 ** math.floor(math.log10(smallest))
    low = low * 1.3 if low < 0 else -threshold / 2
    high = high * 1.3 if high > 0 else threshold / 2
    powers = _decades(threshold, max(high, -low), at_most=12)
    bare = Scale(kind="asinh", low_s=low, high_s=high, threshold_s=threshold, ticks_s=(), labels=())
    ticks: list[float] = [0.0]
    # From the ends inwards: an axis is read by its largest numbers, and zero.
    for tick in sorted((*powers, *(-power for power in powers)), key=abs, reverse=True):
        heights = bare.heights(np.array([*ticks, tick]))
        if low < tick < high and np.abs(heights[:-1] - heights[-1]).min() > _APART:
            ticks.append(tick)
    ticks.sort()
    return msgspec.structs.replace(bare, ticks_s=tuple(ticks), labels=_plain(ticks))


def _decades(low: float, high: float, *, at_most: int = 4) -> tuple[float, ...]:
    """Powers of ten between them; every second or third where there are many."""
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    every = max(1, math.ceil(len(powers) / at_most))
    return tuple(10.0**power for power in reversed(powers[::-1][::every]))


def _plain(ticks: Sequence[float]) -> tuple[str, ...]:
    return tuple("0" if tick == 0 else _power(tick) for tick in ticks)


def _power(tick: float) -> str:
    factor, unit = next(((f, u) for f, u in _UNITS[2:] if abs(tick) >= f * (1 - 1e-9)), _UNITS[-1])
    return _signed(f"{tick / factor:,.10g} {unit}")


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
