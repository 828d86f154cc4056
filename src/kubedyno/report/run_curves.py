"""The charts of trials: pods over time, how long pods and claims waited, how busy devices and components were."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.report.charts import Chart, Curve
from kubedyno.report.run_reading import TrialRead

_COMPONENTS: Final = 6
"""So many components have a curve of their own: those that used most."""
_WHOLE: Final = 100.0
_SINCE: Final = "seconds since the first pod was created"

_MIB: Final = 1024.0**2
_PHASES: Final = ("created", "scheduled", "running", "ready", "succeeded", "failed", "evicted")
"""Phases of pods that are counted."""

_SHARES: Final = (
    ("gpu_utilisation", "GPUs in use"),
    ("gpu_fragmentation", "free GPUs that are scattered"),
    ("fair_share_error", "GPUs shared unfairly"),
)
"""Series that are shares of one, and their titles."""


def charts(trials: Sequence[TrialRead]) -> list[Chart]:
    """Charts that compare trials: a curve each. Of one trial alone they show its own course."""
    return [
        Chart(
            title="Pods bound",
            x_label=_SINCE,
            y_label="pods",
            curves=tuple(Curve(_name(trial, trials), _bound(trial)) for trial in trials),
            stepped=True,
        ),
        Chart(
            title="Throughput",
            x_label=_SINCE,
            y_label="pods bound a second",
            curves=tuple(Curve(_name(trial, trials), _values(trial, "bound_per_s")) for trial in trials),
            stepped=True,
        ),
        Chart(
            title="Wait of pods",
            x_label="seconds from creation to binding",
            y_label="% of pods waited no longer",
            curves=tuple(Curve(_name(trial, trials), _waits(trial)) for trial in trials),
            stepped=True,
        ),
        Chart(
            title="Wait of claims",
            x_label="seconds from creation to allocation",
            y_label="% of claims waited no longer",
            curves=tuple(Curve(_name(trial, trials), _claim_waits(trial)) for trial in trials),
            stepped=True,
        ),
        Chart(
            title="Devices allocated",
            x_label=_SINCE,
            y_label="devices",
            curves=tuple(Curve(_name(trial, trials), _devices(trial)) for trial in trials),
            stepped=True,
        ),
        *(
            Chart(
                title=title,
                x_label=_SINCE,
                y_label="%",
                curves=tuple(Curve(_name(trial, trials), _values(trial, series, factor=_WHOLE)) for trial in trials),
                stepped=True,
            )
            for series, title in _SHARES
        ),
    ]


def processors(trial: TrialRead) -> Chart:
    """The processors that each component of a trial used, those that used most."""
    cores = {
        component: _cores(points, _begun_ns(trial))
        for (series, component), points in trial.series.items()
        if series == "cpu_s"
    }
    busiest = sorted(cores, key=lambda name: -sum(value for _, value in cores[name]))[:_COMPONENTS]
    return Chart(
        title="CPU by component",
        x_label=_SINCE,
        y_label="cores",
        curves=tuple(Curve(name, cores[name]) for name in busiest),
    )


def memory(trial: TrialRead) -> Chart:
    """The memory that each component of a trial held, those that held most."""
    begun_ns = _begun_ns(trial)
    held = {
        component: [((at_ns - begun_ns) / NS_PER_S, value / _MIB) for at_ns, value in points if at_ns >= begun_ns]
        for (series, component), points in trial.series.items()
        if series == "memory_bytes"
    }
    largest = sorted(held, key=lambda name: -max((value for _, value in held[name]), default=0.0))[:_COMPONENTS]
    return Chart(
        title="Memory by component",
        x_label=_SINCE,
        y_label="MiB resident",
        curves=tuple(Curve(name, held[name]) for name in largest),
    )


def phases(trial: TrialRead) -> Chart:
    """How many pods had reached each phase."""
    begun_ns = _begun_ns(trial)
    reached = {phase: sorted(trial.pods(phase).values()) for phase in _PHASES}
    last_s = (max((times[-1] for times in reached.values() if times), default=begun_ns) - begun_ns) / NS_PER_S
    return Chart(
        title="Pods by phase",
        x_label=_SINCE,
        y_label="pods that reached it",
        curves=tuple(
            Curve(phase, [*_counted(times, begun_ns), (last_s, float(len(times)))])
            for phase, times in reached.items()
            if times
        ),
        stepped=True,
    )


def _name(trial: TrialRead, beside: Sequence[TrialRead]) -> str:
    """What tells a trial from those beside it."""
    record = trial.record
    name = record.subject if len({other.record.subject for other in beside}) > 1 else record.scenario
    alike = sum(other.record.subject == record.subject and other.record.scenario == record.scenario for other in beside)
    return f"{name}, trial {trial.number}" if alike > 1 else name


def _begun_ns(trial: TrialRead) -> int:
    created = trial.pods("created")
    if created:
        return min(created.values())
    return min((points[0][0] for points in trial.series.values()), default=0)


def _bound(trial: TrialRead) -> list[tuple[float, float]]:
    times = sorted(trial.pods("scheduled").values())
    return _counted(times, _begun_ns(trial)) if times else []


def _counted(times: Sequence[int], begun_ns: int) -> list[tuple[float, float]]:
    """How many of these moments, in order, have come."""
    counted = (((at_ns - begun_ns) / NS_PER_S, float(count)) for count, at_ns in enumerate(times, 1))
    return [(0.0, 0.0), *counted]


def _waits(trial: TrialRead) -> list[tuple[float, float]]:
    created, bound = trial.pods("created"), trial.pods("scheduled")
    return _cumulated([(bound[uid] - created[uid]) / NS_PER_S for uid in bound if uid in created])


def _claim_waits(trial: TrialRead) -> list[tuple[float, float]]:
    return _cumulated(
        [(claim.allocated_ns - claim.created_ns) / NS_PER_S for claim in trial.claims if claim.allocated_ns is not None]
    )


def _cumulated(samples: Sequence[float]) -> list[tuple[float, float]]:
    """Of each wait the percentage of those that were no longer."""
    waits = sorted(samples)
    return [(0.0, 0.0), *((wait_s, _WHOLE * count / len(waits)) for count, wait_s in enumerate(waits, 1))]


def _devices(trial: TrialRead) -> list[tuple[float, float]]:
    """Of all drivers together."""
    begun_ns = _begun_ns(trial)
    found: dict[int, float] = {}
    for (name, _), points in trial.series.items():
        for at_ns, value in points if name == "devices_allocated" else ():
            found[at_ns] = found.get(at_ns, 0.0) + value
    return [((at_ns - begun_ns) / NS_PER_S, value) for at_ns, value in found.items() if at_ns >= begun_ns]


def _values(trial: TrialRead, series: str, *, factor: float = 1.0) -> list[tuple[float, float]]:
    begun_ns = _begun_ns(trial)
    points = next((points for (name, _), points in trial.series.items() if name == series), [])
    return [((at_ns - begun_ns) / NS_PER_S, factor * value) for at_ns, value in points if at_ns >= begun_ns]


def _cores(points: Sequence[tuple[int, float]], begun_ns: int) -> list[tuple[float, float]]:
    """CPU seconds so far as cores in use between two samples."""
    return [
        ((later_ns - begun_ns) / NS_PER_S, max(0.0, (more - less) * NS_PER_S / (later_ns - earlier_ns)))
        for (earlier_ns, less), (later_ns, more) in pairwise(points)
        if later_ns > earlier_ns >= begun_ns
    ]
