"""The tables of a run's page. A part without anything to tell is an empty text."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from kubedyno.measure.records import Case, Check, Communication, Measurement, RunRecord, TrialRecord
from kubedyno.model.settings import Evidence
from kubedyno.report.markup import line, number
from kubedyno.report.run_reading import TrialRead

_PERCENTS: Final = (50.0, 90.0, 99.0)
_CONFIRMED: Final = {
    Evidence.REPORTED: "reported",
    Evidence.BEHAVED: "behaved",
    Evidence.ARGV: "command line only, unconfirmed",
}
_GIB: Final = 1024**3


def trials(made: Sequence[TrialRead]) -> str:
    """One line per trial with a link to its part."""
    rows = [
        (
            f'<a href="#trial-{trial.number}">{trial.number}</a>',
            escape(trial.record.scenario),
            escape(trial.record.subject),
            escape(_parameters(trial.record)),
            escape(trial.record.verdict),
            f"{trial.record.setup_s:.1f}",
            f"{trial.record.duration_s:.2f}",
            "" if trial.record.timed_s is None else f"{trial.record.timed_s:.2f}",
        )
        for trial in made
    ]
    head = ("", "scenario", "scheduler", "parameters", "verdict", "set-up s", "scenario s", "timed s")
    return _table("Trials", head, rows, texts=5)


def side_by_side(made: Sequence[TrialRead]) -> str:
    """Measurement by trial: the median, or the value itself."""
    names = dict.fromkeys(
        (one.name, one.unit) for trial in made for one in (*trial.record.measurements, *trial.record.quality)
    )
    rows = []
    for name, unit in names:
        cells = []
        for trial in made:
            known = (*trial.record.measurements, *trial.record.quality)
            found = next((one for one in known if one.name == name), None)
            cells.append("" if found is None else number(found.value))
        rows.append((escape(name), escape(unit), *cells))
    heads = (f"{escape(trial.record.subject)}, trial {trial.number}" for trial in made)
    return _table("Values; of several samples their median", ("", "unit", *heads), rows, texts=2)


def measurements(title: str, made: Sequence[Measurement]) -> str:
    """Values with their bounds and percentiles."""
    rows = [
        (
            escape(one.name),
            escape(one.unit),
            number(one.value),
            f"{number(one.lower)} to {number(one.upper)}",
            *(_percentile(one, percent) for percent in _PERCENTS),
            f"{len(one.samples):,}",
        )
        for one in made
    ]
    heads = ("", "unit", "value", "between", *(f"p{percent:g}" for percent in _PERCENTS), "n")
    return (
        _headed(title, _table("Percentiles with their 95 % confidence intervals", heads, rows, texts=2)) if rows else ""
    )


def checks(record: TrialRecord) -> str:
    """What had to hold."""
    if not record.checks:
        return ""
    lines = (
        f"<li>{_held(check)} {escape(check.name)}{f': {escape(check.detail)}' if check.detail else ''}</li>"
        for check in record.checks
    )
    return _headed("Checks", f'<ul class="checks">{"".join(lines)}</ul>')


def _held(check: Check) -> str:
    if check.skipped:
        return '<span class="skipped">skipped</span>'
    return f'<span class="{"yes" if check.passed else "no"}">{"held" if check.passed else "did not hold"}</span>'


def cases(record: TrialRecord) -> str:
    """What was made to fail, and what came of it."""
    rows = [
        (
            str(number),
            escape(one.target),
            escape(one.component),
            escape(one.failure),
            ", ".join(map(str, one.breaks)),
            escape(one.expected),
            escape(one.observed),
            f'<span class="{"yes" if one.passed else "no"}">{_outcome(one)}</span>',
        )
        for number, one in enumerate(record.cases, 1)
    ]
    heads = ("#", "test target", "component", "failure state", "breaks", "expected", "observed", "")
    told = "Breaks: the numbers of the communications between components that the failure disturbs"
    return _headed("Test cases", _table(told, heads, rows, texts=len(heads))) if rows else ""


def _outcome(case: Case) -> str:
    if not case.passed:
        return "not as expected"
    return f"known fault: {escape(case.finding)}" if case.finding else "as expected"


def communications(record: TrialRecord) -> str:
    """Who asked whom."""
    rows = [
        (
            str(one.number),
            escape(one.name),
            "" if one.requests is None else f"{one.requests:,}",
            escape(", ".join(f"{code}: {count:,}" for code, count in one.errors.items())),
            *(_milliseconds(one, percent) for percent in _PERCENTS),
            escape("; ".join(filter(None, (one.source, one.note)))),
        )
        for one in record.communications
    ]
    heads = ("#", "", "requests", "errors", *(f"p{percent:g} ms" for percent in _PERCENTS), "from")
    told = "Time to the answer with 95 % confidence intervals; watches are requests, but have no such time"
    return _headed("Communications", _table(told, heads, rows, texts=2)) if rows else ""


def _milliseconds(one: Communication, percent: float) -> str:
    found = next((known for known in one.latency if known.percent == percent), None)
    if found is None:
        return ""
    value, lower, upper = (number(seconds * 1000) for seconds in (found.value, found.lower, found.upper))
    return f"{value} ({lower} to {upper})"


def violations(record: TrialRecord) -> str:
    """Rules that were broken."""
    rows = [
        (escape(one.invariant), escape(one.object), escape(one.node or ""), escape(one.evidence))
        for one in record.violations
    ]
    return _headed("Violations", _table("", ("rule", "object", "node", "evidence"), rows, texts=4)) if rows else ""


def findings(record: TrialRecord) -> str:
    """What limited the system under test."""
    rows = [
        (escape(one.name), "asked for" if one.declared else "nobody asked for it", escape(one.evidence))
        for one in record.findings
    ]
    return _headed("Findings", _table("", ("finding", "setting", "evidence"), rows, texts=3)) if rows else ""


def audit(record: TrialRecord) -> str:
    """The instrument looking at itself."""
    rows = [
        (
            escape(seen.name),
            number(seen.value),
            escape(seen.unit),
            "" if seen.limit is None else number(seen.limit),
            "" if seen.acceptable else "above its limit",
        )
        for seen in record.audit
    ]
    return _folded("Audit", _table("", ("", "value", "unit", "limit", ""), rows, texts=1)) if rows else ""


def parameters(record: TrialRecord) -> str:
    """Parameters and circumstances."""
    known = {
        **record.parameters,
        "seed": record.seed,
        "time": record.time,
        "profile": record.profile,
        "kubelet": record.kubelet,
        "simulated": ", ".join(record.simulated) or "none",
    }
    rows = [(escape(name), escape(str(value))) for name, value in known.items()]
    return _folded("Parameters", _table("", ("", "value"), rows, texts=2))


def settings(record: TrialRecord) -> str:
    """Effective settings; what only a command line says is not confirmed."""
    rows = [
        (
            escape(one.component),
            escape(one.field),
            escape(one.value),
            escape(one.wanted if one.wanted is not None else "not asked for"),
            _CONFIRMED[one.evidence],
            escape(one.source),
        )
        for one in record.settings
    ]
    heads = ("component", "field", "value", "asked for", "evidence", "source")
    return _folded("Effective settings", _table("", heads, rows, texts=6)) if rows else ""


def host(record: RunRecord) -> str:
    """The machine and the programs."""
    machine = record.host
    rows = [
        ("processors", str(machine.cores)),
        ("memory", f"{machine.memory_bytes / _GIB:.1f} GiB"),
        ("kernel", escape(f"{machine.kernel}, {machine.architecture}")),
        ("Python", escape(machine.python)),
        *((escape(name), escape(f"{program.version} ({program.source})")) for name, program in record.programs.items()),
    ]
    return _table("", ("", ""), rows, texts=2)


def _parameters(record: TrialRecord) -> str:
    return ", ".join(f"{name}={value}" for name, value in record.parameters.items())


def _percentile(one: Measurement, percent: float) -> str:
    found = next((known for known in one.percentiles if known.percent == percent), None)
    if found is None:
        return ""
    return f"{number(found.value)} ({number(found.lower)} to {number(found.upper)})"


def _headed(title: str, body: str) -> str:
    return f"<h3>{escape(title)}</h3>{body}"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """A table of cells that are HTML already; the first columns are text."""
    lines = [line("th", heads, texts=texts), *(line("td", row, texts=texts) for row in rows)]
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="wide"><table>{told}{"".join(lines)}</table></div>'
