"""The programs and CRDs that a plan needs, provided: found, downloaded or built."""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kubedyno import __version__
from kubedyno.kit.progress import Progress
from kubedyno.lab.planning import LabPlan
from kubedyno.plane import provisioning
from kubedyno.plane.component import OWN_PROGRAM
from kubedyno.plane.finding import Found


class Provided(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan needs, ready to be started."""

    found: dict[str, Found]
    """By program name."""
    crd_folders: tuple[Path, ...]


async def provide(plan: LabPlan, *, cache: Path, env: Mapping[str, str], progress: Progress) -> Provided:
    """Find or make what the plan needs; see `plane.provisioning`."""
    bin_dir = Path(plan.spec.bin_dir) if plan.spec.bin_dir else None
    wanted = [program for program in plan.programs if program != OWN_PROGRAM]
    found = await provisioning.provide(wanted, bin_dir=bin_dir, cache=cache, env=env, progress=progress)
    if OWN_PROGRAM in plan.programs:
        found[OWN_PROGRAM] = Found(name=OWN_PROGRAM, path=Path(sys.executable), version=__version__, source="own")
    crd_folders = [
        await provisioning.assets(group, bin_dir=bin_dir, cache=cache, env=env, progress=progress)
        for group in plan.asset_groups
    ]
    return Provided(found=found, crd_folders=tuple(crd_folders))
