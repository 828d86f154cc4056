"""Simulated operators and volumes on the real API server, controller-manager, kube-scheduler and KAI."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.worlds import until

from kubedyno.client.rest import Client
from kubedyno.controllers.operators.kinds import RUNAI_WORKLOADS
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    JOBS,
    KAI_POD_GROUPS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    PYTORCH_JOBS,
    STORAGE_CLASSES,
    Resource,
)
from kubedyno.lab import installing
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local

WITHIN_S = 90.0
SELECTED = "volume.kubernetes.io/selected-node"

Predicate = Callable[[list[Object]], object]


class Place:
    """A namespace of its own on a lab."""

    def __init__(self, client: Client, namespace: str, scheduler: str) -> None:
        self.client = client
        self.namespace = namespace
        self.scheduler = scheduler

    async def create(self, resource: Resource, body: Object) -> Object:
        typed = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        return await self.client.create(resource, typed, namespace=self.namespace if resource.namespaced else None)

    async def until(self, resource: Resource, predicate: Predicate) -> list[Object]:
        """The namespace's objects of a kind once they are as wanted."""

        def own(found: list[Object]) -> list[Object]:
            return [one for one in found if one["metadata"].get("namespace", self.namespace) == self.namespace]

        return own(await until(self.client, resource, lambda found: predicate(own(found)), within_s=WITHIN_S))

    async def delete(self, resource: Resource, name: str, **more: Any) -> None:
        await self.client.delete(resource, name, namespace=self.namespace, **more)

    def template(self, *, gpus: int = 1, claim: str | None = None, duration: str | None = None) -> Object:
        container = {"name": "pytorch", "image": "simulated", "resources": {"limits": {"nvidia.com/gpu": gpus}}}
        spec: Object = {
            "schedulerName": self.scheduler,
            "containers": [container],
            "terminationGracePeriodSeconds": 0,
        }
        if claim is not None:
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        return {"metadata": {"annotations": {"kubedyno/duration": duration} if duration else {}}, "spec": spec}

    async def pytorch_job(self, name: str, *, workers: int, master: bool = False, **template: Any) -> None:
        member = {"restartPolicy": "OnFailure", "template": self.template(**template)}
        members = {"Worker": {"replicas": workers, **member}}
        if master:
            members["Master"] = {"replicas": 1, **member}
        policy = {"cleanPodPolicy": "Running"}
        body = {"metadata": {"name": name}, "spec": {"pytorchReplicaSpecs": members, "runPolicy": policy}}
        await self.create(PYTORCH_JOBS, body)

    async def claim(self, name: str, kind: str | None, mode: str = "ReadWriteOnce") -> None:
        spec: Object = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}}
        if kind is not None:
            spec["storageClassName"] = kind
        await self.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": spec})


