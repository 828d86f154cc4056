"""Making a lab that stays, and ending it: the side of the commands `up` and `down`."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import msgspec

from kubedyno.kit.errors import EngineError, ExitCode, UsageError
from kubedyno.kit.progress import Progress
from kubedyno.lab import control
from kubedyno.lab.folders import LabFolder, LabStatus, writing
from kubedyno.lab.spec import LabSpec

_DOWN_WITHIN_S = 60.0


class LabFailed(EngineError):
    """The owner's own error, with its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = ExitCode(code)


class _Event(msgspec.Struct, frozen=True):
    event: str
    text: str
    exit_code: int = int(ExitCode.ENGINE)


async def launch(folder: LabFolder, spec: LabSpec, progress: Progress) -> Path:
    """Start the owner and return the kubeconfig's path when the lab is ready.

    If it cannot get ready, or this call is cancelled, the owner has ended and left nothing running.
    """
    with writing(folder.path):
        _prepare(folder, spec)
    with (folder.path / "owner.log").open("wb") as log:
        owner = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kubedyno.lab.own",
            str(folder.path),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        return await _listen(owner, folder, progress)
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            owner.send_signal(signal.SIGTERM)
        await owner.wait()
        raise


def _prepare(folder: LabFolder, spec: LabSpec) -> None:
    if folder.owned():
        raise UsageError(
            f"lab {folder.name} is running already: end it with `kubedyno down --name {folder.name}`, "
            "or choose another --name"
        )
    folder.remove()
    folder.path.mkdir(parents=True, mode=0o700)
    folder.write_spec(spec)


async def _listen(owner: asyncio.subprocess.Process, folder: LabFolder, progress: Progress) -> Path:
    """Pass the owner's events on until the lab is ready."""
    assert owner.stdout is not None  # noqa: S101 - it was asked for
    tellers = {"begin": progress.begin, "note": progress.note, "end": progress.end}
    async for line in owner.stdout:
        event = msgspec.json.decode(line, type=_Event)
        if event.event == "ready":
            return Path(event.text)
        if event.event == "failed":
            await owner.wait()
            raise LabFailed(event.text, event.exit_code)
        tellers[event.event](event.text)
    code = await owner.wait()
    raise EngineError(
        f"the process that owns lab {folder.name} ended with code {code} before the lab was ready; "
        f"see {folder.path / 'owner.log'}"
    )


async def live_status(folder: LabFolder) -> LabStatus | None:
    """What the owner says now; where it does not answer, what it said last."""
    status = folder.read_status()
    if status is None or status.state != "ready":
        return status
    try:
        return msgspec.convert(await control.ask(folder.control_socket, {"ask": "status"}), LabStatus)
    except EngineError as error:
        return msgspec.structs.replace(status, state="silent", message=str(error))


async def end(folder: LabFolder) -> bool:
    """End the lab and remove its folder; False when its owner was gone already.

    An owner that does not answer is told by SIGTERM, one that does not end is killed: its processes die with it.
    """
    if not folder.owned():
        folder.remove()
        return False
    status = folder.read_status()
    if status is None:
        raise EngineError(f"lab {folder.name} is just being started: try again in a moment")
    try:
        owner = os.pidfd_open(status.owner_pid)
    except ProcessLookupError:
        folder.remove()
        return False
    try:
        await _end_owner(owner, folder)
    finally:
        os.close(owner)
    folder.remove()
    return True


async def _end_owner(owner: int, folder: LabFolder) -> None:
    try:
        await control.ask(folder.control_socket, {"ask": "down"})
    except EngineError:
        signal.pidfd_send_signal(owner, signal.SIGTERM)
    try:
        async with asyncio.timeout(_DOWN_WITHIN_S):
            await _ended(owner)
    except TimeoutError:
        signal.pidfd_send_signal(owner, signal.SIGKILL)
        await _ended(owner)


async def _ended(owner: int) -> None:
    """Return when the process behind a pidfd is gone: it becomes readable then."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(owner, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(owner)
