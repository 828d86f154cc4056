"""Exec: a program of the user's, run by a step."""

import asyncio
import os
from typing import Final

from kubedyno.clusterloader.measurements.measuring import DONE, Method, Result, Scene
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.errors import UsageError

_TOLD_CHARS: Final = 500


class Exec:
    """Runs a command, again when it fails; only where that was allowed."""

    def __init__(self, identifier: str, scene: Scene) -> None:
        self._identifier = identifier
        self._scene = scene

    async def execute(self, params: Params) -> Result:
        """`command` without a shell, its words with the environment's variables put in."""
        if not self._scene.may_execute:
            raise UsageError(
                f"Exec {self._identifier} runs a program on this machine: allow that with --enable-exec-service"
            )
        command = [os.path.expandvars(str(word)) for word in params.listed("command")]
        if not command:
            raise UsageError(f"Exec {self._identifier}: command has no words")
        timeout_s, pause_s = params.duration_s("timeout", "1h"), params.duration_s("backoffDelay", "1s")
        problem = ""
        for attempt in range(max(1, params.whole("retries", 1))):
            if attempt:
                await self._scene.clock.sleep(pause_s)
            problem = await _run(command, timeout_s)
            if not problem:
                return DONE
        return Result(errors=(problem,))


async def _run(command: list[str], timeout_s: float) -> str:
    """What went wrong; empty: nothing."""
    told = " ".join(command)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
    except OSError as error:
        return f"{told}: {error.strerror}"
    try:
        async with asyncio.timeout(timeout_s):
            output, _ = await process.communicate()
    except TimeoutError:
        return f"{told}: it did not end within {timeout_s:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        said = output.decode("utf-8", "replace").strip()[-_TOLD_CHARS:]
        return f"{told}: exit code {process.returncode}: {said}"
    return ""


EXEC = Method(make=Exec, params=("command", "timeout", "retries", "backoffDelay"))
