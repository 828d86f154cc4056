"""The programs and CRDs that a plan needs, provided: found, downloaded or built."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from kubedyno.kit.progress import Progress
from kubedyno.lab.owner import Orders
from kubedyno.lab.planning import LabPlan
from kubedyno.plane import provisioning


async def orders(plan: LabPlan, *, cache: Path, env: Mapping[str, str], progress: Progress) -> Orders:
    """What an owner needs to start the plan."""
    bin_dir = Path(plan.spec.bin_dir) if plan.spec.bin_dir else None
    found = await provisioning.provide(plan.programs, bin_dir=bin_dir, cache=cache, env=env, progress=progress)
    folders = await asyncio.gather(
        *(
            provisioning.assets(group, bin_dir=bin_dir, cache=cache, env=env, progress=progress)
            for group in plan.asset_groups
        )
    )
    return Orders(
        spec=plan.spec,
        programs={name: str(program.path) for name, program in found.items()},
        versions={name: program.version for name, program in found.items()},
        sources={name: program.source for name, program in found.items()},
        crd_folders=tuple(map(str, folders)),
    )
