"""What was submitted, kept as it goes: the journal `submitted.jsonl`, and `submitted.json` that is made of it.

The first line of the journal is the head of the submission. Then come, for each workload, an intent before its first
request and an entry after its last answer; a resumption has a line of its own. A line is written at once, so a process
that is killed loses none; twice a second a thread brings them to the disk. After a crash an intent without an entry is
a workload that the cluster must be asked for.
"""

import contextlib
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno.kit.durable import exclusive_lock, write_atomic
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.model.submissions import FORMAT, Pace, SubmittedFile, SubmittedWorkload

SUBMITTED: Final = "submitted.json"
JOURNAL: Final = "submitted.jsonl"
_LOCK: Final = ".submit.lock"
_SYNC_PERIOD_S: Final = 0.5


class Intent(msgspec.Struct, frozen=True, tag="intent", tag_field="line"):
    """A workload is about to be sent."""

    index: int
    workload: SubmittedWorkload
    """As far as it is known: without acceptance, uid and error."""


class Entry(msgspec.Struct, frozen=True, tag="entry", tag_field="line"):
    """What came of it."""

    index: int
    workload: SubmittedWorkload


class Head(msgspec.Struct, frozen=True, tag="head", tag_field="line"):
    """The submission, without workloads."""

    submission: SubmittedFile


class Resumed(msgspec.Struct, frozen=True, tag="resumed", tag_field="line"):
    """The submission goes on."""

    at: str


class Ended(msgspec.Struct, frozen=True, tag="ended", tag_field="line"):
    """All was submitted, or refused, or the time was over."""

    at: str
    pace: Pace | None


Line = Head | Intent | Entry | Resumed | Ended

_lines: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_encoder = msgspec.json.Encoder()


class State(msgspec.Struct):
    """What a journal says."""

    head: SubmittedFile
    entries: dict[int, SubmittedWorkload]
    """Workloads that were answered for, by index."""
    open: dict[int, SubmittedWorkload]
    """Workloads that were begun and not answered for."""
    ended_at: str | None = None
    pace: Pace | None = None

    def file(self) -> SubmittedFile:
        """`submitted.json` of it."""
        workloads = [*self.entries.values(), *self.open.values()]
        workloads.sort(key=lambda workload: workload.t_submit)
        return msgspec.structs.replace(self.head, ended_at=self.ended_at, pace=self.pace, workloads=tuple(workloads))


