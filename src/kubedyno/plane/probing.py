"""Asking a program file what it is: run its version command, or read its Go build info.

Answers are remembered in the cache by path, size and time of change, so that programs that are all there cost
a few file look-ups and no processes.
"""

import asyncio
import contextlib
import errno
import os
import platform
import re
import signal
import stat
from pathlib import Path

import msgspec

from kubedyno.kit.durable import write_atomic
from kubedyno.plane.buildinfo import read_build_info
from kubedyno.plane.layout import versions_file
from kubedyno.plane.programs import GROUPS, Program

TIMEOUT_S = 5.0

_GO_ARCH = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x"}


class Broken(Exception):
    """The file is not the program it should be; the text is the cause, as a part of a sentence."""


class _Answer(msgspec.Struct, frozen=True):
    size_bytes: int
    mtime_ns: int
    version: str


class Versions:
    """Versions of program files, asked once per file; `save` keeps the answers for the next process."""

    def __init__(self, cache: Path) -> None:
        self._file = versions_file(cache)
        self._changed = False
        try:
            self._answers = msgspec.json.decode(self._file.read_bytes(), type=dict[str, _Answer])
        except (OSError, msgspec.MsgspecError):
            self._answers = {}  # none yet, or unreadable: asking again costs little

    async def of(self, program: Program, path: Path) -> str:
        """The version of `path` (`v1.36.3`), which must be that program, else `Broken`."""
        status = _status(path)
        known = self._answers.get(str(path))
        if known is not None and (known.size_bytes, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return known.version
        version = await ask(program, path)
        self._answers[str(path)] = _Answer(status.st_size, status.st_mtime_ns, version)
        self._changed = True
        return version

    def save(self) -> None:
        """Write new answers down; a cache that cannot be written only means asking again."""
        if not self._changed:
            return
        kept = {path: answer for path, answer in self._answers.items() if Path(path).exists()}
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self._file, msgspec.json.encode(kept))
            self._changed = False


async def ask(program: Program, path: Path, *, timeout_s: float = TIMEOUT_S) -> str:
    """The version of the program file at `path`, with a leading `v`; `Broken` if it does not answer as it should."""
    if not stat.S_ISREG(_status(path).st_mode):
        raise Broken("it is no file")
    if not os.access(path, os.X_OK):
        raise Broken("it is not executable")
    if program.version_args is None:
        return _from_build_info(program, path)
    answer = await _run(path, program.version_args, timeout_s=timeout_s)
    found = re.search(program.version_pattern, answer)
    if found is None:
        raise Broken(f"it is another program: asked for its version it says {_last_line(answer)!r}")
    return "v" + found[1].removeprefix("v")


def machine_arch() -> str:
    """This machine's architecture as Go names it (`amd64`)."""
    machine = platform.machine().lower()
    return _GO_ARCH.get(machine, machine)


def _status(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise Broken(f"it cannot be read ({error.strerror})") from error


def _from_build_info(program: Program, path: Path) -> str:
    try:
        info = read_build_info(path)
    except OSError as error:
        raise Broken(f"it cannot be read ({error.strerror})") from error
    if info is None:
        raise Broken("it carries no Go build info, by which this program is recognised")
    module = GROUPS[program.group].module
    if module not in info.modules:
        raise Broken(f"it is another program: {info.package or 'built from files'} without module {module}")
    arch = info.settings.get("GOARCH", machine_arch())
    if arch != machine_arch():
        raise Broken(f"Exec format error: it is built for {arch}, this machine is {machine_arch()}")
    return info.modules[module]


async def _run(path: Path, arguments: tuple[str, ...], *, timeout_s: float) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            path,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        if error.errno == errno.ENOEXEC:
            raise Broken("Exec format error: it is built for another machine") from error
        raise Broken(f"it cannot be started ({error.strerror})") from error
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate()
    except TimeoutError:
        raise Broken(f"{' '.join(arguments)} gave no answer within {timeout_s:.0f} s") from None
    finally:
        # The whole group: a wrapper script may wait for a child that hangs.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    text = output.decode(errors="replace")
    if process.returncode:
        raise Broken(f"{' '.join(arguments)} ends with exit code {process.returncode}: {_last_line(text)}")
    return text


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
