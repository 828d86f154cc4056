"""KWOK's own stages and test pairs, read from the module that its program is built from."""

import os
from pathlib import Path

import msgspec

from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.plane import building, provisioning
from kubedyno.plane.programs import GROUPS
from kubedyno.plane.toolchain import provide_toolchain
from kubedyno.sim.stages.reading import read_files
from kubedyno.sim.stages.stage import Stage

_INPUT = ".input.yaml"


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """An object, and what KWOK says of every stage of `stage_set` that may be played for it; both YAML."""

    stage_set: str
    name: str
    given: str
    expected: str


class KwokModule(msgspec.Struct, frozen=True):
    """`sets`: by name (`pod/fast`) the texts of the set's files, by file name."""

    sets: dict[str, dict[str, str]]
    pairs: tuple[Pair, ...]

    def stages(self, name: str, folder: Path) -> tuple[Stage, ...]:
        """The stages of a set, read from files in `folder`, which must be empty."""
        for file, text in self.sets[name].items():
            (folder / file).write_text(text)
        return read_files(sorted(folder.glob("*.yaml")))


async def read_kwok_module() -> KwokModule:
    """Stages and pairs of the pinned version, checked against go.sum; the module is fetched if need be."""
    root = await _module_dir() / "kustomize" / "stage"
    sets: dict[str, dict[str, str]] = {}
    for path in sorted(root.glob("*/*/*.yaml")):
        if path.name != "kustomization.yaml" and path.parent.name != "rbac":
            sets.setdefault(_name(path.parent, root), {})[path.name] = path.read_text()
    pairs = tuple(
        Pair(
            stage_set=_name(path.parents[1], root),
            name=(name := path.name.removesuffix(_INPUT)),
            given=path.read_text(),
            expected=path.with_name(f"{name}.output.yaml").read_text(),
        )
        for path in sorted(root.glob(f"*/*/testdata/*{_INPUT}"))
    )
    return KwokModule(sets, pairs)


async def _module_dir() -> Path:
    cache, group = cache_dir(), GROUPS["kwok"]
    async with provisioning._held(cache, Quiet()):
        toolchain = await provide_toolchain(cache=cache, env=os.environ, progress=Quiet())
        folder = building._workplace("kwok-stages", group, cache)
        return await building._module_dir(group, toolchain=toolchain, folder=folder, log=folder / "download.log")


def _name(folder: Path, root: Path) -> str:
    return folder.relative_to(root).as_posix()
