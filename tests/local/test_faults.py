"""Each fault is caused, and the sentence, the exit code and the clean machine after it are looked at."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest
from tests.commands import argv
from tests.labs import provided_for

from kubedyno.kit.clock import RealClock
from kubedyno.kit.errors import ProcessFailure
from kubedyno.kit.progress import Quiet
from kubedyno.lab import planning
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import started
from kubedyno.plane.ports import free_ports

from .conftest import COMMAND_WITHIN_S, User, processes_below, wait_for

pytestmark = pytest.mark.local

BARE = ("--engine", "local", "--scheduler", "none")
KAI = ("--engine", "local", "--scheduler", "kai")


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def one_sentence(stderr: str) -> str:
    """The first line of what the user sees; lines of a log's tail may follow, and nothing else."""
    first, *rest = stderr.splitlines()
    assert all(line.startswith("  | ") for line in rest), stderr
    return first


def test_a_program_that_does_not_run(user: User) -> None:
    folder = user.home / "bin"
    folder.mkdir()
    script(folder / "etcd", "echo no disk today >&2; exit 7")
    sentence = one_sentence(user.run("up", *BARE, "--bin-dir", str(folder), code=3).stderr)
    assert str(folder / "etcd") in sentence
    assert "no disk today" in sentence
    assert processes_below(user.home) == []


def test_a_folder_of_programs_that_is_missing(user: User) -> None:
    sentence = one_sentence(user.run("up", "--bin-dir", "nowhere", code=2).stderr)
    assert sentence == (
        f"kubedyno: {user.home / 'nowhere'} does not exist: --stages names files, --bin-dir a folder of programs"
    )


async def test_a_program_that_answers_and_then_dies(user: User) -> None:
    real = (await provided_for(check(LabSpec(name="x", engine="local")))).found["kube-controller-manager"].path
    folder = user.home / "bin"
    folder.mkdir()
    script(
        folder / "kube-controller-manager",
        f'[ "$1" = --version ] && exec {real} --version\necho "fatal: my day is over" >&2; exit 9',
    )
    done = user.run("up", *BARE, "--bin-dir", str(folder), code=3)
    sentence = one_sentence(done.stderr)
    assert sentence.startswith("kubedyno: kube-controller-manager exited with code 9 after ")
    assert ": fatal: my day is over; see the log. Log: " in sentence
    assert processes_below(user.home) == []


async def test_a_port_that_is_taken_meanwhile(tmp_path: Path) -> None:
    spec = check(LabSpec(name="test", engine="local"))
    found = await provided_for(spec)
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        taken = stranger.getsockname()[1]
        ports = free_ports()
        drawn = iter([taken])
        plan = planning.plan(spec, folder=tmp_path / "lab", draw_port=lambda: next(drawn, None) or ports())
        with pytest.raises(ProcessFailure) as caught:
            async with started(plan, provided=found, clock=RealClock(), progress=Quiet()):
                pytest.fail("etcd cannot have its port")
    assert caught.value.exit_code == 3
    sentence = str(caught.value).splitlines()[0]
    assert sentence.startswith("etcd exited with code 1 after ")
    assert f"another process took one of its ports ({taken}, " in sentence
    assert "run the command again: it draws new ports" in sentence
    assert processes_below(tmp_path) == []


@pytest.mark.parametrize(("size", "who"), [("64k", "the lab's folder"), ("3m", "etcd")])
def test_a_full_disk(user: User, size: str, who: str) -> None:
    """A tmpfs of a few bytes stands for the disk, in a mount namespace of its own."""
    disk = user.home / "state"
    disk.mkdir()
    mount = f"mount -t tmpfs -o size={size} none {disk} && exec {' '.join(argv('up', *BARE))}"
    done = subprocess.run(
        ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "sh", "-c", mount],
        env=user.env,
        capture_output=True,
        text=True,
        timeout=COMMAND_WITHIN_S,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    sentence = done.stderr.splitlines()[0]
    assert who in sentence
    assert "No space left on device" in sentence or "the disk is full" in sentence
    assert "XDG_STATE_HOME" in sentence
    wait_for(lambda: processes_below(user.home) == [])


def test_a_flag_that_does_not_exist(user: User) -> None:
    done = user.run("up", *KAI, "--set", "binder.qpss=20", code=2)
    assert done.stderr == "kubedyno: --set binder.qpss: binder has no flag --qpss; did you mean 'qps'?\n"


def test_a_component_that_does_not_exist(user: User) -> None:
    done = user.run("up", *KAI, "--set", "bindr.qps=20", code=2)
    assert done.stderr == "kubedyno: --set bindr....: this lab has no component 'bindr'; did you mean 'binder'?\n"


def test_a_field_that_the_schedulers_configuration_does_not_have(user: User) -> None:
    done = user.run("up", "--engine", "local", "--set", "kube-scheduler.clientConnection.speed=9", code=3)
    sentence = one_sentence(done.stderr)
    assert sentence.startswith("kubedyno: kube-scheduler exited with code 1 after ")
    assert 'unknown field \\"clientConnection.speed\\"' in sentence
    assert processes_below(user.home) == []


