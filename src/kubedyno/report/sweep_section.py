"""The part of a run's page about sizes and rates: pictures, prices, tables, and what the figures cannot show."""

from collections.abc import Collection, Iterator, Sequence
from html import escape
from typing import Final

from kubedyno.measure.records import Host, TrialRecord
from kubedyno.report import sweep_curves, sweep_tables
from kubedyno.report.markup import line
from kubedyno.report.sweep_reading import Sweep, gather, headline
from kubedyno.scenarios.numa import framework

_GIB: Final = 1024**3
_REPLICAS: Final = (
    "HA: three processes on one machine stand for three machines. They share its processors, its memory and its disk, "
    "and no network lies between them: what replicas cost in CPU is charged here to everybody, and what they cost in "
    "round trips is hardly seen."
)
_EMBEDDED: Final = (
    "Embedded engine: scheduler, simulated nodes, API server and store are one process of kubedyno. Its curves show "
    "how the work of the scheduler itself grows with size and rate. They show nothing of Kubernetes' own API server, "
    "of etcd or of a network, and there is no knee of an API server."
)
_VIRTUAL: Final = (
    "Virtual time: durations are those of the simulation, whatever the processors of this machine needed for it."
)
_HOLLOW: Final = "Hollow kubelets are Kubernetes' own, without containers and without a topology manager."
_SIMULATED: Final = (
    "Kubelets are simulated by kubedyno, many in one process: times of admission are those of the simulation and of "
    "its way to the API server, not of a kubelet on a machine of its own."
)
_SAID: Final = (
    framework.HA_NOTE,
    framework.EMBEDDED_NOTE,
    framework.VIRTUAL_NOTE,
    framework.HOLLOW_NOTE,
    framework.SIMULATED_NOTE,
)
"""Notes of records for which the above says more."""
_CASES: Final = {case.name: case for case in framework.CASES}
_USED: Final = {"embedded": "Schedperf", "local": "Kubemark", "cluster": "DinD"}
"""The framework that each engine stands for."""


def section(trials: Sequence[TrialRecord], host: Host) -> str:
    """Curves and knees of some trials, made on one machine; empty when they have none."""
    sweep = gather(trials)
    if not sweep.points and not sweep.knees:
        return ""
    made = [trial for trial in trials if trial.curves or trial.knees]
    engines = dict.fromkeys(trial.engine for trial in made)
    cautions = "".join(f"<li>{escape(told)}</li>" for told in _cautions(sweep, made))
    return "".join(
        (
            '<section id="sweep"><h2>Sizes and rates</h2>',
            f"<p>{escape(_machine(host))}</p><ul>{cautions}</ul>",
            _frameworks(sweep),
            sweep_curves.latencies(sweep),
            sweep_curves.knees(sweep),
            sweep_tables.prices(sweep),
            sweep_tables.scales(sweep, lambda case: _about(case, engines)),
            "</section>",
        )
    )


def _machine(host: Host) -> str:
    return (
        f"All of it ran on one machine of {host.cores} processors and {host.memory_bytes / _GIB:.1f} GiB of memory "
        f"({host.kernel}, {host.architecture}), the load itself too: rates are this machine's, ratios travel further."
    )


def _cautions(sweep: Sweep, made: Sequence[TrialRecord]) -> Iterator[str]:
    if any(one.ha for one in sweep.variants):
        yield _REPLICAS
    if any(trial.engine == "embedded" for trial in made):
        yield _EMBEDDED
    if any(trial.time == "virtual" for trial in made):
        yield _VIRTUAL
    yield from dict.fromkeys(_HOLLOW if trial.kubelet == "kubemark" else _SIMULATED for trial in made)

    yield from (f"{headline(note)}." for note in _notes(sweep))


def _notes(sweep: Sweep) -> Iterator[str]:
    """What records say of their figures, each once."""
    notes = [one.record.note for one in sweep.points if one.is_known] + [one.record.note for one in sweep.knees]
    for said in _SAID:
        notes = [note.replace(said, "") for note in notes]
    parts = (note.replace("; ; ", "; ").strip("; ") for note in notes)
    return iter(dict.fromkeys(filter(None, parts)))


def _frameworks(sweep: Sweep) -> str:
    """The cases with what was thought of for each, and what stands for it."""
    rows = []
    for name in sweep.cases():
        case = _CASES.get(name)
        if case is None:
            continue
        stand_ins: dict[str, list[str]] = {}
        for thought_of, stands in case.stands_for.items():
            stand_ins.setdefault(stands, []).append(thought_of)
        rows.append(
            (
                str(case.number),
                escape(headline(case.name)),
                escape(case.metric),
                "<br>".join(f"{escape(', '.join(names))}: {escape(stands)}" for stands, names in stand_ins.items()),
                escape("; ".join(case.cannot_show)),
            )
        )
    if not rows:
        return ""
    heads = ("#", "case", "what gets worse", "framework, and what stands for it here", "cannot show")
    lines = [line("th", heads, texts=len(heads)), *(line("td", row, texts=len(row)) for row in rows)]
    table = f'<div class="wide"><table>{"".join(lines)}</table></div>'
    return (
        f"<details><summary>Cases: frameworks, what stands for them, what that cannot show</summary>{table}</details>"
    )


def _about(name: str, engines: Collection[str]) -> str:
    """The frameworks that were thought of for a case, and what stands for them on these engines, in HTML."""
    case = _CASES.get(name)
    if case is None:
        return ""
    used = [_USED[engine] for engine in engines if _USED.get(engine) in case.frameworks]
    if not used and len(case.frameworks) == 1:
        used = list(case.frameworks)
    here = "; ".join(f"here for {one}: {case.stands_for[one]}" for one in used) or "this engine stands for none of them"
    return f"<small>{escape(', '.join(case.frameworks))}; {escape(here)}</small>"
