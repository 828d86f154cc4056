"""What the volume claims of a pod ask of its node: pure facts, and the informers they are read from.

A claim that is to be bound at once must be; one that waits for its first consumer is told the node of it.
"""

import random
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack

import msgspec

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.controllers.podfacts import is_deleting, name, uid
from kubedyno.controllers.volumes.matching import SELECTED_NODE
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES

Key = tuple[str, str]
Find = Callable[[Key], Object | None]

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
NO_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class Wishes(msgspec.Struct, frozen=True):
    """What claims ask for."""

    refusal: str = ""
    """Why no node will do now, in kube-scheduler's words; empty: some may."""
    nodes: tuple[bytes, ...] = ()
    """Node selectors as JSON, all of which the node must match."""
    unbound: tuple[Key, ...] = ()
    """Claims that wait to be told the node."""


def claims_of(pod: Object) -> tuple[Key, ...]:
    """The claims that a pod names."""
    namespace = pod["metadata"]["namespace"]
    return tuple(
        (namespace, volume["persistentVolumeClaim"]["claimName"])
        for volume in pod["spec"].get("volumes") or ()
        if "persistentVolumeClaim" in volume
    )


def wishes_of(keys: Iterable[Key], *, claim: Find, volume: Find, storage_class: Find) -> Wishes:
    """What these claims ask for; the first that cannot be had decides."""
    nodes: list[bytes] = []
    unbound: list[Key] = []
    for key in keys:
        found = claim(key)
        if found is None:
            return Wishes(f'persistentvolumeclaim "{key[1]}" not found')
        if is_deleting(found):
            return Wishes(f'persistentvolumeclaim "{key[1]}" is being deleted')
        if (found.get("status") or {}).get("phase") in {"Bound", "Lost"}:
            bound = volume(("", found["spec"].get("volumeName") or ""))
            if bound is None:
                return Wishes(NO_VOLUME)
            required = (bound["spec"].get("nodeAffinity") or {}).get("required")
            if required:
                nodes.append(msgspec.json.encode(required))
            continue
        kind = storage_class(("", found["spec"].get("storageClassName") or ""))
        if kind is None or kind.get("volumeBindingMode") != "WaitForFirstConsumer" or found["spec"].get("volumeName"):
            return Wishes(UNBOUND)
        unbound.append(key)
        chosen = meta.annotations(found).get(SELECTED_NODE)
        if chosen:
            nodes.append(_only(chosen))
    return Wishes("", tuple(dict.fromkeys(nodes)), tuple(unbound))


def _only(node: str) -> bytes:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return msgspec.json.encode({"nodeSelectorTerms": [{"matchFields": [field]}]})


class Volumes:
    """Claims, volumes and classes as they are now; `changed` is called when any of them is news."""

    def __init__(self, client: Client, *, rng: random.Random, changed: Callable[[], None]) -> None:
        self._client = client
        self._claims, self._volumes, self._classes = (
            Informer(client, resource, rng=rng)
            for resource in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES)
        )
        for informer in (self._claims, self._volumes, self._classes):
            informer.subscribe(lambda _change: changed())

    async def follow(self, stack: AsyncExitStack) -> None:
        """Start following; complete afterwards."""
        for informer in (self._claims, self._volumes, self._classes):
            await stack.enter_async_context(informer)

    def wishes(self, keys: Iterable[Key]) -> Wishes:
        """What these claims ask for now."""
        return wishes_of(keys, claim=self._claims.get, volume=self._volumes.get, storage_class=self._classes.get)

    def is_told(self, key: Key) -> bool:
        """Whether a claim knows its consumer's node."""
        found = self._claims.get(key)
        return found is not None and bool(meta.annotations(found).get(SELECTED_NODE))

    async def tell(self, key: Key, node: str | None) -> None:
        """Tell a claim the node of its first consumer, or that it has none any more."""
        found = self._claims.get(key)
        if found is None:
            return
        patch = {"metadata": {"uid": uid(found), "annotations": {SELECTED_NODE: node}}}
        await self._client.patch(PERSISTENT_VOLUME_CLAIMS, name(found), patch, kind="merge", namespace=key[0])
