"""`kubedyno export` as a user meets it: where input is wrong, and as a process beside an embedded lab."""

import asyncio
import contextlib
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.commands import argv, own_env, run_kubedyno
from tests.numanodes import kubelet, node
from tests.processes import until_page

from kubedyno.client import kubeconfig
from kubedyno.client.rest import Client
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES, NODES

pytestmark = pytest.mark.unit

WITHIN_S = 60
NRTS = NODE_RESOURCE_TOPOLOGIES[0]
Run = Callable[..., subprocess.CompletedProcess[str]]

NOWHERE = """
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return own_env(tmp_path)


@pytest.fixture
def run(tmp_path: Path, env: dict[str, str]) -> Run:
    (tmp_path / "nowhere.yaml").write_text(NOWHERE)

    def command(*args: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*args, env=env, cwd=tmp_path, within_s=WITHIN_S, code=code)

    return command


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


VIEWS = ("--views", "http://127.0.0.1:1")
SOMEWHERE = ("--kubeconfig", "nowhere.yaml", *VIEWS)


@pytest.mark.parametrize(
    ("args", "settings", "sentence"),
    [
        ((), "", "Missing option '--views'"),
        (VIEWS, "", "this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"),
        (("--views", "8080"), "", "--views 8080: write the URL of a simulator's pages, like http://127.0.0.1:8080"),
        (("--kubeconfig", "missing.yaml", *VIEWS), "", "missing.yaml"),
        ((*SOMEWHERE, "--settings", "missing.yaml"), "", "missing.yaml: No such file or directory; name a file with"),
        (
            (*SOMEWHERE, "--settings", "settings.yaml"),
            "intervalSecond: 5",
            "settings.yaml: intervalSecond: there is no such setting of exporters; did you mean 'intervalSeconds'?",
        ),
        ((*SOMEWHERE, "--settings", "settings.yaml"), "jitter: 3", "jitter is 3: write a share from 0 to 1"),
        ((*SOMEWHERE, "--port", "70000"), "", "Invalid value for '--port'"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(
    run: Run, tmp_path: Path, args: tuple[str, ...], settings: str, sentence: str
) -> None:
    if settings:
        (tmp_path / "settings.yaml").write_text(settings)
    assert sentence in run("export", *args, code=2).stderr


def test_pages_that_are_not_there_are_told_with_exit_code_three(run: Run) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    told = run("export", "--kubeconfig", "nowhere.yaml", "--views", url, code=3).stderr
    [sentence] = told.splitlines()
    assert sentence.startswith(f"kubedyno: the simulator's pages at {url} cannot be read: it ")
    assert sentence.endswith("; name the port of the kubelets that `kubedyno status` shows")


@pytest.fixture
def lab(run: Run) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Makes an embedded lab with a scheduler; its status."""

    def up(scheduler: str) -> dict[str, Any]:
        run("up", "--scheduler", scheduler)
        [status] = msgspec.json.decode(run("status", "--json").stdout)
        return dict(status)

    yield up
    run("down", "--all")


def pages(status: dict[str, Any]) -> str:
    [port] = [part["ports"]["metrics"] for part in status["components"] if part["name"] == "kubelets"]
    return f"http://127.0.0.1:{port}"


def test_a_cluster_without_the_kind_is_told_with_exit_code_two(run: Run, lab: Callable[[str], dict[str, Any]]) -> None:
    status = lab("none")
    told = run("export", "--kubeconfig", status["kubeconfig"], "--views", pages(status), code=2).stderr
    assert told.startswith("kubedyno: NodeResourceTopology of topology.node.k8s.io/v1alpha2 is not served here: ")


@contextlib.contextmanager
def exporting(env: dict[str, str], *args: str) -> Iterator["subprocess.Popen[str]"]:
    """`kubedyno export` for the duration of the block."""
    process = subprocess.Popen(argv("export", *args), env=env, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


async def test_it_exports_and_tells_of_itself_until_it_is_asked_to_end(
    env: dict[str, str], lab: Callable[[str], dict[str, Any]], tmp_path: Path
) -> None:
    status, url = lab("reference"), f"http://127.0.0.1:{(port := free_port())}"
    settings = tmp_path / "settings.yaml"
    settings.write_text("{intervalSeconds: 1, clients: per-node}")
    cluster = ("--kubeconfig", status["kubeconfig"], "--views", pages(status))
    with exporting(env, *cluster, "--settings", str(settings), "--port", str(port)) as process:
        assert await until_page(f"{url}/healthz") == "ok"
        async with Client.connect(kubeconfig.load(Path(status["kubeconfig"]))) as client:
            for name in ("a", "b"):
                await client.create(NODES, without_uid(node(kubelet(), name=name, gpus=0)))
            await until_written(client, {"a", "b"})
            await client.delete(NODES, "a")
            await until_written(client, {"b"})
        report = await until_page(f"{url}/report", json=True)
        assert report["notes"] == ["node a is gone: its exporter has ended"]
        assert report["exporters"] == 1
        assert 'rte_noderesourcetopology_writes_total{operation="create"} 2\n' in await until_page(f"{url}/metrics")
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 130
        assert told == "kubedyno: interrupted; everything that was started is stopped\n"


def without_uid(made: Object) -> Object:
    del made["metadata"]["uid"]
    return made


async def until_written(client: Client, names: set[str]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if {one["metadata"]["name"] for one in (await client.list_all(NRTS)).items} == names:
                return
            await asyncio.sleep(0.05)
