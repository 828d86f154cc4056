"""Pools, kubelets and the ledger together: what a node says of its machine decides which pods it takes."""

import pytest
from tests.yard import Yard, run_in_yard

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, NODES, PODS
from kubedyno.model.numa.zones import Amount
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa
from kubedyno.sim.pools import Pool, nodes
from kubedyno.sim.simulating import Instruments, Simulation, simulate

pytestmark = pytest.mark.unit

ALIGNED = KubeletSettings(
    topology_manager_policy="single-numa-node", cpu_manager_policy="static", reserved_cpus=2, numa=Numa(sockets=2)
)


async def _ended_up(client: Client, name: str, cpus: int) -> Object:
    """The status of a Guaranteed pod when it is no longer pending."""
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    container = {"name": "c", "image": "example/image", "resources": {"limits": amounts, "requests": amounts}}
    pod = {"metadata": {"name": name}, "spec": {"nodeName": "numa-0", "containers": [container]}}
    await client.create(PODS, pod, namespace="default")
    while True:
        status: Object = (await client.get(PODS, name, namespace="default"))["status"]
        if status.get("phase") != "Pending":
            return status
        await client.clock.sleep(0.1)


def test_a_pod_that_no_numa_node_can_hold_is_refused_and_the_ledger_knows_the_others_place() -> None:
    instruments = Instruments()

    async def story(yard: Yard) -> None:
        client = yard.client
        pool = Pool(name="numa", count=1, kubelet=ALIGNED)
        (node,) = nodes.nodes(pool, now="2026-01-01T00:00:00Z")
        async with tasks.owning() as group:
            task = group.create_task(simulate(client, Simulation(), instruments, clock=yard.clock))
            await client.create(NODES, node)
            assert (await _ended_up(client, "fits", 12))["phase"] == "Running"
            wide = await _ended_up(client, "wide", 18)
            assert (wide["phase"], wide["reason"]) == ("Failed", "TopologyAffinityError")
            assert wide["message"] == "Pod was rejected: Resources cannot be allocated with Topology locality"
            events = (await client.list_all(CORE_EVENTS)).items
            assert [(one["reason"], one["involvedObject"]["name"]) for one in events] == [
                ("TopologyAffinityError", "wide")
            ]
            zones = instruments.fleet.nodes["numa-0"].ledger.zones()
            task.cancel()
            assert {zone: held["cpu"] for zone, held in zones.items()} == {0: Amount(16, 14, 2), 1: Amount(16, 16, 16)}

    run_in_yard(story)
