"""What is said of two sets of trials: figure by figure faster, slower, the same, or not to be compared. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final
from zlib import crc32

import msgspec

from kubedyno.measure.audit.differing import Difference, differences
from kubedyno.measure.records import RunRecord, TrialRecord, Verdict
from kubedyno.results.comparison.changing import Change, change, least_visible, repeats_for, spread
from kubedyno.results.comparison.figures import Better, Figure, values_of
from kubedyno.results.comparison.ranking import discoveries, mann_whitney

LEVEL: Final = 0.05
"""So many of the changes that are told may be none; where nothing changed, so many comparisons tell of a change."""
BELIEVED: Final = frozenset({Verdict.PASSED, Verdict.FAILED, Verdict.SUSPECT})
"""Verdicts of trials whose figures count."""
_MUST_AGREE: Final = ("engine", "time", "kubelet", "profile")


class Outcome(StrEnum):
    """What became of a figure."""

    FASTER = "faster"
    SLOWER = "slower"
    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    LOWER = "lower"
    SAME = "same"
    NOT_COMPARABLE = "not comparable"


_OUTCOMES: Final = {
    Better.QUICKER: (Outcome.SLOWER, Outcome.FASTER),
    Better.MORE_A_SECOND: (Outcome.FASTER, Outcome.SLOWER),
    Better.LOWER: (Outcome.WORSE, Outcome.BETTER),
    Better.HIGHER: (Outcome.BETTER, Outcome.WORSE),
    Better.UNKNOWN: (Outcome.HIGHER, Outcome.LOWER),
}
"""What it is when a figure rose, and when it fell."""


REGRESSIONS: Final = frozenset({Outcome.SLOWER, Outcome.WORSE})


def outcome_of(figure: Figure, share: float) -> Outcome:
    """What a change means for a figure."""
    return _OUTCOMES[figure.better][0 if share > 0 else 1] if share else Outcome.SAME


class Trial(msgspec.Struct, frozen=True):
    """A trial, and the run that it is of."""

    run: RunRecord
    record: TrialRecord


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A figure in both sets."""

    figure: Figure
    first: tuple[float, ...]
    second: tuple[float, ...]
    """Its value in each trial."""
    outcome: Outcome
    change: Change | None = None
    chance: float | None = None
    """Of groups so unlike if nothing changed."""
    least_visible: float | None = None
    """The least change that so many repeats would have shown; None: none would have."""
    repeats_needed: int | None = None
    """How many of each it takes to show a change of the threshold, where these are too few; None: they are enough."""
    regressed: bool = False
    """Whether it got worse by more than the threshold."""
    reason: str = ""
    """Why it cannot be compared."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two sets beside each other."""

    figures: tuple[Compared, ...]
    differences: tuple[Difference, ...]
    """What else differs than the figures: settings, versions, the host."""
    left_out: tuple[str, ...]
    """Trials that do not count, and why."""
    threshold: float
    level: float = LEVEL

    @property
    def regressed(self) -> tuple[Compared, ...]:
        """The figures that got worse by more than the threshold."""
        return tuple(one for one in self.figures if one.regressed)


def compare(first: Sequence[Trial], second: Sequence[Trial], *, threshold: float, level: float = LEVEL) -> Comparison:
    """Compare the second set with the first; a change below `threshold` (0.05 is a twentieth) is no regression."""
    kept = [[trial for trial in group if trial.record.verdict in BELIEVED] for group in (first, second)]
    by_subject = any(len({trial.record.subject for trial in group}) > 1 for group in kept)
    values = [values_of((trial.record for trial in group), by_subject=by_subject) for group in kept]
    figures = list(dict.fromkeys([*values[0], *values[1]]))
    conflict = conflicting(*kept)
    tested = [
        figure for figure in figures if not conflict and all(len(of_set.get(figure, ())) > 1 for of_set in values)
    ]
    chances = {figure: mann_whitney(values[0][figure], values[1][figure]) for figure in tested}
    counts = dict(zip(tested, discoveries(list(chances.values()), level), strict=True))
    alone = level / max(1, len(tested))
    compared = []
    for figure in figures:
        groups = [tuple(of_set.get(figure, ())) for of_set in values]
        if figure in chances:
            found = _judged(figure, groups, chances[figure], is_change=counts[figure], threshold=threshold, alone=alone)
        else:
            found = Compared(
                figure=figure,
                first=groups[0],
                second=groups[1],
                outcome=Outcome.NOT_COMPARABLE,
                reason=conflict or _too_few(groups),
            )
        compared.append(found)
    return Comparison(
        figures=tuple(compared),
        differences=tuple(what_differs(*kept)),
        left_out=tuple(_left_out([*first, *second])),
        threshold=threshold,
        level=level,
    )


