"""Our controllers beside the real ones: the same situations on two control planes, one of them without its own."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.labs import lab_in_process

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.controllers.running import run_controllers
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock, rfc3339
from kubedyno.kit.errors import EngineError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    DEPLOYMENTS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    SERVICE_ACCOUNTS,
    Resource,
    for_object,
)

pytestmark = pytest.mark.local

WITHIN_S = 60.0

UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
SUFFIX = re.compile(r"\b(kube-api-access|[a-z0-9-]+?)-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
REVISION = re.compile(r"\b[bcdfghjklmnpqrstvwxz2456789]{8,10}\b")


def masked(value: Any) -> Any:
    """Without what differs from run to run: uids, times, versions, generated parts of names."""
    if isinstance(value, dict):
        # Items of a list come without their kind, objects of a watch with it.
        unsteady = {"resourceVersion", "managedFields", *(("apiVersion", "kind") if "metadata" in value else ())}
        return {key: masked(entry) for key, entry in sorted(value.items()) if key not in unsteady}
    if isinstance(value, list):
        return [masked(entry) for entry in value]
    if isinstance(value, str):
        text = TIME.sub("<time>", UID.sub("<uid>", value))
        return REVISION.sub("<hash>", SUFFIX.sub(r"\1-*", text))
    return value


class Place:
    """A namespace of one control plane, where a situation plays."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def open(self) -> None:
        await self.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        )
        await self.until(SERVICE_ACCOUNTS, lambda accounts: any(a["metadata"]["name"] == "default" for a in accounts))

    async def create(self, obj: Object) -> Object:
        resource = for_object(obj)
        return await self.client.create(resource, obj, namespace=self.namespace if resource.namespaced else None)

    async def until(
        self, resource: Resource, predicate: Callable[[list[Object]], object], what: str = ""
    ) -> list[Object]:
        namespace = self.namespace if resource.namespaced else None
        async with Informer(self.client, resource, namespace=namespace) as informer:
            await informer.wait_until(
                lambda found: bool(predicate(list(found.items))), timeout_s=WITHIN_S, what=what or resource.plural
            )
            return list(informer.items)

    async def listed(self, resource: Resource) -> list[Object]:
        return (await self.client.list_all(resource, namespace=self.namespace if resource.namespaced else None)).items

    async def end(self, pod: Object, phase: str, *, code: int = 0, **status: Any) -> None:
        """What a kubelet reports when a pod has ended."""
        finished = status.pop("finished", None)
        stamp = finished or now_text()
        containers = [
            {
                "name": container["name"],
                "image": "i",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": {"exitCode": code, "startedAt": stamp, "finishedAt": stamp}},
            }
            for container in pod["spec"]["containers"]
        ]
        await self.client.patch(
            PODS,
            pod["metadata"]["name"],
            {"status": {"phase": phase, "containerStatuses": containers, **status}},
            kind="strategic",
            namespace=self.namespace,
            subresource="status",
        )

    async def events(self) -> list[Any]:
        """What was told, each once: order and times are nobody's promise."""
        found = [
            (
                event["involvedObject"]["kind"],
                masked(event["involvedObject"]["name"]),
                event["type"],
                event["reason"],
                masked(event["message"]),
                event.get("source"),
                event.get("reportingComponent"),
                event.get("count"),
            )
            for event in await self.listed(CORE_EVENTS)
        ]
        return sorted(found, key=str)

    async def objects(self, *resources: Resource) -> dict[str, Any]:
        """All objects of the resources, masked and in an order of their own."""
        found: dict[str, Any] = {}
        for resource in resources:
            found[resource.plural] = sorted((masked(obj) for obj in own(await self.listed(resource))), key=json.dumps)
        return self.anonymous(found)

    async def seen(self, *resources: Resource, told_of: str = "", times: int = 1) -> dict[str, Any]:
        """The objects, and what was told once that reason was told so often, and then nothing more is told."""
        if told_of:
            await self.until(
                CORE_EVENTS, lambda events: sum(event["reason"] == told_of for event in events) >= times, told_of
            )
        told: list[Any] | None = None
        while told != (told := await self.events()):  # noqa: ASYNC110 - that nothing happens is no event
            await asyncio.sleep(1)
        return {**await self.objects(*resources), "events": self.anonymous(told)}

    def anonymous(self, found: Any) -> Any:
        """Without the name of this namespace."""
        return json.loads(json.dumps(found).replace(self.namespace, "<namespace>"))


def now_text() -> str:
    return f"{rfc3339(RealClock().wall_ns())[:19]}Z"


Situation = Callable[[Place], Awaitable[dict[str, Any]]]
SITUATIONS: dict[str, Situation] = {}


def situation(play: Situation) -> Situation:
    SITUATIONS[play.__name__] = play
    return play


def template(**spec: Any) -> Object:
    return {
        "metadata": {"labels": {"app": "x"}, "annotations": {"note": "y"}},
        "spec": {
            "schedulerName": "nobody",
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "i"}],
            **spec,
        },
    }


