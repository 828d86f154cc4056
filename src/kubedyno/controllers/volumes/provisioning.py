"""A provisioner that only pretends: it answers claims with volumes that hold nothing, as an external one would.

Whoever binds claims (the real controller-manager, or ours) names a provisioner on a claim; here the volume is made for
it, and taken away when it is released. No driver can run on simulated nodes, so all storage classes of a lab are
served, whatever provisioner they name.
"""

from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.client.rest import Client
from kubedyno.controllers.engine import Engine, operate
from kubedyno.controllers.podfacts import is_deleting, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.settings import ControllerSettings
from kubedyno.controllers.volumes import matching
from kubedyno.kit import draws
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES

NAME: Final = "simulated volume provisioner"
PROVISIONER: Final = "kubedyno/fake"
IMMEDIATE: Final = "kubedyno-immediate"
WAIT: Final = "kubedyno-wait"
DELAY: Final = "kubedyno/delay"
"""Annotation of a storage class: how long a volume takes to be made, `2s` or a distribution; without it, no time."""

_HOSTNAME = "kubernetes.io/hostname"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OF_MANY_NODES = frozenset({"ReadWriteMany", "ReadOnlyMany"})
_WORKERS = 20
_MOST_RETRY_S = 15.0


def storage_classes() -> list[Object]:
    """The classes of a lab: the default one binds at once, the other one when a pod has got a node."""
    modes = {IMMEDIATE: "Immediate", WAIT: "WaitForFirstConsumer"}
    return [
        {
            "apiVersion": STORAGE_CLASSES.api_version,
            "kind": STORAGE_CLASSES.kind,
            "metadata": {"name": called, **({"annotations": {_DEFAULT_CLASS: "true"}} if called == IMMEDIATE else {})},
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": mode,
        }
        for called, mode in modes.items()
    ]


def provisioner_of(claim: Object) -> str | None:
    """Who was asked to make a volume for the claim; None: nobody, or it has one."""
    said = meta.annotations(claim)
    asked = said.get(matching.PROVISIONER) or said.get(matching.BETA_PROVISIONER)
    if not asked or asked == matching.NO_PROVISIONER or is_deleting(claim) or claim["spec"].get("volumeName"):
        return None
    return asked


def is_due(claim: Object, storage_class: Object) -> bool:
    """Whether the volume may be made: one that waits for its first consumer needs that one's node."""
    waits = storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
    return not waits or matching.SELECTED_NODE in meta.annotations(claim)


def delay_s(storage_class: Object, claim: Object, seed: int) -> float:
    """How long the volume takes to be made, the same whenever it is asked; UsageError names the class."""
    text = meta.annotations(storage_class).get(DELAY)
    if text is None:
        return 0.0
    try:
        return draws.Draw.parse(text).at(draws.unit(seed, f"volume of {uid(claim)}"))
    except UsageError as error:
        raise UsageError(f"storage class {name(storage_class)}: annotation {DELAY}: {error}") from None


def is_pinned(claim: Object) -> bool:
    """Whether its volume stays on the node that was selected: one that many nodes may mount is reached from all."""
    return matching.SELECTED_NODE in meta.annotations(claim) and _OF_MANY_NODES.isdisjoint(
        claim["spec"].get("accessModes") or ()
    )


