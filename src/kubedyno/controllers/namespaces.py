"""Deleting namespaces: their content first, pods before the rest, then the namespace itself."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import Engine
from kubedyno.controllers.podfacts import is_deleting, is_finished
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.serving import Served, served
from kubedyno.controllers.stamps import seconds_since, seconds_text
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, PODS, Resource

COMPONENT = "namespace-controller"

_DELAY_S = 5.0
"""Other API servers may not know yet that nothing may be created there; as in Kubernetes."""

_FINALIZER_ESTIMATE_S = 15
_MOST_RETRY_S = 60.0
_WORKERS = 10
_FINALIZER = "kubernetes"

_HTTP_NOT_ALLOWED = 405

_FINE: Mapping[str, tuple[str, str]] = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Remains(msgspec.Struct):
    """What a round of deletions has left: instances per resource, and per finalizer; and seconds to wait."""

    instances: dict[str, int] = msgspec.field(default_factory=dict)
    finalizers: dict[str, int] = msgspec.field(default_factory=dict)
    failures: list[str] = msgspec.field(default_factory=list)
    estimate_s: int = 0


def conditions(remains: Remains, old: list[dict[str, Any]], *, now_ns: int) -> list[dict[str, Any]]:
    """The conditions of a namespace on its way out; times stay while a status stays."""
    bad: dict[str, tuple[str, str]] = {}
    if remains.failures:
        text = f"Failed to delete all resource types, {len(remains.failures)} remaining: "
        bad["NamespaceDeletionContentFailure"] = (
            "ContentDeletionFailed",
            text + ", ".join(sorted(remains.failures)),
        )
    if remains.instances:
        lines = sorted(f"{name} has {count} resource instances" for name, count in remains.instances.items())
        bad["NamespaceContentRemaining"] = (
            "SomeResourcesRemain",
            f"Some resources are remaining: {', '.join(lines)}",
        )
    if remains.finalizers:
        lines = sorted(f"{name} in {count} resource instances" for name, count in remains.finalizers.items())
        bad["NamespaceFinalizersRemaining"] = (
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {', '.join(lines)}",
        )
    before = {entry["type"]: entry for entry in old}
    wanted = []
    for type_, fine in _FINE.items():
        reason, message = bad.get(type_, fine)
        status = "True" if type_ in bad else "False"
        stamp = seconds_text(now_ns)
        if type_ in before and before[type_]["status"] == status:
            stamp = before[type_]["lastTransitionTime"]
        wanted.append(
            {"type": type_, "status": status, "lastTransitionTime": stamp, "reason": reason, "message": message}
        )
    order = {entry["type"]: position for position, entry in enumerate(old)}
    wanted.sort(key=lambda entry: order.get(entry["type"], len(order)))
    return [entry for entry in old if entry["type"] not in _FINE] + wanted


class NamespaceController:
    """Empties and removes namespaces that are being deleted."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._namespaces = engine.informer(NAMESPACES)
        self._queue: WorkQueue[Key] = engine.queue(most_s=_MOST_RETRY_S)
        self._namespaces.subscribe(self._changed)

    def start(self) -> None:
        """Work off namespaces."""
        self._engine.work(COMPONENT, self._queue, self._sync, workers=_WORKERS)

    def _changed(self, change: Change) -> None:
        if change.new is not None and is_deleting(change.new):
            self._queue.add_after(change.key, _DELAY_S)

    async def _sync(self, key: Key) -> None:
        client, name = self._engine.client, key[1]
        try:
            namespace = await client.get(NAMESPACES, name)
            if not is_deleting(namespace) or not (namespace.get("spec") or {}).get("finalizers"):
                return
            if (namespace.get("status") or {}).get("phase") != "Terminating":
                status = {**(namespace.get("status") or {}), "phase": "Terminating"}
                namespace = await client.update(NAMESPACES, {**namespace, "status": status}, subresource="status")
            remains, reports = await self._delete_content(namespace)
            namespace = await self._report(namespace, remains, reports=reports)
            if remains.failures:
                self._queue.retry(key)
            elif remains.estimate_s:
                self._queue.add_after(key, remains.estimate_s // 2 + 1)
            else:
                left = [entry for entry in namespace["spec"]["finalizers"] if entry != _FINALIZER]
                body = {**namespace, "spec": {**namespace["spec"], "finalizers": left}}
                await client.update(NAMESPACES, body, subresource="finalize")
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def _report(self, namespace: Object, remains: Remains, *, reports: bool) -> Object:
        status = namespace["status"]
        old = status.get("conditions") or []
        told = remains if reports else Remains(failures=remains.failures)
        new = conditions(told, old, now_ns=self._engine.now_ns())
        if new == old:
            return namespace
        body = {**namespace, "status": {**status, "conditions": new}}
        return await self._engine.client.update(NAMESPACES, body, subresource="status")

    async def _delete_content(self, namespace: Object) -> tuple[Remains, bool]:
        """Delete what there is; what is left, and whether that is to be told (not while only pods were tried)."""
        remains = Remains()
        resources = [
            entry
            for entry in await served(self._engine.client)
            if entry.resource.namespaced and "delete" in entry.verbs
        ]
        pods = [entry for entry in resources if entry.resource == PODS]
        for entry in pods:
            await self._delete_all(entry, namespace, remains)
        if remains.instances:
            return remains, False
        for entry in resources:
            if entry.resource != PODS:
                await self._delete_all(entry, namespace, remains)
        return remains, True

    async def _delete_all(self, entry: Served, namespace: Object, remains: Remains) -> None:
        client, resource, name = self._engine.client, entry.resource, namespace["metadata"]["name"]
        listable = "list" in entry.verbs
        try:
            found = (await client.list_all(resource, namespace=name)).items if listable else []
            if not found:
                return
            estimate_s = self._estimate_s(resource, found, namespace)
            await self._delete_found(entry, name, found)
            left = (await client.list_all(resource, namespace=name)).items
        except ApiError as error:
            if not error.is_not_found and error.code != _HTTP_NOT_ALLOWED:
                remains.failures.append(error.message)
            return
        except Unreachable as error:
            remains.failures.append(str(error))
            return
        if not left:
            return
        remains.instances[f"{resource.plural}.{resource.group}"] = len(left)
        holding = 0
        for obj in left:
            for finalizer in obj["metadata"].get("finalizers") or ():
                remains.finalizers[finalizer] = remains.finalizers.get(finalizer, 0) + 1
                holding += 1
        if not estimate_s and holding:
            estimate_s = _FINALIZER_ESTIMATE_S
        if not estimate_s:
            kind = f"{resource.group}/{resource.version}, Resource={resource.plural}"
            remains.failures.append(f"unexpected items still remain in namespace: {name} for gvr: {kind}")
        remains.estimate_s = max(remains.estimate_s, estimate_s)

    async def _delete_found(self, entry: Served, namespace: str, found: list[Object]) -> None:
        client = self._engine.client
        if "deletecollection" in entry.verbs:
            await client.delete_collection(entry.resource, namespace=namespace, propagation="Background")
            return
        for obj in found:
            try:
                await client.delete(entry.resource, meta.key(obj)[1], namespace=namespace, propagation="Background")
            except ApiError as error:
                if not error.is_not_found:
                    raise

    def _estimate_s(self, resource: Resource, found: list[Object], namespace: Object) -> int:
        """Seconds that pods may still take to end; none once that time has passed."""
        if resource != PODS:
            return 0
        graces = [pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in found if not is_finished(pod)]
        estimate_s = max(graces, default=0)
        passed_s = seconds_since(namespace["metadata"]["deletionTimestamp"], self._engine.now_ns())
        return estimate_s if passed_s < estimate_s else 0