def job(name: str = "j", /, **spec: Any) -> Object:
    spec.setdefault("template", template())
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def having(count: int) -> Callable[[list[Object]], bool]:
    return lambda found: len(found) == count


def is_finished(jobs: list[Object]) -> bool:
    return any(meta.is_condition_true(item, "Complete") or meta.is_condition_true(item, "Failed") for item in jobs)


async def over(place: Place) -> None:
    """Wait until the Job is finished and that was told."""
    await place.until(JOBS, is_finished)
    await place.until(CORE_EVENTS, lambda events: any(not e["reason"].startswith("Successful") for e in events))


def index(pod: Object) -> str:
    return meta.annotations(pod)["batch.kubernetes.io/job-completion-index"]


def unfinished(pods: list[Object]) -> list[Object]:
    return [pod for pod in pods if pod["status"]["phase"] == "Pending"]


@situation
async def a_job_completes(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=2, completions=3))
    for pod in await place.until(PODS, having(2)):
        await place.end(pod, "Succeeded")
    pods = await place.until(PODS, having(3))
    started = await place.until(JOBS, lambda jobs: jobs[0]["status"].get("succeeded") == 2)
    await place.end(unfinished(pods)[0], "Succeeded")
    await over(place)
    return {"between": masked(started[0]["status"]), **await place.seen(JOBS, PODS)}


@situation
async def a_work_queue_is_done_with_its_first_success(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=2))
    first, second = await place.until(PODS, having(2))
    await place.end(first, "Succeeded")
    await place.until(JOBS, lambda jobs: jobs[0]["status"].get("succeeded") == 1)
    await place.end(second, "Failed", code=1)
    await over(place)
    return await place.seen(JOBS, PODS)


@situation
async def an_indexed_job_completes(place: Place) -> dict[str, Any]:
    await place.create(
        job(
            parallelism=3,
            completions=3,
            completionMode="Indexed",
            template=template(initContainers=[{"name": "init", "image": "i"}]),
        )
    )
    pods = sorted(await place.until(PODS, having(3)), key=index)
    bodies = masked(pods)
    await place.end(pods[2], "Succeeded")
    await place.end(pods[0], "Succeeded")
    between = await place.until(JOBS, lambda jobs: jobs[0]["status"].get("completedIndexes") == "0,2")
    await place.end(pods[1], "Succeeded")
    await over(place)
    return {"bodies": bodies, "between": masked(between[0]["status"]), **await place.seen(JOBS, PODS)}


@situation
async def a_job_fails_by_its_backoff_limit(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=2, completions=2, backoffLimit=0))
    first, _ = await place.until(PODS, having(2))
    await place.end(first, "Failed", code=3)
    await over(place)
    return await place.seen(JOBS, PODS)


@situation
async def a_failed_pod_is_replaced_after_a_while(place: Place) -> dict[str, Any]:
    await place.create(job(backoffLimit=2))
    (pod,) = await place.until(PODS, having(1))
    # Finished a while ago: what is left of the ten seconds is short.
    await place.end(pod, "Failed", code=1, finished="2026-01-01T00:00:00Z")
    pods = await place.until(PODS, having(2))
    await place.end(unfinished(pods)[0], "Succeeded")
    await over(place)
    return await place.seen(JOBS, PODS)


@situation
async def a_job_is_over_at_its_deadline(place: Place) -> dict[str, Any]:
    await place.create(job(activeDeadlineSeconds=2))
    await over(place)
    return await place.seen(JOBS, PODS)


@situation
async def a_job_is_suspended_and_resumed(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=2, completions=2))
    await place.until(PODS, having(2))
    await place.until(JOBS, lambda jobs: jobs[0]["status"].get("active") == 2)
    await place.client.patch(JOBS, "j", {"spec": {"suspend": True}}, kind="merge", namespace=place.namespace)
    await place.until(PODS, having(0))
    await place.until(JOBS, lambda jobs: meta.is_condition_true(jobs[0], "Suspended"))
    # The count of terminating pods follows a moment later.
    suspended = await place.until(JOBS, lambda jobs: jobs[0]["status"].get("terminating") == 0)
    await place.client.patch(JOBS, "j", {"spec": {"suspend": False}}, kind="merge", namespace=place.namespace)
    for pod in await place.until(PODS, having(2)):
        await place.end(pod, "Succeeded")
    await over(place)
    return {"suspended": masked(suspended[0]["status"]), **await place.seen(JOBS, PODS)}


@situation
async def a_job_is_born_suspended(place: Place) -> dict[str, Any]:
    await place.create(job(suspend=True))
    await place.until(JOBS, lambda jobs: meta.is_condition_true(jobs[0], "Suspended"))
    return await place.seen(JOBS, PODS, told_of="Suspended")


