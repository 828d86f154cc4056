"""The pod-resources API of simulated kubelets, asked by Kubernetes' own Go client and by a real exporter."""

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from tests.labs import lab_in_process
from tests.processes import simulating, until_page

from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES, NODES, PODS
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.model.numa.podresources import Holding, Host, Memory, View
from kubedyno.plane import provisioning
from kubedyno.plane.programs import GOMODS
from kubedyno.plane.toolchain import provide_toolchain
from kubedyno.sim import marks
from kubedyno.sim.exporters.accounting import zones_of
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.views import Told
from kubedyno.sim.exporters.writing import UPDATE_ANNOTATION, fingerprint_of, written
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.misbehaving import Misreport
from kubedyno.sim.mounting import SOCKETS
from kubedyno.sim.podresources import sysfs
from kubedyno.sim.pools import applying, reading

pytestmark = pytest.mark.local

NAMESPACE = "exporters"
EXPORTER = "resource-topology-exporter"
NRT = NODE_RESOURCE_TOPOLOGIES[0]
WITHIN_S = 60.0
POOLS = f"""
pools:
  - name: numa
    count: 2
    cpu: 16
    memory: 64Gi
    gpus: {{model: H100}}
    labels: {{{marks.POD_RESOURCES}: "true"}}
    resources: {{hugepages-2Mi: 4Gi}}
    kubelet:
      topologyManagerPolicy: single-numa-node
      topologyManagerScope: pod
      cpuManagerPolicy: static
      reservedCpus: 2
      memoryManagerPolicy: Static
      reservedMemory: {{"0": 1Gi, "1": 1Gi}}
      numa: {{sockets: 2, nodesPerSocket: 1, threadsPerCore: 2, hugepages: {{hugepages-2Mi: 2Gi}}}}
  - name: other
    count: 1
"""

# Asks everything once and prints the answers as JSON.
CLIENT = """
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	api "k8s.io/kubelet/pkg/apis/podresources/v1"
)

func said(answer proto.Message, err error) json.RawMessage {
	if err != nil {
		failure := status.Convert(err)
		raw, _ := json.Marshal(map[string]string{"code": failure.Code().String(), "message": failure.Message()})
		return raw
	}
	raw, err := protojson.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return raw
}

func main() {
	connection, err := grpc.NewClient("unix://"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := api.NewPodResourcesListerClient(connection)
	listed, listErr := client.List(ctx, &api.ListPodResourcesRequest{})
	all, allErr := client.GetAllocatableResources(ctx, &api.AllocatableResourcesRequest{})
	one, oneErr := client.Get(ctx, &api.GetPodResourcesRequest{PodNamespace: os.Args[2], PodName: os.Args[3]})
	none, noneErr := client.Get(ctx, &api.GetPodResourcesRequest{PodNamespace: os.Args[2], PodName: "nobody"})
	answers, _ := json.Marshal(map[string]json.RawMessage{
		"list":        said(listed, listErr),
		"allocatable": said(all, allErr),
		"get":         said(one, oneErr),
		"nobody":      said(none, noneErr),
	})
	fmt.Println(string(answers))
}
"""


