"""The reference scheduler on a whole lab, with kubelets that refuse what they cannot align."""

from collections import Counter
from pathlib import Path

import pytest
from tests.labs import lab_in_process
from tests.unit.schedulers.reference.test_aligning import GIB, spec_of

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES, PODS
from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa
from kubedyno.sim.pools import Pool
from kubedyno.sim.pools.applying import apply

pytestmark = pytest.mark.unit

NRT = NODE_RESOURCE_TOPOLOGIES[0]
ALIGNED = KubeletSettings(
    topology_manager_policy="single-numa-node", cpu_manager_policy="static", reserved_cpus=2, numa=Numa(sockets=2)
)


async def create_pod(client: Client, name: str, cpus: int) -> None:
    spec = spec_of({"cpu": cpus, "memory": GIB})
    spec["containers"][0]["image"] = "example/image"
    await client.create(PODS, {"metadata": {"name": name}, "spec": spec}, namespace="default")


async def export(client: Client, node: str, free: tuple[int, int], pods: list[str]) -> None:
    """Write what an exporter would: 16 CPUs on each zone, of which the system has two on the first."""
    attributes = {
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "container",
        "nodeTopologyPodsFingerprint": fingerprint([("default", pod) for pod in pods]),
    }
    wanted: Object = {
        "apiVersion": NRT.api_version,
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
        "zones": [
            {
                "name": f"node-{number}",
                "type": "Node",
                "resources": [{"name": "cpu", "capacity": "16", "allocatable": str(most), "available": str(available)}],
            }
            for number, (most, available) in enumerate(zip((14, 16), free, strict=True))
        ],
    }
    found = [one for one in (await client.list_all(NRT)).items if one["metadata"]["name"] == node]
    if found:
        wanted["metadata"]["resourceVersion"] = found[0]["metadata"]["resourceVersion"]
        await client.update(NRT, wanted)
    else:
        await client.create(NRT, wanted)


async def outcome(pods: Informer, expected: dict[str, int]) -> dict[str, str]:
    """The nodes of pods that run, once so many are in each phase and those that wait have been told why."""

    def is_so(seen: Informer) -> bool:
        phases = Counter((one.get("status") or {}).get("phase") for one in seen.items)
        waiting = [one for one in seen.items if one["status"].get("phase") == "Pending"]
        told = all((meta.condition(one, "PodScheduled") or {}).get("status") == "False" for one in waiting)
        return phases == Counter(expected) and told

    await pods.wait_until(is_so, timeout_s=30, what=str(expected))
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"] for one in pods.items if one["status"]["phase"] == "Running"
    }


async def test_pods_that_no_zone_can_hold_wait_instead_of_being_refused_by_kubelets(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", engine="embedded", scheduler="reference") as lab:
        client = lab.client
        await apply(client, [Pool(name="numa", count=2, kubelet=ALIGNED)])
        async with Informer(client, PODS, namespace="default") as pods:
            # As long as nobody tells of zones the scheduler sees 30 free CPUs, and the kubelet refuses.
            await create_pod(client, "blind", 18)
            await outcome(pods, {"Failed": 1})
            (failed,) = pods.items
            assert failed["status"]["reason"] == "TopologyAffinityError"
            for name in ("numa-0", "numa-1"):
                await export(client, name, (14, 16), [])

            await create_pod(client, "wide", 18)
            await outcome(pods, {"Failed": 1, "Pending": 1})
            (wide,) = (one for one in pods.items if one["metadata"]["name"] == "wide")
            told = meta.condition(wide, "PodScheduled") or {}
            assert told["message"] == "0/2 nodes are available: 2 cannot align container."

            # Six that each need more than half of a zone: four fit, but only the exporter knows where the first are.
            for index in range(6):
                await create_pod(client, f"p{index}", 10)
            first = await outcome(pods, {"Failed": 1, "Running": 2, "Pending": 5})
            assert sorted(first.values()) == ["numa-0", "numa-1"]
            for pod, node in first.items():
                await export(client, node, (4, 16), [pod])
            both = await outcome(pods, {"Failed": 1, "Running": 4, "Pending": 3})
            assert Counter(both.values()) == {"numa-0": 2, "numa-1": 2}
            for node in ("numa-0", "numa-1"):
                await export(client, node, (4, 6), [pod for pod, on in both.items() if on == node])
            await create_pod(client, "small", 6)
            assert (await outcome(pods, {"Failed": 1, "Running": 5, "Pending": 3})).keys() == {*both, "small"}
