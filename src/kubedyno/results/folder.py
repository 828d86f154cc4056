"""The run folder: written aside with a journal, renamed when whole; what was abandoned is finished as crashed."""

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from kubedyno.kit.durable import exclusive_lock, write_atomic
from kubedyno.kit.errors import EngineError
from kubedyno.measure.columns import CLAIMS, NODES, OBJECTS, PODS, SERIES, Lived, ObjectRow, SeriesRow
from kubedyno.measure.records import RunRecord, TrialRecord, TrialSummary, Verdict
from kubedyno.results import tables
from kubedyno.results.ginkgo import ginkgo
from kubedyno.results.junit import junit
from kubedyno.results.kai_results import kai_results
from kubedyno.results.log_lines import complaints
from kubedyno.results.markdown import markdown
from kubedyno.results.tables import Times

SUMMARIES = "summaries"
"""Folder of a trial's own files."""
_PARTIAL = ".partial"
_NOTHING = Lived()


class RunFolder:
    """Takes the records of one run; the sink of the runner."""

    def __init__(self, out: Path, run_id: str) -> None:
        self._final = out / run_id
        self._path = out / f"{run_id}{_PARTIAL}"
        self._trials: list[TrialRecord] = []
        self._summaries: list[TrialSummary] = []

    def begin(self, run: RunRecord) -> None:
        """Make the folder and start the journal."""
        try:
            self._path.mkdir(parents=True)
        except OSError as error:
            raise _cannot_be_made(self._path, error) from error
        self._note({"event": "begin", "run": msgspec.to_builtins(run)})

    def trial(
        self,
        record: TrialRecord,
        *,
        objects: Iterable[Sequence[ObjectRow]],
        series: Iterable[Sequence[SeriesRow]],
        lived: Lived = _NOTHING,
        summaries: Mapping[str, str | bytes] = MappingProxyType({}),
        logs: Path | None,
    ) -> TrialSummary:
        """Write the folder of a trial, then say so in the journal."""
        name = f"trials/{len(self._trials) + 1}-{record.scenario.replace('/', '-')}"
        path = self._path / name
        path.mkdir(parents=True)
        times = Times()
        tables.write_parquet(path / "objects.parquet", OBJECTS, times.along(objects))
        tables.write_parquet(path / "series.parquet", SERIES, series)
        times.write(path / "times.csv")
        for table, columns, rows in (
            ("pods", PODS, lived.pods),
            ("nodes", NODES, lived.nodes),
            ("claims", CLAIMS, lived.claims),
        ):
            if rows:
                tables.write_parquet(path / f"{table}.parquet", columns, [rows])
        for file, text in summaries.items():
            (path / SUMMARIES).mkdir(exist_ok=True)
            write_atomic(path / SUMMARIES / file, text)
        if logs is not None and logs.is_dir():
            shutil.copytree(logs, path / "logs")
        write_atomic(path / "trial.json", _pretty(record))
        summary = TrialSummary(
            folder=name,
            scenario=record.scenario,
            scheduler=record.scheduler,
            verdict=record.verdict,
            duration_s=record.duration_s,
            message=record.message,
        )
        self._trials.append(record)
        self._summaries.append(summary)
        self._note({"event": "trial", "summary": msgspec.to_builtins(summary)})
        return summary

    def end(self, run: RunRecord) -> Path:
        """Write what is about the whole run, and give the folder its name."""
        whole = msgspec.structs.replace(run, trials=tuple(self._summaries))
        _write_run(self._path, whole, self._trials)
        (self._path / "journal.jsonl").unlink()
        self._path.rename(self._final)
        return self._final

    def _note(self, line: dict[str, Any]) -> None:
        with (self._path / "journal.jsonl").open("ab") as journal:
            journal.write(msgspec.json.encode(line) + b"\n")


@contextlib.contextmanager
def held(out: Path, run_id: str) -> Iterator[None]:
    """Be known to be alive while a run is written, so that nobody takes it for abandoned."""
    lock = out / f".{run_id}.lock"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(lock))
        except OSError as error:
            raise _cannot_be_made(out / f"{run_id}{_PARTIAL}", error) from error
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _cannot_be_made(path: Path, error: OSError) -> EngineError:
    return EngineError(f"the run folder {path} cannot be made: {error.strerror}; choose another with --out")


def finish_abandoned(out: Path) -> list[Path]:
    """Finish the folders of runs whose process is gone, with the verdict `crashed`; where they are now."""
    finished = []
    for path in sorted(out.glob(f"*{_PARTIAL}")) if out.is_dir() else []:
        run_id = path.name.removesuffix(_PARTIAL)
        lock = out / f".{run_id}.lock"
        with exclusive_lock(lock, wait=False) as abandoned:
            if abandoned:
                finished.append(_finish(path, run_id))
                lock.unlink(missing_ok=True)
    return finished


def _finish(path: Path, run_id: str) -> Path:
    run: RunRecord | None = None
    summaries: list[TrialSummary] = []
    for line in _journal(path):
        if line["event"] == "begin":
            run = msgspec.convert(line["run"], RunRecord)
        elif line["event"] == "trial":
            summaries.append(msgspec.convert(line["summary"], TrialSummary))
    if run is not None:
        crashed = msgspec.structs.replace(run, trials=tuple(summaries), verdict=Verdict.CRASHED, exit_code=None)
        trials = [
            msgspec.json.decode((path / summary.folder / "trial.json").read_bytes(), type=TrialRecord)
            for summary in summaries
        ]
        _write_run(path, crashed, trials)
        (path / "journal.jsonl").unlink()
    return path.rename(path.with_name(run_id))


def _journal(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a journal; the last may have been cut by the crash."""
    journal = path / "journal.jsonl"
    for line in journal.read_bytes().splitlines() if journal.exists() else []:
        with contextlib.suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=dict[str, Any])


def _write_run(path: Path, run: RunRecord, trials: Sequence[TrialRecord]) -> None:
    folders = [path / summary.folder for summary in run.trials]
    logs = {
        place: complaints(folder / "logs")
        for place, (folder, trial) in enumerate(zip(folders, trials, strict=True))
        if trial.verdict not in {Verdict.PASSED, Verdict.NOT_APPLICABLE}
    }
    write_atomic(path / "report.json", _formatted(ginkgo(run, trials, logs)))
    write_atomic(path / "kwok_scale_test.json", _formatted(kai_results(trials)))
    write_atomic(path / "junit.xml", junit(run, trials))
    write_atomic(path / "summary.md", markdown(run, trials))
    write_atomic(path / "run.json", _pretty(run))


def _formatted(document: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document))


def _pretty(record: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record)) + b"\n"
