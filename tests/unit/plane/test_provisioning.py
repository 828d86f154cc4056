import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kit.errors import ProgramError
from kubedyno.plane.finding import Found, Missing
from kubedyno.plane.layout import assets_dir, lock_file, work_dir
from kubedyno.plane.programs import GROUPS
from kubedyno.plane.provisioning import assets, disk_usage, inspect, provide

pytestmark = pytest.mark.unit

World = Callable[..., Mapping[str, str]]
Script = Callable[[Path, str], Path]


async def test_what_is_missing_is_built_once(tmp_path: Path, cache: Path, go_world: World, progress: Any) -> None:
    env = go_world()
    first = await provide(["etcd"], bin_dir=None, cache=cache, env=env, progress=progress)
    assert (first["etcd"].source, first["etcd"].version) == ("build", "v3.6.16")
    assert first["etcd"].took_s > 0
    calls = (tmp_path / "go-calls").read_text()
    said = list(progress.lines)
    second = await provide(["etcd"], bin_dir=None, cache=cache, env=env, progress=progress)
    assert (second["etcd"].source, second["etcd"].path) == ("cache", first["etcd"].path)
    assert (tmp_path / "go-calls").read_text() == calls
    assert progress.lines == said


async def test_progress_says_what_how_long_and_what_is_next(
    cache: Path, go_world: World, progress: Any, script: Script, tmp_path: Path
) -> None:
    # Answers like all of them: the fake `go` writes a program that is etcd only.
    answer = 'echo "etcd Version: 3.6.16"; echo "Kubernetes v1.36.3"'
    build = f'while [ "$1" != -o ]; do shift; done; cp {script(tmp_path / "any", answer)} "$2"; exit 0'
    await provide(
        ["kube-scheduler", "etcd"], bin_dir=None, cache=cache, env=go_world(FAKE_GO_BUILD=build), progress=progress
    )
    assert [line.split(", about")[0] for line in progress.lines[:2]] == [
        "begin building etcd v3.6.16",
        "note next: kube-scheduler; after this one 1 to go",
    ]
    assert progress.lines[2].startswith("end done in ")
    assert progress.lines[3].startswith("begin building kube-scheduler v1.36.3, about ")
    assert len(progress.lines) == 5


async def test_a_network_that_refuses_is_told_once_and_then_it_is_built(
    cache: Path, go_world: World, progress: Any, script: Script, tmp_path: Path
) -> None:
    answer = 'echo "etcd Version: 3.6.16"; echo "Kubernetes v1.36.3"'
    build = f'while [ "$1" != -o ]; do shift; done; cp {script(tmp_path / "any", answer)} "$2"; exit 0'
    env = go_world(FAKE_GO_BUILD=build, KUBEDYNO_RELEASES_URL="http://127.0.0.1:1")
    found = await provide(["etcd", "kube-scheduler"], bin_dir=None, cache=cache, env=env, progress=progress)
    assert {item.source for item in found.values()} == {"build"}
    assert [line for line in progress.lines if "no more downloads" in line] == [progress.lines[1]]
    assert [line for line in progress.lines if line.startswith("begin downloading")] == [progress.lines[0]]


async def test_a_failure_ends_its_line_and_what_was_made_stays(cache: Path, go_world: World, progress: Any) -> None:
    # The fake `go` writes an etcd under every name.
    with pytest.raises(ProgramError, match="kube-apiserver was made, but cannot be used: it is another program"):
        await provide(["etcd", "kube-apiserver"], bin_dir=None, cache=cache, env=go_world(), progress=progress)
    looked = await inspect(["etcd", "kube-apiserver"], bin_dir=None, cache=cache, env={})
    assert [type(item) for item in looked] == [Found, Missing]


async def test_a_failing_build_ends_its_line(cache: Path, go_world: World, progress: Any) -> None:
    with pytest.raises(ProgramError, match="could not be built"):
        await provide(["etcd"], bin_dir=None, cache=cache, env=go_world(FAKE_GO_BUILD="exit 1"), progress=progress)
    assert progress.lines[-1] == "end failed"


