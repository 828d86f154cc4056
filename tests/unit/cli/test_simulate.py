"""`kubedyno simulate` as a user meets it: where input is wrong, and as a process beside an embedded lab."""

import asyncio
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import own_env, run_kubedyno
from tests.processes import simulating, until_page

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS

pytestmark = pytest.mark.unit

WITHIN_S = 60
Run = Callable[..., subprocess.CompletedProcess[str]]

NOWHERE = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:PORT"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return own_env(tmp_path)


@pytest.fixture
def run(tmp_path: Path, env: dict[str, str]) -> Run:
    def command(*args: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*args, env=env | more, cwd=tmp_path, within_s=WITHIN_S, code=code)

    return command


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    """The kubeconfig of a server that is not there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = tmp_path / "nowhere.yaml"
    path.write_text(NOWHERE.replace("PORT", str(port)))
    return path


@pytest.mark.parametrize(
    ("args", "variables", "sentence"),
    [
        ([], {}, "this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"),
        (["--kubeconfig", "missing.yaml"], {}, "missing.yaml"),
        (["--kubeconfig", "nowhere.yaml", "--context", "other"], {}, "other"),
        (
            ["--kubeconfig", "nowhere.yaml"],
            {"CL2_JOB_RUNNING_TIME_MS": "soon"},
            "CL2_JOB_RUNNING_TIME_MS is 'soon': write milliseconds, like 30000",
        ),
        (["--kubeconfig", "nowhere.yaml"], {"CL2_JOB_RUNNING_TIME_MS": "-1"}, "CL2_JOB_RUNNING_TIME_MS is '-1': "),
        (["--lease-seconds", "-1"], {}, "Invalid value for '--lease-seconds': -1 is not in the range x>=0."),
        (["--shards", "-1"], {}, "Invalid value for '--shards': -1 is not in the range 0<=x<=1024."),
        (["--port", "70000"], {}, "Invalid value for '--port': 70000 is not in the range 0<=x<=65535."),
        (["--pod-resources-nodes", "n"], {}, "--pod-resources-nodes: say with --pod-resources in which folder"),
        (
            ["--kubeconfig", "nowhere.yaml", "--pod-resources", "f" * 100, "--pod-resources-nodes", "n"],
            {},
            "and the path of a Unix socket may have 107: name a shorter folder",
        ),
        (
            ["--kubeconfig", "nowhere.yaml", "--pod-resources", "f", "--pod-resources-nodes", "n,../m"],
            {},
            "'../m' is no name of a node",
        ),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(
    run: Run, nowhere: Path, args: list[str], variables: dict[str, str], sentence: str
) -> None:
    assert nowhere.name == "nowhere.yaml"
    assert sentence in run("simulate", *args, code=2, **variables).stderr


def test_a_server_that_is_not_there_is_told_with_exit_code_three(run: Run, nowhere: Path) -> None:
    told = run("simulate", "--kubeconfig", str(nowhere), code=3).stderr
    [sentence] = told.splitlines()
    assert sentence.startswith("kubedyno: the API server at http://127.0.0.1:")


@pytest.fixture
def kubeconfig_path(run: Run) -> Iterator[str]:
    """Of an embedded lab whose nodes nobody plays."""
    last = run("up", "--scheduler", "none", "--kubelet", "none").stdout.splitlines()[-1]
    yield last.removeprefix("export KUBECONFIG=")
    run("down", "--all")


def pod(name: str, **annotations: str) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": {"job-type": "short-lived"}, "annotations": annotations}
    spec = {"nodeName": "n", "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": metadata, "spec": spec}


async def until_phase(client: Client, name: str, phase: str) -> Object:
    async with asyncio.timeout(WITHIN_S):
        while True:
            found = await client.get(PODS, name, namespace="default")
            if found["status"].get("phase") == phase:
                return found
            await asyncio.sleep(0.05)


async def test_it_plays_a_cluster_and_tells_of_itself_until_it_is_asked_to_end(
    env: dict[str, str], kubeconfig_path: str
) -> None:
    variables = {**env, "CL2_JOB_RUNNING_TIME_MS": "1000"}
    with simulating(kubeconfig_path, variables) as (process, url):
        assert await until_page(f"{url}/healthz") == "ok"
        async with Client.connect(kubeconfig.load(Path(kubeconfig_path))) as client:
            await client.create(NODES, {"metadata": {"name": "n"}})
            await client.create(PODS, pod("early"))
            await until_phase(client, "early", "Succeeded")  # it may have been there before the simulator looked
            before: dict[str, Any] = await until_page(f"{url}/lag", json=True)
            await client.create(PODS, pod("p"))
            ended = await until_phase(client, "p", "Succeeded")
        state = ended["status"]["containerStatuses"][0]["state"]["terminated"]
        assert state["reason"] == "Completed"
        lag: dict[str, Any] = await until_page(f"{url}/lag", json=True)
        assert lag["started"] == before["started"] + 1
        assert lag["contested_nodes"] == 0
        metrics = await until_page(f"{url}/metrics")
        assert f"kubedyno_kubelet_start_lag_seconds_count {lag['started']}\n" in metrics
        assert "# TYPE kubedyno_kubelet_queue_depth gauge\n" in metrics
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 130
        assert told == "kubedyno: interrupted; everything that was started is stopped\n"


async def test_a_port_that_is_taken_is_told(run: Run, kubeconfig_path: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = run("simulate", "--kubeconfig", kubeconfig_path, "--port", port, code=3).stderr
    assert told.startswith(f"kubedyno: metrics cannot be served on 127.0.0.1:{port}: ")


def test_a_broken_stage_is_told_with_its_file(run: Run, kubeconfig_path: str, tmp_path: Path) -> None:
    (tmp_path / "stage.yaml").write_text("kind: Stage\napiVersion: kwok.x-k8s.io/v1alpha1\nmetadata: {name: s}\n")
    told = run("simulate", "--kubeconfig", kubeconfig_path, "--stages", "stage.yaml", code=2).stderr
    assert "stage.yaml" in told


def test_stages_of_the_cluster_are_for_one_simulator_alone(run: Run) -> None:
    done = run("simulate", "--cluster-stages", "--shards=2", code=2)
    assert "--cluster-stages: they are for one simulator alone; leave --stages and --shards out" in done.stderr
