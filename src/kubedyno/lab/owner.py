"""The process that owns a lab that stays: it holds the children (they die with it) and listens on a control socket.

Started by `launching` as `python -m kubedyno.lab.own FOLDER`. Until the lab is ready it tells its starter what it
does, as JSON lines on standard output; after that it is alone. SIGTERM or the request `down` ends it cleanly.
"""

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubedyno import __version__
from kubedyno.kit import logs, tasks
from kubedyno.kit.clock import Clock, RealClock, rfc3339
from kubedyno.kit.errors import EngineError, ExitCode, KubedynoError, UsageError
from kubedyno.kit.places import cache_dir
from kubedyno.lab import control, planning, steering
from kubedyno.lab.folders import RECORDS, ComponentStatus, LabFolder, LabStatus
from kubedyno.lab.programs import Provided, provide
from kubedyno.lab.recording import recording
from kubedyno.lab.spec import LabSpec
from kubedyno.lab.starting import RunningLab, started
from kubedyno.plane import embedded
from kubedyno.plane.ports import free_ports
from kubedyno.schedulers.dialects.following import EVERYTHING


class Telling:
    """Events for the starter: `begin`, `note`, `end`, then `ready` or `failed`. A starter that left is no error."""

    def _tell(self, event: str, text: str, **more: Any) -> None:
        with contextlib.suppress(BrokenPipeError, ValueError):
            sys.stdout.write(msgspec.json.encode({"event": event, "text": text, **more}).decode() + "\n")
            sys.stdout.flush()

    def begin(self, what: str) -> None:
        """A piece of work starts."""
        self._tell("begin", what)

    def note(self, text: str) -> None:
        """Something about it."""
        self._tell("note", text)

    def end(self, outcome: str = "done") -> None:
        """It is over."""
        self._tell("end", outcome)

    def ready(self, kubeconfig: Path) -> None:
        """The lab is up."""
        self._tell("ready", str(kubeconfig))

    def failed(self, error: KubedynoError) -> None:
        """The lab is not up."""
        self._tell("failed", str(error), exit_code=int(error.exit_code))


async def own(folder: LabFolder, spec: LabSpec, telling: Telling, clock: Clock) -> None:
    """Start the lab, tell, and keep it until somebody asks for its end."""
    plan = planning.plan(spec, folder=folder.path, draw_port=free_ports())
    begun = _blank(spec, "starting", clock)
    folder.write_status(begun)
    provided = await provide(plan, cache=cache_dir(), env=os.environ, progress=telling)
    records = folder.path / RECORDS
    async with (
        started(plan, provided=provided, clock=clock, progress=telling) as lab,
        # Whatever will be submitted, and whoever does: it is on record.
        recording(lab.client, EVERYTHING, records) as (recorded, spool),
    ):
        end = asyncio.Event()

        async def answer(request: Mapping[str, Any]) -> dict[str, Any]:
            match request.get("ask"):
                case "down":
                    end.set()
                    return {"state": "stopping"}
                case "records":
                    spool.tell(await recorded.prove())
                    spool.flush()
                    return {"records": str(records)}
                case "scheduler":
                    return await steering.answer(lab.scheduler, request)
            return msgspec.to_builtins(_filled(begun, lab, provided))  # type: ignore[no-any-return] # a struct becomes a dict

        async with control.serve(folder.control_socket, answer):
            ready = _filled(begun, lab, provided)
            folder.write_status(ready)
            telling.ready(lab.kubeconfig)
            await end.wait()
            folder.write_status(msgspec.structs.replace(ready, state="stopping"))


def _blank(spec: LabSpec, state: str, clock: Clock, message: str = "") -> LabStatus:
    """The status of a lab of which nothing runs."""
    return LabStatus(
        name=spec.name,
        state=state,
        engine=spec.engine,
        scheduler=spec.scheduler,
        kubelet=spec.kubelet,
        profile=spec.profile,
        nodes=spec.nodes,
        owner_pid=os.getpid(),
        started_at=rfc3339(clock.wall_ns()),
        kubeconfig="",
        message=message,
    )


def _filled(begun: LabStatus, lab: RunningLab, provided: Provided) -> LabStatus:
    """The status of a lab that is up, as it is now."""
    return msgspec.structs.replace(
        begun,
        state="ready",
        kubeconfig=str(lab.kubeconfig),
        components=(*_own_parts(lab), *_processes(lab, provided)),
        settings=tuple(msgspec.to_builtins(setting) for setting in lab.settings),
        message="; ".join(lab.supervisor.lost.values()),
    )


def _own_parts(lab: RunningLab) -> Iterator[ComponentStatus]:
    """What runs in this very process: the embedded API server and the activities."""

    def part(name: str, **ports: int) -> ComponentStatus:
        return ComponentStatus(name=name, program="kubedyno", version=__version__, pid=os.getpid(), ports=ports)

    port = lab.plan.control_plane.embedded_port
    if port is not None:
        yield part(embedded.SERVER.name, secure=port)
    for name, activity in lab.activities.running.items():
        yield part(name, **activity.ports)


def _processes(lab: RunningLab, provided: Provided) -> Iterator[ComponentStatus]:
    for name, process in lab.supervisor.processes.items():
        program = process.component.program
        yield ComponentStatus(
            name=name,
            program=program,
            version=provided.found[program].version,
            pid=process.pid,
            ports=dict(process.component.ports),
        )


def main(path: str) -> int:
    """Own the lab in the folder `path`; the exit code says how it ended."""
    folder, telling, clock = LabFolder(Path(path)), Telling(), RealClock()
    spec = folder.read_spec()
    logs.configure(debug=spec.debug)
    with folder.hold() as mine:
        if not mine:
            telling.failed(EngineError(f"lab {folder.name} has another owner already: see `kubedyno status`"))
            return ExitCode.ENGINE
        try:
            tasks.run(lambda: own(folder, spec, telling, clock))
        except tasks.Interrupted:
            pass
        except UsageError as error:
            telling.failed(error)  # nothing ran: there is nothing to keep
            folder.remove()
            return int(error.exit_code)
        except KubedynoError as error:
            telling.failed(error)
            with contextlib.suppress(OSError):  # a full disk is what the message tells of
                folder.write_status(_blank(spec, "failed", clock, str(error)))
                shutil.rmtree(folder.path / "data", ignore_errors=True)
            return int(error.exit_code)
        folder.remove()
    return ExitCode.PASSED
