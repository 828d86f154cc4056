"""What a benchmark says: ours and its peer, measured by turns in one run."""

import math
import statistics
from typing import Literal

import msgspec

Better = Literal["lower", "higher"]

# Student's t, 97.5%, by degrees of freedom: for intervals of the mean of few repeats.
_T_975 = (math.inf, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `scripts/bench`."""

    name: str
    ours: float
    """Median over the repeats."""
    peer: float | None
    """None where ours is held to a value alone."""
    unit: str
    ratio: float | None
    """Ours to the peer's."""
    target: str
    """What must hold; in brackets what we are after."""
    ok: bool
    repeats: int


def against_ratio(
    name: str,
    ours: list[float],
    peer: list[float],
    *,
    unit: str,
    limit: float,
    better: Better,
    goal: float | None = None,
) -> Result:
    """Judged by the ratio of the medians: at most `limit` where lower is better, at least where higher is."""
    mine, other = statistics.median(ours), statistics.median(peer)
    ratio = mine / other
    return Result(
        name=name,
        ours=mine,
        peer=other,
        unit=unit,
        ratio=ratio,
        target=f"ratio {'<=' if better == 'lower' else '>='} {round(limit, 3):g}{_after(goal)}",
        ok=ratio <= limit if better == "lower" else ratio >= limit,
        repeats=len(ours),
    )


def against_noise(name: str, ours: list[float], peer: list[float], *, unit: str) -> Result:
    """Judged by the noise, where higher is better: ours is not less unless the whole 95% interval says so.

    The interval is of the mean of the logarithms of the paired ratios.
    """
    logs = [math.log(mine / other) for mine, other in zip(ours, peer, strict=True)]
    mean = statistics.mean(logs)
    half_width = _T_975[min(len(logs) - 1, len(_T_975) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return Result(
        name=name,
        ours=statistics.median(ours),
        peer=statistics.median(peer),
        unit=unit,
        ratio=math.exp(mean),
        target=f"ratio >= 1 within noise ({math.exp(mean - half_width):.2f} to {math.exp(mean + half_width):.2f})",
        ok=mean + half_width >= 0,
        repeats=len(logs),
    )


def against_value(
    name: str,
    ours: list[float],
    peer: list[float] | None = None,
    *,
    unit: str,
    limit: float,
    better: Better = "lower",
    goal: float | None = None,
) -> Result:
    """Judged by our own value, which must stay below `limit`, or reach it; a peer is shown beside it."""
    mine = statistics.median(ours)
    other = None if peer is None else statistics.median(peer)
    return Result(
        name=name,
        ours=mine,
        peer=other,
        unit=unit,
        ratio=mine / other if other else None,
        target=f"ours {'<' if better == 'lower' else '>='} {limit:g}{_after(goal)} {unit}",
        ok=mine < limit if better == "lower" else mine >= limit,
        repeats=len(ours),
    )


def _after(goal: float | None) -> str:
    return "" if goal is None else f" [{goal:.6g}]"