@situation
async def a_failure_policy_fails_the_job(place: Place) -> dict[str, Any]:
    rules = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
    ]
    await place.create(job(parallelism=2, completions=2, podFailurePolicy={"rules": rules}))
    pods = await place.until(PODS, having(2))
    await place.end(
        pods[0],
        "Failed",
        code=1,
        finished="2026-01-01T00:00:00Z",
        conditions=[{"type": "DisruptionTarget", "status": "True"}],
    )
    pods = await place.until(PODS, having(3))
    await place.until(JOBS, lambda jobs: jobs[0]["status"].get("active") == 2)
    between = await place.listed(JOBS)
    await place.end(unfinished(pods)[0], "Failed", code=42)
    await over(place)
    return {"between": masked(between[0]["status"]), **await place.seen(JOBS, PODS)}


@situation
async def a_limit_per_index(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=2, completions=2, completionMode="Indexed", backoffLimitPerIndex=1))
    pods = sorted(await place.until(PODS, having(2)), key=index)
    await place.end(pods[1], "Succeeded")
    await place.end(pods[0], "Failed", code=1, finished="2026-01-01T00:00:00Z")
    pods = await place.until(PODS, having(3))
    (again,) = unfinished(pods)
    body = masked(again)
    await place.end(again, "Failed", code=1)
    await over(place)
    return {"body": body, **await place.seen(JOBS, PODS)}


@situation
async def an_index_fails_by_policy_and_too_many_are_failed(place: Place) -> dict[str, Any]:
    rules = [{"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 2]}}]
    await place.create(
        job(
            parallelism=3,
            completions=3,
            completionMode="Indexed",
            backoffLimitPerIndex=3,
            maxFailedIndexes=0,
            podFailurePolicy={"rules": rules},
        )
    )
    pods = sorted(await place.until(PODS, having(3)), key=index)
    await place.end(pods[1], "Failed", code=7)
    await over(place)
    return await place.seen(JOBS, PODS)


@situation
async def a_success_policy_ends_the_job_early(place: Place) -> dict[str, Any]:
    rules = [{"succeededIndexes": "1-2", "succeededCount": 1}]
    await place.create(job(parallelism=3, completions=3, completionMode="Indexed", successPolicy={"rules": rules}))
    pods = sorted(await place.until(PODS, having(3)), key=index)
    await place.end(pods[2], "Succeeded")
    await over(place)
    return await place.seen(JOBS, PODS)


@situation
async def parallelism_is_lowered(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=3, completions=3))
    await place.until(PODS, having(3))
    await place.until(JOBS, lambda jobs: jobs[0]["status"].get("active") == 3)
    await place.client.patch(JOBS, "j", {"spec": {"parallelism": 1}}, kind="merge", namespace=place.namespace)
    await place.until(PODS, having(1))
    await place.until(JOBS, lambda jobs: jobs[0]["status"].get("terminating") == 0)
    return await place.seen(JOBS, PODS)


@situation
async def a_job_finds_its_quota_used_up(place: Place) -> dict[str, Any]:
    await place.create(
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"count/pods": "0"}}}
    )
    await place.until(RESOURCE_QUOTAS, lambda found: found[0].get("status", {}).get("used"))
    await place.create(job())
    await place.until(CORE_EVENTS, lambda events: any(event["reason"] == "FailedCreate" for event in events))
    told = {masked(event["message"]) for event in await place.listed(CORE_EVENTS)}
    return {"told": sorted(told), **await place.objects(JOBS, PODS)}


def config(name: str, *owners: Object, block: bool = True, **metadata: Any) -> Object:
    references = [
        {
            "apiVersion": owner.get("apiVersion", "v1"),
            "kind": owner.get("kind", "ConfigMap"),
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": references, **metadata},
    }


def own(configs: list[Object]) -> list[Object]:
    return [entry for entry in configs if entry["metadata"]["name"] != "kube-root-ca.crt"]


def by_name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def names(objects: list[Object]) -> list[str]:
    return sorted(entry["metadata"]["name"] for entry in own(objects))


async def free(place: Place, name: str) -> None:
    """Take all finalizers from a ConfigMap."""
    await place.client.patch(
        CONFIG_MAPS, name, {"metadata": {"finalizers": None}}, kind="merge", namespace=place.namespace
    )


@situation
async def dependents_follow_the_last_of_their_owners(place: Place) -> dict[str, Any]:
    first, second = await place.create(config("first")), await place.create(config("second"))
    child = await place.create(config("child", first))
    await place.create(config("grandchild", child))
    await place.create(config("shared", first, second))
    await place.client.delete(CONFIG_MAPS, "first", namespace=place.namespace, propagation="Background")
    await place.until(
        CONFIG_MAPS,
        lambda found: (
            names(found) == ["second", "shared"]
            and all(len(meta.owner_references(entry)) == 1 for entry in found if entry["metadata"]["name"] == "shared")
        ),
    )
    return await place.seen(CONFIG_MAPS)


@situation
async def what_names_an_owner_that_never_was_is_deleted(place: Place) -> dict[str, Any]:
    nobody = {"metadata": {"name": "nobody", "uid": "11111111-2222-3333-4444-555555555555"}}
    owner = await place.create(config("owner"))
    await place.create(config("lost", nobody))
    await place.create(config("half-lost", nobody, owner))
    await place.until(
        CONFIG_MAPS,
        lambda found: (
            names(found) == ["half-lost", "owner"] and all(len(meta.owner_references(entry)) < 2 for entry in found)
        ),
    )
    return await place.seen(CONFIG_MAPS)


@situation
async def an_owner_waits_for_the_dependents_that_block_it(place: Place) -> dict[str, Any]:
    owner = await place.create(config("owner"))
    held = await place.create(config("held", owner, finalizers=["example.com/held"]))
    await place.create(config("under-held", held))
    await place.create(config("free", owner))
    await place.create(config("not-blocking", owner, block=False, finalizers=["example.com/held"]))
    await place.client.delete(CONFIG_MAPS, "owner", namespace=place.namespace, propagation="Foreground")
    await place.until(
        CONFIG_MAPS,
        lambda found: (
            names(found) == ["held", "not-blocking", "owner"]
            and all("deletionTimestamp" in entry["metadata"] for entry in own(found))
            and all(
                entry["metadata"]["finalizers"] == ["example.com/held"]
                for entry in own(found)
                if entry["metadata"]["name"] != "owner"
            )
        ),
    )
    between = await place.objects(CONFIG_MAPS)
    await free(place, "held")
    await place.until(CONFIG_MAPS, lambda found: names(found) == ["not-blocking"])
    after = await place.seen(CONFIG_MAPS)
    await free(place, "not-blocking")
    return {"between": between, "after": after}


@situation
async def orphans_stay(place: Place) -> dict[str, Any]:
    owner = await place.create(config("owner"))
    await place.create(config("child", owner))
    await place.client.delete(CONFIG_MAPS, "owner", namespace=place.namespace, propagation="Orphan")
    await place.until(CONFIG_MAPS, lambda found: names(found) == ["child"])
    return await place.seen(CONFIG_MAPS)


@situation
async def a_deleted_job_takes_its_pods_along(place: Place) -> dict[str, Any]:
    await place.create(job(parallelism=3, completions=3))
    pods = await place.until(PODS, having(3))
    await place.end(pods[0], "Succeeded")
    await place.client.delete(JOBS, "j", namespace=place.namespace, propagation="Foreground")
    await place.until(PODS, having(0))
    await place.until(JOBS, having(0))
    return await place.seen(JOBS, PODS)


@situation
async def a_finished_job_goes_after_its_time_to_live(place: Place) -> dict[str, Any]:
    await place.create(job(ttlSecondsAfterFinished=1))
    (pod,) = await place.until(PODS, having(1))
    await place.end(pod, "Succeeded")
    await place.until(JOBS, having(0))
    await place.until(PODS, having(0))
    return await place.seen(JOBS, PODS)


@situation
async def a_namespace_goes_with_all_it_has(place: Place) -> dict[str, Any]:
    await place.create(config("held", finalizers=["example.com/held"]))
    await place.create(config("free"))
    await place.create(job())
    await place.until(PODS, having(1))
    await place.client.delete(NAMESPACES, place.namespace)

    def mine(found: list[Object]) -> list[Object]:
        return [entry for entry in found if entry["metadata"]["name"] == place.namespace]

    found = await place.until(
        NAMESPACES,
        lambda found: any(meta.is_condition_true(entry, "NamespaceContentRemaining") for entry in mine(found)),
    )
    between = masked(mine(found))
    await free(place, "held")
    await place.until(NAMESPACES, lambda found: not mine(found))
    return place.anonymous({"between": between})


def node(name: str, *, ready: str = "True") -> Object:
    stamp = now_text()
    conditions = [
        {"type": type_, "status": status, "lastHeartbeatTime": stamp, "lastTransitionTime": stamp, "reason": "Told"}
        for type_, status in (("MemoryPressure", "False"), ("Ready", ready))
    ]
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"conditions": conditions, "capacity": {"cpu": "8", "pods": "10"}},
    }


def lease(name: str) -> Object:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 4, "renewTime": rfc3339(RealClock().wall_ns())},
    }


async def renewing(client: Client, name: str) -> None:
    """What a kubelet that lives does."""
    while True:
        await client.apply(lease(name), field_manager="kubelet", force=True)
        await asyncio.sleep(0.7)


def tainted(nodes: list[Object], name: str) -> list[tuple[str, str]]:
    return [
        (taint["key"], taint["effect"])
        for entry in nodes
        if entry["metadata"]["name"] == name
        for taint in entry["spec"].get("taints") or ()
    ]


