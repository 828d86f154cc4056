"""The programs and CRDs that a plan needs, provided: found, downloaded or built."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from kubedyno.kit.progress import Progress
from kubedyno.lab.planning import LabPlan
from kubedyno.plane import provisioning
from kubedyno.plane.finding import Found


class Provided(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan needs, ready to be started."""

    found: dict[str, Found]
    """By program name."""
    crd_folders: tuple[Path, ...]


async def provide(plan: LabPlan, *, cache: Path, env: Mapping[str, str], progress: Progress) -> Provided:
    """Find or make what the plan needs; see `plane.provisioning`."""
    bin_dir = Path(plan.spec.bin_dir) if plan.spec.bin_dir else None
    found = await provisioning.provide(plan.programs, bin_dir=bin_dir, cache=cache, env=env, progress=progress)
    crd_folders = [
        await provisioning.assets(group, bin_dir=bin_dir, cache=cache, env=env, progress=progress)
        for group in plan.asset_groups
    ]
    return Provided(found=found, crd_folders=tuple(crd_folders))