@pytest.fixture
async def place(shared_lab: RunningLab, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    name = f"operators-{abs(hash(request.node.name)) % 10**6}"
    await installing.ensure_namespace(shared_lab.client, name)
    yield Place(shared_lab.client, name, "default-scheduler")
    await shared_lab.client.delete(NAMESPACES, name)


def having(count: int) -> Predicate:
    return lambda found: len(found) == count


def all_true(type_: str) -> Predicate:
    return lambda found: found and all(meta.is_condition_true(one, type_) for one in found)


def in_phase(phase: str, count: int | None = None) -> Predicate:
    def are(found: list[Object]) -> bool:
        is_complete = len(found) == count if count is not None else bool(found)
        return is_complete and all((one.get("status") or {}).get("phase") == phase for one in found)

    return are


def names(found: list[Object]) -> list[str]:
    return sorted(one["metadata"]["name"] for one in found)


async def test_a_pytorchjob_runs_survives_an_eviction_and_ends(place: Place) -> None:
    await place.claim("data", None, "ReadWriteMany")
    await place.pytorch_job("j", workers=3, master=True, claim="data")
    pods = await place.until(PODS, in_phase("Running", 4))
    assert names(pods) == ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"]
    await place.until(PYTORCH_JOBS, all_true("Running"))
    old = {one["metadata"]["uid"] for one in pods}
    await place.delete(PODS, "j-worker-1")

    def is_replaced(found: list[Object]) -> bool:
        fresh = [one for one in found if one["metadata"]["uid"] not in old]
        return len(found) == 4 and names(fresh) == ["j-worker-1"] and bool(in_phase("Running", 4)(found))

    await place.until(PODS, is_replaced)
    await place.until(PYTORCH_JOBS, all_true("Running"))
    await place.delete(PYTORCH_JOBS, "j", propagation="Background")
    await place.until(PODS, having(0))


async def test_a_pytorchjob_ends_with_its_master(place: Place) -> None:
    await place.pytorch_job("j", workers=2, master=True, duration="2s")
    (ended,) = await place.until(PYTORCH_JOBS, all_true("Succeeded"))
    assert ended["status"]["conditions"][0]["type"] == "Created"
    assert ended["status"]["replicaStatuses"]["Master"]["succeeded"] == 1
    await place.until(PODS, lambda found: "j-master-0" in names(found) and not _running(found))


def _running(found: list[Object]) -> list[Object]:
    return [one for one in found if one["status"].get("phase") not in {"Succeeded", "Failed"}]


async def test_run_ais_workloads_become_jobs_and_run(place: Place) -> None:
    fields = {"gpu": {"value": "1"}, "schedulerName": {"value": "runai-scheduler"}}
    short = {"annotations": {"items": {"kubedyno/duration": {"value": "3s"}}}}
    for kind in RUNAI_WORKLOADS:
        body = {"metadata": {"name": kind.kind.lower()}, "spec": {**fields, **short, "numWorkers": {"value": 2}}}
        await place.create(kind, body)
    pods = await place.until(PODS, having(5))
    assert {one["spec"]["schedulerName"] for one in pods} == {"default-scheduler"}
    for kind in RUNAI_WORKLOADS:
        (ended,) = await place.until(kind, in_phase("Completed"))
        types = [one["type"] for one in ended["status"]["conditions"]]
        assert types[-1] == "Completed"
    assert names(await place.until(JOBS, having(2))) == ["interactiveworkload", "trainingworkload"]
    for kind in RUNAI_WORKLOADS:
        await place.delete(kind, kind.kind.lower(), propagation="Background")
    for resource in (JOBS, PYTORCH_JOBS, PODS):
        await place.until(resource, having(0))


def volumes_of(place: Place) -> Callable[[list[Object]], list[Object]]:
    return lambda found: [
        one for one in found if (one["spec"].get("claimRef") or {}).get("namespace") == place.namespace
    ]


async def test_a_claim_waits_for_the_node_that_kube_scheduler_selects(place: Place) -> None:
    own = volumes_of(place)
    await place.claim("data", "kubedyno-wait")
    (waiting,) = await place.until(PERSISTENT_VOLUME_CLAIMS, having(1))
    assert SELECTED not in meta.annotations(waiting)
    await place.pytorch_job("j", workers=1, claim="data")
    (pod,) = await place.until(PODS, in_phase("Running", 1))
    (claim,) = await place.until(PERSISTENT_VOLUME_CLAIMS, in_phase("Bound", 1))
    (volume,) = own(await place.until(PERSISTENT_VOLUMES, lambda found: in_phase("Bound", 1)(own(found))))
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == [pod["spec"]["nodeName"]] == [meta.annotations(claim)[SELECTED]]
    await place.delete(PYTORCH_JOBS, "j", propagation="Background")
    await place.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    await place.until(PERSISTENT_VOLUMES, lambda found: not own(found))


async def test_a_kept_volume_is_released_and_a_slow_one_takes_its_time(place: Place) -> None:
    own = volumes_of(place)
    kept = {
        "metadata": {"name": place.namespace, "annotations": {"kubedyno/delay": "2s"}},
        "provisioner": "disk.example.com",
        "reclaimPolicy": "Retain",
    }
    await place.create(STORAGE_CLASSES, kept)
    await place.claim("data", place.namespace)
    await place.until(PERSISTENT_VOLUME_CLAIMS, in_phase("Bound", 1))
    (volume,) = own(await place.until(PERSISTENT_VOLUMES, own))
    assert volume["spec"]["csi"]["driver"] == "disk.example.com"
    await place.delete(PERSISTENT_VOLUME_CLAIMS, "data")
    await place.until(PERSISTENT_VOLUMES, lambda found: in_phase("Released", 1)(own(found)))
    await place.client.delete(PERSISTENT_VOLUMES, volume["metadata"]["name"])
    await place.client.delete(STORAGE_CLASSES, place.namespace)


@pytest.fixture
async def kai(tmp_path: Path) -> AsyncIterator[Place]:
    async with lab_in_process(tmp_path / "lab", scheduler="kai", nodes=4) as lab:
        yield Place(lab.client, "default", "kai-scheduler")


async def test_kai_starts_a_pytorchjob_with_volumes_as_one_gang(kai: Place) -> None:
    await kai.claim("later", "kubedyno-wait", "ReadWriteMany")
    await kai.claim("now", None, "ReadWriteMany")
    await kai.pytorch_job("big", workers=5, gpus=8, claim="now")
    await kai.until(KAI_POD_GROUPS, having(1))
    await kai.pytorch_job("gang", workers=4, gpus=8, claim="later")
    await kai.until(PODS, lambda found: len(_of("gang", found)) == 4 and in_phase("Running")(_of("gang", found)))
    groups = await kai.until(KAI_POD_GROUPS, having(2))
    assert sorted(one["spec"]["minMember"] for one in groups) == [4, 5]
    pods = await kai.until(PODS, having(9))
    assert all(not one["spec"].get("nodeName") for one in _of("big", pods)), "five whole nodes are not there"
    claims = {one["metadata"]["name"]: one for one in await kai.until(PERSISTENT_VOLUME_CLAIMS, in_phase("Bound", 2))}
    nodes = {one["spec"]["nodeName"] for one in _of("gang", pods)}
    assert meta.annotations(claims["later"])[SELECTED] in nodes, "KAI's binder selects the node"
    await kai.delete(PYTORCH_JOBS, "big", propagation="Background")
    await kai.delete(PYTORCH_JOBS, "gang", propagation="Background")
    await kai.until(PODS, having(0))
    distributed = {"gpu": {"value": "8"}, "numWorkers": {"value": 3}}
    await kai.create(RUNAI_WORKLOADS[2], {"metadata": {"name": "d"}, "spec": distributed})
    await kai.until(RUNAI_WORKLOADS[2], in_phase("Running"))
    running = await kai.until(PODS, in_phase("Running", 4))
    assert {one["spec"]["schedulerName"] for one in running} == {"kai-scheduler"}
    groups = await kai.until(KAI_POD_GROUPS, lambda found: [one for one in found if "-d-" in one["metadata"]["name"]])
    (group,) = [one for one in groups if "-d-" in one["metadata"]["name"]]
    assert group["spec"]["minMember"] == 4


def _of(job: str, found: list[Object]) -> list[Object]:
    return [one for one in found if one["metadata"]["name"].startswith(f"{job}-")]
