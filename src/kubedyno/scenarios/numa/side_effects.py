"""Pods that need no zone: they must go where they would go without anybody looking at zones, and as fast."""

import functools
import operator
from collections import Counter
from typing import Annotated, Any, Final

import msgspec

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, scenario
from kubedyno.measure.records import Measurement
from kubedyno.model.workloads import Workload
from kubedyno.scenarios.numa import matching, truth, waking, zoned
from kubedyno.scenarios.numa.exporter_accounting import outcome_of
from kubedyno.scenarios.numa.matching import RESYNC_S, Cache
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import Count, NodeCount
from kubedyno.sim import marks

_TARGET = "side effects on other pods"
_PATIENCE_S: Final = 2.0
"""So much may be added to a latency by the moment at which a pod meets the scheduler's cycle."""
_FOREIGN: Final = "somebody-else"


@scenario("numa/side-effects", tags=("numa",), needs=("numa",), settings=matching.settings)
async def side_effects(
    lab: Lab,
    *,
    nodes: NodeCount = 10,
    cache: Cache = "passthrough",
    per_node: Count = 2,
    slowdown: Annotated[float, Range(1.0, 1000.0)] = 3.0,
) -> None:
    """The same pods without a wish for zones come twice: before anybody reports zones, and when zones are half taken.

    Pods that ask for nothing, pods that ask for some CPUs, and pods that are for one node as a DaemonSet's are. They
    must run both times, spread alike, and wait about as long. Then come the two known cases in which the real plugin
    holds them back: a node that others use as well, and zones without memory.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
        per_node: pods of each kind for each node
        slowdown: by how much the largest latency may grow
    """
    del cache  # the lab was started with it
    await lab.nodes(zoned.pool(1, name="flat", counts_memory=False))
    world = await zoned.begin(lab, nodes, exporters=None)
    with lab.timed():
        without = await _mixed(lab, world, "without", per_node)
        await lab.exporters.start(zoned.EXPORTERS)
        await zoned.reread(lab, world)
        aligned = [
            await zoned.submit_on(lab, zoned.exclusive(name="aligned"), node, count=zoned.FITTING)
            for node in world.names
        ]
        await waking.set_up(lab, world, *aligned)
        await truth.expect_reported(lab, world.names, within_s=20 * zoned.EXPORT_S, after="aligned pods came")
        beside = await _mixed(lab, world, "beside", per_node)
    _compare(lab, world, without, beside, slowdown)
    await _wide(lab, world)
    for pods in aligned:
        await lab.delete(pods)
    await _others_pods(lab, world)
    await _zones_without_memory(lab, world)


class _Mix(msgspec.Struct, frozen=True):
    """Pods of one kind each, by kind."""

    pods: dict[str, Workloads]
    latencies: dict[str, Measurement]
    spread: dict[str, int]
    """The difference between the most and the fewest pods on a node, by kind."""


def _here(shape: Workload) -> Workload:
    """The same for the nodes with zones of CPUs and memory."""
    return msgspec.structs.replace(shape, node_selector={marks.POOL: zoned.POOL})


async def _mixed(lab: Lab, world: World, when: str, per_node: int) -> _Mix:
    """All kinds come at once and run; they go again."""
    count = per_node * len(world.names)
    daemons = [await lab.submit(_daemon(node), name=f"daemon-{when}-{node}") for node in world.names]
    pods = {"daemon": functools.reduce(operator.or_, daemons)}
    await lab.running(pods["daemon"])  # first of all: others could leave no room on some node
    for kind, shape in {"best-effort": zoned.best_effort(), "burstable": zoned.burstable("2")}.items():
        pods[kind] = await lab.submit(_here(shape), count=count, name=f"{kind}-{when}")
    for one in pods.values():
        await lab.running(one)
    made = _Mix(
        pods,
        {
            kind: lab.measure_latency(f"{kind}, {when} zones", one, since="created", until="scheduled")
            for kind, one in pods.items()
        },
        {kind: _spread(lab, world, one) for kind, one in pods.items()},
    )
    for one in pods.values():
        await lab.delete(one)
    return made