def _judged(
    figure: Figure,
    groups: Sequence[tuple[float, ...]],
    chance: float,
    *,
    is_change: bool,
    threshold: float,
    alone: float,
) -> Compared:
    first, second = groups
    found = change(first, second, seed=crc32(repr(figure).encode()))
    outcome = outcome_of(figure, found.share) if is_change else Outcome.SAME
    within = spread(first, second)
    visible = least_visible(within, len(first), len(second), alone) if within is not None else None
    needed = None
    if within is not None and (visible is None or visible > threshold):
        needed = repeats_for(threshold, within, alone)
    return Compared(
        figure=figure,
        first=first,
        second=second,
        outcome=outcome,
        change=found,
        chance=chance,
        least_visible=visible,
        repeats_needed=needed,
        regressed=outcome in REGRESSIONS and abs(found.share) > threshold,
    )


def _too_few(groups: Sequence[tuple[float, ...]]) -> str:
    for group, which in zip(groups, ("first", "second"), strict=True):
        if not group:
            return f"the {which} has no such figure"
    return "one repeat says nothing of the spread: make more with --repeat"


def conflicting(first: Sequence[Trial], second: Sequence[Trial]) -> str:
    """Why figures of two sets cannot be compared at all; empty: they can."""
    for name in _MUST_AGREE:
        one, other = ({getattr(trial.record, name) for trial in group} for group in (first, second))
        if one and other and one != other:
            return f"{name}: {_listed(one)} here, {_listed(other)} there"
    one, other = ({(trial.run.host.cores, trial.run.host.architecture) for trial in group} for group in (first, second))
    if one and other and one != other:
        words = [_listed(f"{cores} processors ({kind})" for cores, kind in hosts) for hosts in (one, other)]
        return f"host: {words[0]} here, {words[1]} there"
    return ""


def _listed(values: Iterable[object]) -> str:
    return " and ".join(sorted(str(value) for value in values))


def what_differs(first: Sequence[Trial], second: Sequence[Trial]) -> Iterable[Difference]:
    """What differs besides: settings of trials alike, versions of programs, the machine."""
    if not first or not second:
        return
    yield from differences([first[0].record, second[0].record])
    facts = [_facts(group) for group in (first, second)]
    for name in dict.fromkeys([*facts[0], *facts[1]]):
        values = tuple(_listed(of_set.get(name, {"-"})) for of_set in facts)
        if values[0] != values[1]:
            yield Difference(name, values)


def _facts(group: Sequence[Trial]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for trial in group:
        run, host = trial.run, trial.run.host
        named = {
            "scheduler": trial.record.subject,
            "kubedyno": run.kubedyno,
            "processors": str(host.cores),
            "memory, GiB": f"{host.memory_bytes / 2**30:.0f}",
            "kernel": host.kernel,
            "Python": host.python,
            **{f"{name} (version)": program.version for name, program in run.programs.items()},
        }
        for name, value in named.items():
            found.setdefault(name, set()).add(value)
    return found


def _left_out(trials: Iterable[Trial]) -> Iterable[str]:
    counted = Counter(
        (trial.run.id, trial.record.scenario, trial.record.verdict)
        for trial in trials
        if trial.record.verdict not in BELIEVED
    )
    for (run_id, scenario, verdict), count in counted.items():
        yield f"{count} of {scenario} in {run_id}: {verdict}"
