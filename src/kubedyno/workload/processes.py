"""Running another program once: what goes in, what comes out, and nothing left behind."""

import asyncio
from collections.abc import Sequence

import msgspec

from kubedyno.kit.errors import UsageError


class Ended(msgspec.Struct, frozen=True):
    """A process that ran to its end."""

    code: int
    out: bytes
    error: str


async def run(command: Sequence[str], body: bytes = b"") -> Ended:
    """Run a program with `body` as its input. Cancelled, it is killed."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            # A program that reads nothing may be gone before anything is written.
            stdin=asyncio.subprocess.PIPE if body else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        raise UsageError(
            f"{command[0]} cannot be run: {error.strerror}; install it, or name another program in the settings"
        ) from error
    try:
        out, said = await process.communicate(body or None)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ended(process.returncode or 0, out, said.decode(errors="replace").strip())
