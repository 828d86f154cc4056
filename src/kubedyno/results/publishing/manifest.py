"""The manifest of a store: which runs it holds. Pure.

Its form is that of KAI's pipeline, so that its page reads our stores and our dashboard its: `runs` with `timestamp` and
`path`, and `commit` where one is known. Entries of others are kept as they are.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from kubedyno.results.publishing.places import StoreError

PUBLIC: Final = "Public"
MANIFEST: Final = f"{PUBLIC}/manifest.json"
REGRESSIONS: Final = f"{PUBLIC}/regressions.json"
FORMAT: Final = 1
"""Of our own files in a store; the manifest has none as long as it is as everybody reads it."""


class Broken(StoreError):
    """A manifest that cannot be read, and may be made anew."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of the store."""

    timestamp: Annotated[str, Meta(description="When it began, RFC 3339.")]
    path: Annotated[str, Meta(description="Where its report lies: `Public/<run-id>/report.json`.")]
    commit: Annotated[str, Meta(description="The commit that was tested; missing: not told.")] = ""
    ref: Annotated[str, Meta(description="The branch or tag that was tested; missing: not told.")] = ""

    @property
    def run_id(self) -> str:
        """The folder of the report."""
        return self.path.rpartition("/")[0].rpartition("/")[2]

    @property
    def is_inside(self) -> bool:
        """Whether the path, which anybody may have written, names a file within the store."""
        parts = self.path.split("/")
        return "\\" not in self.path and not any(part in {"", ".", ".."} for part in parts)

    @property
    def began(self) -> datetime:
        """When it began; what is no time is long ago."""
        try:
            moment = datetime.fromisoformat(self.timestamp)
        except ValueError:
            return datetime.min.replace(tzinfo=UTC)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def month(self) -> str:
        """`2026-11`: the part of the index that it is in."""
        return self.began.astimezone(UTC).strftime("%Y-%m")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """All runs of a store, in the order of their times: `Public/manifest.json`."""

    runs: Annotated[tuple[Entry, ...], Meta(description="The runs.")] = ()


def report_path(run_id: str) -> str:
    """Where the report of a run lies."""
    return f"{PUBLIC}/{run_id}/report.json"


def decode(data: bytes, url: str) -> Manifest:
    """A manifest as it lies in a store; who wrote a newer format is told so, and it is left alone."""
    where = f"the manifest of {url}"
    try:
        raw = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise Broken(
            f"{where} is half-written or no JSON: {error}; `kubedyno index rebuild --from {url}` makes it anew"
        ) from error
    written = raw.get("format", FORMAT)
    if written != FORMAT:
        raise StoreError(f"{where} has format {written!r}, and this kubedyno knows {FORMAT}: use the one that wrote it")
    try:
        return msgspec.convert(raw, Manifest)
    except msgspec.ValidationError as error:
        raise Broken(f"{where} is none: {error}; `kubedyno index rebuild --from {url}` makes it anew") from error


def encode(manifest: Manifest) -> bytes:
    """As it is written: a line for each run, so that people can read it, too."""
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def with_runs(manifest: Manifest, entries: Iterable[Entry]) -> Manifest:
    """The manifest with these runs, in the order of their times; those of the same path are replaced."""
    runs = {run.path: run for run in manifest.runs} | {run.path: run for run in entries}
    return Manifest(runs=tuple(sorted(runs.values(), key=lambda run: (run.began, run.path))))


def split_at(manifest: Manifest, moment: datetime) -> tuple[Manifest, tuple[Entry, ...]]:
    """The manifest without what began before a moment, and that."""
    older = tuple(run for run in manifest.runs if run.began < moment)
    return Manifest(runs=tuple(run for run in manifest.runs if run.began >= moment)), older
