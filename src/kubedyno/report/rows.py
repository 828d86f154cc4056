"""The rows of a plot as numbers: deltas over submission time with their bounds, quantiles, running medians."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from kubedyno.kit.clock import NS_PER_S
from kubedyno.model.lifecycles import STEPS, SUBMITTED
from kubedyno.report.choosing import OCCASIONAL, Chosen, Delta
from kubedyno.report.scales import Floats
from kubedyno.report.ways import Way

QUANTILES: Final = (0.5, 0.9, 0.99)
_MEDIANS_FROM: Final = 120
"""With fewer points than this each is seen, and a line through their middle would only hide them."""
_MEDIANS: Final = 80


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row: arrays of equal length, one element per workload that has both steps, in seconds."""

    title: str
    since: str
    """Title of the step that it counts from."""
    is_total: bool
    submitted_s: Floats
    """When each was submitted, since the first one."""
    values_s: Floats
    lowers_s: Floats
    """What the delta can have been at least; not below zero where the order of the two steps is plain."""
    uppers_s: Floats
    marked: np.ndarray[tuple[int], np.dtype[np.bool_]]
    never_s: Floats
    """When those were submitted that lack a step of it and must not."""

    def quantiles_s(self) -> tuple[float, ...]:
        """The quantiles of QUANTILES."""
        return tuple(float(value) for value in np.quantile(self.values_s, QUANTILES))

    def medians_s(self) -> tuple[Floats, Floats] | None:
        """Submission times and medians of equal portions in that order; None: there are too few."""
        if self.values_s.size < _MEDIANS_FROM:
            return None
        order = np.argsort(self.submitted_s, kind="stable")
        portions = np.array_split(order, min(_MEDIANS, self.values_s.size // 30))
        return (
            np.array([float(np.mean(self.submitted_s[portion])) for portion in portions]),
            np.array([float(np.median(self.values_s[portion])) for portion in portions]),
        )


def rows(chosen: Chosen) -> tuple[Row, ...]:
    """One row per delta that any workload has."""
    if not chosen.drawn:
        return ()
    first_ns = min(way.steps[SUBMITTED].at_ns for way in chosen.drawn)
    last = len(chosen.deltas) - 1
    made = (_row(delta, chosen, first_ns, is_total=index == last) for index, delta in enumerate(chosen.deltas))
    return tuple(row for row in made if row.values_s.size)


def _row(delta: Delta, chosen: Chosen, first_ns: int, *, is_total: bool) -> Row:
    has = [delta.since in way.steps and delta.until in way.steps for way in chosen.drawn]
    table = np.array(
        [_numbers(way, delta, first_ns) for way, whole in zip(chosen.drawn, has, strict=True) if whole],
        dtype=np.float64,
    ).reshape(-1, 4)
    marked = np.array([wrong for wrong, whole in zip(chosen.marked, has, strict=True) if whole], dtype=np.bool_)
    never = [
        (way.steps[SUBMITTED].at_ns - first_ns) / NS_PER_S
        for way, whole, wrong in zip(chosen.drawn, has, chosen.marked, strict=True)
        if wrong and not whole and delta.until not in OCCASIONAL
    ]
    submitted_s, values_s, lowers_s, uppers_s = table.T
    if (values_s >= 0).all():
        lowers_s = np.maximum(0.0, lowers_s)
    return Row(
        title="total" if is_total else STEPS[delta.until].title,
        since=f"{STEPS[delta.since].title} to {STEPS[delta.until].title}" if is_total else STEPS[delta.since].title,
        is_total=is_total,
        submitted_s=submitted_s,
        values_s=values_s,
        lowers_s=np.minimum(values_s, lowers_s),
        uppers_s=np.maximum(values_s, uppers_s),
        marked=marked,
        never_s=np.array(never, dtype=np.float64),
    )


def _numbers(way: Way, delta: Delta, first_ns: int) -> tuple[float, float, float, float]:
    since, until = way.steps[delta.since], way.steps[delta.until]
    return (
        (way.steps[SUBMITTED].at_ns - first_ns) / NS_PER_S,
        (until.at_ns - since.at_ns) / NS_PER_S,
        (until.lower_ns - since.upper_ns) / NS_PER_S,
        (until.upper_ns - since.lower_ns) / NS_PER_S,
    )


def figures(made: Sequence[Row]) -> list[dict[str, str | int | float]]:
    """The numbers of each row, in seconds, for a table."""
    return [
        {
            "step": row.title,
            "since": row.since,
            "n": int(row.values_s.size),
            "min": float(row.values_s.min()),
            "mean": float(row.values_s.mean()),
            **{f"p{round(q * 100)}": value for q, value in zip(QUANTILES, row.quantiles_s(), strict=True)},
            "max": float(row.values_s.max()),
            "bounds": float(np.median(row.uppers_s - row.lowers_s)),
        }
        for row in made
    ]
