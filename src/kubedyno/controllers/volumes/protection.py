"""Claims that pods use, and volumes that claims use, are kept by a finalizer until nobody does."""

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Informer, Key
from kubedyno.controllers.engine import BY_VOLUME_CLAIM, Engine
from kubedyno.controllers.podfacts import has_finalizer, is_deleting, is_finished, volume_claims
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS, Resource

COMPONENT = "volume protection"

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


def is_claim_free(users: list[Object]) -> bool:
    """Whether no pod that uses the claim is on a node: a kubelet starts none with a claim that is going away."""
    return all(is_finished(pod) or not pod["spec"].get("nodeName") for pod in users)


class ProtectionController:
    """Removes the finalizers of claims and volumes that are deleted and not used."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pods = engine.informer(PODS)
        self._claims = engine.informer(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = engine.informer(PERSISTENT_VOLUMES)
        self._queue: WorkQueue[tuple[Resource, Key]] = engine.queue()
        self._claims.subscribe(lambda change: self._changed(PERSISTENT_VOLUME_CLAIMS, change))
        self._volumes.subscribe(lambda change: self._changed(PERSISTENT_VOLUMES, change))
        self._pods.subscribe(self._pod_changed)

    def start(self) -> None:
        """Work off claims and volumes."""
        self._engine.work(COMPONENT, self._queue, self._sync)

    def _changed(self, resource: Resource, change: Change) -> None:
        if change.new is not None and is_deleting(change.new):
            self._queue.add((resource, change.key))

    def _pod_changed(self, change: Change) -> None:
        pod = change.object
        if change.new is None or is_finished(pod) or is_deleting(pod):
            for used in volume_claims(pod):
                namespace, _, claim = used.partition("/")
                self._queue.add((PERSISTENT_VOLUME_CLAIMS, (namespace, claim)))

    async def _sync(self, item: tuple[Resource, Key]) -> None:
        resource, key = item
        informer: Informer = self._claims if resource == PERSISTENT_VOLUME_CLAIMS else self._volumes
        obj = informer.get(key)
        if obj is None or not is_deleting(obj):
            return
        if resource == PERSISTENT_VOLUME_CLAIMS:
            finalizer = CLAIM_FINALIZER
            is_free = is_claim_free(self._pods.by_index(BY_VOLUME_CLAIM, "/".join(key)))
        else:
            finalizer = VOLUME_FINALIZER
            is_free = (obj.get("status") or {}).get("phase") != "Bound"
        if not is_free or not has_finalizer(obj, finalizer):
            return
        left = [entry for entry in obj["metadata"]["finalizers"] if entry != finalizer]
        try:
            await self._engine.client.update(resource, {**obj, "metadata": {**obj["metadata"], "finalizers": left}})
        except ApiError as error:
            if not error.is_not_found:
                raise
