"""What went wrong in a trial, on the page of its run: why, what did not hold, and what the logs complain of."""

from html import escape
from pathlib import Path
from typing import Final

from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.results.log_lines import complaints

_IN_ORDER: Final = frozenset({Verdict.PASSED, Verdict.NOT_APPLICABLE})
_VIOLATIONS: Final = 20
"""So many are named; the page has all of them further down."""


def of_trial(record: TrialRecord, logs: Path) -> str:
    """The section of a trial whose components' logs are in a folder; empty when nothing went wrong."""
    return "" if record.verdict in _IN_ORDER else section(record, complaints(logs))


def section(record: TrialRecord, lines: str) -> str:
    """What went wrong, beside the lines of logs that belong to it."""
    wrong = [
        *(f"{check.name}{f': {check.detail}' if check.detail else ''}" for check in record.checks if not check.passed),
        *(f"{one.invariant}, {one.object}: {one.evidence}" for one in record.violations[:_VIOLATIONS]),
    ]
    if len(record.violations) > _VIOLATIONS:
        wrong.append(f"and {len(record.violations) - _VIOLATIONS:,} violations more")
    listed = f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in wrong)}</ul>" if wrong else ""
    logged = (
        f"<p>What the logs complain of, the last of it:</p><pre>{escape(lines)}</pre>"
        if lines
        else "<p>No log complains of anything.</p>"
    )
    return f'<div class="wrong"><h3>What went wrong</h3>{listed}{logged}</div>'