def bound(name: str, node_name: str, *tolerations: Object) -> Object:
    spec = {"nodeName": node_name, "containers": [{"name": "main", "image": "i"}], "tolerations": list(tolerations)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@situation
async def a_node_is_lost_and_comes_back(place: Place) -> dict[str, Any]:
    client = place.client
    async with tasks.owning() as group:
        alive = group.create_task(renewing(client, "stays"))
        try:
            await client.create(NODES, node("stays"))
            await client.create(NODES, node("goes"))
            await place.until(NODES, lambda nodes: not tainted(nodes, "goes") and not tainted(nodes, "stays"))
            seconds = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
            await place.create(bound("soon", "goes", {**seconds, "tolerationSeconds": 1}))
            await place.create(bound("late", "goes"))
            await place.create(bound("never", "goes", {"operator": "Exists"}))
            for name in ("soon", "late", "never"):
                ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
                await client.patch(PODS, name, ready, kind="strategic", namespace=place.namespace, subresource="status")
            nodes = await place.until(NODES, lambda nodes: len(tainted(nodes, "goes")) == 2)
            pods = await place.until(
                PODS,
                lambda pods: (
                    any("deletionTimestamp" in pod["metadata"] for pod in pods)
                    and all((meta.condition(pod, "Ready") or {}).get("status") == "False" for pod in pods)
                ),
                "the eviction, and that no pod counts as ready",
            )
            lost = masked(sorted(nodes, key=by_name)), masked(sorted(pods, key=by_name))
            again = group.create_task(renewing(client, "goes"))
            stamp = now_text()
            ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": stamp, "lastTransitionTime": stamp}
            await client.patch(
                NODES, "goes", {"status": {"conditions": [ready]}}, kind="strategic", subresource="status"
            )
            nodes = await place.until(NODES, lambda nodes: not tainted(nodes, "goes"))
            await client.patch(NODES, "stays", {"spec": {"unschedulable": True}}, kind="merge")
            nodes = await place.until(NODES, lambda nodes: tainted(nodes, "stays"))
            again.cancel()
        finally:
            alive.cancel()
            for name in ("goes", "stays"):
                await client.delete(NODES, name)
            for name in ("soon", "late", "never"):
                await client.delete(PODS, name, namespace=place.namespace, grace_s=0)
    told = [
        (event["involvedObject"]["name"], event["reason"], event["message"], event["source"])
        for event in (await client.list_all(CORE_EVENTS, namespace="default")).items
        if event["involvedObject"]["name"] in {"goes", "stays"} and event["reason"] != "RemovingNode"
    ]
    found = {"lost": lost, "back": masked(sorted(nodes, key=by_name)), "told": sorted(map(str, told))}
    return place.anonymous({**found, **await place.seen()})


@situation
async def a_pod_that_never_had_a_node_is_ended(place: Place) -> dict[str, Any]:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": ["example.com/held"]}}
    await place.create({**pod, **template()} | {"metadata": pod["metadata"]})
    await place.client.delete(PODS, "p", namespace=place.namespace)
    await place.until(PODS, lambda pods: pods[0]["status"]["phase"] == "Failed")
    seen = await place.seen(PODS)
    await place.client.patch(PODS, "p", {"metadata": {"finalizers": None}}, kind="merge", namespace=place.namespace)
    return seen


def app(kind: str, **spec: Any) -> Object:
    labels = {"app": "x"}
    pods = {"metadata": {"labels": labels}, "spec": {**template()["spec"], "restartPolicy": "Always"}}
    metadata = {"name": "a", "annotations": {"note": "y"}}
    spec = {"selector": {"matchLabels": labels}, "template": pods, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


async def become_ready(place: Place, pods: list[Object]) -> None:
    """What a kubelet reports of pods that run."""
    for pod in pods:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": now_text()}
        await place.client.patch(
            PODS,
            pod["metadata"]["name"],
            {"status": {"phase": "Running", "conditions": [ready]}},
            kind="strategic",
            namespace=place.namespace,
            subresource="status",
        )


def ready_count(objects: list[Object], field: str = "availableReplicas") -> int:
    return sum(entry.get("status", {}).get(field, 0) for entry in objects)


@situation
async def a_replica_set_grows_and_shrinks(place: Place) -> dict[str, Any]:
    orphan = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "orphan", "labels": {"app": "x"}}}
    await place.create({**orphan, "spec": template()["spec"]})
    # A controller that has not heard of it yet makes a pod too many and deletes one again; nobody tells whether it has.
    await asyncio.sleep(1)
    await place.create(app("ReplicaSet", replicas=3))
    pods = await place.until(PODS, having(3))
    await become_ready(place, [pod for pod in pods if pod["metadata"]["name"] == "orphan"])
    await place.until(REPLICA_SETS, lambda sets: ready_count(sets) == 1)
    grown = await place.objects(REPLICA_SETS, PODS)
    await place.client.patch(REPLICA_SETS, "a", {"spec": {"replicas": 1}}, kind="merge", namespace=place.namespace)
    await place.until(PODS, lambda pods: [pod["metadata"]["name"] for pod in pods] == ["orphan"])
    await place.until(
        REPLICA_SETS,
        lambda sets: sets[0]["status"].get("replicas") == 1 and sets[0]["status"].get("terminatingReplicas") == 0,
    )
    return {"grown": grown, **await place.seen(REPLICA_SETS, PODS, told_of="SuccessfulDelete", times=2)}


