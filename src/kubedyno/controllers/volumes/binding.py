"""The volume controller: binds claims to volumes, and asks provisioners for what is missing."""

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import BY_VOLUME_CLAIM, Engine
from kubedyno.controllers.podfacts import is_deleting, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.volumes import matching
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES

COMPONENT = "persistentvolume-controller"

_RESYNC_S = 15.0
"""Claims that wait for a volume are looked at again, as in Kubernetes."""


class VolumeController:
    """Binds claims and volumes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._claims = engine.informer(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = engine.informer(PERSISTENT_VOLUMES)
        self._classes = engine.informer(STORAGE_CLASSES)
        self._claim_queue: WorkQueue[Key] = engine.queue()
        self._volume_queue: WorkQueue[Key] = engine.queue()
        self._claims.subscribe(self._claim_changed)
        self._volumes.subscribe(self._volume_changed)

    def start(self) -> None:
        """Work off claims and volumes; one worker each, so that no volume is given away twice."""
        self._engine.work(f"{COMPONENT} claims", self._claim_queue, self._sync_claim)
        self._engine.work(f"{COMPONENT} volumes", self._volume_queue, self._sync_volume)
        self._engine.every(_RESYNC_S, self._look_again, COMPONENT)

    async def _look_again(self) -> None:
        for claim in self._claims.items:
            if (claim.get("status") or {}).get("phase") != "Bound":
                self._claim_queue.add(meta.key(claim))

    def _claim_changed(self, change: Change) -> None:
        if change.new is not None:
            self._claim_queue.add(change.key)
        volume_name = change.object["spec"].get("volumeName")
        if volume_name:
            self._volume_queue.add(("", volume_name))

    def _volume_changed(self, change: Change) -> None:
        reference = change.object["spec"].get("claimRef")
        if change.new is not None:
            self._volume_queue.add(change.key)
        if reference is not None:
            self._claim_queue.add((reference.get("namespace", ""), reference["name"]))

    async def _sync_claim(self, key: Key) -> None:
        claim = self._claims.get(key)
        if claim is None or is_deleting(claim):
            return
        claim = {**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        if matching.BIND_COMPLETED in meta.annotations(claim):
            volume = self._volumes.get(("", claim["spec"].get("volumeName", "")))
            if volume is None:
                await self._lose(claim)
            elif matching.is_claimed_by(volume, claim):
                await self._finish(claim, volume)
            return
        waits = self._waits_for_consumer(claim)
        volume = matching.find(claim, self._candidates(key))
        if volume is not None and (not waits or volume["spec"].get("claimRef") is not None):
            await self._bind(claim, volume)
        elif claim["spec"].get("volumeName"):
            return
        elif waits:
            text = "waiting for first consumer to be created before binding"
            self._engine.event(COMPONENT, claim, "Normal", "WaitForFirstConsumer", text)
        else:
            await self._ask_provisioner(claim)

    def _candidates(self, key: Key) -> list[Object]:
        """The volumes that are set aside for a claim, and those that are free."""
        return [
            *self._volumes.by_index(BY_VOLUME_CLAIM, "/".join(key)),
            *self._volumes.by_index(BY_VOLUME_CLAIM, matching.FREE),
        ]

    def _class_of(self, claim: Object) -> Object | None:
        return self._classes.get(("", claim["spec"].get("storageClassName") or ""))

    def _waits_for_consumer(self, claim: Object) -> bool:
        storage_class = self._class_of(claim)
        if storage_class is None or storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
            return False
        return matching.SELECTED_NODE not in meta.annotations(claim)

    async def _ask_provisioner(self, claim: Object) -> None:
        """Name the provisioner on the claim: whoever goes by that name makes the volume."""
        storage_class = self._class_of(claim)
        if storage_class is None:
            if not claim["spec"].get("storageClassName"):
                text = "no persistent volumes available for this claim and no storage class is set"
                self._engine.event(COMPONENT, claim, "Normal", "FailedBinding", text)
            else:
                wanted = claim["spec"]["storageClassName"]
                text = f'storageclass.storage.k8s.io "{wanted}" not found'
                self._engine.event(COMPONENT, claim, "Warning", "ProvisioningFailed", text)
            return
        provisioner = storage_class["provisioner"]
        if provisioner == matching.NO_PROVISIONER:
            return
        if meta.annotations(claim).get(matching.PROVISIONER) != provisioner:
            named = dict.fromkeys((matching.BETA_PROVISIONER, matching.PROVISIONER), provisioner)
            metadata = {**claim["metadata"], "annotations": {**meta.annotations(claim), **named}}
            claim = await self._engine.client.update(PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata})
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the "
            "system administrator. If volume creation is delayed, please verify that the provisioner is running and "
            "correctly registered."
        )
        self._engine.event(COMPONENT, claim, "Normal", "ExternalProvisioning", text)

    async def _bind(self, claim: Object, volume: Object) -> None:
        """Volume first, then the claim: a claim that says Bound has its volume for sure."""
        if volume["spec"].get("claimRef") is None or not volume["spec"]["claimRef"].get("uid"):
            annotations = dict(meta.annotations(volume))
            if volume["spec"].get("claimRef") is None:
                annotations[matching.BOUND_BY_US] = "yes"
            metadata = {**volume["metadata"], "annotations": annotations}
            spec = {**volume["spec"], "claimRef": matching.claim_reference(claim)}
            volume = await self._engine.client.update(
                PERSISTENT_VOLUMES, {**volume, "metadata": metadata, "spec": spec}
            )
        await self._set_phase(volume, "Bound")
        annotations = {**meta.annotations(claim), matching.BIND_COMPLETED: "yes"}
        if not claim["spec"].get("volumeName"):
            annotations[matching.BOUND_BY_US] = "yes"
        metadata = {**claim["metadata"], "annotations": annotations}
        spec = {**claim["spec"], "volumeName": name(volume)}
        claim = await self._engine.client.update(
            PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata, "spec": spec}
        )
        await self._finish(claim, volume)

    async def _finish(self, claim: Object, volume: Object) -> None:
        status = {
            **(claim.get("status") or {}),
            "phase": "Bound",
            "accessModes": volume["spec"].get("accessModes") or [],
            "capacity": {"storage": (volume["spec"].get("capacity") or {}).get("storage", "0")},
        }
        if (claim.get("status") or {}).get("phase") != "Bound":
            await self._engine.client.update(
                PERSISTENT_VOLUME_CLAIMS, {**claim, "status": status}, subresource="status"
            )

    async def _lose(self, claim: Object) -> None:
        if (claim.get("status") or {}).get("phase") == "Lost":
            return
        status = {"phase": "Lost"}
        await self._engine.client.update(PERSISTENT_VOLUME_CLAIMS, {**claim, "status": status}, subresource="status")
        text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        self._engine.event(COMPONENT, claim, "Warning", "ClaimLost", text)

    async def _sync_volume(self, key: Key) -> None:
        volume = self._volumes.get(key)
        if volume is None:
            return
        reference = volume["spec"].get("claimRef")
        if reference is None or not reference.get("uid"):
            await self._set_phase(volume, "Available")
            return
        claim = self._claims.get((reference.get("namespace", ""), reference["name"]))
        if claim is not None and uid(claim) == reference["uid"]:
            self._claim_queue.add(meta.key(claim))
            return
        if claim is None and await self._exists(reference):
            return
        volume = await self._set_phase(volume, "Released")
        if matching.PROVISIONED_BY in meta.annotations(volume):
            return  # its provisioner reclaims it
        if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete" and not is_deleting(volume):
            await self._engine.client.delete(PERSISTENT_VOLUMES, name(volume), uid=uid(volume))

    async def _exists(self, reference: Object) -> bool:
        """Whether a claim that we do not know is only too new."""
        try:
            found = await self._engine.client.get(
                PERSISTENT_VOLUME_CLAIMS, reference["name"], namespace=reference["namespace"]
            )
        except ApiError as error:
            if not error.is_not_found:
                raise
            return False
        return bool(uid(found) == reference["uid"])

    async def _set_phase(self, volume: Object, phase: str) -> Object:
        if (volume.get("status") or {}).get("phase") == phase:
            return volume
        body = {**volume, "status": {**(volume.get("status") or {}), "phase": phase}}
        return await self._engine.client.update(PERSISTENT_VOLUMES, body, subresource="status")
