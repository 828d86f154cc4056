"""Resource claims of pods: made from templates, reserved for pods, and taken back when those are done."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.claimfacts import claim_name, entries
from kubedyno.controllers.engine import BY_CLAIM, BY_CONTROLLER, Engine
from kubedyno.controllers.podfacts import controller_of, is_deleting, is_finished, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS

COMPONENT = "resource_claim"

FINALIZER = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"

_NAME_BASE_CHARS = 57
_RESERVED_AT_MOST = 256
_WORKERS = 10


def is_done(pod: Object) -> bool:
    """Whether a pod needs its claims no longer: it has ended, or was deleted before it had a node."""
    return is_finished(pod) or (is_deleting(pod) and not pod["spec"].get("nodeName"))


def missing(pod: Object, claim: Callable[[str], Object | None]) -> list[dict[str, Any]]:
    """The entries of a pod for which a claim must be made from a template."""
    found = []
    for entry in entries(pod):
        if not entry.get("resourceClaimTemplateName"):
            continue
        statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        if any(status["name"] == entry["name"] and not status.get("resourceClaimName") for status in statuses):
            continue
        made = claim_name(pod, entry)
        if made is None or claim(made) is None:
            found.append(entry)
    return found


def body(pod: Object, entry: Mapping[str, Any], template: Object) -> Object:
    """The claim of a pod's entry as its template has it."""
    pod_name, given = name(pod), entry["name"]
    base = f"{pod_name}-{given}-"
    if len(base) > _NAME_BASE_CHARS:
        # Both parts are cut in proportion.
        kept = [len(part) * _NAME_BASE_CHARS // len(base) for part in (pod_name, given)]
        base = f"{pod_name[: kept[0]]}-{given[: kept[1]]}"
    from_template = template["spec"].get("metadata") or {}
    metadata: Object = {
        "generateName": base,
        "namespace": pod["metadata"]["namespace"],
        "annotations": {**(from_template.get("annotations") or {}), POD_CLAIM_NAME: given},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": pod_name, "uid": uid(pod), "controller": True}],
    }
    if from_template.get("labels"):
        metadata["labels"] = dict(from_template["labels"])
    return {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": metadata,
        "spec": meta.copied(template["spec"]["spec"]),
    }


class Released(msgspec.Struct, frozen=True):
    """What a claim becomes: its status, whether that differs, and whether our finalizer may go."""

    status: Object
    is_changed: bool
    drops_finalizer: bool


def released(claim: Object, is_gone: Callable[[Mapping[str, Any]], bool]) -> Released:
    """Take back reservations of pods that are gone or done; the last one takes the allocation along."""
    status = claim.get("status") or {}
    reserved = status.get("reservedFor") or []
    left = [
        entry for entry in reserved if entry.get("apiGroup") or entry.get("resource") != "pods" or not is_gone(entry)
    ]
    has_finalizer = FINALIZER in (claim["metadata"].get("finalizers") or ())
    frees = not left and has_finalizer and (len(left) < len(reserved) or is_deleting(claim))
    new = {**status, "reservedFor": left}
    if not left:
        del new["reservedFor"]
    if frees:
        new.pop("allocation", None)
    return Released(new, new != status, frees)


class ResourceClaimController:
    """Makes claims from templates, and takes them back."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pods = engine.informer(PODS)
        self._claims = engine.informer(RESOURCE_CLAIMS)
        self._templates = engine.informer(RESOURCE_CLAIM_TEMPLATES)
        self._pod_queue: WorkQueue[Key] = engine.queue()
        self._claim_queue: WorkQueue[Key] = engine.queue()
        self._made: dict[tuple[str, str], Object] = {}
        self._pods.subscribe(self._pod_changed)
        self._claims.subscribe(self._claim_changed)
        self._templates.subscribe(self._template_changed)

    def start(self) -> None:
        """Work off pods and claims."""
        self._engine.work(f"{COMPONENT} pods", self._pod_queue, self._sync_pod, workers=_WORKERS)
        self._engine.work(f"{COMPONENT} claims", self._claim_queue, self._sync_claim, workers=_WORKERS)

    def _pod_changed(self, change: Change) -> None:
        pod = change.object
        if not entries(pod):
            return
        if change.new is None:
            for entry in entries(pod):
                self._made.pop((uid(pod), entry["name"]), None)
        if change.new is None or is_done(pod):
            for entry in entries(pod):
                found = claim_name(pod, entry)
                if found is not None:
                    self._claim_queue.add((change.key[0], found))
        if change.new is not None and not is_deleting(pod):
            self._pod_queue.add(change.key)

    def _claim_changed(self, change: Change) -> None:
        if change.new is not None:
            self._claim_queue.add(change.key)
        for pod in self._pods.by_index(BY_CLAIM, "/".join(change.key)):
            self._pod_queue.add(meta.key(pod))

    def _template_changed(self, change: Change) -> None:
        for pod in self._pods.by_index(BY_CLAIM, f"template {'/'.join(change.key)}"):
            self._pod_queue.add(meta.key(pod))

    async def _sync_pod(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is None or is_deleting(pod):
            return
        fresh: dict[str, str] = {}
        for entry in missing(pod, lambda found: self._known(key[0], found)):
            try:
                fresh[entry["name"]] = name(await self._make(pod, entry))
            except ApiError as error:
                self._tell_failure(pod, entry, error.message)
                raise
            except LookupError as error:
                self._tell_failure(pod, entry, str(error.args[0]))
                self._pod_queue.retry(key)
                return
        if fresh:
            statuses = [{"name": entry, "resourceClaimName": made} for entry, made in fresh.items()]
            await self._engine.client.patch(
                PODS,
                key[1],
                {"metadata": {"uid": uid(pod)}, "status": {"resourceClaimStatuses": statuses}},
                kind="strategic",
                namespace=key[0],
                subresource="status",
            )
        if pod["spec"].get("nodeName"):
            await self._reserve(pod)

    def _known(self, namespace: str, claim: str) -> Object | None:
        return self._claims.get((namespace, claim))

    async def _make(self, pod: Object, entry: Mapping[str, Any]) -> Object:
        """The claim of an entry: the one made before that the pod does not tell yet, else a new one."""
        namespace = pod["metadata"]["namespace"]
        for claim in (*self._claims.by_index(BY_CONTROLLER, uid(pod)), self._made.get((uid(pod), entry["name"]))):
            if claim is not None and meta.annotations(claim).get(POD_CLAIM_NAME) == entry["name"]:
                return claim
        template = self._templates.get((namespace, entry["resourceClaimTemplateName"]))
        if template is None:
            wanted = entry["resourceClaimTemplateName"]
            raise LookupError(
                f'resource claim template "{wanted}": resourceclaimtemplate.resource.k8s.io "{wanted}" not found'
            )
        made = await self._engine.client.create(RESOURCE_CLAIMS, body(pod, entry, template))
        self._made[uid(pod), entry["name"]] = made
        return made

    async def _reserve(self, pod: Object) -> None:
        """A pod that was bound without a scheduler gets its claims reserved, if they are allocated."""
        consumer = {"resource": "pods", "name": name(pod), "uid": uid(pod)}
        for entry in entries(pod):
            claim = self._known(pod["metadata"]["namespace"], claim_name(pod, entry) or "")
            status = (claim or {}).get("status") or {}
            reserved = status.get("reservedFor") or []
            if claim is None or not status.get("allocation") or is_done(pod):
                continue
            if any(other["uid"] == uid(pod) for other in reserved) or len(reserved) >= _RESERVED_AT_MOST:
                continue
            new = {**claim, "status": {**status, "reservedFor": [*reserved, consumer]}}
            await self._engine.client.update(RESOURCE_CLAIMS, new, subresource="status")

    async def _sync_claim(self, key: Key) -> None:
        claim = self._claims.get(key)
        if claim is None:
            return
        unknown = [
            entry
            for entry in (claim.get("status") or {}).get("reservedFor") or ()
            if entry.get("resource") == "pods" and self._pods.get((key[0], entry["name"])) is None
        ]
        # A pod that we do not know yet may be new: only the server can tell.
        live = [entry["uid"] for entry in unknown if await self._lives(key[0], entry)]

        def is_gone(entry: Mapping[str, Any]) -> bool:
            pod = self._pods.get((key[0], entry["name"]))
            if pod is None:
                return entry["uid"] not in live
            return uid(pod) != entry["uid"] or is_done(pod)

        outcome = released(claim, is_gone)
        try:
            current = claim
            if outcome.is_changed:
                new = {**current, "status": outcome.status}
                current = await self._engine.client.update(RESOURCE_CLAIMS, new, subresource="status")
            if outcome.drops_finalizer:
                left = [entry for entry in current["metadata"]["finalizers"] if entry != FINALIZER]
                metadata = {**current["metadata"], "finalizers": left}
                await self._engine.client.update(RESOURCE_CLAIMS, {**current, "metadata": metadata})
            if not outcome.status.get("reservedFor"):
                await self._delete_if_done(claim)
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def _delete_if_done(self, claim: Object) -> None:
        """A claim that was made for a pod goes when that is done, not only when it is gone."""
        owner = controller_of(claim)
        if owner is None or owner["kind"] != "Pod" or is_deleting(claim):
            return
        namespace = claim["metadata"]["namespace"]
        pod = self._pods.get((namespace, owner["name"]))
        if pod is not None and (uid(pod) != owner["uid"] or is_done(pod)):
            await self._engine.client.delete(RESOURCE_CLAIMS, name(claim), namespace=namespace)

    async def _lives(self, namespace: str, entry: Mapping[str, Any]) -> bool:
        try:
            pod = await self._engine.client.get(PODS, entry["name"], namespace=namespace)
        except ApiError as error:
            if not error.is_not_found:
                raise
            return False
        return uid(pod) == str(entry["uid"])

    def _tell_failure(self, pod: Object, entry: Mapping[str, Any], why: str) -> None:
        about = {**pod, "apiVersion": "v1", "kind": "Pod"}
        message = f"PodResourceClaim {entry['name']}: {why}"
        self._engine.event(COMPONENT, about, "Warning", "FailedResourceClaimCreation", message)
