"""Building one program from its pinned module.

The module files are copied into the cache's work folder, Go builds into it, and the finished program is renamed into
place. Edits are made in a copy of the sources that the copied go.mod points to: Go's overlays would be shorter, but
they must not touch its module cache. Whoever takes the cache's lock next empties the work folder, so a build
that is killed half-way leaves nothing; Go's own build cache keeps what was compiled.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kubedyno.kit.errors import ProgramError
from kubedyno.plane.failures import explain
from kubedyno.plane.guarding import run_guarded
from kubedyno.plane.layout import assets_dir, build_dir, log_file, put_in_place, work_dir
from kubedyno.plane.programs import GOMODS, GROUPS, Edit, Group, Program
from kubedyno.plane.toolchain import Toolchain


class _Module(msgspec.Struct, rename="pascal"):
    """What `go mod download -json` says about a module."""

    dir: str = ""
    error: str = ""


async def build(program: Program, *, toolchain: Toolchain, cache: Path) -> Path:
    """Build `program` and return its final path. Only for the holder of the cache's lock.

    A failure is a `ProgramError` that says why and where the log is.
    """
    log = log_file(program, cache)
    log.unlink(missing_ok=True)
    group = GROUPS[program.group]
    folder = _workplace(program.name, group, cache)
    if program.edits:
        sources = await _module_dir(group, toolchain=toolchain, folder=folder, log=log)
        _edit_module(group, program.edits, sources=sources, folder=folder)
    flags = ("-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", " ".join(("-s", "-w", *program.ldflags)))
    made = folder / program.name
    code = await run_guarded(
        [toolchain.go, "build", *flags, "-o", made, program.package],
        folder=folder,
        # Go's scratch files too die with the work folder.
        env={**toolchain.env, "GOTMPDIR": str(_scratch(folder))},
        log=log,
    )
    if code:
        raise ProgramError(f"{program.name} {program.version} could not be built: {explain(log)}")
    target = build_dir(program, cache, go_minor=toolchain.minor) / program.name
    put_in_place(made, target)
    shutil.rmtree(folder)
    return target


async def make_assets(group: Group, *, toolchain: Toolchain, cache: Path) -> Path:
    """Copy the group's CRDs out of its module, which is fetched if need be, and return their folder.

    Only for the holder of the cache's lock.
    """
    target = assets_dir(group, cache)
    if target.is_dir():
        return target
    folder = _workplace(f"assets-{group.name}", group, cache)
    log = cache / "logs" / f"assets-{group.name}.log"
    log.unlink(missing_ok=True)
    sources = await _module_dir(group, toolchain=toolchain, folder=folder, log=log)
    _copy_assets(group, sources=sources, target=folder / "crds")
    target.parent.mkdir(parents=True, exist_ok=True)
    (folder / "crds").replace(target)
    shutil.rmtree(folder)
    return target


def _workplace(name: str, group: Group, cache: Path) -> Path:
    folder = work_dir(cache) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in ("go.mod", "go.sum"):
        shutil.copyfile(GOMODS / group.folder / file, folder / file)
    return folder


def _scratch(folder: Path) -> Path:
    scratch = folder / "tmp"
    scratch.mkdir()
    return scratch


async def _module_dir(group: Group, *, toolchain: Toolchain, folder: Path, log: Path) -> Path:
    """Where Go keeps the sources of the group's module, checked against go.sum; fetched if need be."""
    output = folder / "module.json"
    code = await run_guarded(
        [toolchain.go, "mod", "download", "-json", group.module],
        folder=folder,
        env=toolchain.env,
        log=log,
        output=output,
    )
    try:
        module = msgspec.json.decode(output.read_bytes(), type=_Module)
    except msgspec.MsgspecError:
        module = _Module()
    if code or not module.dir:
        # Go reports this error in its JSON only; the log is where a reader looks.
        _append(log, module.error)
        raise ProgramError(f"the sources of {group.module} {group.version} could not be fetched: {explain(log)}")
    return Path(module.dir)


def _append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(f"{text}\n")


def _edit_module(group: Group, edits: Sequence[Edit], *, sources: Path, folder: Path) -> None:
    """Copy the sources, make the edits in the copy, and let the go.mod in `folder` use it."""
    _copy_tree(sources, folder / "module")
    for edit in edits:
        file = folder / "module" / edit.file
        text = file.read_text() if file.is_file() else ""
        if text.count(edit.old) != 1:
            raise ProgramError(
                f"{sources / edit.file} does not contain {edit.old!r} once, which kubedyno edits because {edit.why}:"
                " the pinned version and the edit in plane/programs.py do not belong together"
            )
        file.write_text(text.replace(edit.old, edit.new))
    _append(folder / "go.mod", f"replace {group.module} => ./module")


def _copy_tree(sources: Path, target: Path) -> None:
    # Not shutil.copytree: Go's module cache is read-only, and a copy of its folders' modes could not be removed.
    for folder, _, files in os.walk(sources):
        into = target / Path(folder).relative_to(sources)
        into.mkdir()
        for file in files:
            shutil.copyfile(Path(folder) / file, into / file)


def _copy_assets(group: Group, *, sources: Path, target: Path) -> None:
    target.mkdir()
    for asset in group.assets:
        files = sorted(sources.glob(asset.source))
        if not files:
            raise ProgramError(
                f"{group.module} {group.version} has no {asset.source}: the pinned version and the assets in"
                " plane/programs.py do not belong together"
            )
        for file in files:
            shutil.copyfile(file, target / (asset.name or file.name))
