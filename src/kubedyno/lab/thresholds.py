"""Thresholds: what measurements must keep to. Read from a file, checked before anything starts, judged at the end.

kai/fill:
time to fill: 120                      # at most
pod scheduling latency: {at_most: 30, percent: 99}
"kai/reclaim-*":
time to reclaim: {at_most: 60, at_least: 1}
"""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.lab.scenario import Scenario
from kubedyno.measure import statistics
from kubedyno.measure.records import Check, Measurement, Threshold

_WHOLE: Final = 100.0


class _Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A threshold as it is written in full."""

    at_most: float | None = None
    at_least: float | None = None
    percent: float | None = None


def read(path: Path, scenarios: Iterable[str]) -> dict[str, tuple[Threshold, ...]]:
    """The thresholds of a file by scenario name or glob; one that matches none of `scenarios` is a UsageError."""
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise UsageError(f"--thresholds {path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"--thresholds {path}: {' '.join(str(error).split())}") from error
    known = sorted(scenarios)
    with located(f"--thresholds {path}"):
        if not isinstance(document, dict):
            raise UsageError("write scenarios with their measurements, like `kai/fill: {time to fill: 120}`")
        for pattern in document:
            if not fnmatch.filter(known, str(pattern)):
                raise UsageError(f"there is no scenario {str(pattern)!r}: {suggestion(str(pattern), known)}")
        return {str(pattern): _thresholds(str(pattern), bounds, path) for pattern, bounds in document.items()}


def of(scenario: Scenario, found: Mapping[str, tuple[Threshold, ...]]) -> tuple[Threshold, ...]:
    """Those that are meant for a scenario."""
    return tuple(
        one for pattern, several in found.items() if fnmatch.fnmatch(scenario.name, pattern) for one in several
    )


def judge(thresholds: Iterable[Threshold], measurements: Sequence[Measurement]) -> list[Check]:
    """A check for each threshold; one of a measurement that was not taken does not hold."""
    known = {measurement.name: measurement for measurement in measurements}
    return [_judged(threshold, known) for threshold in thresholds]


def _judged(threshold: Threshold, known: Mapping[str, Measurement]) -> Check:
    told = _told(threshold)
    measurement = known.get(threshold.measurement)
    if measurement is None:
        detail = f"the trial has no measurement of that name: {suggestion(threshold.measurement, known)}"
        return Check(name=told, passed=False, detail=detail)
    value = measurement.value
    if threshold.percent is not None:
        value = statistics.percentile(sorted(measurement.samples), threshold.percent)
    passed = (threshold.at_most is None or value <= threshold.at_most) and (
        threshold.at_least is None or value >= threshold.at_least
    )
    return Check(name=told, passed=passed, detail=f"it was {value:.4g} {measurement.unit}")


def _told(threshold: Threshold) -> str:
    name = threshold.measurement
    if threshold.percent is not None:
        name = f"p{threshold.percent:g} of {name}"
    bounds = (("at most", threshold.at_most), ("at least", threshold.at_least))
    return f"{name} is " + " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)


def _thresholds(pattern: str, bounds: Any, path: Path) -> tuple[Threshold, ...]:
    if not isinstance(bounds, dict) or not bounds:
        raise UsageError(f"{pattern}: write measurements with their bounds, like `time to fill: 120`")
    return tuple(_threshold(pattern, str(name), bound, path) for name, bound in bounds.items())


def _threshold(pattern: str, name: str, written: Any, path: Path) -> Threshold:
    where = f"{pattern}: {name}"
    if isinstance(written, int | float) and not isinstance(written, bool):
        written = {"at_most": written}
    try:
        bounds = msgspec.convert(written, _Bounds)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where}: {error}; write a number, or at_most, at_least and percent") from None
    if bounds.at_most is None and bounds.at_least is None:
        raise UsageError(f"{where}: says no bound; write a number, or at_most or at_least")
    if bounds.percent is not None and not 0 <= bounds.percent <= _WHOLE:
        raise UsageError(f"{where}: percent {bounds.percent:g} is none; write 0 to 100, like 99")
    return Threshold(
        measurement=name,
        at_most=bounds.at_most,
        at_least=bounds.at_least,
        percent=bounds.percent,
        source=str(path),
    )
