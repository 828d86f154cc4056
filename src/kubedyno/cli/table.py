"""What a run came to, as text for a person: trial by trial, then schedulers side by side."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubedyno.cli.aligning import aligned, number
from kubedyno.kit.units import format_duration
from kubedyno.lab import judging
from kubedyno.measure.audit import differences
from kubedyno.measure.records import Case, Check, Measurement, Percentile, TrialRecord, Verdict

_SHOWN_PERCENTS: Final = (50.0, 99.0)
_FEW: Final = 6
"""So many checks that hold are named; of more their number."""
_SHOWN_VIOLATIONS: Final = 5
_WIDTH: Final = 34


def of_trial(trial: TrialRecord, *, alone: bool) -> str:
    """One trial: verdict and times, what was measured, what did not hold."""
    return "\n".join(_lines(trial, alone=alone))


def of_run(trials: Sequence[TrialRecord]) -> Iterator[str]:
    """What several trials came to together: all verdicts, then schedulers beside each other."""
    if len(trials) > 1:
        yield aligned(
            [("trial", "", "verdict", "scenario", "lab up")]
            + [
                (
                    trial.scenario,
                    f"on {trial.subject}{_differing(trial, trials)}",
                    str(trial.verdict),
                    format_duration(trial.duration_s),
                    format_duration(trial.setup_s),
                )
                for trial in trials
            ],
            numbers=2,
        )
    if len({trial.subject for trial in trials}) > 1:
        for same in _alike(trials):
            yield _side_by_side(same)
            differing = _what_differs(same)
            if differing:
                yield differing


def verdict(trials: Sequence[TrialRecord]) -> str:
    """The run in a few words."""
    worst, _ = judging.overall(trial.verdict for trial in trials)
    if len(trials) == 1:
        return str(worst)
    counted = {one: sum(trial.verdict == one for trial in trials) for one in Verdict}
    return f"{worst}: " + ", ".join(f"{count} {one}" for one, count in counted.items() if count)


def _lines(trial: TrialRecord, *, alone: bool) -> Iterator[str]:
    where = "" if alone else f" on {trial.subject}"
    repeat = f", repeat {trial.repeat}" if trial.repeat > 1 else ""
    if trial.verdict == Verdict.NOT_APPLICABLE:
        yield f"{trial.scenario}{where}{repeat}: {trial.verdict}: {trial.message}"
        return
    timed = "" if trial.timed_s is None else f", timed part {format_duration(trial.timed_s)}"
    took = f"{trial.duration_s:.2f} s (lab up in {trial.setup_s:.1f} s{timed})"
    yield f"{trial.scenario}{where}{repeat}: {trial.verdict} in {took}"
    if trial.parameters:
        yield "  " + ", ".join(f"{name}={value}" for name, value in trial.parameters.items())
    if trial.verdict != Verdict.PASSED and trial.message:
        yield "  " + trial.message.replace("\n", "\n  ")
    for one in (*trial.measurements, *trial.quality):
        yield f"  {_measured(one)}"
    if trial.cases:
        yield f"  {_cases(trial.cases)}"
    yield from (f"  {line}" for line in _checked(trial.checks))
    for violation in trial.violations[:_SHOWN_VIOLATIONS]:
        yield f"  ✗ {violation.invariant}: {violation.evidence}"
    if len(trial.violations) > _SHOWN_VIOLATIONS:
        yield f"  ✗ {len(trial.violations)} violations in all"
    for finding in trial.findings:
        asked = "" if finding.declared else ", which nobody asked for"
        yield f"  ! {finding.name}{asked}: {finding.evidence}"


def _measured(one: Measurement) -> str:
    told = f"{one.name:<{_WIDTH}} {number(one.value):>9} {one.unit}"
    percentiles = [known for known in one.percentiles if known.percent in _SHOWN_PERCENTS]
    if percentiles:
        return f"{told}   {'  '.join(_percentile(known) for known in percentiles)}  n={len(one.samples)}"
    if (one.lower, one.upper) == (one.value, one.value):
        return told
    return f"{told}   between {number(one.lower)} and {number(one.upper)}"


def _percentile(one: Percentile) -> str:
    return f"p{one.percent:g} {number(one.value)} [{number(one.lower)}, {number(one.upper)}]"


def _cases(cases: Sequence[Case]) -> str:
    """How many test cases came out as expected, and of how many that is a known fault of a component."""
    passed, known = sum(one.passed for one in cases), sum(bool(one.finding) for one in cases)
    faults = f", {known} of them known faults" if known else ""
    return f"{passed} of {len(cases)} test cases came out as expected{faults}"


def _checked(checks: Sequence[Check]) -> Iterator[str]:
    held = [check for check in checks if check.passed and not check.skipped]
    if len(held) > _FEW:
        yield f"✓ {len(held)} checks hold"
    skipped: dict[str, list[Check]] = {}
    for check in checks:
        if check.skipped:
            skipped.setdefault(check.detail, []).append(check)
        elif not check.passed or len(held) <= _FEW:
            yield f"{'✓' if check.passed else '✗'} {check.name}" + (f": {check.detail}" if check.detail else "")
    for why, alike in skipped.items():
        others = f" and {len(alike) - 1} more were" if len(alike) > 1 else " was"
        yield f"- {alike[0].name}{others} skipped: {why}"


def _side_by_side(trials: Sequence[TrialRecord]) -> str:
    """Measurement by scheduler: the median of the repeats."""
    schedulers = list(dict.fromkeys(trial.subject for trial in trials))
    names = dict.fromkeys((one.name, one.unit) for trial in trials for one in (*trial.measurements, *trial.quality))
    rows = [(f"{trials[0].scenario}{_parameters(trials[0].parameters)}", "", *schedulers)]
    for name, unit in names:
        cells = (_cell([trial for trial in trials if trial.subject == scheduler], name) for scheduler in schedulers)
        rows.append((name, unit, *cells))
    rows.append(
        (
            "verdict",
            "",
            *(
                str(judging.worst_of(trial.verdict for trial in trials if trial.subject == scheduler))
                for scheduler in schedulers
            ),
        )
    )
    return aligned(rows, numbers=len(schedulers))


def _what_differs(trials: Sequence[TrialRecord]) -> str:
    """Settings that are not the same for all schedulers: what else may explain a difference."""
    first = {trial.subject: trial for trial in reversed(trials)}
    schedulers = list(dict.fromkeys(trial.subject for trial in trials))
    found = differences([first[scheduler] for scheduler in schedulers])
    rows = [("what differs", *schedulers), *((one.what, *one.values) for one in found)]
    return aligned(rows, numbers=len(schedulers)) if found else ""


def _cell(trials: Iterable[TrialRecord], name: str) -> str:
    found = [one for trial in trials for one in (*trial.measurements, *trial.quality) if one.name == name]
    if not found:
        return "-"
    values = [one.value for one in found]
    told = number(statistics.median(values))
    if len(values) > 1:
        return f"{told} ({number(min(values))} to {number(max(values))})"
    high = next((known.value for known in found[0].percentiles if known.percent == _SHOWN_PERCENTS[-1]), None)
    return told if high is None else f"{told} (p99 {number(high)})"


def _alike(trials: Sequence[TrialRecord]) -> Iterator[list[TrialRecord]]:
    """Trials of the same scenario with the same parameters that more than one scheduler ran."""
    groups: dict[str, list[TrialRecord]] = {}
    for trial in trials:
        if trial.verdict != Verdict.NOT_APPLICABLE:
            groups.setdefault(f"{trial.scenario}{_parameters(trial.parameters)}", []).append(trial)
    return (group for group in groups.values() if len({trial.subject for trial in group}) > 1)


def _differing(trial: TrialRecord, trials: Sequence[TrialRecord]) -> str:
    """The parameters of a trial that are not the same in all trials of its scenario, and its repeat."""
    same = [other for other in trials if other.scenario == trial.scenario]
    told = [
        f"{name}={value}"
        for name, value in trial.parameters.items()
        if any(other.parameters.get(name) != value for other in same)
    ]
    if any(other.repeat > 1 for other in same):
        told.append(f"repeat {trial.repeat}")
    return "".join(f", {one}" for one in told)


def _parameters(parameters: Mapping[str, Any]) -> str:
    return "".join(f", {name}={value}" for name, value in parameters.items())
