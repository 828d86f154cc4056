import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec
import psutil
import pytest

from kubedyno.kit.errors import ProgramError
from kubedyno.kit.progress import Progress
from kubedyno.plane.building import build, make_assets
from kubedyno.plane.guarding import run_guarded
from kubedyno.plane.layout import assets_dir, build_dir, work_dir
from kubedyno.plane.programs import GROUPS, PROGRAMS
from kubedyno.plane.toolchain import Toolchain, provide_toolchain

pytestmark = pytest.mark.unit

World = Callable[..., Mapping[str, str]]
Until = Callable[[Callable[[], object]], Awaitable[None]]
IsRunning = Callable[[int], bool]

ETCD, KAI = PROGRAMS["etcd"], PROGRAMS["kai-scheduler"]


async def make(cache: Path, env: Mapping[str, str], progress: Progress) -> Toolchain:
    return await provide_toolchain(cache=cache, env=env, progress=progress)


async def test_a_build_ends_up_in_place_and_leaves_nothing_else(
    tmp_path: Path, cache: Path, go_world: World, progress: Progress
) -> None:
    toolchain = await make(cache, go_world(), progress)
    path = await build(ETCD, toolchain=toolchain, cache=cache)
    assert path == build_dir(ETCD, cache, go_minor="1.26") / "etcd"
    assert os.access(path, os.X_OK)
    assert list(work_dir(cache).iterdir()) == []
    called = (tmp_path / "go-calls").read_text().splitlines()[-1]
    assert called.startswith("build -mod=readonly -trimpath -buildvcs=false -ldflags -s -w -o ")
    assert called.endswith(" go.etcd.io/etcd/server/v3")


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("# pkg/x\npkg/x/a.go:3:1: syntax error", "pkg/x/a.go:3:1: syntax error"),
        ("go: downloading a v1\nwrite /tmp/x: no space left on device", "the disk is full: free some space"),
        ('go: a@v1: Get "https://p/": dial tcp: lookup p: no such host', "the network does not answer"),
        ("read tcp 10.0.0.1:1: i/o timeout", "the network does not answer"),
        ("", "it printed nothing"),
    ],
)
async def test_a_failing_build_says_why_and_where_the_log_is(
    cache: Path, go_world: World, progress: Progress, said: str, cause: str
) -> None:
    toolchain = await make(cache, go_world(FAKE_GO_BUILD='echo "$SAID"; exit 1', SAID=said), progress)
    with pytest.raises(ProgramError) as failure:
        await build(ETCD, toolchain=toolchain, cache=cache)
    assert cause in str(failure.value)
    assert str(cache / "logs" / "build-etcd.log") in str(failure.value)
    assert not (cache / "programs").exists()


async def test_edits_are_made_in_a_copy_of_the_sources(
    tmp_path: Path, cache: Path, go_world: World, progress: Progress
) -> None:
    env = go_world(FAKE_GO_BUILD=f"cp -r . {tmp_path / 'seen'}")
    original = tmp_path / "module" / KAI.edits[0].file
    original.parent.mkdir(parents=True)
    before = f"before\n{KAI.edits[0].old}\nafter\n"
    original.write_text(before)
    original.chmod(0o444)
    original.parent.chmod(0o555)
    await build(KAI, toolchain=await make(cache, env, progress), cache=cache)
    assert original.read_text() == before
    edited = tmp_path / "seen" / "module" / KAI.edits[0].file
    assert edited.read_text() == f"before\n{KAI.edits[0].new}\nafter\n"
    assert "127.0.0.1" in KAI.edits[0].new
    go_mod = (tmp_path / "seen" / "go.mod").read_text()
    assert go_mod.endswith("replace github.com/NVIDIA/KAI-scheduler => ./module\n")
    assert list(work_dir(cache).iterdir()) == []


