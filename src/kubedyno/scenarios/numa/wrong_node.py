"""A scheduler that chooses a node which cannot align the pod, or passes by one that can."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.model.workloads import Workload
from kubedyno.scenarios import outcomes
from kubedyno.scenarios.numa import matching, misleading, scores, tripping, truth, waking, zoned
from kubedyno.scenarios.numa.exporter_accounting import outcome_of
from kubedyno.scenarios.numa.matching import Cache, Scoring
from kubedyno.scenarios.numa.mistakes import TOLD, Outcome
from kubedyno.scenarios.numa.truth import Zones
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import Count, NodeCount

_TARGET = "choice of the node"
_SIZES: Final = (4, 6, 10, 14, 16)
_MEMORY: Final = 1 << 30
_AGREED_WITHIN_S = 20 * zoned.EXPORT_S
_PLACED_WITHIN_S = 40.0
_WEIGHT: Final = "plugins.profiles.0.plugins.multiPoint.enabled.1.weight"


def settings(parameters: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Those of the plugin, and that its score outweighs all others: then the node that it likes best must be chosen."""
    return {name: {**fields, _WEIGHT: "1000"} for name, fields in matching.settings(parameters).items()}


@scenario("numa/wrong-node", tags=("numa",), needs=("numa",), settings=settings)
async def wrong_node(
    lab: Lab,
    *,
    nodes: NodeCount = 10,
    cache: Cache = "passthrough",
    scoring: Scoring = "LeastAllocated",
    pods: Count = 20,
    deadly: bool = True,
) -> None:
    """Where pods go is held against an oracle that knows the ledgers; then come pods that the real plugin misjudges.

    Pods of several sizes come one after another, with true reports: each must go to a node that has a zone for it, the
    real plugin's to one of the highest score, and wait where there is none. Then a node is not reported, or only after
    the scheduler started; a pod has a sidecar, a part of a CPU, or resources of the pod as a whole. Where the scheduler
    asks our extender, that names wrong nodes, sways the choice, or does not answer. At last come pods and reports that
    the real plugin trips over. What differs is told by its cause.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
        scoring: how NodeResourceTopologyMatch compares nodes
        pods: how many pods are held against the oracle
        deadly: whether the scheduler gets what the real plugin is known to die of
    """
    del cache, scoring  # the lab was started with them
    world = await zoned.begin(lab, nodes)
    with lab.timed():
        await _against_the_oracle(lab, world, pods)
    await _unreported(lab, world)
    for one in _MISJUDGED:
        await _misjudged(lab, world, one)
    await misleading.misled(lab, world, target=_TARGET)
    await tripping.trip(lab, world, target=_TARGET, deadly=deadly)


