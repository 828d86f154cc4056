"""ClusterLoader2's configs on clusters that are there already, as their users name them; and what kubectl sees of it.

`theirs` is a cluster on which nobody plays kubelets, and which serves v1 of DRA alone, as Kubernetes 1.36 does;
`shared_lab` has a simulator of ours, and serves the beta as well. Neither is known to the command: both belong to the
test process.
"""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from tests.commands import run_kubedyno
from tests.labs import lab_in_process

from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.lab.starting import RunningLab
from kubedyno.plane import provisioning
from kubedyno.plane.ports import LOOPBACK, free_ports
from kubedyno.sim import pools
from kubedyno.sim.pools import applying
from kubedyno.sim.stages.sets import default_stages

from .conftest import User, interrupt_when, wait_for
from .test_foreign import things

pytestmark = pytest.mark.local

NO_BETA = "the cluster does not serve resource.k8s.io/v1beta2"
EXAMPLES = Path(__file__).parents[2] / "examples" / "clusterloader"
DRIVER = "cl2-gpu.kwok.x-k8s.io"

CONFIG = """
name: looked-at
dependencies: [{{name: gpus, method: kwok-dra, params: {{nodes: 2, gpusPerNode: 4, {params}}}}}]
tuningSets: [{{name: Fast, qpsLoad: {{qps: 20}}}}]
steps:
- name: Create
  phases:
  - replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{{basename: looked-at, objectTemplatePath: priority.yaml}}]
  - namespaceRange: {{min: 1, max: 1}}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{{basename: kwok-gpu-claim-template, objectTemplatePath: kwok-gpu-resource-claim-template.yaml}}]
- name: Create the jobs
  phases:
  - namespaceRange: {{min: 1, max: 1}}
    replicasPerNamespace: 2
    tuningSet: Fast
    objectBundle:
    - basename: job
      objectTemplatePath: kwok-gpu-job.yaml
      templateFillMap: {{Replicas: 1, Mode: Indexed, Sleep: 10h}}
- name: Wait
  measurements:
  - method: WaitForRunningPods
    identifier: Pods
    params: {{desiredPodCount: 2, labelSelector: job-type = short-lived, timeout: 1m}}
- name: Look
  measurements: [{{method: Exec, identifier: Kubectl, params: {{command: [sh, -e, look.sh]}}}}]
- name: Go on
  measurements: [{{method: Sleep, identifier: More, params: {{duration: {sleep}}}}}]
"""
"""Pods run to its end, and an object of the whole cluster is left to whoever cleans up."""

