"""Reports that are out of date: what the scheduler reads and what kubelets have given out drift apart."""

from kubedyno.kit import tasks
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios.numa import matching, truth, unheard, waking, zoned
from kubedyno.scenarios.numa.matching import RESYNC_S, Cache
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import NodeCount, Seconds

_TARGET = "out of date information"
_STUCK_S = 2.0 * RESYNC_S + 2.0
"""Some periods of the cache: what has not happened by then does not."""


@scenario("numa/stale", tags=("numa", "faults"), needs=("numa",), settings=matching.settings)
async def stale(lab: Lab, *, nodes: NodeCount = 10, cache: Cache = "passthrough", frozen_s: Seconds = 20.0) -> None:
    """Exporters stand still while pods come, and while pods go: who believes old reports is caught by the kubelets.

    Pods of more than half a zone come as long as nothing is reported: three for each node, of which two fit. Then they
    all go while nothing is reported, and others come. A scheduler that counts what it has placed itself binds one on
    each node and lets the rest wait; one that believes reports has pods refused. When exporters go on, all that fits
    must run. Before that the policy of a node changes, of which a scheduler must hear, also when its watch has ended.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
        frozen_s: how long exporters stand still while pods come
    """
    del cache  # the lab was started with it
    world = await zoned.begin(lab, nodes, fillers=False)
    await _emptied_node(lab, world)
    await zoned.fill(lab, world.names)
    await _refused_pod_stays(lab, world)
    await unheard.policies_change(lab, world, target=_TARGET)
    with lab.timed():
        await _pods_come(lab, world, frozen_s)
        await _pods_go(lab, world)


async def _emptied_node(lab: Lab, world: World) -> None:
    """The only pod of a node goes: the over-reserving cache goes on counting it for as long as no pod is there."""
    node = world.names[0]
    first = await zoned.submit_on(lab, zoned.exclusive(name="first"), node)
    await lab.running(first)
    await lab.delete(first)
    second = await zoned.submit_on(lab, zoned.exclusive(name="second"), node)
    took_s = await truth.until_running(lab, second, count=1, within_s=_STUCK_S)
    found = await truth.ends_of(lab, second)
    is_stuck = world.knows == "over-reserve"
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="the only pod of a node has gone",
        expected=f"the next pod waits, with room for it, for {_STUCK_S:g} s" if is_stuck else "the next pod runs",
        observed=found.told if took_s is None else f"{found.told} after {took_s:.1f} s",
        holds=(took_s is None and found.waits_for(truth.CANNOT_ALIGN) == 1) if is_stuck else took_s is not None,
        finding="the over-reserving cache never looks again at a node without pods" if is_stuck else "",
    )
    await lab.delete(second)


async def _refused_pod_stays(lab: Lab, world: World) -> None:
    """A pod that a kubelet has refused is there until somebody deletes it: exporters do not count it."""
    node = world.names[1]
    refused = await lab.submit(zoned.exclusive(zoned.WIDE, name="refused", spec={"nodeName": node}))
    await truth.until_decided(lab, refused)
    first = await zoned.submit_on(lab, zoned.exclusive(name="beside"), node)
    await lab.running(first)
    second = await zoned.submit_on(lab, zoned.exclusive(name="again"), node)
    recovered = await waking.until_running(lab, world, second, count=1, within_s=1.5 * _STUCK_S)
    found = await truth.ends_of(lab, second)
    is_stuck = world.knows == "over-reserve"
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="a pod that was refused is still there",
        expected="a second pod waits beside a free zone until it is deleted" if is_stuck else "a second pod runs",
        observed=recovered.told(found),
        holds=(recovered.took_s is None) == is_stuck and not found.unaligned,
        finding="the over-reserving cache counts pods that were refused, which no exporter does" if is_stuck else "",
    )
    await lab.delete(refused)
    recovered = await waking.until_running(lab, world, second, count=1)
    lab.expect("a second pod runs once the refused one is deleted", recovered.took_s is not None)
    for pods in (first, second):
        await lab.delete(pods)
    await truth.expect_reported(lab, [node], within_s=10 * zoned.EXPORT_S, after="a refused pod was there")
    await zoned.reread(lab, world)