async def test_a_setting_that_does_not_arrive(user: User) -> None:
    real = (await provided_for(check(LabSpec(name="x", engine="local", kubelet="kwok")))).found["kwok"].path
    folder = user.home / "bin"
    folder.mkdir()
    script(
        folder / "kwok",
        "for arg do shift; case $arg in --node-lease-duration-seconds=*) arg=--node-lease-duration-seconds=7;; esac\n"
        f'set -- "$@" "$arg"; done\nexec {real} "$@"',
    )
    done = user.run("up", *BARE, "--kubelet", "kwok", "--bin-dir", str(folder), code=3)
    sentence = one_sentence(done.stderr)
    assert "a setting did not arrive: kwok.node-lease-duration-seconds was set to 200, but /proc/" in sentence
    assert "says 7; check the program that --bin-dir or the PATH gives" in sentence
    assert processes_below(user.home) == []


def test_an_api_server_that_dies_in_the_middle_of_a_run(user: User) -> None:
    run = user.start("run", "hello", "--engine", "local", "-p", "nodes=200", "--json")
    labs = user.home / "state" / "kubedyno" / "runs"

    def running() -> bool:
        return any("kube-scheduler" in line for line in processes_below(labs))

    wait_for(running, while_running=run)
    server = next(line for line in processes_below(labs) if "kube-apiserver" in line)
    os.kill(int(server.split()[0]), signal.SIGKILL)
    out, _ = run.communicate(timeout=COMMAND_WITHIN_S)
    assert run.returncode == 3
    assert '"verdict": "error"' in out
    assert "kube-apiserver was killed by SIGKILL" in out
    assert processes_below(user.home) == []
    assert not list(labs.iterdir())


def test_ctrl_c_in_a_run_keeps_what_was_recorded(user: User) -> None:
    run = user.start("run", "hello", "--engine", "local", "-p", "nodes=200", "--json")
    labs = user.home / "state" / "kubedyno" / "runs"
    wait_for(lambda: any("kube-scheduler" in line for line in processes_below(labs)), while_running=run)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=COMMAND_WITHIN_S)
    assert run.returncode == 130
    (folder,) = (user.home / "runs").iterdir()
    assert errors.splitlines() == [
        f"what was measured until then is in runs/{folder.name}",
        "kubedyno: interrupted; everything that was started is stopped",
    ]
    assert processes_below(user.home) == []
    assert '"verdict": "interrupted"' in (folder / "run.json").read_text()
    assert (folder / "trials" / "1-hello" / "logs" / "etcd.log").exists()


def test_a_run_that_is_killed_leaves_no_process_and_is_finished_as_crashed(user: User) -> None:
    run = user.start("run", "hello", "--engine", "local", "-p", "nodes=200")
    labs = user.home / "state" / "kubedyno" / "runs"
    wait_for(lambda: any("kube-apiserver" in line for line in processes_below(labs)), while_running=run)
    run.kill()
    run.communicate()
    wait_for(lambda: processes_below(user.home) == [])
    (partial,) = (user.home / "runs").glob("*.partial")
    done = user.run("run", "hello", "--engine", "local", "-p", "nodes=1")
    run_id = partial.name.removesuffix(".partial")
    assert f"{run_id} was abandoned by an earlier run; it is finished as crashed" in done.stderr
    assert '"verdict": "crashed"' in (user.home / "runs" / run_id / "run.json").read_text()
    shutil.rmtree(user.home / "runs")


def test_a_kubeconfig_that_is_no_good(user: User) -> None:
    broken = user.home / "broken.yaml"
    broken.write_text("apiVersion: v1\nkind: [Config\n")
    sentence = one_sentence(user.run("doctor", "--kubeconfig", str(broken), code=2).stderr)
    assert str(broken) in sentence


def test_a_context_that_does_not_exist(user: User) -> None:
    kubeconfig = user.up(*BARE)
    sentence = one_sentence(
        user.run("doctor", "--kubeconfig", kubeconfig, "--context", "kubedyno-defalt", code=2).stderr
    )
    assert "kubedyno-defalt" in sentence
    assert "did you mean 'kubedyno-default'?" in sentence
    good = user.run("doctor", "--kubeconfig", kubeconfig).stdout
    assert "✓ cluster: v1.36.3 at https://127.0.0.1:" in good
    user.run("down")
    bad = user.home / "later.yaml"
    assert not Path(kubeconfig).exists()
    bad.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:9'}}]\n"
    )
    gone = user.run("doctor", "--kubeconfig", str(bad), code=3)
    assert "✗ cluster: the API server at https://127.0.0.1:9 " in gone.stdout


def test_psutil_sees_what_a_lab_would_leave() -> None:
    """The checks above rest on finding processes by the folder in their command line: they do find one."""
    child = subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"]})
    try:
        # The kernel shows the command line a moment after the program has taken the process over.
        wait_for(lambda: any(line.startswith(f"{child.pid} ") for line in processes_below(Path("sleep"))))
    finally:
        child.kill()
        child.wait()
    assert not psutil.pid_exists(child.pid)
