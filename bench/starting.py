"""How long it takes until something is there: a lab, the help."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from result import Result, against_ratio, against_value

from kubedyno.kit.clock import RealClock
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.lab import planning
from kubedyno.lab.programs import provide
from kubedyno.lab.spec import LabSpec, check
from kubedyno.plane import pki
from kubedyno.plane.component import Component
from kubedyno.plane.health import Prober
from kubedyno.plane.ports import free_ports
from labs import kubedyno, state_folder

UP_REPEATS = 5
UP_LIMIT = 1.5
HELP_REPEATS = 10
HELP_LIMIT_S = 0.3
_LOOK_EVERY_S = 0.02


def up() -> list[Result]:
    """`up` of a local lab without scheduler and nodes, against etcd and kube-apiserver started by hand in sequence."""
    ours, peer = [], []
    with state_folder() as env:
        for _ in range(UP_REPEATS):
            begun = time.perf_counter()
            kubedyno("up", "--engine", "local", "--scheduler", "none", "--nodes", "0", env=env)
            ours.append(time.perf_counter() - begun)
            kubedyno("down", env=env)
            peer.append(asyncio.run(_by_hand()))
    return [against_ratio("up", ours, peer, unit="s", limit=UP_LIMIT, better="lower")]


async def _by_hand() -> float:
    """Seconds from etcd's start to the API server's readiness, with the same flags and no supervision."""
    with tempfile.TemporaryDirectory(prefix="kubedyno-bench-") as name:
        folder = Path(name)
        plan = planning.plan(check(LabSpec(name="bench", engine="local")), folder=folder, draw_port=free_ports())
        provided = await provide(plan, cache=cache_dir(), env=os.environ, progress=Quiet())
        material = pki.create(plan.site.pki.folder, plan.identities, clock=RealClock())
        etcd, server = plan.control_plane.components[:2]
        begun = time.perf_counter()
        started = []
        try:
            async with Prober(material) as prober:
                for component in (etcd, server):
                    started.append(_spawn(component, provided.found[component.program].path, folder))
                    await _ready(component, prober)
            return time.perf_counter() - begun
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def _spawn(component: Component, program: Path, folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{component.name}.log").open("wb") as log:
        return subprocess.Popen([program, *component.args], stdout=log, stderr=log, cwd=folder)


async def _ready(component: Component, prober: Prober) -> None:
    if component.ready is None:
        raise ValueError(f"{component.name} has no probe")
    while not (await prober.ask(component.ready)).healthy:  # noqa: ASYNC110 - a server gives no event
        await asyncio.sleep(_LOOK_EVERY_S)


def show_help() -> list[Result]:
    """`./kubedyno --help`, against a Python that does nothing."""
    command = Path(__file__).parents[1] / "kubedyno"
    ours, peer = [], []
    for _ in range(HELP_REPEATS):
        ours.append(_timed([str(command), "--help"]))
        peer.append(_timed([sys.executable, "-c", "pass"]))
    return [against_value("help", ours, peer, unit="s", limit=HELP_LIMIT_S)]


def _timed(argv: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun
