"""NodePools on a real API server, used as with the kwok-operator: kubectl apply, patch and delete."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.lab.starting import RunningLab
from kubedyno.sim.nodepools import definition
from kubedyno.sim.nodepools.definition import NODE_POOLS

from .conftest import COMMAND_WITHIN_S

pytestmark = pytest.mark.local

Kubectl = Callable[..., Awaitable[str]]

SELECTOR = "kwok.x-k8s.io/controller=np-test"

# As in the samples of the kwok-operator, with GPUs.
POOL = """
apiVersion: kwok.sigs.run-ai.com/v1beta1
kind: NodePool
metadata:
  name: np-test
  labels:
    app.kubernetes.io/created-by: kwok-operator
spec:
  nodeCount: 5
  nodeTemplate:
    apiVersion: v1
    metadata:
      annotations:
        node.alpha.kubernetes.io/ttl: "0"
      labels:
        kubernetes.io/hostname: kwok-node
        kubernetes.io/role: agent
        run.ai/simulated-gpu-node-pool: default
        type: kwok
    spec: {}
    status:
      allocatable: {cpu: 32, memory: 256Gi, pods: 110, nvidia.com/gpu: 8}
      capacity: {cpu: 32, memory: 256Gi, pods: 110, nvidia.com/gpu: 8}
      nodeInfo:
        architecture: amd64
        bootID: ""
        containerRuntimeVersion: ""
        kernelVersion: ""
        kubeProxyVersion: fake
        kubeletVersion: fake
        machineID: ""
        operatingSystem: linux
        osImage: ""
        systemUUID: ""
      phase: Running
"""


@pytest.fixture
async def client(shared_lab: RunningLab) -> Client:
    """A client of a server whose NodePools the lab's simulator reconciles."""
    while not await definition.is_served(shared_lab.client):
        await shared_lab.client.clock.sleep(0.1)
    return shared_lab.client