class Journal:
    """An open journal. Whoever writes holds the folder's lock."""

    def __init__(self, folder: Path, descriptor: int, state: State) -> None:
        self._folder = folder
        self._descriptor = descriptor
        self._unsynced = False
        self._closing = threading.Event()
        self._failure: OSError | None = None
        self.state = state

    def intend(self, index: int, workload: SubmittedWorkload) -> None:
        """A workload is about to be sent."""
        self.state.open[index] = workload
        self.append(Intent(index, workload))

    def enter(self, index: int, workload: SubmittedWorkload) -> None:
        """A workload was accepted or refused."""
        self.state.open.pop(index, None)
        self.state.entries[index] = workload
        self.append(Entry(index, workload))

    def end(self, at: str, pace: Pace | None) -> None:
        """The submission is over."""
        self.state.ended_at, self.state.pace = at, pace
        self.append(Ended(at, pace))

    def write_file(self) -> Path:
        """Write `submitted.json` as a whole."""
        path = self._folder / SUBMITTED
        with _told(path):
            os.fsync(self._descriptor)
            write_atomic(path, msgspec.json.format(_encoder.encode(self.state.file()), indent=1))
        return path

    @contextlib.contextmanager
    def kept_synced(self) -> Iterator[None]:
        """Bring what is written to the disk, beside the event loop: a disk may take a second for it."""
        thread = threading.Thread(target=self._sync, name="journal", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._closing.set()
            thread.join()

    def _sync(self) -> None:
        while not self._closing.wait(_SYNC_PERIOD_S):
            if self._unsynced:
                self._unsynced = False
                try:
                    os.fdatasync(self._descriptor)
                except OSError as error:
                    self._failure = error  # the next line raises it
                    return

    def append(self, line: Line) -> None:
        """Write a line, at once."""
        data = _encoder.encode(line) + b"\n"
        try:
            if self._failure is not None:
                raise self._failure
            written = os.write(self._descriptor, data)
            while written < len(data):  # a disk that is nearly full takes a part
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            raise _unwritable(self._folder / JOURNAL, error) from error
        self._unsynced = True


@contextlib.asynccontextmanager
async def begun(folder: Path, head: SubmittedFile) -> AsyncIterator[Journal]:
    """A new journal in a folder that holds none; it is made if it is missing."""
    with _held(folder):
        refuse_used(folder)
        with _opened(folder / JOURNAL, os.O_CREAT | os.O_EXCL) as descriptor:
            journal = Journal(folder, descriptor, State(head, {}, {}))
            journal.append(Head(head))
            with journal.kept_synced():
                yield journal


@contextlib.asynccontextmanager
async def resumed(folder: Path, at: str) -> AsyncIterator[Journal]:
    """The journal of a submission that goes on."""
    with _held(folder):
        path = folder / JOURNAL
        state, whole_bytes = _read(path)
        if state.ended_at is not None:
            raise UsageError(
                f"{folder}: its submission ended at {state.ended_at}, there is nothing to go on with; "
                "name another folder with -o for a new one"
            )
        with _opened(path, 0) as descriptor:
            os.truncate(path, whole_bytes)  # a line that was cut in its middle is no news
            journal = Journal(folder, descriptor, state)
            journal.append(Resumed(at))
            with journal.kept_synced():
                yield journal


def make_folder(folder: Path) -> None:
    """Make the folder if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}; name a folder that can be written") from error


def refuse_used(folder: Path) -> None:
    """Refuse a folder that holds a submission already: nothing is ever written over."""
    for name in (JOURNAL, SUBMITTED):
        path = folder / name
        if not path.exists():
            continue
        found = read_folder(folder)
        remedy = (
            "name another folder with -o"
            if found.ended_at is not None
            else f"`kubedyno submit --resume -o {folder}` goes on with it, or name another folder with -o"
        )
        raise UsageError(f"{path} holds submission {found.id} with {len(found.workloads)} workloads already: {remedy}")


def read_folder(folder: Path) -> SubmittedFile:
    """What was submitted into a folder so far: `submitted.json` of a submission that has ended, else the journal's."""
    has_journal = (folder / JOURNAL).exists()
    if not has_journal or (folder / SUBMITTED).exists():
        file = read_file(folder / SUBMITTED)
        if not has_journal or file.ended_at is not None:
            return file
    return _read(folder / JOURNAL)[0].file()


def read_file(path: Path) -> SubmittedFile:
    """A `submitted.json`; a UsageError says what is wrong with it."""
    data = _bytes_of(path)
    try:
        given = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        what = "it is cut off" if "truncated" in str(error) else f"it is no JSON: {error}"
        raise UsageError(f"{path}: {what}; submit anew into another folder, or take a copy that is whole") from error
    _refuse_foreign(given, str(path))
    try:
        return msgspec.convert(given, SubmittedFile)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {error}; it was changed, or is none that `kubedyno submit` wrote") from error


def read_journal(path: Path) -> State:
    """What a journal says; a UsageError says what is wrong with it."""
    return _read(path)[0]


def _read(path: Path) -> tuple[State, int]:
    """What a journal says, and how many of its bytes are whole lines."""
    data = _bytes_of(path)
    whole = data.rfind(b"\n") + 1
    state: State | None = None
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            read = _lines.decode(line)
        except msgspec.DecodeError as error:
            if number == 1:
                _refuse_foreign(_head_of(line), str(path))
            raise UsageError(f"{path}:{number}: {error}; it was changed, or is none of `kubedyno submit`") from error
        if isinstance(read, Head):
            _refuse_foreign(msgspec.to_builtins(read.submission), str(path))
            state = State(read.submission, {}, {}) if state is None else state
        elif state is None:
            raise UsageError(f"{path}: its first line is missing: it is none that `kubedyno submit` wrote")
        else:
            _apply(state, read)
    if state is None:
        raise UsageError(f"{path}: it is cut off in its first line: nothing was submitted; remove it and submit anew")
    return state, whole


def _apply(state: State, line: Intent | Entry | Resumed | Ended) -> None:
    match line:
        case Intent(index, workload):
            state.open[index] = workload
        case Entry(index, workload):
            state.open.pop(index, None)
            state.entries[index] = workload
        case Resumed():
            state.ended_at = state.pace = None
        case Ended(at, pace):
            state.ended_at, state.pace = at, pace


def _head_of(line: bytes) -> Any:
    try:
        given = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return None
    return given.get("submission") if isinstance(given, dict) else None


def _refuse_foreign(given: Any, source: str) -> None:
    if not isinstance(given, dict) or "workloads" not in given or "format" not in given:
        raise UsageError(f"{source}: it is none that `kubedyno submit` wrote: `format` or `workloads` is missing")
    if given["format"] != FORMAT:
        raise UsageError(
            f"{source}: it has format {given['format']}, and this version of kubedyno reads format {FORMAT}"
        )


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(f"{path} does not exist: `kubedyno submit -o {path.parent}` makes it") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    make_folder(folder)
    try:
        lock = exclusive_lock(folder / _LOCK, wait=False)
        mine = lock.__enter__()
    except OSError as error:
        raise UsageError(f"-o {folder}: {error.strerror}; name a folder that can be written") from error
    with contextlib.ExitStack() as stack:
        stack.push(lock)
        if not mine:
            raise UsageError(f"-o {folder}: another submission is writing there; wait for its end")
        yield


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    with _told(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | flags, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> EngineError:
    return EngineError(f"{path} cannot be written: {error.strerror}; free some space there")
