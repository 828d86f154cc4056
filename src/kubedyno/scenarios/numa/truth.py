"""What is true of nodes and pods, whatever anybody reports: from the kubelets' ledgers and the pods' statuses.

Five things must hold after every step. That no node is given more than it has (I1) is a rule of every trial. Here: no
zone has less than nothing, and no CPU two holders (I2); when all is quiet, reports say what is true (I3); each pod
runs, waits and says why, or was refused with one reason (I4); whoever was refused for its alignment found no zone with
room (I5).
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import PODS
from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.model.keys import WORKLOAD_LABEL
from kubedyno.model.numa.zones import Amount
from kubedyno.scenarios import outcomes

UNALIGNED: Final = "TopologyAffinityError"
REFUSALS: Final = frozenset({UNALIGNED, "UnexpectedAdmissionError", "SMTAlignmentError"})
"""What a kubelet says that refuses a pod, beside OutOf<resource>."""
CANNOT_ALIGN: Final = "cannot align"
INVALID: Final = "invalid node topology data"

Zones = Mapping[int, Mapping[str, Amount]]

_LOOK_EVERY_S: Final = 0.5
_UNSAID: Final = "it was not said why"


class Ends(msgspec.Struct, frozen=True, kw_only=True):
    """Where pods have come to: their names, by what they say."""

    running: tuple[str, ...] = ()
    waiting: Mapping[str, tuple[str, ...]] = {}
    """Without a node, by why."""
    refused: Mapping[str, tuple[str, ...]] = {}
    """By the kubelet, by its reason."""
    other: Mapping[str, tuple[str, ...]] = {}
    """By phase: nothing of the kind."""

    @property
    def unaligned(self) -> int:
        """How many were refused for their alignment."""
        return len(self.refused.get(UNALIGNED, ()))

    @property
    def pending(self) -> int:
        """How many have no node."""
        return sum(map(len, self.waiting.values()))

    def waits_for(self, words: str) -> int:
        """How many have no node and say so with these words."""
        return sum(len(names) for why, names in self.waiting.items() if words in why)

    @property
    def told(self) -> str:
        """All of it in a few words."""
        parts = [
            f"{len(self.running)} running" if self.running else "",
            *(f"{len(names)} waiting ({why})" for why, names in sorted(self.waiting.items())),
            *(f"{len(names)} refused ({why})" for why, names in sorted(self.refused.items())),
            *(f"{len(names)} {what}" for what, names in sorted(self.other.items())),
        ]
        return ", ".join(filter(None, parts)) or "no pods"


def ends(pods: Iterable[Object]) -> Ends:
    """Where each pod has come to."""
    found: dict[str, dict[str, list[str]]] = {"running": {}, "waiting": {}, "refused": {}, "other": {}}
    for pod in pods:
        kind, why = _end(pod)
        found[kind].setdefault(why, []).append(pod["metadata"]["name"])
    sorted_ = {kind: {why: tuple(sorted(names)) for why, names in whys.items()} for kind, whys in found.items()}
    return Ends(
        running=sorted_["running"].get("", ()),
        waiting=sorted_["waiting"],
        refused=sorted_["refused"],
        other=sorted_["other"],
    )


def _end(pod: Object) -> tuple[str, str]:
    status = pod.get("status") or {}
    phase, reason = status.get("phase"), status.get("reason") or ""
    if phase == "Running":
        return "running", ""
    if phase == "Failed" and (reason in REFUSALS or reason.startswith("OutOf") or reason in _PREDICATES):
        return "refused", reason
    if phase == "Pending" and not pod["spec"].get("nodeName"):
        return "waiting", why_waiting(pod)
    return "other", f"{phase or 'without a phase'}{f' ({reason})' if reason else ''}"


_PREDICATES: Final = frozenset({"NodeAffinity", "NodePorts"})
_WORDS: Final = ("cannot align pod", "cannot align container", "cannot align sidecar container", INVALID)


def why_waiting(pod: Object) -> str:
    """Why a pod has no node, without the counts: the plugin's words where it says them, else what is short."""
    told = (meta.condition(pod, "PodScheduled") or {}).get("message") or ""
    if not told:
        return _UNSAID
    known = [words for words in _WORDS if words in told]
    short = sorted({f"Insufficient {part.split(' ')[0].rstrip(',.')}" for part in told.split("Insufficient ")[1:]})
    return ", ".join((*known, *short)) or told.partition(". ")[0].rstrip(".")


