"""From what a trial came to, to its verdict and the sentence that says why; and from trials to their run. Pure."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.kit.errors import CheckFailed, ExitCode, InvalidRun, KubedynoError, NotApplicable
from kubedyno.lab import lagging
from kubedyno.measure.records import AuditLine, Check, Finding, Verdict, Violation

_SHOWN: Final = 3
"""So many of each kind of trouble are told in a message."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a trial came to."""

    error: BaseException | None = None
    """What ended the scenario before its time."""
    checks: Sequence[Check] = ()
    """Those of thresholds among them."""
    violations: Sequence[Violation] = ()
    audit: Sequence[AuditLine] = ()
    findings: Sequence[Finding] = ()
    doubt: str = ""
    """Why the recording is not whole; empty: it is."""


def verdict_of(error: BaseException | None) -> Verdict:
    """What an error makes of a trial."""
    if error is None:
        return Verdict.PASSED
    if isinstance(error, CheckFailed):
        return Verdict.FAILED
    if isinstance(error, InvalidRun):
        return Verdict.INVALID
    if isinstance(error, NotApplicable):
        return Verdict.NOT_APPLICABLE
    return Verdict.INTERRUPTED if isinstance(error, asyncio.CancelledError) else Verdict.ERROR


OVERLOAD: Final = "overload"
"""Tag of scenarios that look for the rate at which somebody gives way; it may be we."""


def judge(evidence: Evidence) -> tuple[Verdict, str]:
    """The verdict of a trial, and why it is not the best one."""
    if isinstance(evidence.error, NotApplicable):
        return Verdict.NOT_APPLICABLE, str(evidence.error)  # whatever was seen until then says nothing
    reasons = {
        verdict_of(evidence.error): [str(evidence.error)] if isinstance(evidence.error, KubedynoError) else [],
    }
    failures = [*_failed_checks(evidence.checks), *_violated(evidence.violations)]
    if failures:
        reasons.setdefault(Verdict.FAILED, []).extend(failures)
    doubts = _doubts(evidence)
    if doubts:
        reasons.setdefault(Verdict.INVALID, []).extend(doubts)
    undeclared = [
        f"{one.name}, which nobody asked for: {one.evidence}" for one in evidence.findings if not one.declared
    ]
    if undeclared:
        reasons[Verdict.SUSPECT] = undeclared
    worst = worst_of(reasons)
    return worst, "; ".join(reasons[worst])


def beyond_limits(lines: Iterable[AuditLine]) -> list[AuditLine]:
    """The lines of a trial that goes beyond every limit on purpose, and says itself who gave way: without limits.

    But for two simulators of one node: then nothing was what it seemed.
    """
    return [line if line.name == lagging.CONTESTED else msgspec.structs.replace(line, limit=None) for line in lines]


def _failed_checks(checks: Iterable[Check]) -> list[str]:
    failed = [check for check in checks if not check.passed]
    told = [f"{check.name}: {check.detail}" if check.detail else check.name for check in failed[:_SHOWN]]
    return [*told, *_more(len(failed), "checks failed")]


def _violated(violations: Sequence[Violation]) -> list[str]:
    told = [f"{one.invariant} was violated: {one.evidence}" for one in violations[:_SHOWN]]
    by_rule = Counter(one.invariant for one in violations)
    counted = ", ".join(f"{count} of {rule}" for rule, count in by_rule.items())
    return [*told, *_more(len(violations), f"violations ({counted})")]


def _more(number: int, what: str) -> list[str]:
    return [f"{number} {what} in all"] if number > _SHOWN else []


def _doubts(evidence: Evidence) -> list[str]:
    told = [
        f"{line.name} was {line.value:g} {line.unit}, above {line.limit:g}: kubedyno itself was the bottleneck"
        for line in evidence.audit
        if not line.acceptable
    ]
    return [f"the recording is not whole. {evidence.doubt}", *told] if evidence.doubt else told


_EXIT_CODES: Final[Mapping[Verdict, ExitCode]] = {
    Verdict.INTERRUPTED: ExitCode.INTERRUPTED,
    Verdict.CRASHED: ExitCode.ENGINE,
    Verdict.ERROR: ExitCode.ENGINE,
    Verdict.FAILED: ExitCode.CHECK_FAILED,
    Verdict.INVALID: ExitCode.INVALID,
    Verdict.SUSPECT: ExitCode.INVALID,
    Verdict.PASSED: ExitCode.PASSED,
    Verdict.NOT_APPLICABLE: ExitCode.USAGE,
}
"""The worst first. A trial that does not apply takes nothing from one that passed; a run of such trials alone ran
nothing."""


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of several; of none, that nothing was wrong."""
    known = set(verdicts)
    return next((verdict for verdict in _EXIT_CODES if verdict in known), Verdict.PASSED)


def overall(verdicts: Iterable[Verdict]) -> tuple[Verdict, ExitCode]:
    """The verdict of a run, the worst of its trials, and its exit code."""
    worst = worst_of(verdicts)
    return worst, _EXIT_CODES[worst]