PRIORITY = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: {{.Name}}
value: 7
"""

LOOK = """
kubectl="{kubectl} --kubeconfig {kubeconfig}"
$kubectl get nodes -l type=kwok -o name > nodes.part
$kubectl get resourceslices -o json --show-managed-fields > slices.json
$kubectl get deviceclasses {driver} -o name
$kubectl get priorityclasses -o name > priorities
$kubectl get configmaps -n kwok-system --ignore-not-found -o json kwok-controller > controller.json
$kubectl run during --namespace=others --image=pause
mv nodes.part nodes
"""
"""What people look at when a test does not do what they want; meanwhile others use the cluster."""

OTHERS = """
apiVersion: v1
kind: Pod
metadata: {name: before, namespace: others}
spec: {containers: [{name: pause, image: pause}]}
"""


class Visitor:
    """A user with a config of their own, and what it showed while it ran."""

    def __init__(self, user: User, lab: RunningLab) -> None:
        self.user = user
        self.kubeconfig = str(lab.kubeconfig)
        self.reports = user.home / "reports"
        user.env["CL2_JOB_RUNNING_TIME_MS"] = "600000"
        for path in EXAMPLES.glob("kwok-*.yaml"):
            (user.home / path.name).write_text(path.read_text())
        (user.home / "priority.yaml").write_text(PRIORITY)
        look = LOOK.format(kubectl=user.kubectl_path, kubeconfig=self.kubeconfig, driver=DRIVER)
        (user.home / "look.sh").write_text(look)

    def words(self, *, params: str = "", sleep: str = "0s") -> tuple[str, ...]:
        (self.user.home / "config.yaml").write_text(CONFIG.format(params=params, sleep=sleep))
        return (
            "clusterloader",
            "--testconfig=config.yaml",
            f"--kubeconfig={self.kubeconfig}",
            "--enable-exec-service",
            f"--report-dir={self.reports}",
        )

    def run(self, *, code: int = 0, **config: str) -> subprocess.CompletedProcess[str]:
        return run_kubedyno(*self.words(**config), env=self.user.env, cwd=self.user.home, within_s=150, code=code)

    def seen(self, name: str) -> Any:
        return json.loads((self.user.home / name).read_text())

    @property
    def slice_versions(self) -> set[str]:
        """In which the devices were written."""
        return {field["apiVersion"] for one in self.seen("slices.json")["items"] for field in managed(one)}

    @property
    def overall(self) -> str:
        """What the report says is wrong; empty: nothing."""
        suite = ET.fromstring((self.reports / "junit.xml").read_text())  # noqa: S314 - we wrote it
        return suite[0].findtext("failure") or ""


def managed(obj: dict[str, Any]) -> list[dict[str, Any]]:
    return [field for field in obj["metadata"]["managedFields"] if field["manager"].startswith("kubedyno")]


@pytest.fixture(scope="module")
async def theirs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    served = {"resource.k8s.io/v1beta2": "false"}
    folder = tmp_path_factory.mktemp("theirs") / "lab"
    async with lab_in_process(folder, scheduler="kube-scheduler", kubelet="none", runtime_config=served) as lab:
        await applying.apply(lab.client, [pools.base("theirs", 1)])
        yield lab


@contextlib.contextmanager
def used_by_others(user: User, lab: RunningLab) -> Iterator[set[str]]:
    """A cluster with a namespace of others; what is there."""
    kubeconfig = str(lab.kubeconfig)
    user.kubectl(kubeconfig, "create", "namespace", "others")
    try:
        made = ("serviceaccount/default", "configmap/kube-root-ca.crt")
        asked = ("get", "serviceaccounts,configmaps", "-n", "others", "-o", "name")
        wait_for(lambda: all(name in user.kubectl(kubeconfig, *asked) for name in made))
        user.kubectl(kubeconfig, "create", "-f", "-", stdin=OTHERS)
        yield things(user, lab)
    finally:
        user.kubectl(kubeconfig, "delete", "namespace", "others", "--wait=false")
        user.kubectl(kubeconfig, "delete", "pods", "--all", "-n", "others", "--force", "--grace-period=0")
        wait_for(lambda: "others" not in user.kubectl(kubeconfig, "get", "namespaces", "-o", "name"))


def as_found(user: User, lab: RunningLab, before: set[str]) -> None:
    """Waits for what is collected some time after a run: leases of nodes. What others do goes on meanwhile."""
    differs: set[str] = set()
    theirs = ["others/during", *(f"kube-node-lease/{one.split()[1][1:]}" for one in before if one.startswith("Node "))]

    def is_as_before() -> bool:
        differs.clear()
        differs.update(one for one in things(user, lab) ^ before if one.split()[1] not in theirs)
        return not differs

    try:
        wait_for(is_as_before)
    except AssertionError:
        pytest.fail(f"these came or went: {sorted(differs)}")


async def test_a_cluster_without_kubelets_has_them_from_here_and_is_left_as_found(
    user: User, theirs: RunningLab
) -> None:
    def story() -> None:
        visitor = Visitor(user, theirs)
        with used_by_others(user, theirs) as before:
            done = visitor.run()
            assert f"on cluster of {theirs.kubeconfig}" in done.stdout
            assert visitor.overall == ""
            assert {"node/kwok-node-0", "node/kwok-node-1"} <= set((user.home / "nodes").read_text().split())
            assert "priorityclass.scheduling.k8s.io/looked-at-0" in (user.home / "priorities").read_text()
            assert visitor.slice_versions == {"resource.k8s.io/v1"}
            assert done.stderr == f"warning: {NO_BETA}: such objects are written as resource.k8s.io/v1\n"
            told = visitor.seen("controller.json")["data"]
            assert "kubedyno, run " in told["controller"]
            assert "--debug" in told["log"]
            as_found(user, theirs, before)
        # Others' pods are no part of the record, be they from before or from meanwhile.
        (path,) = visitor.reports.glob("kubedyno/*/trials/*/objects.parquet")
        rows = pl.read_parquet(path)
        assert rows.filter(pl.col("role") == "pod")["name"].n_unique() == 2
        assert "others" not in rows["namespace"].to_list()

    await asyncio.to_thread(story)


async def test_kubeconfig_of_the_environment_is_taken_and_a_failed_set_up_leaves_nothing(
    user: User, theirs: RunningLab
) -> None:
    def story() -> None:
        visitor = Visitor(user, theirs)
        before = things(user, theirs)
        user.env["KUBECONFIG"] = visitor.kubeconfig
        words = [word for word in visitor.words(params="timeout: 30ms") if not word.startswith("--kubeconfig")]
        done = run_kubedyno(*words, env=user.env, cwd=user.home, within_s=100, code=3)
        assert "on cluster of KUBECONFIG" in done.stdout
        assert "kwok-dra: 2 nodes with GPUs were not there within 0.03 s" in visitor.overall
        assert "they are driven by this command: see what it tells with --debug, or give it more" in visitor.overall
        as_found(user, theirs, before)

    await asyncio.to_thread(story)


async def test_ctrl_c_leaves_a_cluster_as_found(user: User, theirs: RunningLab) -> None:
    def story() -> None:
        visitor = Visitor(user, theirs)
        with used_by_others(user, theirs) as before:
            run = user.start(*visitor.words(params="apiVersion: resource.k8s.io/v1beta2", sleep="10h"))
            out, err = interrupt_when(run, (user.home / "nodes").exists)
            assert run.returncode == 130, out + err
            assert "Traceback" not in err
            assert visitor.slice_versions == {"resource.k8s.io/v1"}
            assert f"warning: kwok-dra: {NO_BETA}: resource.k8s.io/v1 is written\n" in err
            as_found(user, theirs, before)

    await asyncio.to_thread(story)


@pytest.fixture
async def kwok(theirs: RunningLab, tmp_path: Path) -> AsyncIterator[None]:
    """KWOK as its users have it: it plays nodes and pods, and knows nothing of devices."""
    found = await provisioning.provide(("kwok",), bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    words = [
        str(found["kwok"].path),
        f"--kubeconfig={theirs.kubeconfig}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
        "--node-lease-duration-seconds=40",
        f"--server-address={LOOPBACK}:{free_ports()()}",
        *(f"--config={path}" for path in default_stages()),
    ]
    with (tmp_path / "kwok.log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT)  # noqa: ASYNC220 - it goes on
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.mark.usefixtures("kwok")
async def test_kwok_that_runs_already_plays_the_nodes_and_devices_come_from_here(
    user: User, theirs: RunningLab
) -> None:
    def story() -> None:
        visitor = Visitor(user, theirs)
        with used_by_others(user, theirs) as before:
            done = visitor.run()
            assert visitor.overall == ""
            assert "kwok-dra: the nodes are played by what runs on the cluster already, KWOK or the like" in done.stderr
            # Nothing is said of a controller of ours: there is none.
            assert (user.home / "controller.json").read_text() == ""
            nodes = {one["spec"]["nodeName"] for one in visitor.seen("slices.json")["items"]}
            assert nodes == {"kwok-node-0", "kwok-node-1"}
            as_found(user, theirs, before)

    await asyncio.to_thread(story)


async def test_a_simulator_that_runs_already_plays_the_nodes_and_the_beta_is_written_where_it_is_served(
    user: User, shared_lab: RunningLab
) -> None:
    def story() -> None:
        visitor = Visitor(user, shared_lab)
        with used_by_others(user, shared_lab) as before:
            done = visitor.run()
            assert visitor.overall == ""
            assert done.stderr == ""
            # Those that were there, and those that the dependency brings.
            assert json.loads((visitor.reports / "cl2-metadata.json").read_text())["nodes"] == "6"
            # As documents of kwok-dra say.
            assert visitor.slice_versions == {"resource.k8s.io/v1beta2"}
            assert (user.home / "controller.json").read_text() == ""
            as_found(user, shared_lab, before)

    await asyncio.to_thread(story)


def test_a_local_lab_that_is_kept_has_what_kubectl_is_told_to_look_for(user: User) -> None:
    words = ("clusterloader", f"--testconfig={EXAMPLES / 'test-config.yaml'}", "--report-dir=reports", "--keep")
    env = {**user.env, "CL2_JOB_RUNNING_TIME_MS": "500"}
    done = run_kubedyno(*words, "--engine=local", env=env, cwd=user.home, within_s=150)
    (exported,) = [line for line in done.stdout.splitlines() if line.startswith("export KUBECONFIG=")]
    kubeconfig = exported.removeprefix("export KUBECONFIG=")
    nodes = user.kubectl(kubeconfig, "get", "nodes", "-l", "type=kwok").splitlines()[1:]
    assert [line.split()[:2] for line in nodes] == [[f"kwok-node-{number}", "Ready"] for number in range(3)]
    slices = user.kubectl(kubeconfig, "get", "resourceslices").splitlines()[1:]
    assert [line.split()[1:3] for line in slices] == [[f"kwok-node-{number}", DRIVER] for number in range(3)]
    assert DRIVER in user.kubectl(kubeconfig, "get", "deviceclasses", DRIVER)
