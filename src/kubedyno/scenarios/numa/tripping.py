"""Pods and reports that the real plugin trips over: it ends of them, or gives a score that its scheduler refuses.

Every node is filtered, but only where there are several to choose from is any of them scored. Which strategies trip
over what is known; with the others, and on the reference scheduler, the pod must run.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import msgspec

from kubedyno.lab.lab import Lab
from kubedyno.measure import host
from kubedyno.model.workloads import Workload
from kubedyno.scenarios.numa import matching, truth, zoned
from kubedyno.scenarios.numa.exporter_accounting import distort, outcome_of
from kubedyno.scenarios.numa.matching import Scoring
from kubedyno.scenarios.numa.mistakes import TOLD
from kubedyno.scenarios.numa.zoned import World
from kubedyno.sim.exporters.distorting import SparseIds
from kubedyno.sim.kubelet.settings import Numa
from kubedyno.sim.pools import Pool
from kubedyno.sim.pools.nodes import HOSTNAME

_Trips: TypeAlias = Literal["ends", "errs"]
"""What it comes to: the process is gone, or the score is outside of 0 to 100."""

_TRIPPED: Final[Mapping[_Trips, str]] = {
    "ends": "the process of the scheduler ends",
    "errs": "the pod waits: its scheduler refuses the score",
}
_FINDINGS: Final[Mapping[_Trips, str]] = {
    "ends": "{} ends the process: {}",
    "errs": "{} falls below zero, and then no node is chosen: {}",
}
_REFUSED: Final = "invalid score"
_DECIDED_WITHIN_S: Final = 20.0
_REPORTED_WITHIN_S: Final = 20 * zoned.EXPORT_S

_DEFAULT: Final[Scoring] = "LeastAllocated"
"""The plugin's own choice."""
_ALL_END: Final[Mapping[Scoring, _Trips]] = dict.fromkeys(get_args(Scoring), "ends")
_TOO_HIGH: Final = 64
"""The plugin takes numbers of zones up to this, and has no place for this one."""
_WIDEST: Final = 16
"""CPUs that only the second zone of a node has."""
_ZONES: Final = 11
"""Of one CPU each, the first of which is the system's: a pod of more than half a usual zone needs all others.

For each that is needed the plugin takes twelve points of a hundred off: kubelets have eight unless they say otherwise.
"""


class _Obstacle(msgspec.Struct, frozen=True, kw_only=True):
    """A pod, and the strategies that trip over it or its nodes."""

    name: str
    pod: Workload
    trips: Mapping[Scoring, _Trips]
    when: Literal["scoring", "filtering"] = "scoring"


def _no_number() -> Mapping[Scoring, _Trips]:
    """Which whole number becomes of one that is none is left to the processor: on others than these it is zero."""
    return {"BalancedAllocation": "errs"} if host.describe().architecture in {"x86_64", "AMD64"} else {}


async def trip(lab: Lab, world: World, *, target: str, deadly: bool) -> None:
    """Try each; those of which a strategy ends only where that is wanted. It leaves a node of many zones behind."""
    one_resource = _Obstacle(
        name="pod-level resources, and containers that ask for CPUs alone",
        pod=zoned.whole({"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}, name="one-resource"),
        trips=_no_number(),
    )
    await _tried(lab, world, one_resource, target=target)
    await _many_zones(lab, world, target=target)
    if deadly:
        await _deadly(lab, world, target=target)


async def _deadly(lab: Lab, world: World, *, target: str) -> None:
    no_resource = _Obstacle(
        name="pod-level resources",
        pod=zoned.whole({}),
        trips={"LeastAllocated": "ends", "MostAllocated": "ends", **_no_number()},
    )
    await _tried(lab, world, no_resource, target=target)
    await distort(lab, dict.fromkeys(world.names, SparseIds()))
    await zoned.reread(lab, world)
    sparse = _Obstacle(
        name="numbers of zones left out",
        pod=zoned.exclusive(_WIDEST, name="sparse"),
        trips=_ALL_END,
    )
    await _tried(lab, world, sparse, target=target)
    await lab.exporters.straighten(world.names)
    node = world.names[0]
    await distort(lab, {node: SparseIds(step=_TOO_HIGH)})
    await zoned.reread(lab, world)
    high = _Obstacle(
        name=f"one zone has the number {_TOO_HIGH}",
        pod=zoned.on(zoned.exclusive(name="high"), node),
        trips=_ALL_END,
        when="filtering",
    )
    await _tried(lab, world, high, target=target)
    await lab.exporters.straighten([node])


async def _many_zones(lab: Lab, world: World, *, target: str) -> None:
    """One node has more zones than eight, as its kubelet was told to allow and no exporter tells; another has room."""
    [many] = (await lab.nodes(_pool_of_many())).names
    await zoned.fill(lab, (many,))

    async def is_reported() -> bool:
        return many in await lab.exporters.written()

    took_s = await truth.until(lab, is_reported, within_s=_REPORTED_WITHIN_S)
    lab.expect("a node of many zones is reported", took_s is not None)
    await zoned.reread(lab, world)
    large = _Obstacle(
        name=f"a node of {_ZONES} zones, of which the pod would need {zoned.LARGE}",
        pod=zoned.exclusive(name="many", spec={"affinity": _one_of([many, world.names[0]])}),
        trips={"LeastNUMANodes": "errs"},
    )
    await _tried(lab, world, large, target=target)


def _pool_of_many() -> Pool:
    alike = zoned.pool(
        1,
        name="many",
        topology_manager_policy="best-effort",
        topology_manager_policy_options={"max-allowable-numa-nodes": str(_ZONES)},
        reserved_cpus=1,
        reserved_memory={"0": "1Gi"},
        numa=Numa(sockets=_ZONES, threads_per_core=1),
    )
    reserved = {"cpu": 1, "memory": "1Gi"}
    return msgspec.structs.replace(alike, cpu=_ZONES, memory=f"{2 * _ZONES}Gi", reserved=reserved)


def _one_of(nodes: Sequence[str]) -> dict[str, Any]:
    """An affinity to these nodes, as the field of a pod."""
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": list(nodes)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


async def _tried(lab: Lab, world: World, one: _Obstacle, *, target: str) -> None:
    """See what becomes of the pod, or of the scheduler."""
    known = None if world.knows == "reference" else one.trips.get(matching.scoring(lab) or _DEFAULT)
    spared = lab.scheduler.spared() if "ends" in one.trips.values() else contextlib.nullcontext()
    async with spared:
        pod = await lab.submit(one.pod)

        async def is_over() -> bool:
            found = await truth.ends_of(lab, pod)
            return bool(lab.scheduler.told() or found.running or found.refused or found.waits_for(_REFUSED))

        await truth.until(lab, is_over, within_s=_DECIDED_WITHIN_S)
        told, found = lab.scheduler.told(), await truth.ends_of(lab, pod)
        await lab.delete(pod)
    seen = {"ends": bool(told), "errs": bool(found.waits_for(_REFUSED)), None: outcome_of(found) == "runs"}
    lab.case(
        target=target,
        component="scheduler",
        failure=f"{one.name}, and several nodes to choose from" if one.when == "scoring" else one.name,
        expected=TOLD["runs"] if known is None else f"{_TRIPPED[known]}; right would be: {TOLD['runs']}",
        observed=told or found.told,
        holds=seen[known],
        finding="" if known is None else _FINDINGS[known].format(one.when, one.name),
        breaks=(4, 5) if known == "ends" else (),
    )
