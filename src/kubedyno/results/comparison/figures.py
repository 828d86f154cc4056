"""What can be compared: the figures of trials, each with its value in every repeat, and which way is better. Pure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from kubedyno.measure.records import Measurement, TrialRecord

_SHOWN_PERCENTS: Final = (99.0,)
"""Of a distribution the median is compared, and these: where it hurts."""
_PER_SECOND: Final = "/s"
_LOWER_IS_BETTER: Final = frozenset(
    {
        "GPU fragmentation",
        "GPU-seconds held by incomplete gangs",
        "GPUs evicted for nothing",
        "evicted pods",
        "evictions per reclaimed GPU",
        "fair-share error",
    }
)
_LOWER_BEGINNINGS: Final = ("domains spanned", "domains beyond the fewest")
_HIGHER_IS_BETTER: Final = frozenset({"GPU utilisation"})


class Better(StrEnum):
    """Which way a figure should go."""

    QUICKER = "quicker"
    """A time, which should be shorter."""
    MORE_A_SECOND = "more a second"
    LOWER = "lower"
    HIGHER = "higher"
    UNKNOWN = "unknown"
    """A figure of a scenario of which nobody said what it should be."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a scenario on a scheduler."""

    scenario: str
    subject: str
    """The scheduler, where several are in a set; empty where each set has one."""
    parameters: str
    """What the scenario was asked for, in words."""
    name: str
    percent: float | None
    """The percentile that is meant; None: the value itself."""
    unit: str

    @property
    def label(self) -> str:
        """Name and percentile."""
        return self.name if self.percent is None else f"{self.name}, p{self.percent:g}"

    @property
    def better(self) -> Better:
        """Which way it should go, by its unit and name."""
        if self.name in _LOWER_IS_BETTER or self.name.startswith(_LOWER_BEGINNINGS):
            return Better.LOWER
        if self.name in _HIGHER_IS_BETTER:
            return Better.HIGHER
        if self.unit.endswith(_PER_SECOND):
            return Better.MORE_A_SECOND
        return Better.QUICKER if self.unit == "s" else Better.UNKNOWN


def values_of(trials: Iterable[TrialRecord], *, by_subject: bool) -> dict[Figure, list[float]]:
    """The values of each figure, one for each trial that has it, in the order of the trials.

    With `by_subject` those of different schedulers are different figures.
    """
    found: dict[Figure, list[float]] = {}
    for trial in trials:
        words = in_words(trial.parameters)
        for measurement in (*trial.measurements, *trial.quality):
            for percent, value in _values(measurement):
                figure = Figure(
                    scenario=trial.scenario,
                    subject=trial.subject if by_subject else "",
                    parameters=words,
                    name=measurement.name,
                    percent=percent,
                    unit=measurement.unit,
                )
                found.setdefault(figure, []).append(value)
    return found


def _values(measurement: Measurement) -> Iterable[tuple[float | None, float]]:
    yield None, measurement.value
    for percentile in measurement.percentiles:
        if percentile.percent in _SHOWN_PERCENTS:
            yield percentile.percent, percentile.value


def in_words(parameters: Mapping[str, object]) -> str:
    """The parameters of a trial as they are written on the command line."""
    return ", ".join(f"{name}={value}" for name, value in sorted(parameters.items()))
