"""Building one program from its pinned module.

The module files are copied into the cache's work folder, edits become an overlay there, Go builds into it, and the
finished program is renamed into place. Whoever takes the cache's lock next empties the work folder, so a build
that is killed half-way leaves nothing; Go's own build cache keeps what was compiled.
"""

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
    with_sources = _workplace(program.name, group, cache)
    made = with_sources / program.name
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false"]
    flags += ["-ldflags", " ".join(("-s", "-w", *program.ldflags))]
    if program.edits:
        sources = await _module_dir(group, toolchain=toolchain, folder=with_sources, log=log)
        flags += ["-overlay", str(_overlay(program.edits, sources=sources, folder=with_sources))]
    code = await run_guarded(
        [toolchain.go, "build", *flags, "-o", made, program.package],
        folder=with_sources,
        # Go's scratch files too die with the work folder.
        env={**toolchain.env, "GOTMPDIR": str(_scratch(with_sources))},
        log=log,
    )
    if code:
        raise ProgramError(f"{program.name} {program.version} could not be built: {explain(log)}")
    target = build_dir(program, cache, go_minor=toolchain.minor) / program.name
    put_in_place(made, target)
    shutil.rmtree(with_sources)
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


def _append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(f"{text}\n")


def _overlay(edits: Sequence[Edit], *, sources: Path, folder: Path) -> Path:
    """Write the edited copies and the file that tells Go to read them instead of the originals."""
    replace: dict[str, str] = {}
    for number, edit in enumerate(edits):
        original = sources / edit.file
        edited = Path(replace.get(str(original), original))
        try:
            text = edited.read_text()
        except OSError:
            text = ""
        if text.count(edit.old) != 1:
            raise ProgramError(
                f"{original} does not contain {edit.old!r} once, which kubedyno edits because {edit.why}: the pinned"
                " version and the edit in plane/programs.py do not belong together"
            )
        copy = folder / f"edit-{number}-{original.name}"
        copy.write_text(text.replace(edit.old, edit.new))
        replace[str(original)] = str(copy)
    overlay = folder / "overlay.json"
    overlay.write_bytes(msgspec.json.encode({"Replace": replace}))
    return overlay


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
