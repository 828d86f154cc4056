"""Devices of dynamic resource allocation: which there are on each node, who has them, and which a claim could have.

Pure. What a request wants is its signature: all requests of one class with the same selectors are counted together.
Devices that belong to no single node, claims with constraints, alternatives or all devices are not understood.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.cel.devices import compile_selector, selectors_match
from kubedyno.kube.cel.errors import CelError
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import is_tolerated
from kubedyno.kube.quantities import Quantity
from kubedyno.schedulers.reference.fitting import CUTTING, DEVICES
from kubedyno.schedulers.reference.jobs import Key

DeviceId = tuple[str, str, str]
"""Driver, pool and name."""

_Counter = tuple[str, str, str, str]
"""Driver, pool, set and name."""


class Request(msgspec.Struct, frozen=True):
    """What a claim wants of one sort."""

    name: str
    device_class: str
    signature: str
    count: int


class ClaimFacts(msgspec.Struct, frozen=True):
    """What is kept of a ResourceClaim."""

    key: Key
    uid: str
    owner: str
    """uid of the pod that it was made for; empty: of none."""
    requests: tuple[Request, ...]
    refusal: str
    """Why it cannot be had, whatever is free; empty: it can."""
    is_allocated: bool
    devices: tuple[DeviceId, ...]
    nodes: bytes
    """Node selector of what is allocated as JSON; empty: none."""
    users: tuple[str, ...]
    """uids of the pods that it is reserved for."""


class _Device(msgspec.Struct, frozen=True):
    id: DeviceId
    written: Object


class Devices:
    """All devices, and who has them."""

    def __init__(self) -> None:
        self.claims: dict[Key, ClaimFacts] = {}
        self.version = 0
        """Goes up when anything may have become free."""
        self._classes: dict[str, Sequence[Object]] = {}
        self._slices: dict[str, Object] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        """Names of slices by node."""
        self._taken: dict[DeviceId, str] = {}
        """uids of claims by device."""
        self._node_of: dict[DeviceId, str] = {}
        self.total = 0
        """How many there are; partitions of others do not count."""
        self._signatures: dict[str, None] = {}
        self._matching: dict[tuple[str, str], tuple[_Device, ...]] = {}
        """By signature and node."""

    # News; each returns the nodes whose amounts may be others now.

    def put_class(self, name: str, found: Object | None) -> Iterable[str]:
        """A DeviceClass is so now; None: it is gone."""
        self.version += 1
        if found is None:
            self._classes.pop(name, None)
        else:
            self._classes[name] = (found.get("spec") or {}).get("selectors") or ()
        self._matching.clear()
        return list(self._on_node)

    def put_slice(self, name: str, found: Object | None) -> Iterable[str]:
        """A ResourceSlice is so now; None: it is gone."""
        self.version += 1
        self.total += _whole(found) - _whole(self._slices.get(name))
        nodes = {_node_of(one) for one in (self._slices.pop(name, None), found) if one is not None}
        for node in nodes:
            self._on_node.get(node, {}).pop(name, None)
        if found is not None:
            self._slices[name] = found
            self._on_node.setdefault(_node_of(found), {})[name] = None
        self._matching = {key: devices for key, devices in self._matching.items() if key[1] not in nodes}
        for node in nodes:
            for device in self._devices(node):
                self._node_of[device.id] = node
        return [node for node in nodes if node]

    def put_claim(self, key: Key, claim: ClaimFacts | None) -> Iterable[str]:
        """A ResourceClaim is so now; None: it is gone."""
        before = self.claims.pop(key, None)
        freed = before.devices if before is not None else ()
        for device in freed:
            self._taken.pop(device, None)
        if claim is not None:
            self.claims[key] = claim
            for device in claim.devices:
                self._taken[device] = claim.uid
        now = claim.devices if claim is not None else ()
        if freed != now:
            self.version += 1
        return {self._node_of.get(device, "") for device in (*freed, *now)} - {""}

    # What there is.

    def has_class(self, name: str) -> bool:
        """Whether there is a DeviceClass of that name."""
        return name in self._classes

    def know(self, signature: str) -> bool:
        """Count a signature from now on; whether it is new."""
        if signature in self._signatures:
            return False
        self._signatures[signature] = None
        return True

    def nodes(self) -> Iterable[str]:
        """Nodes that have devices."""
        return list(self._on_node)

    def amounts(self, node: str) -> dict[str, int]:
        """What is free on a node for each signature that is known, in thousandths."""
        return {f"{DEVICES}{one}": 1000 * len(self._free(one, node, self._taken)) for one in self._signatures}

    def freed(self, devices: Iterable[DeviceId]) -> dict[str, int]:
        """What devices that are taken stand for, signature by signature, in thousandths."""
        given = [(device, self._node_of.get(device, "")) for device in devices]
        found: dict[str, int] = {}
        for signature in self._signatures:
            count = sum(any(one.id == device for one in self._matching_on(signature, node)) for device, node in given)
            if count:
                found[f"{DEVICES}{signature}"] = 1000 * count
        return found

    def picked(self, requests: Sequence[Request], node: str) -> dict[str, tuple[DeviceId, ...]] | None:
        """Devices of a node for all requests of a claim by their names; None: there are not enough."""
        taken = dict(self._taken)
        found: dict[str, tuple[DeviceId, ...]] = {}
        for request in requests:
            free = self._free(request.signature, node, taken)[: request.count]
            if len(free) < request.count:
                return None
            taken.update(dict.fromkeys(free, "picked"))
            found[request.name] = tuple(free)
        return found

    def _free(self, signature: str, node: str, taken: Mapping[DeviceId, str]) -> list[DeviceId]:
        """The devices that can be taken one after another, which counters of shared hardware may limit."""
        left = self._counters(node, taken)
        found: list[DeviceId] = []
        for device in self._matching_on(signature, node):
            if device.id in taken:
                continue
            used = _consumed(device)
            if all(left.get(name, 0) >= amount for name, amount in used.items()):
                for name, amount in used.items():
                    left[name] -= amount
                found.append(device.id)
        return found

    def _counters(self, node: str, taken: Mapping[DeviceId, str]) -> dict[_Counter, int]:
        left: dict[_Counter, int] = {}
        for name in self._on_node.get(node, ()):
            spec = self._slices[name]["spec"]
            for counters in spec.get("sharedCounters") or ():
                for counter, held in counters["counters"].items():
                    key = (spec["driver"], spec["pool"]["name"], counters["name"], counter)
                    left[key] = Quantity.parse(held["value"]).milli()
        if left:
            for device in self._devices(node):
                if device.id in taken:
                    for key, amount in _consumed(device).items():
                        left[key] = left.get(key, 0) - amount
        return left

    def _matching_on(self, signature: str, node: str) -> tuple[_Device, ...]:
        found = self._matching.get((signature, node))
        if found is None:
            found = self._matching[signature, node] = tuple(
                device for device in self._devices(node) if self._is_wanted(signature, device)
            )
        return found

    def _devices(self, node: str) -> Iterable[_Device]:
        """All devices of a node, of the newest generation of each pool."""
        slices = [self._slices[name]["spec"] for name in sorted(self._on_node.get(node, ()))]
        newest: dict[tuple[str, str], int] = {}
        for spec in slices:
            pool = spec["driver"], spec["pool"]["name"]
            newest[pool] = max(newest.get(pool, 0), spec["pool"].get("generation", 0))
        for spec in slices:
            driver, pool_name = spec["driver"], spec["pool"]["name"]
            if spec["pool"].get("generation", 0) == newest[driver, pool_name]:
                for device in spec.get("devices") or ():
                    yield _Device((driver, pool_name, device["name"]), device)

    def _is_wanted(self, signature: str, device: _Device) -> bool:
        wanted = msgspec.json.decode(signature)
        taints = [one for one in device.written.get("taints") or () if one.get("effect") in CUTTING]
        if any(not is_tolerated(taint, wanted["tolerations"]) for taint in taints):
            return False
        of_class = self._classes.get(wanted["class"])
        if of_class is None:
            return False
        try:
            return all(
                selectors_match(owner, [compile_selector(text) for text in texts], device.id[0], device.written)
                for owner, texts in (
                    (f"class {wanted['class']}", [one["cel"]["expression"] for one in of_class if "cel" in one]),
                    ("claim", wanted["selectors"]),
                )
            )
        except CelError:
            return False  # the allocator would fail the pod: for this device at least it is no match


def claim_facts(claim: Object) -> ClaimFacts:
    """What is kept of a ResourceClaim."""
    spec, status = (claim.get("spec") or {}).get("devices") or {}, claim.get("status") or {}
    allocation = status.get("allocation")
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    selector = (allocation or {}).get("nodeSelector")
    requests, refusal = _requests(spec)
    return ClaimFacts(
        meta.key(claim),
        claim["metadata"]["uid"],
        (meta.controller_owner(claim) or {}).get("uid", ""),
        requests,
        refusal,
        allocation is not None,
        tuple((one["driver"], one["pool"], one["device"]) for one in results),
        msgspec.json.encode(selector) if selector else b"",
        tuple(one.get("uid", "") for one in status.get("reservedFor") or ()),
    )


def _requests(spec: Mapping[str, Any]) -> tuple[tuple[Request, ...], str]:
    found: list[Request] = []
    if spec.get("constraints"):
        return (), "claims with constraints are not understood by this scheduler"
    for written in spec.get("requests") or ():
        exactly = written.get("exactly")
        if exactly is None or exactly.get("allocationMode", "ExactCount") != "ExactCount":
            return (), f"request {written.get('name')} of a claim is not understood: it must be for an exact count"
        wanted = {
            "class": exactly.get("deviceClassName"),
            "selectors": [one["cel"]["expression"] for one in exactly.get("selectors") or () if "cel" in one],
            "tolerations": exactly.get("tolerations") or [],
        }
        signature = msgspec.json.encode(wanted).decode()
        count = int(exactly.get("count") or 1)
        found.append(Request(written["name"], exactly.get("deviceClassName") or "", signature, count))
    return tuple(found), ""


def allocation_of(picked: Mapping[str, Sequence[DeviceId]], node: str) -> Object:
    """The `status.allocation` of a claim that gets these devices of a node."""
    results = [
        {"request": request, "driver": driver, "pool": pool, "device": device}
        for request, devices in picked.items()
        for driver, pool, device in devices
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def _node_of(found: Object) -> str:
    return str((found.get("spec") or {}).get("nodeName") or "")


def _whole(found: Object | None) -> int:
    devices = ((found or {}).get("spec") or {}).get("devices") or ()
    return sum(1 for device in devices if not device.get("consumesCounters"))


def _consumed(device: _Device) -> dict[_Counter, int]:
    used: dict[_Counter, int] = {}
    for one in device.written.get("consumesCounters") or ():
        for counter, held in one["counters"].items():
            used[device.id[0], device.id[1], one["counterSet"], counter] = Quantity.parse(held["value"]).milli()
    return used