@pytest.fixture(scope="module")
def short() -> Iterator[Path]:
    """Paths of sockets are short."""
    with tempfile.TemporaryDirectory(prefix="kd-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
async def lab(short: Path) -> AsyncIterator[RunningLab]:
    """Simulated NUMA nodes, the first of which has pods, and the CRD that exporters write."""
    crds = await provisioning.assets(
        "scheduler-plugins", bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet()
    )
    definition = yaml.safe_load((crds / "noderesourcetopologies.yaml").read_text())
    async with lab_in_process(short / "lab") as lab:
        await installing.create_missing(lab.client, [definition])
        await installing.await_crds(lab.client, [definition])
        await installing.ensure_namespace(lab.client, NAMESPACE)
        await installing.await_service_account(lab.client, NAMESPACE)
        await applying.apply(lab.client, reading.read(POOLS, source="pools").pools)
        await run_pod(lab, "guaranteed", {"cpu": "3", "memory": "4Gi", "nvidia.com/gpu": "1"})
        await run_pod(lab, "pages", {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "512Mi"})
        await run_pod(lab, "burstable", {"cpu": "500m"}, guaranteed=False)
        await run_pod(lab, "second", {"cpu": "3", "memory": "4Gi", "nvidia.com/gpu": "1"}, node="numa-1")
        yield lab


@pytest.fixture(scope="module")
async def go_client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, built with the modules of the Kubernetes that labs run."""
    folder = tmp_path_factory.mktemp("client")
    toolchain = await provide_toolchain(cache=cache_dir(), env=os.environ, progress=Quiet())
    for file in ("go.mod", "go.sum"):
        shutil.copyfile(GOMODS / "kubernetes" / file, folder / file)
    (folder / "main.go").write_text(CLIENT)
    command = [str(toolchain.go), "build", "-mod=readonly", "-o", "client", "."]
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=folder, env=toolchain.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder / "client"


async def run_pod(
    lab: RunningLab, name: str, resources: Mapping[str, str], *, node: str = "numa-0", guaranteed: bool = True
) -> None:
    asked = {"requests": resources, **({"limits": resources} if guaranteed else {})}
    containers = [{"name": "main", "image": "i", "resources": asked}]
    await lab.client.create(
        PODS,
        {
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"nodeName": node, "containers": containers, "tolerations": [{"operator": "Exists"}]},
        },
    )

    async def phase() -> Any:
        return (await lab.client.get(PODS, name, namespace=NAMESPACE))["status"].get("phase")

    await until(phase, lambda found: found == "Running")


async def until(look: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """What is seen once it is good."""
    found = None
    try:
        async with asyncio.timeout(WITHIN_S):
            while not good(found := await look()):  # noqa: ASYNC110 - others change it
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(f"it stays at {found!r}")
    return found


async def told(lab: RunningLab, node: str) -> tuple[View, Host]:
    """What the simulator's own page says."""
    (simulator,) = lab.plan.kubelet_components
    page = await until_page(f"http://127.0.0.1:{simulator.ports['metrics']}/podresources?node={node}")
    found = msgspec.json.decode(page, type=Told)
    return found.view, found.host


def socket_of(lab: RunningLab, node: str) -> Path:
    return lab.plan.site.folder / SOCKETS / node / "kubelet.sock"


async def asked(client: Path, socket: Path, pod: str) -> dict[str, Any]:
    command = [str(client), str(socket), NAMESPACE, pod]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return dict(msgspec.json.decode(done.stdout))


def as_go_prints(holding: Holding) -> dict[str, Any]:
    """A holding in protobuf's JSON: numbers of 64 bits are texts, and what is empty is not there."""

    def topology(nodes: tuple[int, ...]) -> dict[str, Any]:
        shown = [{"ID": str(node)} if node else {} for node in nodes]
        return {"topology": {"nodes": shown}} if nodes else {}

    def memory(one: Memory) -> dict[str, Any]:
        return {"memoryType": one.type, "size": str(one.size), **topology(one.nodes)}

    found = {
        "cpuIds": [str(cpu) for cpu in holding.cpus],
        "memory": [memory(one) for one in holding.memory],
        "devices": [
            {"resourceName": one.resource, "deviceIds": list(one.ids), **topology(one.nodes)} for one in holding.devices
        ],
    }
    return {key: values for key, values in found.items() if values}


async def test_the_go_client_reads_what_the_kubelet_holds(lab: RunningLab, go_client: Path) -> None:
    view, _ = await told(lab, "numa-0")
    answers = await asked(go_client, socket_of(lab, "numa-0"), "guaranteed")
    pods: dict[str, Any] = {
        pod.name: {
            "name": pod.name,
            "namespace": pod.namespace,
            "containers": [{"name": name, **as_go_prints(held)} for name, held in pod.containers.items()],
        }
        for pod in view.pods
    }
    assert {"guaranteed", "pages", "burstable"} <= pods.keys()
    assert pods["guaranteed"]["containers"][0].keys() == {"name", "cpuIds", "memory", "devices"}
    assert pods["burstable"]["containers"] == [{"name": "main"}]
    assert {pod["name"]: pod for pod in answers["list"]["podResources"]} == pods
    assert answers["get"] == {"podResources": pods["guaranteed"]}
    assert answers["allocatable"] == as_go_prints(view.allocatable)
    assert answers["nobody"] == {"code": "Unknown", "message": f"pod nobody in namespace {NAMESPACE} not found"}


async def test_nodes_without_the_label_have_no_socket(lab: RunningLab) -> None:
    there = {path.name for path in (lab.plan.site.folder / SOCKETS).iterdir()}
    assert there == {"numa-0", "numa-1"}


async def test_a_simulator_serves_the_nodes_that_are_named_and_leaves_nothing(
    lab: RunningLab, go_client: Path, short: Path
) -> None:
    folder = short / "named"
    args = ("--pod-resources", str(folder), "--pod-resources-nodes", "other-0,nowhere", "--lease-seconds", "0")
    with simulating(str(lab.kubeconfig), os.environ, *args) as (process, url):
        await until_page(f"{url}/healthz")
        socket = folder / "other-0" / "kubelet.sock"
        await until(lambda: _now(socket.exists() and (folder / "nowhere").exists()), bool)

        async def answer() -> dict[str, Any]:
            return dict((await asked(go_client, socket, "nobody"))["list"])

        assert await until(answer, lambda found: "code" not in found) == {}
        absent = await asked(go_client, folder / "nowhere" / "kubelet.sock", "nobody")
        assert absent["list"]["code"] == "Unavailable"
        process.terminate()
        assert await asyncio.to_thread(process.wait, 30) == 130
    assert not list(folder.iterdir())


async def _now(value: object) -> object:
    return value


@contextlib.contextmanager
def exporting(program: Path, lab: RunningLab, node: str, host: Host, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """The real exporter of a node, on a machine that is made up."""
    sysfs.write(host, folder / "sys")
    log = (folder / "exporter.log").open("w")
    process = subprocess.Popen(
        [
            str(program),
            f"--kubeconfig={lab.kubeconfig}",
            f"--hostname={node}",
            f"--sysfs={folder / 'sys'}",
            f"--podresources-socket=unix://{socket_of(lab, node)}",
            f"--topology-manager-policy={host.policy}",
            f"--topology-manager-scope={host.scope}",
            "--sleep-interval=1s",
            "--podreadiness=false",
        ],
        env={**os.environ, "NODE_NAME": node, "HOME": str(folder)},
        stdout=log,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        log.close()


def comparable(nrt: Object) -> Object:
    """What must be equal.

    Not what the API server adds; nor the order of resources, which the exporter lists as Go's maps come; nor why it
    looked, which changes by itself: the first time nobody calls its timer, later it is that.
    """
    metadata = {key: nrt["metadata"][key] for key in ("name", "annotations", "ownerReferences")}
    metadata["annotations"] = {key: text for key, text in metadata["annotations"].items() if key != UPDATE_ANNOTATION}
    zones = [{**zone, "resources": sorted(zone["resources"], key=lambda one: one["name"])} for zone in nrt["zones"]]
    return {**nrt, "metadata": metadata, "zones": zones}


async def expected(lab: RunningLab, node: str, *, allocatable: Holding | None = None) -> Object:
    """What our exporter writes of the same kubelet; `allocatable` is what it was told at its start."""
    view, host = await told(lab, node)
    if allocatable is not None:
        view = View(view.pods, allocatable)
    settings = Settings()
    owner = await lab.client.get(NODES, node)
    return written(owner, zones_of(view, host, "rte"), host, settings, fingerprint=fingerprint_of(view, settings))


@pytest.fixture(scope="module")
async def exporter() -> Path:
    found = await provisioning.provide((EXPORTER,), bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    return found[EXPORTER].path


async def exported(lab: RunningLab, node: str, process: "subprocess.Popen[str]", folder: Path) -> Object:
    """What the real one has written, as far as it is compared; empty before."""
    assert process.poll() is None, (folder / "exporter.log").read_text()[-4000:]
    listing = await lab.client.list_all(NRT)
    return next((comparable(nrt) for nrt in listing.items if nrt["metadata"]["name"] == node), {})


@pytest.mark.long
async def test_a_real_exporter_writes_what_ours_writes(lab: RunningLab, exporter: Path, tmp_path: Path) -> None:
    _, host = await told(lab, "numa-0")
    with exporting(exporter, lab, "numa-0", host, tmp_path) as process:

        async def look() -> Object:
            return await exported(lab, "numa-0", process, tmp_path)

        ours = comparable(await expected(lab, "numa-0"))
        first = await until(look, bool)
        assert first == ours
        amounts = [one for zone in first["zones"] for one in zone["resources"]]
        assert {one["name"] for one in amounts} == {"cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"}
        assert sorted(one["available"] for one in amounts if one["name"] == "nvidia.com/gpu") == ["3", "4"]

        # It looks once a second: what it writes follows what the kubelet holds.
        await run_pod(lab, "later", {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "2"})
        ours = comparable(await expected(lab, "numa-0"))
        assert ours != first
        assert await until(look, lambda nrt: nrt != first) == ours
        await lab.client.delete(PODS, "later", namespace=NAMESPACE, grace_s=0)
        assert await until(look, lambda nrt: nrt != ours) == first
        nrt = await lab.client.get(NRT, "numa-0")
        assert nrt["metadata"]["annotations"][UPDATE_ANNOTATION] == "periodic"


@pytest.mark.long
@pytest.mark.parametrize(
    "wrong",
    [
        Misreport(id="no", what="no-numa"),
        Misreport(id="several", what="several-numa"),
        Misreport(id="memory", what="several-numa", resource="memory"),
        Misreport(id="more", what="allocatable", by=4),
        Misreport(id="less", what="allocatable", resource="nvidia.com/gpu", by=-4),
        Misreport(id="hidden", what="hidden-pods"),
    ],
    ids=lambda wrong: wrong.id,
)
async def test_both_take_a_kubelet_that_misreports_at_its_word(
    lab: RunningLab, exporter: Path, tmp_path: Path, wrong: Misreport
) -> None:
    _, host = await told(lab, "numa-1")
    async with misreporting(lab, "numa-1", wrong):
        with exporting(exporter, lab, "numa-1", host, tmp_path) as process:
            found = await until(lambda: exported(lab, "numa-1", process, tmp_path), bool)
            assert found == comparable(await expected(lab, "numa-1"))
    await lab.client.delete(NRT, "numa-1")


@pytest.mark.long
async def test_what_is_allocatable_a_real_exporter_asks_once(lab: RunningLab, exporter: Path, tmp_path: Path) -> None:
    right, host = await told(lab, "numa-1")
    with exporting(exporter, lab, "numa-1", host, tmp_path) as process:
        first = await until(lambda: exported(lab, "numa-1", process, tmp_path), bool)
        async with misreporting(lab, "numa-1", Misreport(id="negative", what="negative-numa")):
            ours = comparable(await expected(lab, "numa-1", allocatable=right.allocatable))
            assert ours != first
            assert await until(lambda: exported(lab, "numa-1", process, tmp_path), lambda nrt: nrt != first) == ours
    await lab.client.delete(NRT, "numa-1")


@pytest.mark.long
async def test_a_real_exporter_does_not_start_where_a_device_is_on_a_numa_node_that_is_none(
    lab: RunningLab, exporter: Path, tmp_path: Path
) -> None:
    _, host = await told(lab, "numa-1")
    async with misreporting(lab, "numa-1", Misreport(id="negative", what="negative-numa")):
        with exporting(exporter, lab, "numa-1", host, tmp_path) as process:
            assert await asyncio.to_thread(process.wait, WITHIN_S) == 2  # Go's code of a panic
    assert "panic: assignment to entry in nil map" in (tmp_path / "exporter.log").read_text()


@contextlib.asynccontextmanager
async def misreporting(lab: RunningLab, node: str, wrong: Misreport) -> AsyncIterator[None]:
    right, _ = await told(lab, node)
    await set_faults(lab, node, wrong)
    try:
        await until(lambda: told(lab, node), lambda found: found[0] != right)
        yield
    finally:
        await set_faults(lab, node)
        await until(lambda: told(lab, node), lambda found: found[0] == right)


async def set_faults(lab: RunningLab, node: str, *faults: fault.Fault) -> None:
    text = fault.written(faults) if faults else None
    await lab.client.patch(NODES, node, {"metadata": {"annotations": {marks.FAULTS: text}}}, kind="merge")