async def _pods_come(lab: Lab, world: World, frozen_s: float) -> None:
    nodes = len(world.names)
    await lab.exporters.freeze(world.names)
    shape, count = zoned.exclusive(name="burst"), zoned.SEEMING * nodes
    async with tasks.owning() as group:
        coming = group.create_task(lab.submit(shape, count=count, over_s=frozen_s), name="pods come")
        await lab.clock.sleep(frozen_s / 2)
        halfway = sum(1 for pod in lab.standing.pods([f"burst-{index}" for index in range(count)]) if pod.end)
    burst = coming.result()
    frozen = await truth.until_decided(lab, burst)
    lab.record("pods refused for their alignment", "pods", frozen.unaligned)
    lab.record("pods refused in the first half", "pods", halfway)
    await truth.expect_sound(lab, world.names, burst, after="pods came unreported")
    if matching.reserves(world.knows):
        lab.case(
            target=_TARGET,
            component="exporter",
            failure="reports too much while pods come",
            expected=f"{nodes} pods run, one on each node; the others wait; none is refused",
            observed=frozen.told,
            holds=not frozen.unaligned
            and len(frozen.running) == nodes
            and frozen.waits_for(truth.CANNOT_ALIGN) == count - nodes,
            breaks=(2,),
        )
    else:
        lab.case(
            target=_TARGET,
            component="exporter",
            failure="reports too much while pods come",
            expected="pods are refused by kubelets, the more the longer it lasts",
            observed=f"{frozen.told}; {halfway} of those refused in the first half",
            holds=frozen.unaligned > halfway,
            finding=f"the {world.knows} cache believes a report that is out of date",
            breaks=(2,),
        )
    await lab.exporters.thaw(world.names)
    if matching.reserves(world.knows):
        await waking.expect_fitting(
            lab,
            world,
            burst,
            target=_TARGET,
            failure="reports again",
            expected=f"{zoned.FITTING * nodes} pods run, two on each node; none is refused",
            recorded="recovery after pods came",
        )
    await truth.expect_reported(lab, world.names, within_s=10 * zoned.EXPORT_S, after="all pods had their place")
    await lab.exporters.freeze(world.names)
    await lab.delete(burst)


async def _pods_go(lab: Lab, world: World) -> None:
    """The reports still tell of pods that are gone."""
    nodes = len(world.names)
    late = await lab.submit(zoned.exclusive(name="late"), count=nodes)
    frozen = await truth.until_decided(lab, late)
    free = [name for name in world.names if truth.has_room(await lab.ledgers.zones(name), {"cpu": zoned.LARGE})]
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="reports too little after pods went",
        expected="pods wait, with room for them; none is refused",
        observed=f"{frozen.told}; {len(free)} nodes have room",
        holds=not frozen.unaligned and frozen.waits_for(truth.CANNOT_ALIGN) > 0 and len(free) == nodes,
        breaks=(2,),
    )
    await lab.exporters.thaw(world.names)
    blind = not matching.reserves(world.knows)
    recovered = await waking.until_placed(lab, late) if blind else await waking.until_running(lab, world, late)
    found = await truth.ends_of(lab, late)
    known = f"the {world.knows} cache believes a report that is out of date" if found.unaligned else ""
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="reports again after pods went",
        # All that wait go to the node that is reported first, and it is not reported anew as fast as that.
        expected="no pod waits; some may be refused by nodes that are reported first" if blind else "all pods run",
        observed=recovered.told(found),
        holds=recovered.took_s is not None and (blind or not found.unaligned),
        finding=recovered.finding or known,
    )
    if recovered.took_s is not None:
        lab.record("recovery after pods went", "s", recovered.took_s)
    await truth.expect_reported(lab, world.names, within_s=10 * zoned.EXPORT_S, after="pods came again")
    await truth.expect_sound(lab, world.names, late, after="pods came again")