@pytest.fixture
async def kubectl(shared_lab: RunningLab, client: Client, kubectl_path: Path) -> AsyncIterator[Kubectl]:
    """`await kubectl(...)` is what it printed; the pool of the test is gone afterwards."""

    async def run(*args: str, stdin: str | None = None, code: int = 0) -> str:
        done = await asyncio.to_thread(
            subprocess.run,
            [str(kubectl_path), "--kubeconfig", str(shared_lab.kubeconfig), *args],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_WITHIN_S,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    yield run
    await run("delete", "nodepool", "np-test", "--ignore-not-found")


async def available(kubectl: Kubectl) -> None:
    await kubectl("wait", "nodepool/np-test", "--for=condition=Available", "--timeout=60s")


async def nodes(client: Client) -> list[Object]:
    found = (await client.list_all(NODES, label_selector=SELECTOR)).items
    return sorted(found, key=lambda node: str(node["metadata"]["name"]))


def uids(found: list[Object]) -> list[str]:
    return [node["metadata"]["uid"] for node in found]


async def test_apply_patch_and_delete(client: Client, kubectl: Kubectl) -> None:
    assert await kubectl("apply", "-f", "-", stdin=POOL) == "nodepool.kwok.sigs.run-ai.com/np-test created\n"
    await available(kubectl)
    first = await nodes(client)
    assert [node["metadata"]["name"] for node in first] == [f"np-test-{index}" for index in range(5)]
    assert [meta.labels(node)["kubernetes.io/hostname"] for node in first] == [f"np-test-{index}" for index in range(5)]
    assert len({node["spec"]["podCIDR"] for node in first}) == 5
    assert first[0]["status"]["capacity"] == {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "8", "pods": "110"}
    header, row = (await kubectl("get", "nodepools", "np-test")).splitlines()
    assert header.split() == ["NAME", "NODES", "AVAILABLE", "REASON", "AGE"]
    assert row.split()[:4] == ["np-test", "5", "True", "Ready"]

    async with Informer(client, NODES, label_selector=SELECTOR) as seen:
        await seen.wait_until(
            lambda found: all(meta.is_condition_true(node, "Ready") for node in found.items),
            timeout_s=60,
            what="the nodes to be Ready",
        )

    for count in (8, 2):
        patch = f'{{"spec": {{"nodeCount": {count}}}}}'
        await kubectl("patch", "nodepool", "np-test", "--type=merge", "--patch", patch)
        await available(kubectl)
        assert len(await nodes(client)) == count
    assert uids(await nodes(client)) == uids(first)[:2]

    await kubectl("delete", "nodepool", "np-test", "--timeout=60s")
    assert await nodes(client) == []


async def test_a_changed_template_keeps_the_nodes(client: Client, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=POOL)
    await available(kubectl)
    before = await nodes(client)
    await kubectl("label", "node", "np-test-0", "mine=yes")
    await kubectl("taint", "node", "np-test-0", "mine=yes:NoSchedule")
    changed = yaml.safe_load(POOL)
    template = changed["spec"]["nodeTemplate"]
    del template["metadata"]["labels"]["kubernetes.io/role"]
    template["metadata"]["labels"]["rack"] = "r1"
    template["metadata"]["annotations"]["note"] = "new"
    template["spec"]["taints"] = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    for part in ("capacity", "allocatable"):
        template["status"][part]["nvidia.com/gpu"] = 4
    changed["spec"]["nodeCount"] = 6
    await kubectl("apply", "-f", "-", stdin=yaml.safe_dump(changed))
    await available(kubectl)
    after = await nodes(client)
    assert uids(after)[:5] == uids(before)
    assert len(after) == 6
    for node in after:
        labels = meta.labels(node)
        assert (labels["rack"], labels.get("kubernetes.io/role")) == ("r1", None)
        assert meta.annotations(node)["note"] == "new"
        assert {"gpu", "kwok.x-k8s.io/node"} <= {taint["key"] for taint in node["spec"]["taints"]}
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    assert meta.labels(after[0])["mine"] == "yes"
    assert "mine" in {taint["key"] for taint in after[0]["spec"]["taints"]}


async def test_a_node_deleted_by_hand_comes_back(client: Client, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=POOL)
    await available(kubectl)
    before = await nodes(client)
    await kubectl("delete", "node", "np-test-3")
    async with Informer(client, NODES, label_selector=SELECTOR) as seen:
        await seen.wait_until(
            lambda found: len(found.items) == 5 and set(uids(list(found.items))) != set(uids(before)),
            timeout_s=60,
            what="the node to come back",
        )


async def test_what_the_server_refuses_stands_in_the_condition(client: Client, kubectl: Kubectl) -> None:
    await kubectl("apply", "-f", "-", stdin=POOL.replace("type: kwok", "type: not a label!"))
    told = 'jsonpath={.status.conditions[?(@.type=="Available")].reason}=ScalingUp'
    await kubectl("wait", "nodepool/np-test", f"--for={told}", "--timeout=60s")
    async with Informer(client, NODE_POOLS) as pools:
        await pools.wait_until(
            lambda found: any(
                condition["status"] == "False"
                and 'Node "np-test-0" is invalid: metadata.labels: Invalid value: "not a label!"'
                in condition["message"]
                for pool in found.items
                for condition in (pool.get("status") or {}).get("conditions") or ()
            ),
            timeout_s=60,
            what="the refusal",
        )
    await kubectl("apply", "-f", "-", stdin=POOL)
    await available(kubectl)
    assert len(await nodes(client)) == 5


async def test_a_negative_count_is_refused(kubectl: Kubectl) -> None:
    said = await kubectl("apply", "-f", "-", stdin=POOL.replace("nodeCount: 5", "nodeCount: -5"), code=1)
    assert "spec.nodeCount: Invalid value: -5: spec.nodeCount in body should be greater than or equal to 0" in said