def unsound(pods: Iterable[Object]) -> list[str]:
    """I4: pods that neither run, nor wait and say why, nor were refused with one reason."""
    found = ends(pods)
    silent = found.waiting.get(_UNSAID, ())
    return [
        *(f"pod {name} waits, and {_UNSAID}" for name in silent),
        *(f"pod {name} is {what}" for what, names in found.other.items() for name in names),
    ]


def negatives(node: str, zones: Zones) -> list[str]:
    """I2: amounts of a node that are less than nothing, or more than there is."""
    return [
        f"{node}: zone {number}: {amount.available} of {amount.allocatable} {resource} are available"
        for number, resource, amount in _amounts(zones)
        if not 0 <= amount.available <= amount.allocatable <= amount.capacity
    ]


def drifts(node: str, zones: Zones, report: Object | None) -> list[str]:
    """I3: where a NodeResourceTopology says something else than what is true: node, zone, resource, by how much."""
    if report is None:
        return [f"{node}: there is no report"] if zones else []
    told = told_available(report)
    found = []
    for number, resource, amount in _amounts(zones):
        zone = told.get(f"node-{number}")
        said = None if zone is None else zone.get(resource)
        where = f"{node}: zone node-{number}"
        if zone is None:
            if f"{where} is not reported" not in found:
                found.append(f"{where} is not reported")
        elif said is None:
            found.append(f"{where}: {resource} is not reported, {amount.available} are available")
        elif said != amount.available:
            delta = said - amount.available
            found.append(f"{where}: {resource}: {said} are reported, {amount.available} are available ({delta:+d})")
    known = {f"node-{number}" for number in zones}
    return [*found, *(f"{node}: there is no zone {name}" for name in sorted(told.keys() - known))]


def told_available(report: Object) -> dict[str, dict[str, int]]:
    """What a NodeResourceTopology says is available, by zone of type `Node` and resource."""
    return {
        str(zone.get("name")): {
            str(one.get("name")): _whole(one.get("available")) for one in zone.get("resources") or ()
        }
        for zone in report.get("zones") or ()
        if zone.get("type") == "Node"
    }


def _whole(written: object) -> int:
    try:
        return Quantity.parse(str(written)).to_int()
    except UsageError:
        return -1


def _amounts(zones: Zones) -> Iterator[tuple[int, str, Amount]]:
    for number, resources in zones.items():
        for resource, amount in resources.items():
            yield number, resource, amount


def has_room(zones: Zones, *containers: Mapping[str, int]) -> bool:
    """The oracle: whether each container finds all of its resources on one zone, by brute force over all ways."""
    free = [{resource: amount.available for resource, amount in zone.items()} for zone in zones.values()]
    return _fits(free, list(containers))


def _fits(free: list[dict[str, int]], left: list[Mapping[str, int]]) -> bool:
    if not left:
        return True
    first, *rest = left
    for place, zone in enumerate(free):
        if all(zone.get(resource, 0) >= amount for resource, amount in first.items()):
            after = {resource: amount - first.get(resource, 0) for resource, amount in zone.items()}
            if _fits([*free[:place], after, *free[place + 1 :]], rest):
                return True
    return False


def needs_of(pod: Object) -> list[Mapping[str, int]]:
    """What the containers of a guaranteed pod must each find on one zone, sidecars first: whole CPUs, and memory."""
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    found: list[Mapping[str, int]] = []
    for container in (*sidecars, *spec["containers"]):
        limits = (container.get("resources") or {}).get("limits") or {}
        asked = {name: Quantity.parse(limits[name]) for name in ("cpu", "memory") if name in limits}
        found.append({name: amount.to_int() for name, amount in asked.items() if amount.milli() % 1000 == 0})
    return found


