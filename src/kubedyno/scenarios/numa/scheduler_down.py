"""The scheduler is not there: nothing is decided, and what it had only in memory is lost."""

from typing import Final

from kubedyno.kit import tasks
from kubedyno.kube.resources import LEASES
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios import outcomes
from kubedyno.scenarios.numa import matching, truth, waking, zoned
from kubedyno.scenarios.numa.matching import Cache
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import NodeCount, Seconds

_TARGET = "scheduler unavailable"
_AGREED_WITHIN_S = 20 * zoned.EXPORT_S
_LEASE: Final = ("kube-system", "kube-scheduler")
_LEASE_S: Final = 15.0
"""So long the lease of a dead leader is heeded, as by default."""
_TAKEN_OVER_WITHIN_S: Final = 4 * _LEASE_S
_DECIDED_WITHIN_S: Final = 30.0 + 2 * _LEASE_S
"""Of two that were started again, none decides before the lease of the dead one is over."""


@scenario("numa/scheduler-down", tags=("numa", "faults"), needs=("numa",), settings=matching.settings)
async def scheduler_down(
    lab: Lab, *, nodes: NodeCount = 10, cache: Cache = "passthrough", down_s: Seconds = 5.0
) -> None:
    """The scheduler is killed while it binds, while nothing is reported, and while all is quiet.

    Pods that come meanwhile wait without a word, and none is lost or bound twice. Started again, it knows only what is
    reported: with true reports no pod may be refused, with old ones at most as many as were placed unreported. Where
    there are two of it, the one that leads is also killed alone while pods come, and the other takes over.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
        down_s: how long it is away
    """
    del cache  # the lab was started with it
    world = await zoned.begin(lab, nodes)
    with lab.timed():
        await _killed_while_binding(lab, world, down_s)
    await _killed_before_reports(lab, world)
    if lab.spec is not None and lab.spec.ha != "none":
        await _leader_killed(lab, world, down_s)
    await _killed_when_quiet(lab, world, down_s)


async def _killed_while_binding(lab: Lab, world: World, down_s: float) -> None:
    nodes = len(world.names)
    shape = zoned.exclusive(4, name="small")
    async with tasks.owning() as group:
        coming = group.create_task(lab.submit(shape, count=4 * nodes, over_s=down_s), name="pods come")
        await lab.clock.sleep(down_s / 2)
        bound = lab.standing.bound
        await lab.scheduler.kill()
        await lab.clock.sleep(down_s / 2)
        during = lab.standing.bound
        await lab.clock.sleep(1.0)
    pods = coming.result()
    waiting = await truth.pods_of(lab, pods)
    silent = [pod for pod in waiting if not pod["spec"].get("nodeName") and not (pod["status"].get("conditions"))]
    still = lab.standing.bound
    resumed = await lab.scheduler.restart()
    recovered = await waking.until_running(lab, world, pods, count=pods.pods)
    found = await truth.ends_of(lab, pods)
    if recovered.took_s is not None:
        lab.record("time to place those that waited", "s", recovered.took_s)
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="killed while it binds",
        expected="those without a node wait, nothing is bound; started again, all run",
        observed=(
            f"{still - during} were bound while it was dead, {len(silent)} wait without a word; "
            f"then {recovered.told(found)}"
        ),
        holds=still == during and recovered.took_s is not None and not found.unaligned,
        finding=recovered.finding,
        breaks=(4, 5),
    )
    lab.expect("it was killed in the middle", bound < pods.pods + nodes, f"{bound - nodes} of {pods.pods} were bound")
    lab.record("start of the scheduler until it answers", "s", (resumed.answered_at_ns - resumed.resumed_at_ns) / 1e9)
    outcomes.expect_no_others(lab, pods)
    await truth.expect_sound(lab, world.names, pods, after="the scheduler was killed while it bound")
    await lab.delete(pods)
    await truth.expect_reported(lab, world.names, within_s=_AGREED_WITHIN_S, after="the small pods went")
    await zoned.reread(lab, world)


