"""The whole simulation with stages: kinds that have some are driven by them alone, the others as ever."""

from pathlib import Path

import pytest
from tests.yard import Yard, run_in_yard

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kube import codec, meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS
from kubedyno.sim.simulating import Instruments, Simulation, simulate
from kubedyno.sim.stages.cluster import STAGES

pytestmark = pytest.mark.unit

SPEC: Object = {
    "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
    "selector": {"matchExpressions": [{"key": ".status.phase", "operator": "In", "values": ["Pending"]}]},
    "next": {"statusTemplate": "phase: Running\nmessage: by a stage\n"},
}
STAGE: Object = {"apiVersion": STAGES.api_version, "kind": STAGES.kind, "metadata": {"name": "run"}, "spec": SPEC}


async def _pod_runs(client: Client) -> Object:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    status = {"capacity": capacity, "allocatable": capacity}
    await client.create(NODES, {"metadata": {"name": "n"}, "status": status})
    container = {"name": "c", "image": "example/image"}
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [container]}}
    await client.create(PODS, pod, namespace="default")
    while True:
        found = await client.get(PODS, "p", namespace="default")
        if found["status"].get("phase") == "Running":
            return found
        await client.clock.sleep(0.1)


@pytest.mark.parametrize("from_cluster", [False, True])
def test_a_kind_with_stages_is_driven_by_them_alone(from_cluster: bool, tmp_path: Path) -> None:
    file = tmp_path / "stage.yaml"
    file.write_bytes(codec.encode(STAGE))
    simulation = Simulation(cluster_stages=True) if from_cluster else Simulation(stages=(file,))

    async def story(yard: Yard) -> None:
        client = yard.client
        async with tasks.owning() as group:
            task = group.create_task(simulate(client, simulation, Instruments(), clock=yard.clock))
            if from_cluster:
                while not await _is_served(client):
                    await client.clock.sleep(0.1)
                await client.create(STAGES, STAGE)
            pod = await _pod_runs(client)
            assert pod["status"]["message"] == "by a stage"
            assert "containerStatuses" not in pod["status"]
            # Nodes have no stages here: the kubelet says that they are ready, unless all is left to the cluster's.
            assert meta.is_condition_true(await client.get(NODES, "n"), "Ready") is not from_cluster
            task.cancel()

    run_in_yard(story)


async def _is_served(client: Client) -> bool:
    return (await client.request_raw("GET", STAGES.path())).status < 300
