"""The charts of trials: pods bound over time, how long each waited, how busy the GPUs and the processors were."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.report.charts import Chart, Curve
from kubedyno.report.run_reading import TrialRead

_COMPONENTS: Final = 6
"""So many components have a curve of their own: those that used most."""
_WHOLE: Final = 100.0

_SHARES: Final = (("gpu_utilisation", "GPUs in use"), ("gpu_fragmentation", "free GPUs that are scattered"))
"""Series that are shares of one, and their titles."""


def charts(trials: Sequence[TrialRead]) -> list[Chart]:
    """Charts that compare trials: a curve each. Of one trial alone they show its own course."""
    return [
        Chart(
            title="Pods bound",
            x_label="seconds since the first pod was created",
            y_label="pods",
            curves=tuple(Curve(_name(trial, trials), _bound(trial)) for trial in trials),
            stepped=True,
        ),
        Chart(
            title="Wait of pods",
            x_label="seconds from creation to binding",
            y_label="% of pods waited no longer",
            curves=tuple(Curve(_name(trial, trials), _waits(trial)) for trial in trials),
            stepped=True,
        ),
        *(
            Chart(
                title=title,
                x_label="seconds since the first pod was created",
                y_label="%",
                curves=tuple(Curve(_name(trial, trials), _share(trial, series)) for trial in trials),
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
        x_label="seconds since the first pod was created",
        y_label="cores",
        curves=tuple(Curve(name, cores[name]) for name in busiest),
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
    begun_ns = _begun_ns(trial)
    times = sorted((at_ns - begun_ns) / NS_PER_S for at_ns in trial.pods("scheduled").values())
    return [(0.0, 0.0), *((at_s, float(count)) for count, at_s in enumerate(times, 1))] if times else []


def _waits(trial: TrialRead) -> list[tuple[float, float]]:
    created, bound = trial.pods("created"), trial.pods("scheduled")
    waits = sorted((bound[uid] - created[uid]) / NS_PER_S for uid in bound if uid in created)
    return [(0.0, 0.0), *((wait_s, _WHOLE * count / len(waits)) for count, wait_s in enumerate(waits, 1))]


def _share(trial: TrialRead, series: str) -> list[tuple[float, float]]:
    begun_ns = _begun_ns(trial)
    points = next((points for (name, _), points in trial.series.items() if name == series), [])
    return [((at_ns - begun_ns) / NS_PER_S, _WHOLE * value) for at_ns, value in points if at_ns >= begun_ns]


def _cores(points: Sequence[tuple[int, float]], begun_ns: int) -> list[tuple[float, float]]:
    """CPU seconds so far as cores in use between two samples."""
    return [
        ((later_ns - begun_ns) / NS_PER_S, max(0.0, (more - less) * NS_PER_S / (later_ns - earlier_ns)))
        for (earlier_ns, less), (later_ns, more) in pairwise(points)
        if later_ns > earlier_ns >= begun_ns
    ]
