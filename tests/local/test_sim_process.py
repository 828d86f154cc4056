"""`kubedyno simulate` as processes of their own beside a real control plane."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.processes import simulating, until_page

from kubedyno.client.informer import Informer
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES, NODES, PODS
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab
from kubedyno.sim.kubelet.sharding import LABEL

pytestmark = pytest.mark.local

NAMESPACE = "processes"
WITHIN_S = 90.0


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """A control plane whose nodes nobody plays but the test."""
    folder = tmp_path_factory.mktemp("processes") / "lab"
    async with lab_in_process(folder, scheduler="none", kubelet="none") as lab:
        await installing.ensure_namespace(lab.client, NAMESPACE)
        yield lab


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return dict(os.environ)


def pod(name: str, node: str, **annotations: str) -> Object:
    return {
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {f"kubedyno/{key}": text for key, text in annotations.items()},
        },
        "spec": {"nodeName": node, "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }


async def until_phases(lab: RunningLab, **wanted: str) -> None:
    async with Informer(lab.client, PODS, namespace=NAMESPACE) as pods:
        await pods.wait_until(
            lambda found: all(
                (entry := found.get((NAMESPACE, name.replace("_", "-")))) and entry["status"].get("phase") == phase
                for name, phase in wanted.items()
            ),
            timeout_s=WITHIN_S,
            what=f"{wanted}",
        )


async def clean(lab: RunningLab, *nodes: str) -> None:
    await lab.client.delete_collection(PODS, namespace=NAMESPACE, grace_s=0)
    for node in nodes:
        await lab.client.delete(NODES, node)


async def test_a_process_plays_the_nodes_tells_of_itself_and_ends_on_request(
    lab: RunningLab, env: dict[str, str]
) -> None:
    with simulating(str(lab.kubeconfig), {**env, "CL2_JOB_RUNNING_TIME_MS": "1500"}) as (process, url):
        assert await until_page(f"{url}/healthz") == "ok"
        await lab.client.create(NODES, {"metadata": {"name": "alone"}})
        async with Informer(lab.client, NODES) as found:
            await found.wait_until(
                lambda nodes: any(meta.is_condition_true(node, "Ready") for node in nodes.items),
                timeout_s=WITHIN_S,
                what="the node to be Ready",
            )
        await lab.client.create(PODS, pod("early", "alone"))
        await until_phases(lab, early="Running")  # it may have been there before the simulator looked
        before: dict[str, Any] = await until_page(f"{url}/lag", json=True)
        body = pod("short", "alone")
        body["metadata"]["labels"] = {"job-type": "short-lived"}
        await lab.client.create(PODS, body)
        await until_phases(lab, short="Succeeded")
        async with Informer(lab.client, LEASES, namespace="kube-node-lease") as leases:
            await leases.wait_until(
                lambda found: ("kube-node-lease", "alone") in {meta.key(lease) for lease in found.items},
                timeout_s=WITHIN_S,
                what="the lease",
            )
        lag: dict[str, Any] = await until_page(f"{url}/lag", json=True)
        assert lag["started"] == before["started"] + 1
        assert "kubedyno_kubelet_lease_lag_seconds_count" in await until_page(f"{url}/metrics")
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=WITHIN_S)
        assert process.returncode == 130
        assert told == "kubedyno: interrupted; everything that was started is stopped\n"
    await clean(lab, "alone")


async def test_two_processes_share_the_nodes_and_one_goes_on_when_the_other_is_killed(
    lab: RunningLab, env: dict[str, str]
) -> None:
    nodes = [f"shared-{number}" for number in range(8)]

    def holders(found: Informer) -> list[str]:
        return [
            lease["spec"].get("holderIdentity") or ""
            for lease in found.items
            if meta.labels(lease).get(LABEL, "").startswith("shard.")
        ]

    path = str(lab.kubeconfig)
    with simulating(path, env, "--shards", "4") as (first, _), simulating(path, env, "--shards", "4") as (_, url):
        async with Informer(lab.client, LEASES, namespace="kube-system", label_selector=LABEL) as leases:
            await leases.wait_until(
                lambda found: sorted(holders(found).count(holder) for holder in set(holders(found))) == [2, 2],
                timeout_s=WITHIN_S,
                what="shares of two",
            )
            for number, name in enumerate(nodes):
                await lab.client.create(NODES, {"metadata": {"name": name}})
                await lab.client.create(PODS, pod(f"work-{number}", name, start="5s", duration="20s"))
            await asyncio.sleep(2)
            first.kill()
            await leases.wait_until(
                lambda found: len(set(holders(found))) == 1, timeout_s=WITHIN_S, what="one holder of all shards"
            )
        await until_phases(lab, **{f"work_{number}": "Succeeded" for number in range(len(nodes))})
        lag: dict[str, Any] = await until_page(f"{url}/lag", json=True)
        assert lag["contested_nodes"] == 0
    await clean(lab, *nodes)