class _Choice(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one pod, beside what the oracle says."""

    cpus: int
    node: str | None
    """None: it waits, or was refused."""
    feasible: frozenset[str]
    is_refused: bool
    is_best: bool

    @property
    def told(self) -> str:
        """In a few words."""
        where = "refused" if self.is_refused else f"on {self.node}" if self.node else "waiting"
        return f"{self.cpus} CPUs {where}, {len(self.feasible)} nodes have room"


async def _against_the_oracle(lab: Lab, world: World, pods: int) -> None:
    placed: list[tuple[Workloads, int]] = []
    made = []
    for _ in range(pods):
        made.append(await _chosen(lab, world, placed))
        await _agreed(lab, world)
    outside = [one.told for one in made if one.is_refused or (one.node and one.node not in one.feasible)]
    idle = [one.told for one in made if not one.node and not one.is_refused and one.feasible]
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure=f"none: {pods} pods of several sizes, true reports",
        expected="each goes where the oracle finds room, or waits where it finds none",
        observed=f"{len(placed)} placed; wrongly {outcomes.told(outside) or 'none'}; "
        f"wait wrongly {outcomes.told(idle) or 'none'}",
        holds=not outside and not idle,
    )
    if matching.scoring(lab) is not None and world.knows != "over-reserve":
        worse = [one.told for one in made if not one.is_best]
        lab.expect("with true reports a node of the highest score is chosen", not worse, outcomes.told(worse))
    for pod, _ in placed:
        await lab.delete(pod)
    await truth.expect_reported(lab, world.names, within_s=_AGREED_WITHIN_S, after="the pods of the oracle went")
    await zoned.reread(lab, world)


async def _chosen(lab: Lab, world: World, placed: list[tuple[Workloads, int]]) -> _Choice:
    """Where the next pod goes; one that runs is added to those that are placed."""
    cpus = lab.rng.choice(_SIZES)
    request = {"cpu": cpus, "memory": _MEMORY}
    zones = {name: await lab.ledgers.zones(name) for name in world.names}
    used = _used(lab, world, placed)
    fits = (name for name in world.names if used[name] + cpus <= zoned.NODE_CPUS)
    feasible = frozenset(name for name in fits if truth.has_room(zones[name], request))
    pod = await lab.submit(zoned.exclusive(cpus, name="sized"))
    found = await truth.until_decided(lab, pod)
    if found.pending and feasible:
        await waking.until_running(lab, world, pod, count=1, within_s=_PLACED_WITHIN_S)
        found = await truth.ends_of(lab, pod)
    node = next(iter(lab.placement(pod).values()), None) if found.running else None
    # A cache that takes off what it placed from every zone does not score what is true.
    strategy = None if world.knows == "over-reserve" else matching.scoring(lab)
    is_best = strategy is None or node not in feasible or _is_best(strategy, request, zones, feasible, node)
    if node is None:
        await lab.delete(pod)
    else:
        placed.append((pod, cpus))
    return _Choice(cpus=cpus, node=node, feasible=feasible, is_refused=bool(found.unaligned), is_best=is_best)


def _used(lab: Lab, world: World, placed: list[tuple[Workloads, int]]) -> dict[str, int]:
    used = dict.fromkeys(world.names, 0)
    for pod, cpus in placed:
        for node in lab.placement(pod).values():
            used[node] += cpus
    return used


def _is_best(
    strategy: Scoring, request: Mapping[str, int], zones: Mapping[str, Zones], feasible: frozenset[str], chosen: str
) -> bool:
    scored = {
        name: scores.score(
            strategy,
            request,
            [{resource: amount.available for resource, amount in zone.items()} for zone in zones[name].values()],
        )
        for name in feasible
    }
    return scored[chosen] == max(scored.values())


async def _agreed(lab: Lab, world: World) -> None:
    """Wait until all reports are true."""

    async def agrees() -> bool:
        return not await truth.drifts_of(lab, world.names)

    await truth.until(lab, agrees, within_s=_AGREED_WITHIN_S)


async def _unreported(lab: Lab, world: World) -> None:
    """A node without a report, and one that is reported after the scheduler started."""
    node = world.names[0]
    await lab.exporters.crash([node])
    await lab.client.delete(zoned.TOPOLOGIES, node)
    await zoned.reread(lab, world)
    wide = zoned.exclusive(zoned.WIDE, name="wide")
    pod = await zoned.submit_on(lab, wide, node, name="unreported")
    found = await truth.until_decided(lab, pod)
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="one node has no report",
        expected="it counts as a node without zones: its kubelet refuses a pod that no zone can hold",
        observed=found.told,
        holds=outcome_of(found) == "refused",
        breaks=(2, 4),
    )
    await lab.delete(pod)
    await lab.exporters.restart([node])
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="a node was reported late")
    pod = await zoned.submit_on(lab, wide, node, name="late")
    found = await truth.until_decided(lab, pod)
    ignored = world.knows == "over-reserve"
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="one node is first reported after the scheduler started",
        expected=TOLD["refused"] if ignored else TOLD["waits"],
        observed=found.told,
        holds=outcome_of(found) == ("refused" if ignored else "waits"),
        finding="the over-reserving cache ignores reports that are created after its start" if ignored else "",
        breaks=(4,),
    )
    await lab.delete(pod)
    await zoned.reread(lab, world)


class _Misjudged(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that the plugin judges otherwise than a kubelet."""

    name: str
    pod: Callable[[], Workload]
    before: int
    """Pods of more than half a zone that are on the node before."""
    right: Outcome
    on_plugin: Outcome
    finding: str


def _with_sidecar() -> Workload:
    return zoned.containers(
        {"main": zoned.guaranteed(zoned.LARGE)}, {"side": zoned.guaranteed(zoned.LARGE)}, name="sidecar"
    )


_MISJUDGED: Final = (
    _Misjudged(
        name="a pod has a sidecar, and one zone is left for both",
        pod=_with_sidecar,
        before=1,
        right="waits",
        on_plugin="refused",
        finding="sidecars are looked at, but not counted",
    ),
    _Misjudged(
        name="a guaranteed pod asks for 7.5 CPUs, and no zone has them",
        pod=lambda: zoned.exclusive("7500m", name="fraction"),
        before=zoned.FITTING,
        right="runs",
        on_plugin="waits",
        finding="a part of a CPU must fit a zone, though kubelets do not align it",
    ),
    _Misjudged(
        name="a pod has resources as a whole, its containers none",
        pod=lambda: zoned.whole({}),
        before=zoned.FITTING,
        right="runs",
        on_plugin="runs",
        finding="",
    ),
)


async def _misjudged(lab: Lab, world: World, one: _Misjudged) -> None:
    node = world.names[1]
    before = await zoned.submit_on(lab, zoned.exclusive(name="before"), node, count=one.before)
    await waking.set_up(lab, world, before)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"pods came before: {one.name}")
    await zoned.reread(lab, world)
    pod = await zoned.submit_on(lab, one.pod(), node)
    await truth.until_decided(lab, pod)
    found = await truth.ends_of(lab, pod)
    wanted = one.right if world.knows == "reference" else one.on_plugin
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure=one.name,
        expected=TOLD[wanted] if wanted == one.right else f"{TOLD[wanted]}; right would be: {TOLD[one.right]}",
        observed=found.told,
        holds=outcome_of(found) == wanted,
        finding=one.finding if wanted != one.right else "",
    )
    await truth.expect_sound(lab, [node], pod, before, after=one.name)
    await lab.delete(pod)
    await lab.delete(before)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"pods went: {one.name}")
    await zoned.reread(lab, world)
