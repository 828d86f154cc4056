"""How making a lab can fail: real owner processes, but no programs."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from kubedyno.kit.errors import EngineError, ExitCode, UsageError
from kubedyno.kit.progress import Quiet
from kubedyno.lab import launching
from kubedyno.lab.folders import LabFolder, folder
from kubedyno.lab.launching import LabFailed, launch
from kubedyno.lab.owner import Orders
from kubedyno.lab.spec import LabSpec

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")


def orders(programs: dict[str, str], **fields: object) -> Orders:
    spec = LabSpec(**{"name": "lab", **fields})  # type: ignore[arg-type]
    return Orders(spec=spec, programs=programs, versions={}, sources={}, crd_folders=())


def owners_of(lab: LabFolder) -> list[int]:
    return [
        process.pid
        for process in psutil.Process().children(recursive=True)
        if str(lab.path) in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    ]


@pytest.fixture
def lab(tmp_path: Path) -> LabFolder:
    return folder(tmp_path, "lab")


async def test_a_lab_that_runs_is_not_made_twice(lab: LabFolder) -> None:
    lab.path.mkdir(parents=True)
    (lab.path / "precious").touch()
    with lab.hold() as mine:
        assert mine
        with pytest.raises(UsageError) as caught:
            await launch(lab, orders({}), Quiet())
    assert str(caught.value) == (
        "lab lab is running already: end it with `kubedyno down --name lab`, or choose another --name"
    )
    assert (lab.path / "precious").exists()


async def test_an_owner_that_dies_at_once_is_told_with_its_log(lab: LabFolder) -> None:
    with pytest.raises(EngineError) as caught:
        await launch(lab, orders({}), Quiet())  # orders without programs are a bug: the owner falls over
    assert str(caught.value) == (
        f"the process that owns lab lab ended with code 1 before the lab was ready; see {lab.path / 'owner.log'}"
    )
    assert "KeyError: 'etcd'" in (lab.path / "owner.log").read_text()
    assert not lab.owned()


async def test_a_program_that_is_missing_is_the_error_of_the_command(lab: LabFolder) -> None:
    with pytest.raises(LabFailed) as caught:
        await launch(lab, orders(dict.fromkeys(PROGRAMS, "/nowhere/program")), Quiet())
    sentence = (
        "etcd could not be started: /nowhere/program: No such file or directory; "
        "rebuild it with `kubedyno setup etcd` or name another with --bin-dir"
    )
    assert str(caught.value) == sentence
    assert caught.value.exit_code == ExitCode.ENGINE
    assert not lab.owned()
    status = lab.read_status()
    assert status is not None
    assert (status.state, status.message) == ("failed", sentence)
    assert await launching.live_status(lab) == status


async def test_a_wrong_setting_keeps_its_exit_code(lab: LabFolder, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho '  --snapshot-count int'\n")
    program.chmod(0o755)
    wanted = orders(dict.fromkeys(PROGRAMS, str(program)), settings={"etcd": {"snapshot-cuont": "1"}})
    with pytest.raises(LabFailed) as caught:
        await launch(lab, wanted, Quiet())
    assert str(caught.value) == (
        "--set etcd.snapshot-cuont: etcd has no flag --snapshot-cuont; did you mean 'snapshot-count'?"
    )
    assert caught.value.exit_code == ExitCode.USAGE


async def test_giving_up_while_it_starts_leaves_nothing_behind(lab: LabFolder, tmp_path: Path, until: Until) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    starting = asyncio.create_task(launch(lab, orders(dict.fromkeys(PROGRAMS, str(program))), Quiet()))
    await until((lab.path / "logs" / "etcd.log").exists)
    assert owners_of(lab)
    assert lab.owned()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not lab.owned()
    assert not lab.path.exists()
    assert owners_of(lab) == []


async def test_what_is_left_of_a_dead_lab_is_cleared_away(lab: LabFolder) -> None:
    (lab.path / "pki").mkdir(parents=True)
    (lab.path / "pki" / "ca.crt").write_text("of the old lab")
    with pytest.raises(LabFailed, match=r"^etcd could not be started"):
        await launch(lab, orders(dict.fromkeys(PROGRAMS, "/nowhere/program")), Quiet())
    assert (lab.path / "pki" / "ca.crt").read_text().startswith("-----BEGIN CERTIFICATE-----")
    assert lab.path.stat().st_mode & 0o777 == 0o700


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "labs").write_text("a file")
    lab = LabFolder(tmp_path / "labs" / "lab")
    with pytest.raises(EngineError) as caught:
        launching._prepare(lab, orders({}))
    assert str(caught.value) == (
        f"the lab's folder {lab.path} cannot be written: Not a directory; "
        "free some space there, or set XDG_STATE_HOME to another disk"
    )


async def test_a_second_owner_is_refused(lab: LabFolder) -> None:
    lab.path.mkdir(parents=True)
    (lab.path / "orders.json").write_bytes(msgspec.json.encode(orders({})))
    with lab.hold():
        owner = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kubedyno.lab.owner", lab.path, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await owner.communicate()
    assert msgspec.json.decode(output) == {
        "event": "failed",
        "text": "lab lab has another owner already: see `kubedyno status`",
        "exit_code": 3,
    }
    assert owner.returncode == 3


async def test_ending_a_dead_lab_removes_its_folder(lab: LabFolder) -> None:
    lab.path.mkdir(parents=True)
    assert await launching.end(lab) is False
    assert not lab.path.exists()
    assert await launching.live_status(lab) is None
