"""The builtin kubelet before a server that fails: every pod gets where it should, and no lease is lost."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.faultproxy import WAYS, FaultProxy, Way, fault_proxy
from tests.labs import lab_in_process

from kubedyno.client import kubeconfig
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock, parse_rfc3339_ns
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES, NODES, PODS, RESOURCE_CLAIMS
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.playing import play_kubelets

pytestmark = [
    pytest.mark.local,
    # A proxy that goes away may leave a connection in the middle of its handshake, which asyncio then forgets to close.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NODE_COUNT = 5
POD_COUNT = 50
LEASE_S = 8
AWAY_S = 5.0
WITHIN_S = 90.0
NAMESPACE = "faults"
OURS = "server-faults=yes"


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """A control plane whose nodes nobody plays but the test."""
    folder = tmp_path_factory.mktemp("faults") / "lab"
    async with lab_in_process(folder, scheduler="none", kubelet="none") as lab:
        await installing.ensure_namespace(lab.client, NAMESPACE)
        yield lab


class Play:
    """A fleet played through a proxy. The test looks and acts past the proxy."""

    def __init__(self, client: Client, proxy: FaultProxy, lag: Lag, pods: Informer) -> None:
        self.client = client
        self.proxy = proxy
        self.lag = lag
        self._pods = pods

    @property
    def pods(self) -> list[Object]:
        return list(self._pods.items)

    async def create_nodes(self, *names: str) -> None:
        await asyncio.gather(*(self.client.create(NODES, node(name)) for name in names))

    async def create_pods(self, first: int = 0, count: int = POD_COUNT) -> None:
        await asyncio.gather(*(self.client.create(PODS, pod(first + number)) for number in range(count)))

    async def delete_pods(self, first: int = 0, count: int = POD_COUNT) -> None:
        names = [f"pod-{first + number}" for number in range(count)]
        await asyncio.gather(*(self.client.delete(PODS, name, namespace=NAMESPACE) for name in names))

    async def until_pods(self, what: str, wanted: Callable[[list[Object]], bool]) -> None:
        await self._pods.wait_until(lambda pods: wanted(list(pods.items)), timeout_s=WITHIN_S, what=what)

    async def until_running(self, count: int = POD_COUNT) -> None:
        await self.until_pods(
            f"{count} pods to run",
            lambda pods: len(pods) == count and all(map(is_running, pods)),
        )

    async def until_gone(self) -> None:
        await self.until_pods("all pods to be gone", lambda pods: not pods)

    async def until_nodes_live(self, *names: str) -> None:
        """All nodes are Ready, and their leases are renewed from now on, each by its own node."""
        since_ns = self.client.clock.wall_ns()

        def lives(lease: Object) -> bool:
            return parse_rfc3339_ns(lease["spec"]["renewTime"]) > since_ns

        async with (
            Informer(self.client, NODES, label_selector=OURS) as nodes,
            Informer(self.client, LEASES, namespace="kube-node-lease") as leases,
        ):
            await nodes.wait_until(
                lambda found: all(
                    (entry := found.get(("", name))) and meta.is_condition_true(entry, "Ready") for name in names
                ),
                timeout_s=WITHIN_S,
                what="the nodes to be Ready",
            )
            await leases.wait_until(
                lambda found: all((entry := found.get(("kube-node-lease", name))) and lives(entry) for name in names),
                timeout_s=WITHIN_S,
                what="the leases to be renewed",
            )
            for name in names:
                lease = leases.get(("kube-node-lease", name)) or {}
                assert lease["spec"]["holderIdentity"] == name


@asynccontextmanager
async def playing(lab: RunningLab, folder: Path) -> AsyncIterator[Play]:
    """The builtin kubelet at work behind a proxy; nodes and pods are gone afterwards."""
    client, clock, lag = lab.client, RealClock(), Lag()
    admin = kubeconfig.load(lab.kubeconfig)
    async with (
        fault_proxy(admin, folder) as proxy,
        Client.connect(proxy.access, clock=clock) as theirs,
        Informer(client, PODS, namespace=NAMESPACE) as pods,
    ):
        play = Play(client, proxy, lag, pods)
        await play.create_nodes(*(node_name(number) for number in range(NODE_COUNT)))
        try:
            async with tasks.owning() as group:
                kubelets = play_kubelets(theirs, clock=clock, seed=1, lease_s=LEASE_S, lag=lag)
                task = group.create_task(kubelets, name="kubelets")
                yield play
                task.cancel()
        finally:
            await client.delete_collection(PODS, namespace=NAMESPACE, grace_s=0)
            await client.delete_collection(NODES, label_selector=OURS)
            await play.until_gone()


def node_name(number: int) -> str:
    return f"faulty-{number}"


def node(name: str) -> Object:
    capacity = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "server-faults": "yes"}},
        "spec": {"podCIDR": f"10.9.{name.rpartition('-')[2]}.0/24"},
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def pod(number: int, *, claim: str | None = None) -> Object:
    claims = {"resourceClaims": [{"name": claim, "resourceClaimName": claim}]} if claim else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "namespace": NAMESPACE},
        "spec": {
            "nodeName": node_name(number % NODE_COUNT),
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "sleep", "resources": {"requests": {"cpu": "100m"}}}],
            **claims,
        },
    }


def is_running(found: Object) -> bool:
    return bool(found["status"]["phase"] == "Running" and meta.is_condition_true(found, "Ready"))


NAMES = tuple(node_name(number) for number in range(NODE_COUNT))


@pytest.mark.parametrize("way", WAYS)
async def test_all_pods_run_and_go_though_a_fifth_of_the_writes_fail(lab: RunningLab, tmp_path: Path, way: Way) -> None:
    async with playing(lab, tmp_path) as play:
        play.proxy.fail(way)
        await play.create_pods()
        await play.until_running()
        await play.delete_pods()
        await play.until_gone()
        await play.until_nodes_live(*NAMES)
        assert play.proxy.counts[way] >= POD_COUNT * 2 * 0.1  # it did fail
        assert play.lag.report().contested_nodes == 0  # what we lost ourselves is no second simulator


@pytest.mark.parametrize("way", ["429", "500", "reset"])
async def test_all_pods_run_and_go_though_half_of_all_requests_fail(lab: RunningLab, tmp_path: Path, way: Way) -> None:
    async with playing(lab, tmp_path) as play:
        await play.until_nodes_live(*NAMES)
        play.proxy.fail(way, share=0.5, of=("reads", "writes"))
        await play.create_pods()
        await play.until_running()
        await play.delete_pods()
        await play.until_gone()
        await play.until_nodes_live(*NAMES)
        assert play.proxy.counts[way] >= POD_COUNT


@pytest.mark.parametrize("way", ["500", "reset"])
async def test_a_conflict_that_cannot_be_looked_into(lab: RunningLab, tmp_path: Path, way: Way) -> None:
    """Whoever reads an object after a conflict must bear that this fails, too."""
    async with playing(lab, tmp_path) as play:
        await play.until_nodes_live(*NAMES)
        play.proxy.fail("409", share=1.0)
        play.proxy.fail(way, share=1.0, of=("reads",))
        await play.create_pods()
        while play.proxy.counts["409"] < POD_COUNT or play.proxy.counts[way] < NODE_COUNT:
            await play.client.clock.sleep(0.05)
        play.proxy.fail(None, of=("reads", "writes"))
        await play.until_running()
        await play.until_nodes_live(*NAMES)


async def test_answers_lost_in_a_row_are_no_second_simulator(lab: RunningLab, tmp_path: Path) -> None:
    """The server has the first write, and refuses the next ones for that: nobody but us wrote."""
    async with playing(lab, tmp_path) as play:
        await play.until_nodes_live(*NAMES)
        play.proxy.fail("lost answer", share=1.0)
        while play.proxy.counts["lost answer"] < NODE_COUNT * 3:
            await play.client.clock.sleep(0.05)
        play.proxy.fail(None)
        await play.until_nodes_live(*NAMES)
        assert play.lag.report().contested_nodes == 0


@pytest.mark.parametrize("way", ["500", "reset"])
async def test_a_claim_that_cannot_be_read_is_read_again(lab: RunningLab, tmp_path: Path, way: Way) -> None:
    async with playing(lab, tmp_path) as play:
        await play.until_nodes_live(*NAMES)
        name = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "gpu"}}
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
        claim = {**name, "spec": {"devices": {"requests": [request]}}}
        await play.client.create(RESOURCE_CLAIMS, claim, namespace=NAMESPACE)
        try:
            play.proxy.fail(way, share=1.0, of=("reads",))
            made = await play.client.create(PODS, pod(0, claim="gpu"))
            user = {"resource": "pods", "name": "pod-0", "uid": made["metadata"]["uid"]}
            device = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "faulty-0", "device": "gpu-0"}
            status = {"allocation": {"devices": {"results": [device]}}, "reservedFor": [user]}
            await play.client.patch(
                RESOURCE_CLAIMS, "gpu", {"status": status}, kind="merge", namespace=NAMESPACE, subresource="status"
            )
            while not play.proxy.counts[way]:
                await play.client.clock.sleep(0.05)
            play.proxy.fail(None, of=("reads",))
            await play.until_running(1)
        finally:
            await play.client.delete(RESOURCE_CLAIMS, "gpu", namespace=NAMESPACE)


async def test_after_an_outage_nothing_is_left_behind(lab: RunningLab, tmp_path: Path) -> None:
    async with playing(lab, tmp_path) as play:
        half = POD_COUNT // 2
        await play.create_pods(count=half)
        await play.until_running(half)
        await play.until_nodes_live(*NAMES)
        await play.proxy.go_away()
        await play.delete_pods(count=half)
        await play.create_pods(first=half)
        await play.create_nodes(node_name(NODE_COUNT))
        await play.client.clock.sleep(AWAY_S)
        assert all(entry["metadata"].get("deletionTimestamp") or not is_running(entry) for entry in play.pods)
        await play.proxy.come_back()
        await play.until_running()
        await play.until_nodes_live(*NAMES, node_name(NODE_COUNT))
        await play.delete_pods(first=half)
        await play.until_gone()


async def test_an_outage_between_start_and_end_of_pods(lab: RunningLab, tmp_path: Path) -> None:
    """It comes while writes are under way, some of which the server has and some not."""
    async with playing(lab, tmp_path) as play:
        for _ in range(3):
            await play.create_pods()
            await play.until_pods("some pods to run", lambda pods: any(map(is_running, pods)))
            await play.proxy.go_away()
            await play.client.clock.sleep(0.5)
            await play.proxy.come_back()
            await play.until_running()
            await play.delete_pods()
            await play.until_pods("some pods to be gone", lambda pods: len(pods) < POD_COUNT)
            await play.proxy.go_away()
            await play.client.clock.sleep(0.5)
            await play.proxy.come_back()
            await play.until_gone()
        await play.until_nodes_live(*NAMES)
