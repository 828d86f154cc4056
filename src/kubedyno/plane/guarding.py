"""Running a tool whose whole process family dies with us, even by SIGKILL.

A parent-death signal reaches the direct child alone, and `go build` starts compilers and linkers that would go on.
So a tiny guard stands between: it leads a process group, starts the tool in it, and reads a pipe that only we hold
open. However we end, the kernel closes the pipe, and the guard kills the group, itself included.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_GUARD = """
import os, signal, subprocess, sys, threading

def watch():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=watch, daemon=True).start()
try:
    sys.exit(subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL))
except OSError as error:
    sys.exit(f"{sys.argv[1]}: {error.strerror}")
"""


async def run_guarded(
    command: Sequence[str | Path],
    *,
    folder: Path,
    env: Mapping[str, str],
    log: Path,
    output: Path | None = None,
) -> int:
    """Run `command` in `folder` to its end and return its exit code (negative: the signal that ended it).

    What it prints goes to the end of `log`; its standard output goes to the file `output` instead, if given.
    Cancellation kills the command with everything that it started.
    """
    with contextlib.ExitStack() as files:
        errors = files.enter_context(_opened(log, "ab"))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            "-c",
            _GUARD,
            *command,
            cwd=folder,
            env=dict(env),
            stdin=asyncio.subprocess.PIPE,
            stdout=errors if output is None else files.enter_context(_opened(output, "wb")),
            stderr=errors,
            start_new_session=True,
        )
    try:
        code = await process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return code


def _opened(path: Path, mode: str) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open(mode)