@situation
async def a_replication_controller_grows_and_shrinks(place: Place) -> dict[str, Any]:
    controller = app("ReplicationController", replicas=3)
    selector = controller["spec"]["selector"]["matchLabels"]
    await place.create({**controller, "apiVersion": "v1", "spec": {**controller["spec"], "selector": selector}})
    pods = await place.until(PODS, having(3))
    await become_ready(place, pods[:1])
    await place.until(REPLICATION_CONTROLLERS, lambda sets: ready_count(sets) == 1)
    grown = await place.objects(REPLICATION_CONTROLLERS, PODS)
    patch = {"spec": {"replicas": 1}}
    await place.client.patch(REPLICATION_CONTROLLERS, "a", patch, kind="merge", namespace=place.namespace)
    await place.until(PODS, lambda left: [meta.key(pod) for pod in left] == [meta.key(pods[0])])
    await place.until(REPLICATION_CONTROLLERS, lambda sets: sets[0]["status"].get("replicas") == 1)
    return {"grown": grown, **await place.seen(REPLICATION_CONTROLLERS, PODS, told_of="SuccessfulDelete", times=2)}


@situation
async def a_deployment_rolls_out_and_is_scaled(place: Place) -> dict[str, Any]:
    await place.create(app("Deployment", replicas=3, revisionHistoryLimit=1))
    await become_ready(place, await place.until(PODS, having(3)))

    def is_complete(found: list[Object]) -> bool:
        progressing = meta.condition(found[0], "Progressing") or {}
        return ready_count(found) == 3 and progressing.get("reason") == "NewReplicaSetAvailable"

    await place.until(DEPLOYMENTS, is_complete)
    first = await place.objects(DEPLOYMENTS, REPLICA_SETS, PODS)

    async def change(image: str) -> None:
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}
        await place.client.patch(DEPLOYMENTS, "a", patch, kind="strategic", namespace=place.namespace)
        revision = (await place.client.get(DEPLOYMENTS, "a", namespace=place.namespace))["metadata"]["generation"]
        done = False
        while not done:
            pods = await place.until(PODS, lambda pods: pods)
            fresh = [pod for pod in pods if pod["status"]["phase"] == "Pending"]
            await become_ready(place, fresh)
            current = await place.client.get(DEPLOYMENTS, "a", namespace=place.namespace)
            status = current["status"]
            done = (
                status.get("observedGeneration") == revision
                and status.get("updatedReplicas") == status.get("replicas") == 3
                and is_complete([current])
            )
            await asyncio.sleep(0.05)

    await change("j")
    second = await place.objects(DEPLOYMENTS, REPLICA_SETS, PODS)
    await change("k")
    await place.until(REPLICA_SETS, having(2))
    await place.client.patch(DEPLOYMENTS, "a", {"spec": {"replicas": 1}}, kind="merge", namespace=place.namespace)
    await place.until(PODS, having(1))
    await place.until(DEPLOYMENTS, lambda found: ready_count(found, "replicas") == 1)
    await place.until(DEPLOYMENTS, lambda found: found[0]["status"].get("terminatingReplicas") == 0)
    return {"first": first, "second": second, **await place.seen(DEPLOYMENTS, REPLICA_SETS, PODS)}


@situation
async def a_deployment_recreates(place: Place) -> dict[str, Any]:
    await place.create(app("Deployment", replicas=2, strategy={"type": "Recreate"}, minReadySeconds=1))
    await become_ready(place, await place.until(PODS, having(2)))
    await place.until(DEPLOYMENTS, lambda found: ready_count(found) == 2)
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "j"}]}}}}
    await place.client.patch(DEPLOYMENTS, "a", patch, kind="strategic", namespace=place.namespace)
    await place.until(
        PODS, lambda pods: len(pods) == 2 and all(pod["spec"]["containers"][0]["image"] == "j" for pod in pods)
    )
    await place.until(DEPLOYMENTS, lambda found: found[0]["status"].get("updatedReplicas") == 2)
    return await place.seen(DEPLOYMENTS, REPLICA_SETS, PODS)


