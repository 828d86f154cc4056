"""Volume claims in the eyes of the reference scheduler: facts, and whole labs in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests import worlds

from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.controllers.volumes.provisioning import run_provisioner, storage_classes
from kubedyno.kit import tasks
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    SERVICE_ACCOUNTS,
    STORAGE_CLASSES,
)
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.running import schedule
from kubedyno.schedulers.reference.volumes import NO_VOLUME, UNBOUND, Wishes, claims_of, wishes_of
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

pytestmark = pytest.mark.unit

SELECTED = "volume.kubernetes.io/selected-node"

CLASSES = {
    ("", "now"): {"volumeBindingMode": "Immediate"},
    ("", "later"): {"volumeBindingMode": "WaitForFirstConsumer"},
}
ON_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "host", "operator": "In", "values": ["a"]}]}]}
VOLUMES = {("", "v"): {"spec": {}}, ("", "local"): {"spec": {"nodeAffinity": {"required": ON_A}}}}


def claim(kind: str = "now", *, volume: str = "", phase: str = "Pending", **metadata: Any) -> Object:
    spec = {"storageClassName": kind, **({"volumeName": volume} if volume else {})}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("found", "wishes"),
    [
        (None, Wishes('persistentvolumeclaim "c" not found')),
        (claim(deletionTimestamp="now"), Wishes('persistentvolumeclaim "c" is being deleted')),
        (claim(), Wishes(UNBOUND)),
        (claim("nowhere"), Wishes(UNBOUND)),
        (claim("later", volume="v"), Wishes(UNBOUND)),
        (claim(volume="v", phase="Bound"), Wishes()),
        (claim(volume="gone", phase="Lost"), Wishes(NO_VOLUME)),
        (claim(volume="local", phase="Bound"), Wishes("", (msgspec.json.encode(ON_A),))),
        (claim("later"), Wishes("", (), (("n", "c"),))),
    ],
)
def test_what_a_claim_asks_for(found: Object | None, wishes: Wishes) -> None:
    asked = wishes_of([("n", "c")], claim=lambda _: found, volume=VOLUMES.get, storage_class=CLASSES.get)
    assert asked == wishes


def test_a_claim_that_knows_its_node_wants_that_one() -> None:
    found = claim("later", annotations={SELECTED: "b"})
    asked = wishes_of([("n", "c")], claim=lambda _: found, volume=VOLUMES.get, storage_class=CLASSES.get)
    a, b = ({"metadata": {"name": name, "labels": {"host": name}}} for name in ("a", "b"))
    assert (fitting.reaches(a, asked.nodes), fitting.reaches(b, asked.nodes)) == (False, True)
    local = (msgspec.json.encode(ON_A),)
    assert (fitting.reaches(a, local), fitting.reaches(b, local)) == (True, False)


def test_the_claims_of_a_pod() -> None:
    volumes = [{"name": "x", "emptyDir": {}}, {"name": "y", "persistentVolumeClaim": {"claimName": "c"}}]
    assert claims_of({"metadata": {"namespace": "n"}, "spec": {"volumes": volumes}}) == (("n", "c"),)


class World(worlds.World):
    async def create(self, obj: Object) -> Object:
        resource = await self.client.resource_of(obj)
        return await self.client.create(resource, obj, namespace="default" if resource.namespaced else None)


def played(play: Callable[[World], Awaitable[Any]], *, provisioner: bool = True) -> Any:
    """A world of three nodes with the reference scheduler."""

    async def main() -> Any:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock, cost_s=0.001), clock=clock)
        world = World(client, clock)
        async with tasks.owning() as group:
            running = [
                run_controllers(client, clock=clock, seed=1, settings=ControllerSettings()),
                schedule(client, clock=clock, seed=1, cycle_s=0.01),
                *([run_provisioner(client, clock=clock, seed=1)] if provisioner else []),
            ]
            parts = [group.create_task(part) for part in running]
            await world.until(
                SERVICE_ACCOUNTS, lambda found: any(one["metadata"]["namespace"] == "default" for one in found)
            )
            for kind in storage_classes():
                await world.create(kind)
            for name in ("a", "b", "c"):
                await world.create(node(name))
            outcome = await play(world)
            for part in parts:
                part.cancel()
        return outcome

    return tasks.run(main, virtual=True)


def node(name: str) -> Object:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": None}],
        },
    }


def pod(name: str, *claims: str, gpus: int = 1) -> Object:
    volumes = [
        {"name": f"v{index}", "persistentVolumeClaim": {"claimName": called}} for index, called in enumerate(claims)
    ]
    tolerations = [{"operator": "Exists"}]
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
    spec = {"containers": [container], "volumes": volumes, "tolerations": tolerations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def wanted(name: str, kind: str, mode: str = "ReadWriteOnce") -> Object:
    spec = {"storageClassName": kind, "accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def are_placed(found: list[Object]) -> bool:
    return bool(found) and all(one["spec"].get("nodeName") for one in found)


def refused(message: str) -> Callable[[list[Object]], bool]:
    def is_refused(found: list[Object]) -> bool:
        told = [meta.condition(one, "PodScheduled") or {} for one in found]
        return bool(told) and all(message in one.get("message", "") for one in told)

    return is_refused


def test_a_pod_waits_for_a_claim_and_for_its_volume() -> None:
    async def play(world: World) -> None:
        await world.create(pod("p", "c"))
        await world.until(PODS, refused('0/3 nodes are available: persistentvolumeclaim "c" not found.'))
        slow = {"metadata": {"annotations": {"kubedyno/delay": "30s"}}}
        await world.client.patch(STORAGE_CLASSES, "kubedyno-immediate", slow, kind="merge")
        await world.create(wanted("c", "kubedyno-immediate"))
        await world.until(PODS, refused("pod has unbound immediate PersistentVolumeClaims"))
        await world.until(PODS, are_placed)

    played(play)


def test_a_claim_that_waits_is_told_the_node_and_the_pod_is_bound_after_it() -> None:
    async def play(world: World) -> tuple[str, str, list[str]]:
        await world.create(wanted("c", "kubedyno-wait"))
        await world.create(pod("p", "c"))
        (placed,) = await world.until(PODS, are_placed)
        (bound,) = (await world.client.list_all(PERSISTENT_VOLUME_CLAIMS)).items
        (volume,) = (await world.client.list_all(PERSISTENT_VOLUMES)).items
        term = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]
        return placed["spec"]["nodeName"], meta.annotations(bound)[SELECTED], term["values"]

    name, selected, values = played(play)
    assert [name] == [selected] == values


def test_pods_of_one_disk_go_to_one_node_and_those_of_a_shared_one_anywhere() -> None:
    async def play(world: World) -> dict[str, set[str]]:
        await world.create(wanted("disk", "kubedyno-wait"))
        await world.create(wanted("shared", "kubedyno-wait", "ReadWriteMany"))
        for index in range(2):
            await world.create(pod(f"disk-{index}", "disk", gpus=3))
            await world.create(pod(f"shared-{index}", "shared", gpus=5))
        found = await world.until(PODS, lambda pods: len(pods) == 4 and are_placed(pods))
        nodes: dict[str, set[str]] = {}
        for one in found:
            nodes.setdefault(one["metadata"]["name"].split("-")[0], set()).add(one["spec"]["nodeName"])
        return nodes

    nodes = played(play)
    assert len(nodes["disk"]) == 1
    assert len(nodes["shared"]) == 2


def test_nobody_waits_for_ever_for_a_volume_that_does_not_come() -> None:
    async def play(world: World) -> tuple[list[str], bool]:
        await world.create(wanted("c", "kubedyno-wait"))
        await world.create(pod("p", "c", gpus=8))
        (told,) = await world.until(PERSISTENT_VOLUME_CLAIMS, lambda found: SELECTED in meta.annotations(found[0]))
        first = meta.annotations(told)[SELECTED]
        await world.until(PERSISTENT_VOLUME_CLAIMS, lambda found: SELECTED not in meta.annotations(found[0]))
        await world.client.delete(NODES, first)
        await world.until(
            PERSISTENT_VOLUME_CLAIMS, lambda found: meta.annotations(found[0]).get(SELECTED, first) != first
        )
        await world.client.delete(PODS, "p", namespace="default", grace_s=0)
        await world.create(pod("other", gpus=8))
        await world.create(pod("another", gpus=8))
        placed = await world.until(PODS, lambda found: len(found) == 2 and are_placed(found))
        return sorted(one["spec"]["nodeName"] for one in placed), world.passed_s() > 600

    nodes, is_late = played(play, provisioner=False)
    assert len(set(nodes)) == 2, "what was set aside for a pod that is gone is free again"
    assert is_late
