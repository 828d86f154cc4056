"""The knee of a load: the highest rate that keeps its limits, looked for step by step. Pure.

search = Search(start=50.0, goal=Goal(slo_s=1.0), effort=Effort(time_s=300.0))
while (rate := search.next_rate()) is not None:
    search.note(Step(rate=rate, ...))     # what the caller measured at this rate
knee = search.knee()

First the rate is raised by a factor until a limit breaks, or lowered until none does. Then the gap between the highest
good rate and the lowest bad one is halved, in proportion, until it is small enough. Then both are confirmed: the rate
that breaks is tried again, and so is the one just below it. A rate is good if most of its steps were; one that is good
by half is bad in the end. What does not fit into the effort is not done, and said.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.measure import statistics

Limit = Literal["latency", "errors"]

_KEPT_UP: Final = 0.9
"""Of the rate that was asked for: below this the load itself was not what it was meant to be."""


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """The limits that a good rate keeps."""

    slo_s: float
    """The latency that is allowed, of whichever percentile the caller measures."""
    error_budget: float = 0.01
    """The part of requests that may fail."""


class Effort(msgspec.Struct, frozen=True, kw_only=True):
    """How exactly to look, and how much that may cost."""

    factor: float = 2.0
    """Of one rate to the next while the rate is raised."""
    precision: float = 0.1
    """The gap between good and bad, as a part of the bad rate, that is small enough."""
    confirmations: int = 2
    """Further steps at the highest good rate, and as many at the lowest bad one."""
    least: float = 1.0
    most: float = math.inf
    """Rates that are not gone beyond."""
    steps: int = 40
    time_s: float = math.inf
    step_s: float = 0.0
    """What a step is expected to take before any was made."""


_USUAL: Final = Effort()


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured at a rate."""

    rate: float
    """What was asked for, a second."""
    latency_s: float | None
    """The percentile that the goal is about; None: nothing was answered."""
    requests: int
    errors: Mapping[str, int] = {}
    """By code."""
    first_error: str = ""
    """In the words of whoever gave it."""
    duration_s: float
    """The whole step with all that belongs to it, recovery too."""
    recovery_s: float | None = None
    """From the end of the load until all was as before; None: it was not looked at, or did not come."""
    achieved: float | None = None
    """The rate at which was really asked; None: as was meant."""

    def broken(self, goal: Goal) -> tuple[Limit, ...]:
        """The limits that this step did not keep."""
        found: list[Limit] = []
        if self.latency_s is None or self.latency_s > goal.slo_s:
            found.append("latency")
        if sum(self.errors.values()) > goal.error_budget * self.requests:
            found.append("errors")
        return tuple(found)

    @property
    def kept_up(self) -> bool:
        """Whether the load was as high as it was meant to be."""
        return self.achieved is None or self.achieved >= _KEPT_UP * self.rate


class Knee(msgspec.Struct, frozen=True, kw_only=True):
    """What a search has come to."""

    rate: float | None
    """The highest good rate; None: there was none."""
    lower: float | None
    """Up to here no step was bad; None: even the lowest rate had a bad one."""
    upper: float | None
    """From here on no step was good; None: no such rate was tried."""
    bad_rate: float | None
    """The lowest bad one above the knee."""
    broke: tuple[Limit, ...] = ()
    """The limits that broke first, at the lowest bad rate."""
    first_error: str = ""
    """Of the first step that had any."""
    errors: Mapping[str, int] = {}
    """Of all bad steps, by code, most first."""
    recovery_s: float | None = None
    """After the load of a bad step stopped; the median. None: it is not known of any."""
    recovery_most_s: float | None = None
    confirmed: bool = False
    """Whether both sides of the knee were tried as often as was asked for."""
    unfit: str = ""
    """What did not fit, or why no knee was found; empty: all was done."""
    steps: tuple[Step, ...] = ()