@situation
async def claims_come_from_templates_and_go(place: Place) -> dict[str, Any]:
    wanted = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}
    claim_template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"metadata": {"labels": {"from": "template"}, "annotations": {"a": "b"}}, "spec": wanted},
    }
    pods = {
        name: {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {**template()["spec"], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]},
        }
        for name in ("early", "late")
    }
    await place.create(pods["early"])
    await place.until(CORE_EVENTS, lambda events: any(e["reason"] == "FailedResourceClaimCreation" for e in events))
    told = masked([event["message"] for event in await place.listed(CORE_EVENTS)][:1])
    await place.create(claim_template)
    await place.create(pods["late"])
    await place.until(PODS, lambda found: all(pod["status"].get("resourceClaimStatuses") for pod in found))
    made = await place.until(RESOURCE_CLAIMS, having(2))
    bodies = sorted(masked(made), key=str)
    (claim,) = [entry for entry in made if entry["metadata"]["name"].startswith("late")]
    late = await place.client.get(PODS, "late", namespace=place.namespace)
    claim["status"] = {
        "allocation": {"devices": {}},
        "reservedFor": [{"resource": "pods", "name": "late", "uid": late["metadata"]["uid"]}],
    }
    claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    updated = await place.client.update(RESOURCE_CLAIMS, claim)
    await place.client.update(RESOURCE_CLAIMS, {**updated, "status": claim["status"]}, subresource="status")
    await place.end(late, "Succeeded")
    await place.until(RESOURCE_CLAIMS, having(1))
    seen = {"told": told, "bodies": bodies, "claims": sorted(masked(await place.listed(RESOURCE_CLAIMS)), key=str)}
    seen["pods"] = sorted(masked(await place.listed(PODS)), key=str)
    return place.anonymous(seen)


def budget(name: str, **spec: Any) -> Object:
    spec.setdefault("selector", {"matchLabels": {"app": "x"}})
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}


@situation
async def disruption_budgets_are_counted(place: Place) -> dict[str, Any]:
    for body in (
        budget("share", maxUnavailable="50%"),
        budget("number", minAvailable=1, selector={"matchLabels": {"app": "solo"}}),
        budget("nobody", minAvailable=1, selector={"matchLabels": {"app": "none"}}),
        budget("jobs", maxUnavailable=1, selector={"matchLabels": {"job-name": "j"}}),
    ):
        await place.create(body)
    # A budget whose first look fails has observed no generation, so each must have had its look before the pods come.
    await place.until(
        POD_DISRUPTION_BUDGETS,
        lambda found: [entry.get("status", {}).get("observedGeneration") for entry in found] == [1] * 4,
    )
    await place.create(app("ReplicaSet", replicas=3))
    await place.create(job(template={"metadata": {}, "spec": template()["spec"]}))
    solo = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "solo", "labels": {"app": "solo"}}}
    await place.create({**solo, "spec": template()["spec"]})
    pods = await place.until(PODS, having(5))
    of_set = [pod for pod in pods if pod["metadata"]["name"].startswith("a-")]
    await become_ready(place, of_set[:2])

    def allowed(found: list[Object]) -> dict[str, Any]:
        return {entry["metadata"]["name"]: entry.get("status", {}).get("disruptionsAllowed") for entry in found}

    await place.until(
        POD_DISRUPTION_BUDGETS,
        lambda found: (
            allowed(found) == {"share": 1, "number": 0, "nobody": 0, "jobs": 0}
            and all(entry["status"].get("conditions") for entry in found)
            and any("SyncFailed" in str(entry) for entry in found)
        ),
    )
    # Evicting one uses up the budget until its replacement is ready.
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": of_set[0]["metadata"]["name"]}}
    await place.client.create(
        PODS,
        eviction,
        namespace=place.namespace,
        name=of_set[0]["metadata"]["name"],
        subresource="eviction",
    )
    await place.until(
        POD_DISRUPTION_BUDGETS,
        lambda found: (
            allowed(found) == {"share": 0, "number": 0, "nobody": 0, "jobs": 0}
            and not any(entry["status"].get("disruptedPods") for entry in found)
        ),
    )
    return await place.objects(POD_DISRUPTION_BUDGETS)


@situation
async def a_quota_is_counted_down(place: Place) -> dict[str, Any]:
    hard = {
        "pods": "5",
        "count/pods": "5",
        "requests.cpu": "4",
        "limits.memory": "8Gi",
        "requests.nvidia.com/gpu": "8",
        "count/jobs.batch": "3",
        "configmaps": "10",
    }
    scoped = {"hard": {"pods": "3"}, "scopes": ["BestEffort"]}
    for name, spec in (("q", {"hard": hard}), ("s", scoped)):
        await place.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec})

    def used(found: list[Object], name: str, what: str) -> Any:
        (entry,) = [entry for entry in found if entry["metadata"]["name"] == "q"]
        return entry.get("status", {}).get("used", {}).get(name) == what

    await place.until(RESOURCE_QUOTAS, lambda found: used(found, "pods", "0"))
    resources = {
        "requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "2"},
        "limits": {"memory": "1536Mi", "cpu": "1", "nvidia.com/gpu": "2"},
    }
    spec = {**template()["spec"], "containers": [{"name": "main", "image": "i", "resources": resources}]}
    pods = []
    for name in ("a", "b", "c"):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        pods.append(await place.create(pod))
    full = await place.until(RESOURCE_QUOTAS, lambda found: used(found, "pods", "3"))
    await place.end(pods[0], "Succeeded")
    await place.client.delete(PODS, "b", namespace=place.namespace)
    await place.until(RESOURCE_QUOTAS, lambda found: used(found, "pods", "1") and used(found, "count/pods", "2"))
    return {"full": sorted(masked(full), key=str), **await place.objects(RESOURCE_QUOTAS)}


