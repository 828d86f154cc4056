"""Labs owned by the test process, with programs that are found or built once."""

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from kubedyno.kit.clock import RealClock
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.lab import planning
from kubedyno.lab.programs import Provided, provide
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import RunningLab, started
from kubedyno.plane.ports import counted_ports, free_ports


async def provided_for(spec: LabSpec) -> Provided:
    """The programs and CRDs that a lab needs; what is missing is built."""
    plan = planning.plan(spec, folder=Path("unused"), draw_port=counted_ports(1))
    return await provide(plan, cache=cache_dir(), env=os.environ, progress=Quiet())


@contextlib.asynccontextmanager
async def lab_in_process(folder: Path, *, engine: str = "local", **options: Any) -> AsyncIterator[RunningLab]:
    """A lab owned by the test process."""
    spec = check(LabSpec(name="test", engine=engine, **options))
    provided = await provided_for(spec)
    plan = planning.plan(spec, folder=folder, draw_port=free_ports())
    async with started(plan, provided=provided, clock=RealClock(), progress=Quiet()) as lab:
        yield lab
