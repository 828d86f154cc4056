"""`kubedyno nodes`, as a user meets it: on an embedded lab, and where the cluster or the input is wrong."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.commands import own_env, run_kubedyno

from kubedyno.kit.errors import UsageError
from kubedyno.lab import folders
from kubedyno.lab.folders import LabStatus
from kubedyno.lab.selecting import Selection, access

pytestmark = pytest.mark.unit

WITHIN_S = 110
Run = Callable[..., subprocess.CompletedProcess[str]]
POOLS = "pools: [{name: gpu, count: 3, gpus: {model: H100}}, {name: cpu, count: 2}]"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    env = own_env(tmp_path)

    def command(*args: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*args, env=env | more, cwd=tmp_path, within_s=WITHIN_S, code=code)

    (tmp_path / "pools.yaml").write_text(POOLS)
    yield command
    if (tmp_path / "state" / "kubedyno" / "labs").is_dir():
        command("down", "--all")


def test_pools_are_applied_scaled_snapshotted_and_deleted(run: Run, tmp_path: Path) -> None:
    run("up", "--scheduler", "none")
    would = run("nodes", "apply", "-f", "pools.yaml", "--dry-run").stdout
    assert would == "gpu  3 nodes  3 to create\ncpu  2 nodes  2 to create\n"
    assert run("nodes", "apply", "-f", "pools.yaml").stdout == "gpu  3 nodes  3 created\ncpu  2 nodes  2 created\n"
    assert "gpu  3 nodes  nothing to change\n" in run("nodes", "apply", "-f", "pools.yaml").stdout
    told: dict[str, Any] = msgspec.json.decode(run("nodes", "scale", "gpu=5", "cpu=1", "--json").stdout)
    assert [(pool["size"], pool["created"], pool["deleted"]) for pool in told["pools"]] == [(5, 2, 0), (1, 0, 1)]
    assert run("nodes", "snapshot", "-o", "snapshot.yaml").stdout == "snapshot.yaml: 2 pools like 6 nodes\n"
    expected = {"pools": [{"name": "cpu", "count": 1}, {"name": "gpu", "count": 5, "gpus": {"model": "H100"}}]}
    assert yaml.safe_load((tmp_path / "snapshot.yaml").read_text()) == expected
    assert yaml.safe_load(run("nodes", "snapshot").stdout) == expected
    assert run("nodes", "scale", "gpu=12", "cpu=1").stdout == (
        "gpu  12 nodes  7 created\ncpu   1 node   nothing to change\n"
    )
    assert run("nodes", "delete", "gpu", "cpu").stdout == "gpu  0 nodes  12 deleted\ncpu  0 nodes  1 deleted\n"
    assert run("nodes", "delete", "gpu", code=2).stderr == ("kubedyno: the cluster has no pool 'gpu': none are known\n")
    assert run("nodes", "snapshot", "-o", "no/such/file", code=2).stderr == (
        "kubedyno: -o no/such/file: No such file or directory; name a file that can be written\n"
    )


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["apply", "-f", "no.yaml"], "no.yaml: No such file or directory; name a file with pools"),
        (["apply", "-f", "wrong.yaml"], "wrong.yaml: pool p: count: -1 is less than nothing; write 0 or more"),
        (["apply", "-f", "pools.yaml"], "no lab is running: `kubedyno up` makes one, or name a cluster with --kube"),
        (["scale", "gpu"], "gpu: write a pool and how many nodes it gets, like gpu=500"),
        (["scale", "gpu=-1"], "gpu=-1: write a pool and how many nodes it gets, like gpu=500"),
        (["scale", "gpu=1", "gpu=2"], "gpu=2: pool gpu is named twice; leave one out"),
        (["snapshot", "--kubeconfig", "none"], "none"),
        (
            ["delete", "gpu", "--name", "lab"],
            "there is no lab 'lab': none are known; `kubedyno up --name lab` makes one",
        ),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(
    run: Run, tmp_path: Path, args: list[str], sentence: str
) -> None:
    (tmp_path / "wrong.yaml").write_text("pools: [{name: p, count: -1}]")
    done = run("nodes", *args, code=2)
    assert done.stderr.startswith("kubedyno: ")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1


def kubeconfig(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"cluster": {"server": server}, "name": "c"}
    context = {"context": {"cluster": "c", "user": "u"}, "name": "x"}
    user = {"name": "u", "user": {}}
    document = {"clusters": [entry], "contexts": [context], "users": [user], "current-context": "x"}
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture
def labs(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Labs as their folders tell of them; those that run are held by this process."""
    held = []

    def make(name: str, *, state: str = "ready") -> None:
        folder = folders.folder(tmp_path / "kubedyno", name)
        file = kubeconfig(folder.path / "admin.yaml", f"http://{name}")
        folder.write_status(
            LabStatus(
                name=name,
                state=state,
                engine="embedded",
                scheduler="none",
                kubelet="builtin",
                profile="scale",
                nodes=0,
                owner_pid=1,
                started_at="",
                kubeconfig=str(file),
            )
        )
        if state != "dead":
            holding = folder.hold()
            assert holding.__enter__()
            held.append(holding)

    yield make
    for holding in held:
        holding.__exit__(None, None, None)


def test_the_cluster_is_chosen_by_option_then_name_then_environment_then_the_only_lab(
    tmp_path: Path, labs: Callable[..., None]
) -> None:
    labs("one")
    labs("gone", state="dead")
    env = {"XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    kubeconfig(tmp_path / ".kube" / "config", "http://users-own")
    option = kubeconfig(tmp_path / "option", "http://option")
    with_environment = env | {"KUBECONFIG": str(kubeconfig(tmp_path / "environment", "http://environment"))}
    assert access(Selection(kubeconfig=option), env=with_environment).server == "http://option"
    assert access(Selection(name="one"), env=with_environment).server == "http://one"
    assert access(Selection(), env=with_environment).server == "http://environment"
    assert access(Selection(context="x"), env=with_environment).server == "http://environment"
    assert access(Selection(), env=env).server == "http://one"
    labs("two")
    for selection, sentence in (
        (Selection(), r"^several labs are running \(one, two\): choose one with --name, or a cluster with --kubeconf"),
        (Selection(name="gone"), r"^lab gone is dead: wait for it, or start it with `kubedyno up --name gone`$"),
        (Selection(name="one", kubeconfig=option), r"^--name is a lab, --kubeconfig and --context are a cluster: give"),
        (Selection(context="x"), r"^--context x: of which file\? Give --kubeconfig or set KUBECONFIG$"),
    ):
        with pytest.raises(UsageError, match=sentence):
            access(selection, env=env)
