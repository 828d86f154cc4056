"""A run in Markdown, for a pull request. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from kubedyno.kit.units import format_duration
from kubedyno.measure.records import Measurement, RunRecord, TrialRecord, Verdict


def markdown(run: RunRecord, trials: Sequence[TrialRecord]) -> str:
    """Verdict, a line for each trial, what failed, and what was measured, folded."""
    return "\n".join(_lines(run, trials)) + "\n"


def _lines(run: RunRecord, trials: Sequence[TrialRecord]) -> Iterator[str]:
    yield f"## kubedyno: {run.verdict or 'crashed'}"
    yield ""
    yield f"`{run.id}`, {run.started_at}, kubedyno {run.kubedyno}, {run.host.cores} processors"
    yield ""
    yield "| scenario | scheduler | engine | verdict | took |"
    yield "|---|---|---|---|---|"
    for trial in trials:
        yield _row(trial.scenario, trial.subject, trial.engine, str(trial.verdict), format_duration(trial.duration_s))
    for trial in trials:
        if trial.verdict != Verdict.PASSED:
            yield ""
            yield f"**{_cell(trial.scenario)} on {_cell(trial.subject)}: {trial.verdict}**"
            yield ""
            yield from (f"    {line}" for line in trial.message.splitlines() or ["no reason is known"])
    yield ""
    for trial in trials:
        measured = (*trial.measurements, *trial.quality)
        if measured:
            yield f"<details><summary>{_text(trial.scenario)} on {_text(trial.subject)}</summary>"
            yield ""
            yield from _figures(measured)
            yield ""
            yield "</details>"


def _figures(measured: Iterable[Measurement]) -> Iterator[str]:
    yield "| figure | unit | value | between |"
    yield "|---|---|---|---|"
    for one in measured:
        yield _row(one.name, one.unit, f"{one.value:.4g}", f"{one.lower:.4g} to {one.upper:.4g}")


def _row(*cells: str) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    """Text that stays in its cell, and is no markup."""
    return _text(text).replace("|", "\\|").replace("\n", " ")


def _text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "&#96;")