@pytest.mark.parametrize("text", ["package app\n", KAI.edits[0].old * 2])
async def test_a_text_that_cannot_be_edited_is_an_error(
    tmp_path: Path, cache: Path, go_world: World, progress: Progress, text: str
) -> None:
    original = tmp_path / "module" / KAI.edits[0].file
    original.parent.mkdir(parents=True)
    original.write_text(text)
    toolchain = await make(cache, go_world(), progress)
    with pytest.raises(ProgramError, match=r"does not contain .* once"):
        await build(KAI, toolchain=toolchain, cache=cache)


async def test_sources_that_cannot_be_fetched(cache: Path, go_world: World, progress: Progress) -> None:
    env = go_world(FAKE_GO_NO_MODULE="Get https://p/: dial tcp: lookup p: no such host")
    toolchain = await make(cache, env, progress)
    with pytest.raises(ProgramError, match="could not be fetched: the network does not answer"):
        await build(KAI, toolchain=toolchain, cache=cache)


async def test_assets_are_copied_once(tmp_path: Path, cache: Path, go_world: World, progress: Progress) -> None:
    group = GROUPS["scheduler-plugins"]
    for asset in group.assets:
        file = tmp_path / "module" / asset.source.replace("*", Path(asset.source).parts[0])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(asset.source)
    toolchain = await make(cache, go_world(), progress)
    for _ in range(2):
        folder = await make_assets(group, toolchain=toolchain, cache=cache)
        assert folder == assets_dir(group, cache)
        assert len(list(folder.glob("*.yaml"))) == len(group.assets)
    assert (tmp_path / "go-calls").read_text().count("mod download") == 1


async def test_missing_assets_are_an_error(cache: Path, go_world: World, progress: Progress) -> None:
    toolchain = await make(cache, go_world(), progress)
    with pytest.raises(ProgramError, match=r"KAI-scheduler v0\.20\.1 has no deployments/"):
        await make_assets(GROUPS["kai"], toolchain=toolchain, cache=cache)
    assert not assets_dir(GROUPS["kai"], cache).exists()


async def test_cancellation_ends_go_with_its_children(
    *, tmp_path: Path, cache: Path, go_world: World, progress: Progress, until: Until, is_running: IsRunning
) -> None:
    pid_file = tmp_path / "compiler"
    env = go_world(FAKE_GO_BUILD=f"sleep 300 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait")
    building = asyncio.create_task(build(ETCD, toolchain=await make(cache, env, progress), cache=cache))
    await until(pid_file.exists)
    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building
    await until(lambda: not is_running(int(pid_file.read_text())))


async def test_a_kill_of_our_process_ends_go_with_its_children(
    tmp_path: Path, until: Until, is_running: IsRunning
) -> None:
    pid_file = tmp_path / "compiler"
    tool = f"sleep 300 & echo $! > {pid_file}.new; mv {pid_file}.new {pid_file}; wait"
    code = f"""
import asyncio, os
from pathlib import Path
from kubedyno.kit.tasks import run
from kubedyno.plane.guarding import run_guarded
here = Path({str(tmp_path)!r})
run(lambda: run_guarded(["/bin/sh", "-c", {tool!r}], folder=here, env=os.environ, log=here / "log"))
"""
    ours = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    await until(pid_file.exists)
    compiler = psutil.Process(int(pid_file.read_text()))
    family = [compiler, *compiler.parents()[:2]]
    assert family[2].ppid() == ours.pid
    ours.kill()
    await ours.wait()
    await until(lambda: not any(is_running(member.pid) for member in family))


async def test_a_tool_that_is_not_there(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert await run_guarded(["/no/such/tool"], folder=tmp_path, env={}, log=log) == 1
    assert "/no/such/tool: No such file or directory" in log.read_text()


def test_the_folder_of_a_build_depends_on_flags_and_edits(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = build_dir(KAI, cache, go_minor="1.26")
    assert before.name.startswith("kai-v0.20.1-")
    monkeypatch.setitem(PROGRAMS, "kai-scheduler", msgspec.structs.replace(KAI, edits=()))
    assert build_dir(KAI, cache, go_minor="1.26") != before
