"""How making a lab can fail: real owner processes, and programs that are scripts."""

import asyncio
import contextlib
import signal
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
from kubedyno.lab.spec import LabSpec, check

pytestmark = pytest.mark.unit

Until = Callable[[Callable[[], object]], Awaitable[None]]

# Says that it is whatever it is asked for, has one flag, and never gets healthy.
PROGRAM = """#!/bin/sh
case "$1" in
--version) echo "etcd Version: 3.6.16"; echo "Kubernetes v1.36.3"; echo "kwok version v0.8.0" ;;
--help) echo "  --snapshot-count int" ;;
*) exec sleep 1000 ;;
esac
"""


@pytest.fixture
def lab(tmp_path: Path) -> LabFolder:
    return folder(tmp_path / "state", "lab")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabSpec:
    """A lab without scheduler whose programs are scripts; nothing of this machine is looked at."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kwok"):
        (programs / name).write_text(PROGRAM)
        (programs / name).chmod(0o755)
    return check(LabSpec(name="lab", engine="local", bin_dir=str(programs)))


def family(lab: LabFolder) -> list[psutil.Process]:
    """The owner of the lab and what it started."""
    found = []
    for process in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end while it is looked at
            if str(lab.path) in process.cmdline():
                found += [process, *process.children(recursive=True)]
    return found


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # as above: between the two questions
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


async def test_a_lab_that_runs_is_not_made_twice(lab: LabFolder, spec: LabSpec) -> None:
    lab.path.mkdir(parents=True)
    (lab.path / "precious").touch()
    with lab.hold() as mine:
        assert mine
        with pytest.raises(UsageError) as caught:
            await launch(lab, spec, Quiet())
    assert str(caught.value) == (
        "lab lab is running already: end it with `kubedyno down --name lab`, or choose another --name"
    )
    assert (lab.path / "precious").exists()


async def test_an_owner_that_dies_at_once_is_told_with_its_log(
    lab: LabFolder, spec: LabSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos.write(2, b'killed')\nos._exit(9)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(EngineError) as caught:
        await launch(lab, spec, Quiet())
    log = lab.path / "owner.log"
    assert str(caught.value) == (f"the process that owns lab lab ended with code 9 before the lab was ready; see {log}")
    assert log.read_text() == "killed"
    assert not lab.owned()


async def test_a_program_that_cannot_be_used_is_the_error_of_the_command(lab: LabFolder, spec: LabSpec) -> None:
    broken = Path(str(spec.bin_dir)) / "etcd"
    broken.write_text("#!/bin/sh\necho something else\n")
    with pytest.raises(LabFailed) as caught:
        await launch(lab, spec, Quiet())
    sentence = (
        f"--bin-dir: {broken} cannot be used: it is another program: asked for its version it says 'something else'; "
        "replace it, or remove it from that folder to let kubedyno provide etcd v3.6.16"
    )
    assert str(caught.value) == sentence
    assert caught.value.exit_code == ExitCode.ENGINE
    assert not lab.owned()
    status = lab.read_status()
    assert status is not None
    assert (status.state, status.message) == ("failed", sentence)
    assert await launching.live_status(lab) == status


async def test_a_component_that_falls_over_is_told_with_its_log(lab: LabFolder, spec: LabSpec) -> None:
    etcd = Path(str(spec.bin_dir)) / "etcd"
    etcd.write_text(PROGRAM.replace("exec sleep 1000", "echo 'panic: cannot open'; exit 2"))
    with pytest.raises(
        LabFailed, match=r"^etcd exited with code 2 after .* s: panic: cannot open; see the log\. Log: "
    ):
        await launch(lab, spec, Quiet())
    assert (lab.path / "logs" / "etcd.log").read_text() == "panic: cannot open\n"
    assert lab.path.stat().st_mode & 0o777 == 0o700
    assert not (lab.path / "data").exists()


async def test_a_wrong_setting_keeps_its_exit_code_and_leaves_no_folder(lab: LabFolder, spec: LabSpec) -> None:
    wrong = msgspec.structs.replace(spec, settings={"etcd": {"snapshot-cuont": "1"}})
    with pytest.raises(LabFailed) as caught:
        await launch(lab, wrong, Quiet())
    assert str(caught.value) == (
        "--set etcd.snapshot-cuont: etcd has no flag --snapshot-cuont; did you mean 'snapshot-count'?"
    )
    assert caught.value.exit_code == ExitCode.USAGE
    assert not lab.path.exists()


async def test_giving_up_while_it_starts_leaves_nothing_behind(lab: LabFolder, spec: LabSpec, until: Until) -> None:
    starting = asyncio.create_task(launch(lab, spec, Quiet()))
    await until((lab.path / "logs" / "etcd.log").exists)
    await until(lambda: len(family(lab)) == 2)
    processes = family(lab)
    assert lab.owned()
    status = lab.read_status()
    assert status is not None
    assert status.state == "starting"
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not lab.path.exists()
    assert alive(processes) == []


async def test_a_lab_that_starts_can_be_ended_by_another_command(lab: LabFolder, spec: LabSpec, until: Until) -> None:
    starting = asyncio.create_task(launch(lab, spec, Quiet()))
    await until((lab.path / "logs" / "etcd.log").exists)
    processes = family(lab)
    assert await launching.end(lab) is True
    with pytest.raises(
        EngineError, match=r"^the process that owns lab lab ended with code 0 before the lab was ready;"
    ):
        await starting
    assert not lab.path.exists()
    assert alive(processes) == []


async def test_an_owner_that_was_killed_takes_its_children_along(lab: LabFolder, spec: LabSpec, until: Until) -> None:
    starting = asyncio.create_task(launch(lab, spec, Quiet()))
    await until(lambda: len(family(lab)) == 2)
    processes = family(lab)
    processes[0].send_signal(signal.SIGKILL)
    with pytest.raises(EngineError, match=r"^the process that owns lab lab ended with code -9 "):
        await starting
    await until(lambda: alive(processes) == [])
    await until(lambda: not lab.owned())  # a child that was just being made holds the lock until it becomes its program
    dead = await launching.live_status(lab)
    assert dead is not None
    assert dead.state == "dead"
    assert await launching.end(lab) is False
    assert not lab.path.exists()


async def test_what_is_left_of_a_dead_lab_is_cleared_away(lab: LabFolder, spec: LabSpec) -> None:
    (lab.path / "pki").mkdir(parents=True)
    (lab.path / "pki" / "ca.crt").write_text("of the old lab")
    (Path(str(spec.bin_dir)) / "etcd").write_text(PROGRAM.replace("exec sleep 1000", "exit 2"))
    with pytest.raises(LabFailed, match=r"^etcd exited with code 2 "):
        await launch(lab, spec, Quiet())
    assert (lab.path / "pki" / "ca.crt").read_text().startswith("-----BEGIN CERTIFICATE-----")


@pytest.mark.parametrize("blocked", ["state", "state/labs", "state/labs/lab.lock/x"])
async def test_a_folder_that_cannot_be_made_is_told(
    tmp_path: Path, lab: LabFolder, spec: LabSpec, blocked: str
) -> None:
    (tmp_path / blocked).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / blocked).touch()
    with pytest.raises(EngineError) as caught:
        await launch(lab, spec, Quiet())
    assert str(caught.value).startswith(f"the lab's folder {lab.path} cannot be written: ")
    assert str(caught.value).endswith("; free some space there, or set XDG_STATE_HOME to another disk")


async def test_a_second_owner_is_refused(lab: LabFolder, spec: LabSpec) -> None:
    lab.path.mkdir(parents=True)
    lab.write_spec(spec)
    with lab.hold():
        owner = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "kubedyno.lab.own", lab.path, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await owner.communicate()
    assert msgspec.json.decode(output) == {
        "event": "failed",
        "text": "lab lab has another owner already: see `kubedyno status`",
        "exit_code": 3,
    }
    assert owner.returncode == 3


async def test_ending_what_is_not_there_is_no_error(lab: LabFolder) -> None:
    lab.path.mkdir(parents=True)
    assert await launching.live_status(lab) is None
    assert await launching.end(lab) is False
    assert not lab.path.exists()