def volume_of(claim: Object, storage_class: Object, *, provisioner: str, node: Object | None) -> Object:
    """The volume for a claim; with a node it can be mounted there only."""
    called = f"pvc-{uid(claim)}"
    spec: Object = {
        "capacity": {"storage": str(matching.wanted_storage(claim))},
        "accessModes": list(claim["spec"].get("accessModes") or ()),
        "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
        "storageClassName": name(storage_class),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
        "claimRef": matching.claim_reference(claim),
    }
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = list(storage_class["mountOptions"])
    if "/" in provisioner:
        # No name of a CSI driver; and what lies on a host needs no attaching, for which a lab has nobody.
        spec["hostPath"] = {"path": f"/var/lib/kubedyno/volumes/{called}", "type": "DirectoryOrCreate"}
    else:
        spec["csi"] = {"driver": provisioner, "volumeHandle": called}
    if node is not None:
        host = {"key": _HOSTNAME, "operator": "In", "values": [meta.labels(node).get(_HOSTNAME, name(node))]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
    metadata = {"name": called, "annotations": {matching.PROVISIONED_BY: provisioner}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}


def is_to_be_deleted(volume: Object) -> bool:
    """Whether a volume that was provisioned is no longer wanted by anybody."""
    return (
        matching.PROVISIONED_BY in meta.annotations(volume)
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and (volume.get("status") or {}).get("phase") == "Released"
        and not is_deleting(volume)
    )


class VolumeProvisioner:
    """Makes volumes for claims that ask for one, and deletes them when they are released."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._claims = engine.informer(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = engine.informer(PERSISTENT_VOLUMES)
        self._classes = engine.informer(STORAGE_CLASSES)
        self._wanted: WorkQueue[Key] = engine.queue(most_s=_MOST_RETRY_S)
        self._released: WorkQueue[Key] = engine.queue(most_s=_MOST_RETRY_S)
        self._due_ns: dict[str, int] = {}
        self._claims.subscribe(self._claim_changed)
        self._volumes.subscribe(self._volume_changed)
        self._classes.subscribe(self._class_changed)

    def start(self) -> None:
        """Work off claims and released volumes."""
        self._engine.work(NAME, self._wanted, self._provision, workers=_WORKERS)
        self._engine.work(f"{NAME} deletions", self._released, self._delete, workers=_WORKERS)

    def _claim_changed(self, change: Change) -> None:
        if change.new is None or provisioner_of(change.new) is None:
            self._due_ns.pop(uid(change.object), None)
        else:
            self._wanted.add(change.key)

    def _volume_changed(self, change: Change) -> None:
        if change.new is not None and is_to_be_deleted(change.new):
            self._released.add(change.key)

    def _class_changed(self, change: Change) -> None:
        """Claims may have come before their class, or before it could be read."""
        for claim in self._claims.items:
            if claim["spec"].get("storageClassName") == change.key[1] and provisioner_of(claim) is not None:
                self._wanted.add(meta.key(claim))

    async def _provision(self, key: Key) -> None:
        claim = self._claims.get(key)
        provisioner = provisioner_of(claim) if claim is not None else None
        if claim is None or provisioner is None or self._volumes.get(("", f"pvc-{uid(claim)}")) is not None:
            return
        claim = {**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        storage_class = self._classes.get(("", claim["spec"].get("storageClassName") or ""))
        if storage_class is None or not is_due(claim, storage_class) or not self._is_time(key, claim, storage_class):
            return
        node = None
        if is_pinned(claim):
            node = await self._selected_node(claim)
            if node is None:
                return
        try:
            volume = await self._engine.client.create(
                PERSISTENT_VOLUMES, volume_of(claim, storage_class, provisioner=provisioner, node=node)
            )
        except ApiError as error:
            if not error.is_already_exists:
                self._tell_failure(claim, provisioner, error.message)
                raise
            return
        text = f"Successfully provisioned volume {name(volume)}"
        self._engine.event(provisioner, claim, "Normal", "ProvisioningSucceeded", text)

    def _is_time(self, key: Key, claim: Object, storage_class: Object) -> bool:
        """Whether the volume's making is over; else it will be looked at then."""
        now_ns = self._engine.clock.monotonic_ns()
        if uid(claim) not in self._due_ns:
            try:
                wait_s = delay_s(storage_class, claim, self._engine.seed)
            except UsageError as error:
                self._tell_failure(claim, storage_class["provisioner"], str(error))
                return False
            self._due_ns[uid(claim)] = now_ns + round(wait_s * NS_PER_S)
        left_ns = self._due_ns[uid(claim)] - now_ns
        if left_ns > 0:
            self._wanted.add_after(key, left_ns / NS_PER_S)
        return left_ns <= 0

    async def _selected_node(self, claim: Object) -> Object | None:
        """The node that the scheduler chose; when that is gone the scheduler is asked to choose again."""
        chosen = meta.annotations(claim)[matching.SELECTED_NODE]
        try:
            return await self._engine.client.get(NODES, chosen)
        except ApiError as error:
            if not error.is_not_found:
                raise
        self._tell_failure(claim, provisioner_of(claim) or NAME, f"selected node {chosen} does not exist")
        patch = {"metadata": {"uid": uid(claim), "annotations": {matching.SELECTED_NODE: None}}}
        namespace, called = meta.key(claim)
        await self._engine.client.patch(PERSISTENT_VOLUME_CLAIMS, called, patch, kind="merge", namespace=namespace)
        return None

    def _tell_failure(self, claim: Object, provisioner: str, why: str) -> None:
        text = f"failed to provision volume: {why}"
        self._engine.event(provisioner, claim, "Warning", "ProvisioningFailed", text)

    async def _delete(self, key: Key) -> None:
        volume = self._volumes.get(key)
        if volume is None or not is_to_be_deleted(volume):
            return
        try:
            await self._engine.client.delete(PERSISTENT_VOLUMES, key[1], uid=uid(volume))
        except ApiError as error:
            if not error.is_not_found:
                raise


async def run_provisioner(client: Client, *, clock: Clock, seed: int) -> None:
    """Provision volumes until cancelled."""
    await operate((VolumeProvisioner,), client, clock=clock, seed=seed, settings=ControllerSettings())