async def _killed_before_reports(lab: Lab, world: World) -> None:
    """What it placed and nobody reported is forgotten."""
    nodes = len(world.names)
    await lab.exporters.freeze(world.names)
    first = await lab.submit(zoned.exclusive(name="first"), count=nodes)
    await lab.running(first)
    await lab.scheduler.kill()
    await lab.scheduler.restart()
    more = await lab.submit(zoned.exclusive(name="more"), count=2 * nodes)
    found = await truth.until_decided(lab, more, within_s=_DECIDED_WITHIN_S)
    lab.record("pods refused after what was placed was forgotten", "pods", found.unaligned)
    blind = not matching.reserves(world.knows)
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="killed after it placed pods that nobody reports",
        expected="pods are refused" if blind else f"at most {nodes} pods are refused: as many as were forgotten",
        observed=found.told,
        holds=found.unaligned > 0 if blind else found.unaligned <= nodes,
        finding=f"the {world.knows} cache believes a report that is out of date" if blind else "",
        breaks=(2, 4, 5),
    )
    await truth.expect_sound(lab, world.names, first, more, after="what was placed was forgotten")
    await lab.exporters.thaw(world.names)
    await truth.expect_reported(lab, world.names, within_s=_AGREED_WITHIN_S, after="exporters went on")
    await lab.delete(more)
    await truth.expect_reported(lab, world.names, within_s=_AGREED_WITHIN_S, after="the later pods went")
    await lab.delete(first)
    await truth.expect_reported(lab, world.names, within_s=_AGREED_WITHIN_S, after="the first pods went")
    await zoned.reread(lab, world)


async def _leader_killed(lab: Lab, world: World, down_s: float) -> None:
    """Pods come before, while nobody leads, and after; the other one knows none of what the leader had in memory."""
    await _led(lab)
    before = await _holder(lab)
    shape, count = zoned.exclusive(4, name="handed-over"), 4 * len(world.names)
    async with tasks.owning() as group:
        coming = group.create_task(lab.submit(shape, count=count, over_s=2 * down_s + _LEASE_S), name="pods come")
        await lab.clock.sleep(down_s)
        async with lab.scheduler.beheaded():

            async def is_taken_over() -> bool:
                return await _holder(lab) != before

            took_s = await truth.until(lab, is_taken_over, within_s=_TAKEN_OVER_WITHIN_S)
            pods = await coming
            recovered = await waking.until_running(lab, world, pods)
    found = await truth.ends_of(lab, pods)
    if took_s is not None:
        lab.record("time until the other scheduler took over", "s", took_s)
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="the leader of two is killed while pods come",
        expected="the other takes over when the lease is over, and all run",
        observed=f"{f'taken over after {took_s:.1f} s' if took_s is not None else 'not taken over'}; "
        f"{recovered.told(found)}",
        holds=took_s is not None and recovered.took_s is not None and not found.unaligned,
        finding=recovered.finding,
        breaks=(4, 5),
    )
    outcomes.expect_no_others(lab, pods)
    await truth.expect_sound(lab, world.names, pods, after="the leader was killed")
    await lab.delete(pods)
    await truth.expect_reported(
        lab, world.names, within_s=_AGREED_WITHIN_S, after="the pods that were handed over went"
    )
    await zoned.reread(lab, world)


async def _led(lab: Lab) -> None:
    """Wait until one of them decides: they were started anew, and heed the lease of those before."""
    pod = await lab.submit(zoned.best_effort(name="led"))
    await lab.running(pod)
    await lab.delete(pod)


async def _holder(lab: Lab) -> str:
    """Who has the lease to decide."""
    namespace, name = _LEASE
    lease = await lab.client.get(LEASES, name, namespace=namespace)
    return str(lease["spec"].get("holderIdentity") or "")


async def _killed_when_quiet(lab: Lab, world: World, down_s: float) -> None:
    """All is reported: nothing is lost with it."""
    nodes = len(world.names)
    first = await lab.submit(zoned.exclusive(name="quiet"), count=nodes)
    await lab.running(first)
    await truth.expect_reported(lab, world.names, within_s=_AGREED_WITHIN_S, after="pods came before a quiet end")
    await lab.scheduler.kill()
    more = await lab.submit(zoned.exclusive(name="then"), count=nodes)
    await lab.clock.sleep(down_s)
    waiting = await truth.pods_of(lab, more)
    undecided = [pod for pod in waiting if not pod["spec"].get("nodeName")]
    await lab.scheduler.restart()
    # Several may be bound before the next report, and fit a node by what it says: how many are is told beside it.
    found = await truth.until_decided(lab, more, within_s=_DECIDED_WITHIN_S)
    recovered = await waking.until_running(lab, world, more, count=nodes - found.unaligned)
    found = await truth.ends_of(lab, more)
    keeps = matching.reserves(world.knows)
    lab.case(
        target=_TARGET,
        component="scheduler",
        failure="killed when all is reported",
        expected="pods wait for it; started again, all run, and none is refused" if keeps else "pods wait for it",
        observed=f"{len(undecided)} waited; then {recovered.told(found)}",
        holds=len(undecided) == nodes and (not keeps or (recovered.took_s is not None and not found.unaligned)),
        finding=recovered.finding,
        breaks=(4, 5),
    )
    await truth.expect_sound(lab, world.names, first, more, after="a quiet end")