async def test_leftovers_of_a_killed_run_are_removed(
    cache: Path, go_world: World, progress: Any, script: Script
) -> None:
    script(work_dir(cache) / "etcd" / "half", "x")
    await provide(["etcd"], bin_dir=None, cache=cache, env=go_world(), progress=progress)
    assert not (work_dir(cache) / "etcd").exists()


async def test_a_second_setup_waits_and_says_for_whom(
    tmp_path: Path,
    cache: Path,
    go_world: World,
    progress: Any,
    until: Callable[[Callable[[], object]], Awaitable[None]],
) -> None:
    env = go_world(
        FAKE_GO_BUILD='echo $$ >> "$FAKE_GO_CALLS.builds"; while [ ! -e "$GO_ON" ]; do sleep 0.05; done',
        GO_ON=str(tmp_path / "go-on"),
    )
    code = f"""
import os
from pathlib import Path
from kubedyno.kit.progress import Quiet
from kubedyno.kit.tasks import run
from kubedyno.plane.provisioning import provide
run(lambda: provide(["etcd"], bin_dir=None, cache=Path({str(cache)!r}), env=os.environ, progress=Quiet()))
"""
    python_path = os.pathsep.join(sys.path)
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env={**env, "PYTHONPATH": python_path})
    builds = Path(f"{env['FAKE_GO_CALLS']}.builds")
    await until(builds.exists)
    waiting = asyncio.create_task(provide(["etcd"], bin_dir=None, cache=cache, env=env, progress=progress))
    await until(lambda: progress.lines)
    assert progress.lines == [f"begin waiting for another kubedyno that sets up programs (process {other.pid})"]
    (tmp_path / "go-on").touch()
    found = await waiting
    assert await other.wait() == 0
    assert found["etcd"].source == "cache"
    assert len(builds.read_text().splitlines()) == 1
    assert lock_file(cache).read_text() == f"{os.getpid()}\n"


async def test_a_cache_that_cannot_be_written_is_an_error(
    tmp_path: Path, go_world: World, progress: Any, script: Script
) -> None:
    cache = script(tmp_path / "file", "") / "cache"
    with pytest.raises(ProgramError, match=r"cache folder .* cannot be used: .*Not a directory.*XDG_CACHE_HOME"):
        await provide(["etcd"], bin_dir=None, cache=cache, env=go_world(), progress=progress)


async def test_inspecting_makes_nothing(cache: Path, go_world: World, tmp_path: Path) -> None:
    looked = await inspect(["etcd"], bin_dir=None, cache=cache, env=go_world())
    assert looked == [Missing(name="etcd", version="v3.6.16")]
    assert not cache.exists()
    assert not (tmp_path / "go-calls").exists()


async def test_assets_lie_beside_an_explicit_program_or_in_the_cache_or_are_fetched(
    tmp_path: Path, cache: Path, go_world: World, progress: Any, script: Script
) -> None:
    for asset in GROUPS["kai"].assets:
        script(tmp_path / "module" / asset.source.replace("*", "a"), "kind: CustomResourceDefinition")
    (tmp_path / "bin").mkdir()
    env = go_world(KUBEDYNO_BIN_DIR=str(tmp_path / "bin"))
    for _ in range(2):
        folder = await assets("kai", bin_dir=None, cache=cache, env=env, progress=progress)
        assert folder == assets_dir(GROUPS["kai"], cache)
    assert len([line for line in progress.lines if line.startswith("begin ")]) == 1
    beside = script(tmp_path / "bin" / "crds" / "kai" / "mine.yaml", "x").parent
    assert await assets("kai", bin_dir=None, cache=cache, env=env, progress=progress) == beside


def test_disk_usage_counts_files(cache: Path, script: Script) -> None:
    assert disk_usage(cache) == 0
    script(cache / "a" / "b", "#!x")
    assert disk_usage(cache) == 3
