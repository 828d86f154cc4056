"""Claims for devices: what they ask of a pod's node, and giving them devices there."""

import msgspec

from kubedyno.client.rest import Client
from kubedyno.kit.errors import EngineError
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import RESOURCE_CLAIMS
from kubedyno.schedulers.reference.devices import ClaimFacts, allocation_of
from kubedyno.schedulers.reference.jobs import Key
from kubedyno.schedulers.reference.known import Known
from kubedyno.schedulers.reference.reading import PodFacts


class Asked(msgspec.Struct, frozen=True):
    """What the device claims of a pod ask for."""

    refusal: str = ""
    """Why no node will do now; empty: some may."""
    nodes: tuple[bytes, ...] = ()
    """Node selectors of devices that they have already."""
    devices: tuple[tuple[str, int], ...] = ()
    """Signatures, and how many of each they want."""
    claimed: int = 0
    """How many they have."""


class Claiming:
    """Gives claims their devices."""

    def __init__(self, client: Client, known: Known) -> None:
        self._client = client
        self._known = known
        self._stuck: dict[str, int] = {}
        """Pods by uid whose claims could not be had together, and at which version of all devices."""

    def asked(self, pod: PodFacts) -> Asked:
        """What the claims of a pod ask for now; the first that cannot be had decides."""
        nodes: list[bytes] = []
        devices: dict[str, int] = {}
        claimed = 0
        for key in pod.device_claims:
            claim = self._known.devices.claims.get(key)
            if claim is None or claim.refusal:
                return Asked(claim.refusal if claim is not None else _missing(key))
            if claim.is_allocated:
                claimed += len(claim.devices) if claim.owner == pod.uid else 0
                nodes += [claim.nodes] if claim.nodes else []
                continue
            for request in claim.requests:
                if not self._known.devices.has_class(request.device_class):
                    return Asked(f"request {request.name}: device class {request.device_class} does not exist")
                devices[request.signature] = devices.get(request.signature, 0) + request.count
        if self._stuck.get(pod.uid) == self._known.devices.version:
            return Asked("cannot allocate all claims")
        return Asked("", tuple(nodes), tuple(devices.items()), claimed)

    async def give(self, pod: PodFacts, node: str) -> None:
        """Give the claims of a pod devices of its node, and reserve them for it; an error: they cannot be had."""
        for key in pod.device_claims:
            claim = self._known.devices.claims.get(key)
            if claim is None:
                raise Ungiven(f"resource claim {key[1]} is gone")
            chosen = None if claim.is_allocated else self._chosen(pod, claim, node)
            try:
                await self._write(pod, claim, chosen)
            except BaseException:
                if chosen is not None:
                    self._known.deallocate(pod, claim)
                raise

    def _chosen(self, pod: PodFacts, claim: ClaimFacts, node: str) -> Object:
        """An allocation, which is taken before it is written: others must not choose the same devices meanwhile."""
        picked = self._known.devices.picked(claim.requests, node)
        if picked is None:
            self._stuck[pod.uid] = self._known.devices.version
            raise Ungiven(f"node {node} has too few devices left for resource claim {claim.key[1]}")
        self._stuck.pop(pod.uid, None)
        devices = tuple(device for some in picked.values() for device in some)
        self._known.allocate(pod, msgspec.structs.replace(claim, is_allocated=True, devices=devices))
        return allocation_of(picked, node)

    async def _write(self, pod: PodFacts, claim: ClaimFacts, allocation: Object | None) -> None:
        if allocation is None and pod.uid in claim.users:
            return

        def change(found: Object) -> None:
            if found["metadata"]["uid"] != claim.uid:
                raise Ungiven(f"resource claim {claim.key[1]} is another one by now")
            status = found.setdefault("status", {})
            if allocation is not None:
                if status.get("allocation"):
                    raise Ungiven(f"resource claim {claim.key[1]} has devices already")
                status["allocation"] = allocation
            users = status.setdefault("reservedFor", [])
            if all(one.get("uid") != pod.uid for one in users):
                users.append({"resource": "pods", "name": pod.key[1], "uid": pod.uid})

        namespace, name = claim.key
        await self._client.modify(RESOURCE_CLAIMS, name, change, namespace=namespace, subresource="status")


class Ungiven(EngineError):
    """A claim does not get its devices now."""


def _missing(key: Key) -> str:
    if not key[1]:
        return "waiting for dynamic resource controller to create the resource claim of the pod"
    return f'resourceclaim "{key[1]}" not found'
