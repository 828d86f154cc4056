"""How long the embedded engine takes to be there: in this process, and as a command."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

import uvloop
from result import Result, against_value

from kubedyno.kit.clock import RealClock
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.lab import planning
from kubedyno.lab.programs import provide
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import started
from kubedyno.plane.ports import free_ports
from labs import kubedyno, state_folder

REPEATS = 7
START_LIMIT_S = 0.3
COMMAND_LIMIT_S = 1.0


def start() -> list[Result]:
    """From nothing to a ready lab with controllers, kubelets and scheduler: in this process, and by `up`."""
    inside, command = [], []
    with state_folder() as env:
        for _ in range(REPEATS):
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                inside.append(runner.run(_inside()))
            begun_s = time.perf_counter()
            kubedyno("up", "--engine", "embedded", env=env)
            command.append(time.perf_counter() - begun_s)
            kubedyno("down", env=env)
    return [
        against_value("embedded-start", inside, unit="s", limit=START_LIMIT_S),
        against_value("embedded-start-command", command, unit="s", limit=COMMAND_LIMIT_S),
    ]


async def _inside() -> float:
    """Seconds from the plan to readiness, keys and certificates included; the modules are loaded already."""
    with tempfile.TemporaryDirectory(prefix="kubedyno-bench-") as folder:
        begun_s = time.perf_counter()
        spec = check(LabSpec(name="bench", engine="embedded", scheduler="reference"))
        plan = planning.plan(spec, folder=Path(folder), draw_port=free_ports())
        provided = await provide(plan, cache=cache_dir(), env=os.environ, progress=Quiet())
        async with started(plan, provided=provided, clock=RealClock(), progress=Quiet()):
            return time.perf_counter() - begun_s
