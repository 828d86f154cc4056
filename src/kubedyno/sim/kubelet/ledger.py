"""The truth about one node: which pods hold what there.

It is charged when a kubelet takes a pod and refunded when the pod's containers are gone, so that what a scheduler
believes can be held against it. There are thousands of them: what nodes have in common is shared, and an idle one has
next to nothing of its own.
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from sys import intern
from typing import Final

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.model.numa import admission as numa
from kubedyno.model.numa import bits, refusals
from kubedyno.model.numa.admission import Ledger, Rejection
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.overcommitting import overcommitted
from kubedyno.model.numa.zones import Amount, overlaps, zones
from kubedyno.sim.kubelet import admission, recording, unaligned
from kubedyno.sim.kubelet.machines import Build, build_of
from kubedyno.sim.kubelet.requests import OS_LABEL, PODS, Amounts, Needs, needs_of
from kubedyno.sim.kubelet.unaligned import Held

_NO_GPUS: Final[frozenset[int]] = frozenset()
_NO_RECORDS: Final[Mapping[str, Held]] = {}


class Charge(msgspec.Struct, frozen=True):
    """A pod that is charged. `devices` are told here for nodes on which nothing is aligned."""

    namespace: str
    name: str
    needs: Needs
    devices: Held


class Holder(msgspec.Struct, frozen=True):
    """A container that has a device: `3`, or a part of it, `3:1`."""

    namespace: str
    pod: str
    container: str
    device: str


class NodeLedger:
    """What the pods of one node hold."""

    __slots__ = ("_build", "_in_use", "_labels", "_lost", "_name", "_numa", "_pods", "_records", "_strict", "_taints", "_used")  # fmt: skip  # noqa: E501 # one table

    def __init__(self, node: Object, lost: AbstractSet[int] = _NO_GPUS) -> None:
        """The ledger of a node without pods; `lost` are the numbers of its GPUs that are broken.

        UsageError where a kubelet would not start with the node's settings.
        """
        self._build = build_of(node)
        self._numa = self._build.empty
        self._pods: dict[str, Charge] = {}
        self._used: Amounts = {}
        self._in_use: dict[str, Bits] = {}
        self._records = _NO_RECORDS
        self._labels: Mapping[str, str] = {}
        self._lost = _NO_GPUS
        self.update(node, lost)

    def update(self, node: Object, lost: AbstractSet[int] = _NO_GPUS) -> bool:
        """Take over what the node says now; pods that are charged stay, even if there is too little for them.

        Whether what the node has is other than before.
        """
        build, before = build_of(node), self._build
        labels = meta.labels(node)
        if labels and labels.get(OS_LABEL) != "linux":
            # A kubelet knows better than the node's object what it runs on.
            labels = {**labels, OS_LABEL: "linux"}
        taints = (node.get("spec") or {}).get("taints") or ()
        features = (node.get("status") or {}).get("features") or {}
        self._name: str = node["metadata"]["name"]
        if labels != self._labels:
            # Nodes of a pool differ in few of them: what they have in common is kept once.
            self._labels = {intern(key): intern(value) for key, value in labels.items()}
        self._taints = tuple(taint for taint in taints if taint.get("effect") == "NoExecute")
        self._strict = bool(features.get("supplementalGroupsPolicy"))
        lost_before, self._lost = self._lost, frozenset(lost) if lost else _NO_GPUS
        if build is not before:
            self._build = build
            if not build.continues(before):
                self._start_anew()
        return build is not before or self._lost != lost_before

    def _start_anew(self) -> None:
        """Give out devices, CPUs and memory once more: the machine is another one."""
        pods = self._pods
        self._clear()
        for uid, charge in pods.items():
            self._take(uid, charge.namespace, charge.name, charge.needs)

    def _clear(self) -> None:
        self._pods, self._used, self._in_use = {}, {}, {}
        self._numa, self._records = self._build.empty, _NO_RECORDS

    def admit(self, pod: Object, *, anyway: bool = False) -> Rejection | None:
        """Charge the pod if the kubelet takes it, else say why not; a refused pod leaves nothing behind.

        One that is charged already stays as it is. `anyway`: a kubelet that miscounts takes it though there is no room
        for it, and gives it CPUs and devices that others have where it aligns them.
        """
        metadata = pod["metadata"]
        uid: str = metadata["uid"]
        if uid in self._pods:
            return None
        return self._admit(uid, metadata.get("namespace") or "", metadata["name"], needs_of(pod), anyway=anyway)

    def _admit(self, uid: str, namespace: str, name: str, needs: Needs, *, anyway: bool = False) -> Rejection | None:
        # The topology manager comes first, so that too few devices are its error and not a lack of the resource.
        try:
            held, ledger = self._given(uid, needs, self._lost)
        except refusals.Refused as refusal:
            self._forget(uid)
            if not anyway:
                return Rejection(refusal.reason, refusal.message)
            held, ledger = (), self._overcommitted(uid, needs)
        capacity = self._build.capacity
        if needs.limits and not self._build.counts_all_devices:
            capacity = self._capacity(uid, held, ledger)
        ports = self._ports() if needs.ports else ()
        refused = (
            admission.platform_refusal(needs, supports_strict_groups=self._strict)
            or (None if anyway else admission.shortage(needs, capacity, self._used, len(self._pods)))
            or admission.misplacement(needs, self._name, self._labels, self._taints, ports)
        )
        if refused:
            self._forget(uid)
        else:
            self._enter(uid, Charge(namespace, name, needs, held), ledger)
        return refused

    def admit_anew(self, uids: Iterable[str]) -> dict[str, Rejection]:
        """Forget what is charged, as a kubelet that lost its files, and admit these pods again in this order.

        Told are those that are refused now; pods that are charged but not named are gone.
        """
        pods = self._pods
        self._clear()
        refused = {}
        for uid in uids:
            charge = pods.get(uid)
            if charge and (rejection := self._admit(uid, charge.namespace, charge.name, charge.needs)):
                refused[uid] = rejection
        return refused

    def charge(self, pod: Object) -> None:
        """Charge a pod that was taken before, whatever is free.

        One that is charged already keeps its devices and CPUs, and its amounts are those that it asks for now.
        """
        metadata = pod["metadata"]
        uid: str = metadata["uid"]
        needs, known = needs_of(pod), self._pods.get(uid)
        if known is None:
            self._take(uid, metadata.get("namespace") or "", metadata["name"], needs)
        elif needs is not known.needs:
            self._refund(known.needs)
            self._enter(uid, msgspec.structs.replace(known, needs=needs), self._numa)

    def release(self, uid: str) -> None:
        """Refund what a pod held; one that is not charged changes nothing."""
        charge = self._pods.pop(uid, None)
        if charge is not None:
            self._refund(charge.needs)
            self._free(uid, charge.devices)

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    @property
    def pods(self) -> Mapping[str, Charge]:
        """The charged pods by uid. Not a copy."""
        return self._pods

    @property
    def build(self) -> Build:
        """The kind of node that it is."""
        return self._build

    @property
    def aligned(self) -> Ledger | None:
        """What the kubelet's managers have given out; None where nothing is aligned."""
        return self._numa

    @property
    def lost(self) -> AbstractSet[int]:
        """The numbers of GPUs that are broken."""
        return self._lost

    def held(self) -> Amounts:
        """What is charged, CPUs in thousandths, and how many pods there are."""
        return {**self._used, PODS: len(self._pods)}

    def free(self) -> Amounts:
        """What is left of the node's allocatable; less than nothing where it has shrunk under its pods."""
        held = self.held()
        return {name: limit - held.get(name, 0) for name, limit in self._build.capacity.items()}

    def zones(self) -> dict[int, dict[str, Amount]]:
        """What each NUMA node has; empty where nothing is aligned."""
        node = self._build.without(self._lost)
        return zones(node, self._numa) if node is not None and self._numa is not None else {}

    def assignments(self) -> dict[int, list[Holder]]:
        """Who has GPUs or parts of them, by the GPU's number."""
        found: dict[int, list[Holder]] = {}
        for uid, container, device in self._holdings():
            charge, gpu = self._pods.get(uid), self._build.gpus.get(device)
            if charge is not None and gpu is not None:
                found.setdefault(gpu, []).append(Holder(charge.namespace, charge.name, container, device))
        return found

    def overlaps(self) -> list[str]:
        """What two pods hold at once where it is aligned, as sentences; there is none where kubelets judge rightly."""
        return overlaps(self._numa) if self._numa is not None else []

    def copy(self) -> "NodeLedger":
        """The ledger as it is now, which does not change with this one."""
        twin = copy.copy(self)
        # All else is replaced when it changes; these are changed in place, and the twin keeps them as they are.
        self._pods, self._used, self._in_use = dict(self._pods), dict(self._used), dict(self._in_use)
        return twin

    def dump(self) -> Object:
        """What a kubelet keeps on disk of its pods' devices, CPUs and memory, as plain data."""
        held = {uid: charge.devices for uid, charge in self._pods.items() if charge.devices}
        return recording.written({**self._records, **held}, self._numa)

    @classmethod
    def restored(
        cls, node: Object, dumped: Object, uids: Collection[str], lost: AbstractSet[int] = _NO_GPUS
    ) -> "NodeLedger":
        """The ledger of a kubelet that starts again with its files: without pods, but knowing what each is to have.

        `uids` are the pods that are still there; what others had is free.
        """
        ledger = cls(node, lost)
        held, aligned = recording.read(dumped, ledger._numa)
        ledger._numa = aligned
        if aligned is not None:
            for uid in recording.pods(aligned) - set(uids):
                ledger._free(uid, ())
        ledger._records = {uid: devices for uid, devices in held.items() if uid in uids}
        for devices in ledger._records.values():
            ledger._mark(devices)
        return ledger

    def _given(self, uid: str, needs: Needs, lost: AbstractSet[int]) -> tuple[Held, Ledger | None]:
        """Devices where nothing is aligned, else the ledger of all that is; `refusals.Refused` where there are none."""
        build = self._build
        if self._numa is not None:
            node = build.without(lost)
            answer = numa.admit(node, self._numa, needs.pod(uid)) if node else None
            if isinstance(answer, Rejection):
                raise refusals.Refused(answer.reason, answer.message)
            return (), answer.ledger if answer else None
        if needs.limits and build.devices:
            recorded = self._records.get(uid, ())
            return unaligned.given(uid, needs, build, lost=lost, in_use=self._in_use, recorded=recorded), None
        return (), None

    def _overcommitted(self, uid: str, needs: Needs) -> Ledger | None:
        """The ledger of all that is aligned with a pod that was refused."""
        node = self._build.without(self._lost)
        return overcommitted(node, self._numa, needs.pod(uid)) if node is not None and self._numa is not None else None

    def _capacity(self, uid: str, held: Held, ledger: Ledger | None) -> Mapping[str, int]:
        """What there is for pods, where one has devices: as many at least as are given out.

        So a kubelet takes pods for which it has devices, though the node's status may say less.
        """
        given: dict[str, Bits] = {}
        for _, resource, places in held:
            given[resource] = given.get(resource, self._in_use.get(resource, 0)) | places
        counts = {resource: places.bit_count() for resource, places in given.items()}
        if ledger is not None and uid in ledger.devices.assigned:
            counts = {resource: len(ledger.devices.of(resource)) for resource in self._build.devices}
        capacity = self._build.capacity
        raised = {resource: count for resource, count in counts.items() if count > capacity.get(resource, 0)}
        return {**capacity, **raised} if raised else capacity

    def _take(self, uid: str, namespace: str, name: str, needs: Needs) -> None:
        """Charge without a question; devices are given as far as they are there, healthy ones if possible."""
        for lost in (self._lost, _NO_GPUS):
            try:
                held, ledger = self._given(uid, needs, lost)
            except refusals.Refused:
                continue
            self._enter(uid, Charge(namespace, name, needs, held), ledger)
            return
        self._enter(uid, Charge(namespace, name, needs, ()), self._numa)

    def _enter(self, uid: str, charge: Charge, ledger: Ledger | None) -> None:
        used = self._used
        for name, amount in charge.needs.amounts:
            used[name] = used.get(name, 0) + amount
        self._pods[uid] = charge
        self._numa = ledger
        if charge.devices:
            self._mark(charge.devices)

    def _refund(self, needs: Needs) -> None:
        used = self._used
        for name, amount in needs.amounts:
            if left := used[name] - amount:
                used[name] = left
            else:
                del used[name]

    def _mark(self, devices: Held) -> None:
        for _, resource, places in devices:
            self._in_use[resource] = self._in_use.get(resource, 0) | places

    def _forget(self, uid: str) -> None:
        """A pod that was refused has nothing, whatever was recorded of it."""
        self._free(uid, self._records.get(uid, ()))

    def _free(self, uid: str, devices: Held) -> None:
        for _, resource, places in devices:
            self._in_use[resource] &= ~places
        if self._records:
            self._records = {other: held for other, held in self._records.items() if other != uid}
        if self._numa is not None and self._build.numa is not None:
            self._numa = numa.release(self._build.numa, self._numa, uid)

    def _ports(self) -> list[tuple[str, str, int]]:
        return [port for charge in self._pods.values() for port in charge.needs.ports]

    def _holdings(self) -> Iterator[tuple[str, str, str]]:
        """Pod, container and device of everything that is given out."""
        if self._numa is not None:
            for uid, containers in self._numa.devices.assigned.items():
                for container, resources in containers.items():
                    for devices in resources.values():
                        yield from ((uid, container, device) for device in sorted(devices))
            return
        for uid, charge in self._pods.items():
            for container, resource, places in charge.devices:
                listed = self._build.devices.get(resource, ())
                yield from ((uid, container, listed[place].id) for place in bits.members(places) if place < len(listed))
