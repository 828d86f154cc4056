"""A comparison as text for a person: what changed first, then what did not, then what else differs."""

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from kubedyno.cli.aligning import aligned, number
from kubedyno.results.comparison.comparing import Compared, Comparison, Outcome

_CHANGES: Final = frozenset(Outcome) - {Outcome.SAME, Outcome.NOT_COMPARABLE}


def in_words(found: Comparison) -> Iterator[str]:
    """The lines that are printed."""
    by_trial: dict[str, list[Compared]] = {}
    for one in found.figures:
        by_trial.setdefault(_trial(one), []).append(one)
    for trial, figures in by_trial.items():
        yield f"{trial}: {_counts(figures)}"
        comparable = [one for one in figures if one.change is not None]
        if comparable:
            ordered = sorted(comparable, key=lambda one: one.outcome not in _CHANGES)
            head = (
                "",
                "",
                "A",
                "B",
                "change",
                "95% interval",
                "visible from",
                f"repeats for {found.threshold:.1%}",
                "",
            )
            yield aligned([head, *(_row(one) for one in ordered)], numbers=7)
        yield from _not_comparable(figures)
        yield ""
    if found.differences:
        yield aligned(
            [("what else differs", "A", "B"), *((one.what, *one.values) for one in found.differences)], numbers=0
        )
        yield ""
    for line in found.left_out:
        yield f"left out: {line}"
    yield verdict(found)


def verdict(found: Comparison) -> str:
    """The last line: what it comes to."""
    if found.regressed:
        worst = max(found.regressed, key=lambda one: abs(one.change.share) if one.change else 0.0)
        change = share_in_words(worst.change.share) if worst.change else ""
        return (
            f"regressed: {len(found.regressed)} of {len(found.figures)} figures got worse by more than "
            f"{found.threshold:.1%}; most of all {worst.figure.scenario}: {worst.figure.label}, {change}"
        )
    compared = [one for one in found.figures if one.outcome != Outcome.NOT_COMPARABLE]
    if not compared:
        return "not comparable: no figure could be compared"
    blind = [one for one in compared if one.repeats_needed is not None or one.least_visible is None]
    if not blind:
        return f"no regression: one of {found.threshold:.1%} would have been seen in each of {len(compared)} figures"
    return (
        f"no regression was seen, but in {len(blind)} of {len(compared)} figures one of {found.threshold:.1%} "
        f"might have been missed: `repeats for` says how many of each would show it"
    )


def _trial(one: Compared) -> str:
    on = f" on {one.figure.subject}" if one.figure.subject else ""
    return f"{one.figure.scenario}{on}{f' ({one.figure.parameters})' if one.figure.parameters else ''}"


def _counts(figures: Sequence[Compared]) -> str:
    counted = {outcome: sum(one.outcome == outcome for one in figures) for outcome in Outcome}
    return ", ".join(f"{count} {outcome}" for outcome, count in counted.items() if count)


def _row(one: Compared) -> tuple[str, ...]:
    change = one.change
    if change is None:
        raise ValueError(f"{one.figure.label} was not compared")
    interval = "" if math.isinf(change.share) else f"{share_in_words(change.lower)} to {share_in_words(change.upper)}"
    visible = "-" if one.least_visible is None else f"{one.least_visible:.1%}"
    needed = "enough" if one.repeats_needed is None and one.least_visible is not None else "-"
    if one.repeats_needed is not None:
        needed = f"{one.repeats_needed:,}"
    return (
        one.figure.label,
        one.figure.unit,
        number(statistics.median(one.first)),
        number(statistics.median(one.second)),
        share_in_words(change.share),
        interval,
        visible,
        needed,
        str(one.outcome),
    )


def _not_comparable(figures: Sequence[Compared]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for one in figures:
        if one.outcome == Outcome.NOT_COMPARABLE:
            by_reason.setdefault(one.reason, []).append(one.figure.label)
    for reason, labels in by_reason.items():
        yield f"not comparable: {'; '.join(labels)}: {reason}"


def share_in_words(share: float) -> str:
    """A change as `+12.3%`."""
    return "from 0" if math.isinf(share) else f"{share:+.1%}"