class Search:
    """Says which rate to try next, and is told what came of it."""

    def __init__(self, *, start: float, goal: Goal, effort: Effort = _USUAL) -> None:
        _check(start, goal, effort)
        self.goal = goal
        self.effort = effort
        self.steps: list[Step] = []
        self._start = min(max(start, effort.least), effort.most)
        self._good: dict[float, list[bool]] = {}
        """Of each rate, what its steps were."""
        self._unfit = ""
        self._ceiling = effort.most

    def next_rate(self) -> float | None:
        """What to try now; None: the search is over. The same until a step was noted."""
        wanted = self._wanted()
        if wanted is None:
            return None
        if not self._unfit:
            self._unfit = self._does_not_fit(wanted)
        return None if self._unfit else wanted

    def note(self, step: Step) -> None:
        """What came of a rate."""
        self.steps.append(step)
        is_good = not step.broken(self.goal)
        self._good.setdefault(step.rate, []).append(is_good)
        if is_good and not step.kept_up:
            # More load than this cannot be made, whatever the other side could bear.
            self._ceiling = min(self._ceiling, step.rate)

    @property
    def is_cut_short(self) -> bool:
        """Whether a further step was wanted, and did not fit."""
        return bool(self._unfit)

    def knee(self) -> Knee:
        """What is known now."""
        best, bad = self._best(), self._worst()
        first = next((step for step in self.steps if step.errors), None)
        failed = [step for step in self.steps if step.broken(self.goal)]
        lowest = min(failed, key=lambda step: step.rate, default=None)
        recoveries = sorted(step.recovery_s for step in failed if step.recovery_s is not None)
        errors: Counter[str] = Counter()
        for step in failed:
            errors.update(step.errors)
        return Knee(
            rate=best,
            lower=self._never_bad(),
            upper=self._never_good(),
            bad_rate=bad,
            broke=lowest.broken(self.goal) if lowest is not None else (),
            first_error=(first.first_error or next(iter(first.errors))) if first is not None else "",
            errors=dict(errors.most_common()),
            recovery_s=statistics.percentile(recoveries, 50.0) if recoveries else None,
            recovery_most_s=recoveries[-1] if recoveries else None,
            confirmed=best is not None and self._to_confirm(best, bad) is None,
            unfit=self._unfit or self._why_none(),
            steps=tuple(self.steps),
        )

    # Where to go.

    def _wanted(self) -> float | None:
        if not self._good:
            return self._start
        best, bad = self._best(), self._worst()
        if best is None:
            lowest = min(self._good)
            return max(self.effort.least, lowest / self.effort.factor) if lowest > self.effort.least else None
        if bad is None:
            highest = max(self._good)
            if highest < self._ceiling:
                return min(self._ceiling, highest * self.effort.factor)
        elif (bad - best) / bad > self.effort.precision:
            return math.sqrt(best * bad)
        return self._to_confirm(best, bad)

    def _to_confirm(self, best: float, bad: float | None) -> float | None:
        """The side of the knee that wants a further step; the good one first, which is what will be relied on."""
        sides = (best,) if bad is None else (best, bad)
        return next((rate for rate in sides if len(self._good[rate]) <= self.effort.confirmations), None)

    def _is_good(self, rate: float) -> bool:
        tries = self._good[rate]
        if sum(tries) * 2 == len(tries):
            return tries[0] and len(tries) <= self.effort.confirmations  # it is still to be tried
        return sum(tries) * 2 > len(tries)

    def _best(self) -> float | None:
        """The highest good rate below the lowest bad one: who raises the load from below comes no further."""
        bad = self._worst()
        return max((rate for rate in self._good if bad is None or rate < bad), default=None)

    def _worst(self) -> float | None:
        """The lowest bad rate."""
        return min((rate for rate in self._good if not self._is_good(rate)), default=None)

    def _never_bad(self) -> float | None:
        lowest_failed = min((rate for rate, tries in self._good.items() if not all(tries)), default=math.inf)
        return max((rate for rate in self._good if rate < lowest_failed), default=None)

    def _never_good(self) -> float | None:
        highest_kept = max((rate for rate, tries in self._good.items() if any(tries)), default=-math.inf)
        return min((rate for rate in self._good if rate > highest_kept), default=None)

    # What is said of it.

    def _does_not_fit(self, wanted: float) -> str:
        effort, spent_s = self.effort, sum(step.duration_s for step in self.steps)
        if len(self.steps) >= effort.steps:
            return f"did not fit: {effort.steps} steps were all that was allowed, and {wanted:.4g}/s was to be tried"
        expected_s = max((step.duration_s for step in self.steps[-3:]), default=effort.step_s)
        if spent_s + expected_s > effort.time_s:
            return (
                f"did not fit: {spent_s:.0f} of {effort.time_s:.0f} s were used, a further step at {wanted:.4g}/s "
                f"takes about {expected_s:.0f} s"
            )
        return ""

    def _why_none(self) -> str:
        if not self._good:
            return "nothing was tried"
        if self._best() is None:
            return f"even {min(self._good):.4g}/s broke a limit"
        if self._worst() is None:
            highest = max(self._good)
            if self._ceiling < self.effort.most:
                return f"the load could not be made higher than {self._achieved(highest):.4g}/s, and no limit broke"
            return f"no limit broke up to {highest:.4g}/s"
        return ""

    def _achieved(self, rate: float) -> float:
        return max(step.achieved or step.rate for step in self.steps if step.rate == rate)


def _check(start: float, goal: Goal, effort: Effort) -> None:
    """UsageError for what could not come to an end."""
    wrong = [
        told
        for is_wrong, told in (
            (start <= 0, f"start {start:g}: a rate is above 0"),
            (goal.slo_s <= 0, f"slo_s {goal.slo_s:g}: a latency is above 0"),
            (not 0 <= goal.error_budget < 1, f"error_budget {goal.error_budget:g}: write a part from 0 to below 1"),
            (effort.factor <= 1, f"factor {effort.factor:g}: write more than 1"),
            (not 0 < effort.precision < 1, f"precision {effort.precision:g}: write a part between 0 and 1"),
            (effort.confirmations < 0, f"confirmations {effort.confirmations}: write 0 or more"),
            (not 0 < effort.least <= effort.most, f"least {effort.least:g} and most {effort.most:g}: not a range"),
        )
        if is_wrong
    ]
    if wrong:
        raise UsageError(f"search for a knee: {wrong[0]}")
