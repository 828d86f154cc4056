"""What the index of a store holds of each run: enough to list, to search, to filter and to draw. Pure.

One file for each month (`Public/index/2026-11.json`), so that a page that shows thirty days reads one or two of them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from kubedyno.results.publishing.manifest import FORMAT, PUBLIC
from kubedyno.results.publishing.places import StoreError

_KEY_DIGITS: Final = 12
_MESSAGE_CHARS: Final = 500


class FigureRow(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a test."""

    name: Annotated[str, Meta(description="What was measured.")]
    unit: Annotated[str, Meta(description="Its unit.")]
    value: Annotated[float, Meta(description="The value.")]
    lower: Annotated[float | None, Meta(description="The true value is not below this; null: nobody knows.")] = None
    upper: Annotated[float | None, Meta(description="The true value is not above this; null: nobody knows.")] = None


class TestRow(msgspec.Struct, frozen=True, kw_only=True):
    """A test of a run: a trial of ours, or a spec of somebody else."""

    __test__ = False  # of pytest's collection: it is data, not a test of ours

    name: Annotated[str, Meta(description="Name of the scenario, or of the test.")]
    series: Annotated[
        str, Meta(description="What was configured, as a short hash: only tests with the same one share a line.")
    ]
    status: Annotated[str, Meta(description="`passed`, `failed`, `skipped`, or the verdict of ours.")]
    duration_s: Annotated[float, Meta(description="Seconds that it took.")] = 0.0
    scheduler: Annotated[str, Meta(description="Scheduler under test; empty: not told.")] = ""
    engine: Annotated[str, Meta(description="Engine that it ran on; empty: not told.")] = ""
    nodes: Annotated[int | None, Meta(description="Nodes of the cluster; null: not told.")] = None
    repeat: Annotated[int, Meta(description="Which repetition of the same trial this is, from 1 on.")] = 1
    tags: Annotated[tuple[str, ...], Meta(description="Its tags or labels.")] = ()
    configuration: Annotated[dict[str, Any], Meta(description="What was configured, in words.")] = {}
    message: Annotated[str, Meta(description="Why it did not pass: the beginning of it.")] = ""
    folder: Annotated[str, Meta(description="Folder of the trial below the run's; empty: it has none.")] = ""
    figures: Annotated[tuple[FigureRow, ...], Meta(description="What was measured.")] = ()


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the store."""

    id: Annotated[str, Meta(description="Id of the run, and name of its folder.")]
    path: Annotated[str, Meta(description="Where its report lies.")]
    started_at: Annotated[str, Meta(description="When it began, RFC 3339.")]
    source: Annotated[str, Meta(description="Who wrote it: `kubedyno`, `ginkgo`, `kai`.")]
    status: Annotated[str, Meta(description="Verdict of the run; `broken`: its report cannot be read.")]
    reason: Annotated[str, Meta(description="Why it is broken; empty: it is not.")] = ""
    commit: Annotated[str, Meta(description="The commit that was tested; empty: not told.")] = ""
    ref: Annotated[str, Meta(description="The branch or tag that was tested; empty: not told.")] = ""
    versions: Annotated[dict[str, str], Meta(description="Versions of the programs by name.")] = {}
    host: Annotated[str, Meta(description="The machine in a few words; empty: not told.")] = ""
    tests: Annotated[tuple[TestRow, ...], Meta(description="Its tests, in order.")] = ()


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """The index of a month: `Public/index/<month>.json`."""

    format: Annotated[int, Meta(description="Version of this format.")] = FORMAT
    runs: Annotated[
        tuple[RunRow, ...], Meta(description="The runs that began in it, in the order of their times.")
    ] = ()


def shard_path(month: str) -> str:
    """Where the index of a month lies."""
    return f"{PUBLIC}/index/{month}.json"


def series_of(configuration: Mapping[str, Any]) -> str:
    """The short hash of a configuration: equal for equal ones, whatever the order of their keys."""
    canonical = msgspec.json.encode(msgspec.to_builtins(dict(configuration)), order="deterministic")
    return hashlib.sha256(canonical).hexdigest()[:_KEY_DIGITS]


def shortened(message: str) -> str:
    """As much of a message as an index needs; the report has all of it."""
    return message if len(message) <= _MESSAGE_CHARS else f"{message[: _MESSAGE_CHARS - 1]}…"


def decode(data: bytes, url: str) -> Shard:
    """The index of a month as it lies in a store; one that cannot be read is empty: it can be made anew at any time."""
    try:
        shard = msgspec.json.decode(data, type=Shard)
    except msgspec.MsgspecError:
        return Shard()
    if shard.format > FORMAT:
        raise StoreError(
            f"the index of {url} has format {shard.format}, and this kubedyno knows {FORMAT}: use the one that wrote it"
        )
    return shard


def encode(shard: Shard) -> bytes:
    """As it is written."""
    return msgspec.json.encode(shard) + b"\n"


def with_rows(shard: Shard, rows: Iterable[RunRow]) -> Shard:
    """The index with these runs; those of the same path are replaced."""
    new = {row.path: row for row in rows}
    kept = {row.path: row for row in shard.runs} | new
    return Shard(runs=tuple(sorted(kept.values(), key=lambda row: (row.started_at, row.path))))


def without(shard: Shard, paths: frozenset[str]) -> Shard:
    """The index without these runs."""
    return Shard(runs=tuple(row for row in shard.runs if row.path not in paths))