def _daemon(node: str) -> Workload:
    """A pod as the controller of DaemonSets makes it: for one node, by its name, whatever its taints."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    spec: dict[str, Any] = {"affinity": affinity, "tolerations": [{"operator": "Exists"}]}
    return zoned.containers({"main": {"requests": {"cpu": "100m"}}}, name="daemon", spec=spec)


def _spread(lab: Lab, world: World, pods: Workloads) -> int:
    held = Counter(lab.placement(pods).values())
    counts = [held[node] for node in world.names]
    return max(counts) - min(counts)


def _compare(lab: Lab, world: World, without: _Mix, beside: _Mix, slowdown: float) -> None:
    for kind in without.pods:
        before, after = without.latencies[kind], beside.latencies[kind]
        bound_s = max(before.samples) * slowdown + _PATIENCE_S
        spreads = without.spread[kind], beside.spread[kind]
        # Pods that ask for nothing are alike to every score, so chance spreads them.
        alike = kind == "best-effort" or world.knows == "reference" or abs(spreads[0] - spreads[1]) <= 1
        lab.case(
            target=_TARGET,
            component="scheduler",
            failure=f"zones are reported and half taken: {kind} pods",
            expected=f"all run, are spread as without zones, and none waits for more than {bound_s:.1f} s",
            observed=(
                f"all run; the longest waits {max(after.samples):.2f} s after {max(before.samples):.2f} s; most less "
                f"fewest on a node are {spreads[1]} after {spreads[0]}"
            ),
            holds=max(after.samples) <= bound_s and alike,
        )


async def _wide(lab: Lab, world: World) -> None:
    """A pod of more CPUs than any zone has left, which is not guaranteed them, needs no zone."""
    pod = await zoned.submit_on(lab, zoned.burstable("8", name="loose"), world.names[0])
    found = await truth.until_decided(lab, pod)
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="no zone has left what a burstable pod asks for, the node has",
        expected="the pod runs",
        observed=found.told,
        holds=outcome_of(found) == "runs",
    )
    await lab.delete(pod)


async def _others_pods(lab: Lab, world: World) -> None:
    """Another scheduler puts an exclusive pod on a node, and its exporter is late."""
    node = world.names[0]
    await lab.exporters.freeze([node])
    foreign = await lab.submit(zoned.exclusive(name="foreign", spec={"schedulerName": _FOREIGN, "nodeName": node}))
    await lab.running(foreign)
    held = world.knows == "over-reserve"
    plain = await zoned.submit_on(lab, zoned.best_effort(name="plain"), node)
    asking = await zoned.submit_on(lab, zoned.burstable(name="asking"), node)
    await truth.until_decided(lab, plain, asking)
    nothing, something = await truth.ends_of(lab, plain), await truth.ends_of(lab, asking)
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="a node has an unreported pod of another scheduler: best-effort pods",
        expected="the pod runs",
        observed=nothing.told,
        holds=outcome_of(nothing) == "runs",
        breaks=(2,),
    )
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="a node has an unreported pod of another scheduler: burstable pods",
        expected="the pod waits until the other one is reported" if held else "the pod runs",
        observed=something.told,
        holds=something.waits_for(truth.INVALID) == 1 if held else outcome_of(something) == "runs",
        finding="the over-reserving cache closes a node to which somebody else has brought a pod" if held else "",
        breaks=(2,),
    )
    await lab.exporters.thaw([node])
    if held:
        recovered = await waking.until_running(lab, world, asking, count=1)
        found = await truth.ends_of(lab, asking)
        lab.case(
            target=_TARGET,
            component="scheduler",
            failure="the pod of the other scheduler is reported",
            expected=f"the waiting pod runs; the cache looks every {RESYNC_S} s",
            observed=recovered.told(found),
            holds=recovered.took_s is not None,
            finding=recovered.finding,
        )
        if recovered.took_s is not None:
            lab.record("recovery after a pod of another scheduler was reported", "s", recovered.took_s)
    for one in (foreign, plain, asking):
        await lab.delete(one)


async def _zones_without_memory(lab: Lab, world: World) -> None:
    """A kubelet that does not count memory by zone: its exporter lists none."""
    on_plugin = world.knows != "reference"
    node = "flat-0"
    asking = await zoned.submit_on(lab, zoned.burstable(name="remembering"), node)
    plain = await zoned.submit_on(lab, zoned.best_effort(name="modest"), node)
    await truth.until_decided(lab, asking, plain)
    something, nothing = await truth.ends_of(lab, asking), await truth.ends_of(lab, plain)
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="zones list no memory: burstable pods",
        expected="the pod waits" if on_plugin else "the pod runs",
        observed=something.told,
        holds=outcome_of(something) == ("waits" if on_plugin else "runs"),
        finding="memory that no zone lists is memory that no zone has" if on_plugin else "",
    )
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="zones list no memory: best-effort pods",
        expected="the pod runs",
        observed=nothing.told,
        holds=outcome_of(nothing) == "runs",
    )
    await truth.expect_sound(lab, (*world.names, node), asking, plain, after="all pods came")
    await lab.delete(asking | plain)