def misrefused(pods: Iterable[Object], zones: Mapping[str, Zones]) -> list[str]:
    """I5: pods that were refused for their alignment by nodes whose zones have room, as long as none has left since."""
    return [
        f"pod {pod['metadata']['name']} was refused by {node}, which has room for it"
        for pod in pods
        if (pod.get("status") or {}).get("reason") == UNALIGNED
        and (node := pod["spec"]["nodeName"]) in zones
        and has_room(zones[node], *needs_of(pod))
    ]


# From the lab.


async def pods_of(lab: Lab, *workloads: Workloads) -> list[Object]:
    """The pods of workloads as the API has them now."""
    names = frozenset[str]().union(*(one.names for one in workloads))
    listed = (await lab.client.list_all(PODS, namespace=lab.namespace)).items
    return [pod for pod in listed if meta.labels(pod).get(WORKLOAD_LABEL) in names]


async def ends_of(lab: Lab, *workloads: Workloads) -> Ends:
    """Where the pods of workloads have come to."""
    return ends(await pods_of(lab, *workloads))


async def refused_on(lab: Lab, *workloads: Workloads) -> Counter[str]:
    """How many pods of workloads were refused for their alignment, by node."""
    found = await pods_of(lab, *workloads)
    return Counter(pod["spec"]["nodeName"] for pod in found if (pod.get("status") or {}).get("reason") == UNALIGNED)


async def drifts_of(lab: Lab, names: Iterable[str]) -> list[str]:
    """I3 for these nodes."""
    written = await lab.exporters.written()
    return [fault for name in names for fault in drifts(name, await lab.ledgers.zones(name), written.get(name))]


async def faults_of(lab: Lab, names: Iterable[str]) -> list[str]:
    """I2 for these nodes."""
    found = []
    for name in names:
        found += negatives(name, await lab.ledgers.zones(name))
        found += [f"{name}: {fault}" for fault in await lab.ledgers.overlaps(name)]
    return found


async def expect_sound(lab: Lab, names: Iterable[str], *workloads: Workloads, after: str) -> None:
    """I2, I4 and I5 after a step in which no pod has left."""
    nodes = tuple(names)
    faults = await faults_of(lab, nodes)
    lab.expect(f"the ledgers are sound after {after}", not faults, outcomes.told(faults))
    pods = await pods_of(lab, *workloads)
    silent = unsound(pods)
    lab.expect(f"every pod says where it stands after {after}", not silent, outcomes.told(silent))
    wrongly = misrefused(pods, {name: await lab.ledgers.zones(name) for name in nodes})
    lab.expect(f"no pod was refused beside a zone with room after {after}", not wrongly, outcomes.told(wrongly))


async def expect_reported(lab: Lab, names: Iterable[str], *, within_s: float, after: str) -> None:
    """I3: some time after a step all reports say what is true."""
    nodes = tuple(names)

    async def agrees() -> bool:
        return not await drifts_of(lab, nodes)

    took_s = await until(lab, agrees, within_s=within_s)
    wrong = [] if took_s is not None else await drifts_of(lab, nodes)
    lab.expect(f"reports say what is true after {after}", not wrong, outcomes.told(wrong))


async def until(lab: Lab, holds: Callable[[], Awaitable[bool]], *, within_s: float) -> float | None:
    """Look again and again until something holds: the seconds that it took; None: it did not in time."""
    begun_ns = lab.clock.monotonic_ns()
    while True:
        if await holds():
            return (lab.clock.monotonic_ns() - begun_ns) / NS_PER_S
        if lab.clock.monotonic_ns() - begun_ns > within_s * NS_PER_S:
            return None
        await lab.clock.sleep(_LOOK_EVERY_S)


async def until_decided(lab: Lab, *workloads: Workloads, within_s: float = 30.0) -> Ends:
    """Where pods have come to, once each runs, was refused, or has been told why it waits."""

    async def decided() -> bool:
        return not unsound(await pods_of(lab, *workloads))

    await until(lab, decided, within_s=within_s)
    return await ends_of(lab, *workloads)


async def until_running(lab: Lab, *workloads: Workloads, count: int, within_s: float) -> float | None:
    """The seconds until so many pods of workloads run; None: they did not in time."""

    async def run() -> bool:
        return len((await ends_of(lab, *workloads)).running) >= count

    return await until(lab, run, within_s=within_s)