@situation
async def a_claim_is_bound_to_a_volume_and_protected(place: Place) -> dict[str, Any]:
    for size in ("2Gi", "10Gi"):
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": f"{place.namespace[-20:].strip('-')}-{size.lower()}",
                "labels": {"of": place.namespace},
            },
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/x"},
                "storageClassName": "none",
                "persistentVolumeReclaimPolicy": "Retain",
            },
        }
        await place.client.create(PERSISTENT_VOLUMES, volume)

    def mine(found: list[Object]) -> list[Object]:
        return [entry for entry in found if meta.labels(entry).get("of") == place.namespace]

    phases = {"status": lambda found: sorted(entry.get("status", {}).get("phase") for entry in mine(found))}
    await place.until(PERSISTENT_VOLUMES, lambda found: phases["status"](found) == ["Available", "Available"])
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "none",
            "selector": {"matchLabels": {"of": place.namespace}},
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    await place.create(claim)
    await place.until(PERSISTENT_VOLUME_CLAIMS, lambda found: found[0]["status"].get("phase") == "Bound")
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {**template()["spec"], "volumes": volumes},
    }
    await place.create(pod)
    bound = masked(mine(await place.listed(PERSISTENT_VOLUMES)))
    claims = masked(await place.listed(PERSISTENT_VOLUME_CLAIMS))
    await place.client.delete(PERSISTENT_VOLUME_CLAIMS, "c", namespace=place.namespace)
    await asyncio.sleep(0.5)
    kept = len(await place.listed(PERSISTENT_VOLUME_CLAIMS))
    await place.client.delete(PODS, "p", namespace=place.namespace)
    await place.until(PERSISTENT_VOLUME_CLAIMS, having(0))
    found = await place.until(PERSISTENT_VOLUMES, lambda found: phases["status"](found) == ["Available", "Released"])
    released = masked(mine(found))
    for volume in mine(found):
        await place.client.delete(PERSISTENT_VOLUMES, volume["metadata"]["name"])
    await place.until(PERSISTENT_VOLUMES, lambda found: not mine(found))
    seen = {"bound": bound, "claims": claims, "kept": kept, "released": released}
    return {
        key: sorted(value, key=str) if isinstance(value, list) else value
        for key, value in place.anonymous(seen).items()
    }


AT_ONCE = 12
SLOW = ("namespace", "node", "deployment")

OURS = (
    "job-controller",
    "ttl-after-finished-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "resourceclaim-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "deployment-controller",
    "disruption-controller",
    "resourcequota-controller",
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
)

Outcomes = dict[str, tuple[Any, Any]]


async def played(client: Client, name: str) -> Any:
    """What comes of a situation, or the error that it ended with."""
    place = Place(client, name.replace("_", "-")[:60].rstrip("-"))
    try:
        await place.open()
        return await SITUATIONS[name](place)
    except EngineError as error:
        return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="session")
async def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """All situations on both control planes, side by side: most of their time is waiting."""
    folder = tmp_path_factory.mktemp("controllers")
    # Lost nodes are found quickly, and nobody speaks for them.
    lifecycle = {"node-monitor-grace-period": "4s", "node-monitor-period": "1s"}
    without = {"controllers": ",".join(("*", *(f"-{name}" for name in OURS)))}
    settings = ControllerSettings(node_grace_s=4, node_period_s=1)
    bare: dict[str, Any] = {"scheduler": "none", "kubelet": "none"}
    found: Outcomes = {}
    free_hands = asyncio.Semaphore(AT_ONCE)
    async with (
        lab_in_process(folder / "real", **bare, settings={"kube-controller-manager": lifecycle}) as real,
        lab_in_process(folder / "ours", **bare, settings={"kube-controller-manager": without}) as ours,
        tasks.owning() as group,
    ):
        controllers = group.create_task(
            run_controllers(ours.client, clock=RealClock(), seed=1, settings=settings), name="our controllers"
        )

        async def one(name: str) -> None:
            async with free_hands, asyncio.TaskGroup() as pair:
                runs = [pair.create_task(played(lab.client, name)) for lab in (real, ours)]
            found[name] = (runs[0].result(), runs[1].result())

        async with asyncio.TaskGroup() as plays:
            for name in sorted(SITUATIONS, key=lambda name: not any(part in name for part in SLOW)):
                plays.create_task(one(name), name=name)
        controllers.cancel()
    return found


@pytest.mark.parametrize("name", SITUATIONS)
async def test_our_controllers_do_as_the_real_ones(outcomes: Outcomes, name: str) -> None:
    real, ours = outcomes[name]
    assert isinstance(real, dict), real
    assert ours == real
