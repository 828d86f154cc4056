"""The words around a plot: what was run, who is left out, how far the times can be believed."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.units import format_duration
from kubedyno.model.lifecycles import SUBMITTED
from kubedyno.model.samples import SampledFile
from kubedyno.model.submissions import SubmittedFile
from kubedyno.report.choosing import Chosen
from kubedyno.report.scales import duration
from kubedyno.report.ways import Way

_DOT: Final = "   ·   "
_REASONS: Final = 4
"""So many reasons fit into a line."""


class Captions(msgspec.Struct, frozen=True, kw_only=True):
    """A line each."""

    title: str
    subtitle: str
    trust: str
    """How far the times can be believed."""
    origin: str
    """Where they come from."""


def captions(
    submitted: SubmittedFile, sampled: SampledFile, ways: Sequence[Way], chosen: Chosen, *, skip_errors: bool
) -> Captions:
    """What stands above and below a plot of these workloads."""
    return Captions(
        title=_title(submitted, ways),
        subtitle=_DOT.join(
            (_pace(submitted, ways), wrong(len(ways), chosen, skip_errors=skip_errors) or "none left out")
        ),
        trust=_DOT.join(_trust(sampled)),
        origin=_DOT.join(_origin(submitted, sampled)),
    )


def wrong(count: int, chosen: Chosen, *, skip_errors: bool) -> str:
    """How many of so many workloads are left out or marked, and why; empty: none."""
    number = sum(chosen.wrong.values())
    if not number:
        return ""
    reasons = [f"{many:,} {reason}" for reason, many in chosen.wrong.items()]
    if len(reasons) > _REASONS:
        others = sum(list(chosen.wrong.values())[_REASONS:])
        reasons[_REASONS:] = [f"{others:,} for other reasons"]
    return f"{number:,} of {count:,} {'left out' if skip_errors else 'marked'}: {', '.join(reasons)}"


def _title(submitted: SubmittedFile, ways: Sequence[Way]) -> str:
    count = f"{len(ways):,}"
    if len(ways) < len(submitted.workloads):
        count = f"{count} of {len(submitted.workloads):,}"
    shapes = {(way.submitted.workers, way.submitted.gpus) for way in ways}
    shape = ""
    if len(shapes) == 1:
        ((workers, gpus),) = shapes
        pods = f"{workers} workers of " if submitted.workload_type == "distributed" and workers > 1 else ""
        shape = f", {pods}{gpus} GPU{'' if gpus == 1 else 's'}{'' if pods else ' each'}"
    return f"{count} {submitted.workload_type} workloads on {submitted.dialect}{shape}"


def _pace(submitted: SubmittedFile, ways: Sequence[Way]) -> str:
    times_ns = [way.steps[SUBMITTED].at_ns for way in ways]
    spent_s = (max(times_ns) - min(times_ns)) / NS_PER_S
    if not spent_s:
        return "submitted at once"
    going_on = "" if submitted.ended_at else ", not over yet"
    limited = ", the submitter was the limit" if submitted.pace and submitted.pace.limited else ""
    return f"submitted in {format_duration(spent_s)}, {(len(ways) - 1) / spent_s:,.3g} a second{going_on}{limited}"


def _trust(sampled: SampledFile) -> Iterator[str]:
    lags = [recording.lag for recording in sampled.recordings if recording.lag is not None]
    if lags:
        worst = max(lags, key=lambda lag: lag.p99_s)
        yield f"watch lag p50 {duration(worst.p50_s)}, p99 {duration(worst.p99_s)}, max {duration(worst.max_s)}"
    else:
        yield "watch lag unknown"
    if not sampled.recordings:
        yield "nothing was recorded: times are the server's stamps"
    elif all(recording.whole for recording in sampled.recordings):
        yield "the recording is whole"
    else:
        yield "the recording may have gaps"


def _origin(submitted: SubmittedFile, sampled: SampledFile) -> Iterator[str]:
    yield f"submission {submitted.id}"
    yield f"sampled {sampled.sampled_at[:19].replace('T', ' ')} UTC"
    if submitted.simulated:
        yield f"with {', '.join(submitted.simulated)}"
    yield f"kubedyno {sampled.kubedyno}"
