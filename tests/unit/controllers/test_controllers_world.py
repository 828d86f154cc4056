"""All controllers together on the embedded API server, in virtual time."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.controllers.jobs.ledger import TRACKING
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit.clock import rfc3339
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    CRDS,
    DEPLOYMENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
)

pytestmark = pytest.mark.unit

Run = Callable[..., Any]


def template(**spec: Any) -> Object:
    return {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}], **spec},
    }


def job(name: str = "j", /, **spec: Any) -> Object:
    spec.setdefault("template", template())
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def pod(name: str = "p", /, *, labels: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template()["spec"], **spec}}


def config(name: str, *owners: Object, **metadata: Any) -> Object:
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        for owner in owners
    ]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": references, **metadata},
    }


def having(count: int) -> Callable[[list[Object]], bool]:
    return lambda found: len(found) == count


def is_true(type_: str) -> Callable[[list[Object]], bool]:
    return lambda found: any(meta.is_condition_true(entry, type_) for entry in found)


def names(objects: list[Object]) -> list[str]:
    return sorted(entry["metadata"]["name"] for entry in objects)


def pending(pods: list[Object]) -> list[Object]:
    return [entry for entry in pods if entry["status"]["phase"] == "Pending"]


async def run_job(world: Any) -> Object:
    await world.create(job(parallelism=10, completions=25, completionMode="Indexed"))
    for _ in range(25):
        first = pending(await world.until(PODS, pending))[0]
        await world.report(first, "Succeeded")
    (done,) = await world.until(JOBS, is_true("Complete"))
    return done


def test_a_job_of_many_pods_completes(world: Run) -> None:
    status = world(run_job)["status"]
    assert (status["succeeded"], status["completedIndexes"], status["uncountedTerminatedPods"]) == (25, "0-24", {})
    assert [entry["type"] for entry in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert "active" not in status


def test_the_same_seed_gives_the_same_history(digest: Run) -> None:
    assert digest(run_job, 1) == digest(run_job, 1)
    assert digest(run_job, 1) != digest(run_job, 2)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_every_pod_is_counted_once_though_half_of_all_writes_are_lost(world: Run, seed: int) -> None:
    async def play(world: Any) -> tuple[Object, list[Object]]:
        await world.create(job(parallelism=4, completions=8))
        while not is_true("Complete")(await world.listed(JOBS)):
            for entry in pending(await world.listed(PODS)):
                if "deletionTimestamp" not in entry["metadata"]:
                    await world.report(entry, "Succeeded")
            await world.clock.sleep(1)
        (done,) = await world.listed(JOBS)
        return done["status"], await world.until(PODS, lambda pods: all(TRACKING not in finalizers(p) for p in pods))

    status, pods = world(play, losses=0.5, seed=seed)
    assert status["succeeded"] == len([entry for entry in pods if entry["status"]["phase"] == "Succeeded"]) >= 8
    assert status["uncountedTerminatedPods"] == {}
    assert "failed" not in status


def finalizers(obj: Object) -> list[str]:
    return obj["metadata"].get("finalizers") or []


def test_failed_pods_are_replaced_ten_then_twenty_seconds_later(world: Run) -> None:
    async def play(world: Any) -> list[int]:
        await world.create(job(backoffLimit=3))
        moments = []
        for _ in range(3):
            (fresh,) = pending(await world.until(PODS, pending))
            moments.append(round(world.passed_s()))
            await world.report(fresh, "Failed")
            await world.until(PODS, lambda pods: not pending(pods))
        return [later - sooner for sooner, later in itertools.pairwise(moments)]

    # A pod without a finish time counts from its creation, which is written in whole seconds.
    first, second = world(play)
    assert 9 <= first <= 11
    assert 19 <= second <= 21


def test_a_job_fails_at_its_deadline_and_goes_after_its_time_to_live(world: Run) -> None:
    async def play(world: Any) -> tuple[Object, float, float]:
        await world.create(job(activeDeadlineSeconds=100, ttlSecondsAfterFinished=50))
        (failed,) = await world.until(JOBS, is_true("Failed"))
        failed_s = world.passed_s()
        await world.until(JOBS, having(0))
        gone_s = world.passed_s()
        await world.until(PODS, having(0))
        return failed, failed_s, gone_s

    failed, failed_s, gone_s = world(play)
    assert meta.condition(failed, "Failed") == {
        "type": "Failed",
        "status": "True",
        "lastProbeTime": failed["status"]["conditions"][1]["lastProbeTime"],
        "lastTransitionTime": failed["status"]["conditions"][1]["lastTransitionTime"],
        "reason": "DeadlineExceeded",
        "message": "Job was active longer than specified deadline",
    }
    assert 99 <= failed_s <= 103
    assert 48 <= gone_s - failed_s <= 53


def test_a_job_of_a_foreign_controller_is_left_alone(world: Run) -> None:
    async def play(world: Any) -> list[Object]:
        await world.create(job(managedBy="example.com/mine"))
        await world.create(job("ours"))
        return await world.until(PODS, having(1))

    (only,) = world(play)
    assert only["metadata"]["ownerReferences"][0]["name"] == "ours"


def test_pods_of_a_node_that_is_gone_end_after_the_quarantine(world: Run) -> None:
    async def play(world: Any) -> tuple[float, list[Object]]:
        await world.create(pod("lost", nodeName="gone", terminationGracePeriodSeconds=30))
        await world.create(pod("waits"))
        await world.until(PODS, having(1))
        return world.passed_s(), await world.listed(PODS)

    passed_s, left = world(play)
    # Looked at every 20 s: missing at first, then for 40 s.
    assert 40 <= passed_s <= 61
    assert names(left) == ["waits"]


def node(name: str, **labels: str) -> Object:
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"conditions": [{**ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
    }


def taints(nodes: list[Object], name: str) -> list[tuple[str, str]]:
    return [
        (taint["key"].removeprefix("node.kubernetes.io/"), taint["effect"])
        for entry in nodes
        if entry["metadata"]["name"] == name
        for taint in entry["spec"].get("taints") or ()
    ]


async def renew(world: Any, name: str) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "renewTime": rfc3339(world.clock.wall_ns())},
    }
    await world.client.apply(lease, field_manager="kubelet", force=True)


def test_a_silent_node_is_tainted_and_emptied(world: Run) -> None:
    async def play(world: Any) -> tuple[float, float, list[str]]:
        async def heartbeat() -> None:
            while True:
                await renew(world, "alive")
                await world.clock.sleep(10)

        beating = asyncio.create_task(heartbeat())
        for name in ("alive", "silent"):
            await world.create(node(name))
        await world.until(NODES, lambda nodes: not taints(nodes, "alive") and not taints(nodes, "silent"))
        await world.create(pod("evicted", nodeName="silent"))
        await world.create(pod("stays", nodeName="silent", tolerations=[{"operator": "Exists"}]))
        both = [("unreachable", "NoExecute"), ("unreachable", "NoSchedule")]
        await world.until(NODES, lambda nodes: sorted(taints(nodes, "silent")) == both)
        tainted_s = world.passed_s()
        pods = await world.until(PODS, lambda pods: any("deletionTimestamp" in entry["metadata"] for entry in pods))
        beating.cancel()
        return tainted_s, world.passed_s(), names([entry for entry in pods if "deletionTimestamp" in entry["metadata"]])

    tainted_s, evicted_s, evicted = world(play, settings=ControllerSettings(node_grace_s=40))
    assert 40 <= tainted_s <= 51
    assert 299 <= evicted_s - tainted_s <= 302
    assert evicted == ["evicted"]


def test_a_write_of_others_does_not_put_off_that_a_silent_node_is_emptied(
    world: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []
    patch = Client.patch

    async def patch_late(self: Client, resource: Any, name: str, body: Any, **options: Any) -> Object:
        added = (body.get("spec") or {}).get("taints") or ()
        if not refused and any(taint["effect"] == "NoExecute" for taint in added):
            refused.append(name)
            await patch(self, NODES, name, {"metadata": {"annotations": {"somebody": "was faster"}}}, kind="merge")
        return await patch(self, resource, name, body, **options)

    async def play(world: Any) -> float:
        async def heartbeat() -> None:
            while True:
                await renew(world, "alive")
                await world.clock.sleep(10)

        beating = asyncio.create_task(heartbeat())
        for name in ("alive", "silent"):
            await world.create(node(name))
        await world.until(NODES, lambda nodes: ("unreachable", "NoSchedule") in taints(nodes, "silent"))
        begun_s = world.passed_s()
        await world.until(NODES, lambda nodes: ("unreachable", "NoExecute") in taints(nodes, "silent"))
        beating.cancel()
        return float(world.passed_s() - begun_s)

    monkeypatch.setattr(Client, "patch", patch_late)
    assert world(play, settings=ControllerSettings(node_grace_s=40)) <= 1
    assert refused == ["silent"]


def test_no_node_is_emptied_when_all_are_silent(world: Run) -> None:
    async def play(world: Any) -> list[tuple[str, str]]:
        await world.create(node("only"))
        await world.until(NODES, lambda nodes: ("unreachable", "NoSchedule") in taints(nodes, "only"))
        await world.clock.sleep(600)
        return taints(await world.listed(NODES), "only")

    assert world(play) == [("unreachable", "NoSchedule")]


def test_dependents_of_custom_objects_are_collected_too(world: Run) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }

    async def play(world: Any) -> list[str]:
        await world.create(definition)
        await world.until(CRDS, is_true("Established"))
        things = await world.client.resource("example.com/v1", "Thing")
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        made = await world.client.create(things, thing, namespace="default")
        reference = {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": made["metadata"]["uid"]}
        await world.create(config("child", ownerReferences=[reference]))
        keeper = await world.create(config("keeper"))
        await world.client.create(
            things,
            {
                **thing,
                "metadata": {"name": "below", "ownerReferences": config("x", keeper)["metadata"]["ownerReferences"]},
            },
            namespace="default",
        )
        await world.clock.sleep(60)
        await world.client.delete(things, "t", namespace="default")
        await world.until(CONFIG_MAPS, lambda found: names(found) == ["keeper"])
        await world.client.delete(CONFIG_MAPS, "keeper", namespace="default")
        await world.clock.sleep(5)
        left = (await world.client.list_all(things)).items
        await world.client.delete(CRDS, "things.example.com")
        await world.clock.sleep(60)
        await world.create(config("still-alive"))
        return names(left)

    assert world(play) == []


def test_a_namespace_goes_with_its_content_and_gets_its_account_before(world: Run) -> None:
    async def play(world: Any) -> tuple[Object, list[str]]:
        await world.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        await world.until(
            SERVICE_ACCOUNTS, lambda found: any(entry["metadata"]["namespace"] == "team" for entry in found)
        )
        await world.create(job(), namespace="team")
        await world.create(config("held", finalizers=["example.com/held"]), namespace="team")
        await world.until(PODS, having(1))
        await world.client.delete(NAMESPACES, "team")
        found = await world.until(NAMESPACES, is_true("NamespaceContentRemaining"))
        (waiting,) = [entry for entry in found if entry["metadata"]["name"] == "team"]
        await world.client.patch(
            CONFIG_MAPS, "held", {"metadata": {"finalizers": None}}, kind="merge", namespace="team"
        )
        await world.until(NAMESPACES, lambda found: "team" not in names(found))
        return waiting, [entry["metadata"]["namespace"] for entry in await world.listed(SERVICE_ACCOUNTS)]

    waiting, accounts = world(play)
    remaining = meta.condition(waiting, "NamespaceContentRemaining") or {}
    assert remaining["message"] == "Some resources are remaining: configmaps. has 1 resource instances"
    finalizers = meta.condition(waiting, "NamespaceFinalizersRemaining") or {}
    assert finalizers["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
    )
    assert "team" not in accounts


def test_a_deleted_default_account_comes_back(world: Run) -> None:
    async def play(world: Any) -> bool:
        (old,) = [
            entry for entry in await world.listed(SERVICE_ACCOUNTS) if entry["metadata"]["namespace"] == "default"
        ]
        await world.client.delete(SERVICE_ACCOUNTS, "default", namespace="default")
        fresh = await world.until(
            SERVICE_ACCOUNTS,
            lambda found: any(
                entry["metadata"]["namespace"] == "default" and entry["metadata"]["uid"] != old["metadata"]["uid"]
                for entry in found
            ),
        )
        return bool(fresh)

    assert world(play)


STORAGE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "fake.example.com",
    "reclaimPolicy": "Delete",
}


def volume_claim(name: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, **metadata},
        "spec": {
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def test_a_claim_without_a_volume_names_its_provisioner(world: Run) -> None:
    async def play(world: Any) -> tuple[Object, str]:
        await world.create({**STORAGE, "volumeBindingMode": "Immediate"})
        await world.create(volume_claim("c"))
        events = await world.until(
            CORE_EVENTS, lambda events: any(e["reason"] == "ExternalProvisioning" for e in events)
        )
        (claim,) = await world.listed(PERSISTENT_VOLUME_CLAIMS)
        return claim["metadata"]["annotations"], events[-1]["message"]

    annotations, message = world(play)
    assert annotations == {
        "volume.beta.kubernetes.io/storage-provisioner": "fake.example.com",
        "volume.kubernetes.io/storage-provisioner": "fake.example.com",
    }
    assert "'fake.example.com'" in message


def test_a_used_claim_is_kept_until_its_pod_is_gone(world: Run) -> None:
    async def play(world: Any) -> tuple[bool, int]:
        await world.create({**STORAGE, "volumeBindingMode": "Immediate"})
        await world.create(node("n"))
        await world.create(volume_claim("c"))
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
        await world.create(pod("user", nodeName="n", volumes=volumes))
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "c", namespace="default")
        await world.clock.sleep(60)
        (kept,) = await world.listed(PERSISTENT_VOLUME_CLAIMS)
        await world.client.delete(PODS, "user", namespace="default", grace_s=0)
        await world.until(PERSISTENT_VOLUME_CLAIMS, having(0))
        return "deletionTimestamp" in kept["metadata"], len(await world.listed(PERSISTENT_VOLUME_CLAIMS))

    assert world(play) == (True, 0)


def test_a_quota_is_enforced_and_freed(world: Run) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}

    async def play(world: Any) -> tuple[str, str]:
        await world.create(quota)
        await world.until(RESOURCE_QUOTAS, lambda found: found[0].get("status", {}).get("used"))
        first = await world.create(pod("first"))
        with pytest.raises(ApiError) as refused:
            await world.create(pod("second"))
        await world.report(first, "Succeeded")
        await world.until(RESOURCE_QUOTAS, lambda found: found[0]["status"]["used"] == {"pods": "0"})
        second = await world.create(pod("second"))
        return refused.value.message, second["metadata"]["name"]

    assert world(play) == (
        'pods "second" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
        "second",
    )


def test_a_deployment_rolls_from_one_template_to_the_next(world: Run) -> None:
    labels = {"app": "x"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 10,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "old"}]}},
        },
    }

    async def settle(world: Any, image: str) -> int:
        """Let pods become ready one by one; the smallest number that was ready."""
        fewest = 10
        while True:
            pods = [entry for entry in await world.listed(PODS) if "deletionTimestamp" not in entry["metadata"]]
            fewest = min(fewest, sum(meta.is_condition_true(entry, "Ready") for entry in pods))
            fresh = pending(pods)
            if fresh:
                await world.report(fresh[0], "Running", conditions=[{"type": "Ready", "status": "True"}])
            (current,) = await world.listed(DEPLOYMENTS)
            right = [entry for entry in pods if entry["spec"]["containers"][0]["image"] == image]
            if len(right) == len(pods) == current["status"].get("availableReplicas") == 10:
                return fewest
            await world.clock.sleep(0.5)

    async def play(world: Any) -> tuple[int, int, list[tuple[str | None, int]]]:
        await world.create(deployment)
        await settle(world, "old")
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "new"}]}}}}
        await world.client.patch(DEPLOYMENTS, "d", patch, kind="strategic", namespace="default")
        fewest = await settle(world, "new")
        sets = await world.listed(REPLICA_SETS)
        sizes = sorted(
            (meta.annotations(entry)["deployment.kubernetes.io/revision"], entry["spec"]["replicas"]) for entry in sets
        )
        (final,) = await world.until(
            DEPLOYMENTS,
            lambda found: (meta.condition(found[0], "Progressing") or {}).get("reason") == "NewReplicaSetAvailable",
        )
        return fewest, int(meta.annotations(final)["deployment.kubernetes.io/revision"]), sizes

    fewest, revision, sizes = world(play)
    # A quarter of ten may be missing, rounded down.
    assert fewest >= 8
    assert revision == 2
    assert sizes == [("1", 0), ("2", 10)]


def test_a_replication_controller_is_a_replica_set_by_an_older_name(world: Run) -> None:
    labels = {"app": "x"}
    controller = {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "r"},
        "spec": {
            "replicas": 3,
            "selector": labels,
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}},
        },
    }

    async def play(world: Any) -> tuple[list[Object], Object]:
        await world.create(controller)
        made = await world.until(PODS, having(3))
        patch = {"spec": {"replicas": 1}}
        await world.client.patch(REPLICATION_CONTROLLERS, "r", patch, kind="merge", namespace="default")
        await world.until(PODS, having(1))
        (left,) = await world.until(REPLICATION_CONTROLLERS, lambda found: found[0]["status"].get("replicas") == 1)
        return made, left["status"]

    made, status = world(play)
    owners = [(owner["apiVersion"], owner["kind"]) for pod in made for owner in pod["metadata"]["ownerReferences"]]
    assert owners == [("v1", "ReplicationController")] * 3
    assert status == {"replicas": 1, "fullyLabeledReplicas": 1, "observedGeneration": 2}


def test_claims_of_pods_are_made_and_taken_back(world: Run) -> None:
    claim_template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.example.com"}}]}}},
    }

    async def play(world: Any) -> tuple[Object, Object]:
        await world.create(claim_template)
        await world.create(pod("p", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "t"}]))
        (user,) = await world.until(PODS, lambda pods: pods[0]["status"].get("resourceClaimStatuses"))
        (claim,) = await world.listed(RESOURCE_CLAIMS)
        await world.report(user, "Succeeded")
        await world.until(RESOURCE_CLAIMS, having(0))
        return user, claim

    user, claim = world(play)
    assert claim["metadata"]["name"].startswith("p-gpu-")
    assert user["status"]["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": claim["metadata"]["name"]}]
    assert claim["metadata"]["annotations"] == {"resource.kubernetes.io/pod-claim-name": "gpu"}
