"""Exporters that count wrongly: each node's in a way of its own, side by side."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kubedyno.kube.codec import Object
from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios import outcomes
from kubedyno.scenarios.numa import matching, mistakes, truth, waking, zoned
from kubedyno.scenarios.numa.matching import RESYNC_S, Cache
from kubedyno.scenarios.numa.mistakes import MISPRINTS, MISTAKES, Misprint, Mistake, Outcome
from kubedyno.scenarios.numa.truth import Ends
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import NodeCount
from kubedyno.sim.exporters.distorting import Distortion, TerminalPods

_Part = TypeVar("_Part")
_TARGET = "exporter accounting"
_AGREED_WITHIN_S = 20 * zoned.EXPORT_S
_STAYS_S = 3.0
"""Longer than a scheduler thinks: who waits then goes on waiting."""


@scenario("numa/exporter-accounting", tags=("numa", "faults"), needs=("numa",), settings=matching.settings)
async def exporter_accounting(lab: Lab, *, nodes: NodeCount = 10, cache: Cache = "passthrough") -> None:
    """Exporters report too much, too little, or what nobody can read, and one pod is tried on each such node.

    Too much ends with a refusal by the kubelet of that node, too little with a pod that waits beside a free zone. What
    is wrong with a report is named by comparing it with the kubelet's ledger: node, zone, resource and by how much.
    When exporters count rightly again, all that fits must run.

    Parameters:
        nodes: size of the cluster, of two zones each; mistakes are made on all of them at a time
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
    """
    del cache  # the lab was started with it
    await lab.nodes(zoned.pool(1, name="spread", topology_manager_policy="best-effort"))
    world = await zoned.begin(lab, nodes)
    with lab.timed():
        for some in _parts(MISTAKES, nodes):
            await _tried(lab, world, some)
        for several in _parts(MISPRINTS, nodes):
            await _misprinted(lab, world, several)
    await _ended_pods(lab, world)
    await _spread_memory(lab, "spread-0")


def _parts(whole: Sequence[_Part], size: int) -> Iterable[Sequence[_Part]]:
    return (whole[begin : begin + size] for begin in range(0, len(whole), size))


async def _tried(lab: Lab, world: World, some: Sequence[Mistake]) -> None:
    """One mistake a node: pods that are there before, the mistake, the pod that is tried, and all right again."""
    where = dict(zip(world.names, some, strict=False))
    before = [
        await zoned.submit_on(lab, zoned.exclusive(name="before"), node, count=mistake.before)
        for node, mistake in where.items()
        if mistake.before
    ]
    await waking.set_up(lab, world, *before)
    await truth.expect_reported(lab, where, within_s=_AGREED_WITHIN_S, after="pods came before mistakes")
    await distort(lab, {node: mistake.distortion for node, mistake in where.items()})
    await zoned.reread(lab, world)
    tried = {node: await zoned.submit_on(lab, mistake.tried, node) for node, mistake in where.items()}
    await truth.until_decided(lab, *tried.values())
    await lab.clock.sleep(RESYNC_S + _STAYS_S if world.knows == "over-reserve" else _STAYS_S)
    for node, mistake in where.items():
        await _judge(lab, world, node, mistake, tried[node])
    await truth.expect_sound(lab, where, *tried.values(), *before, after="mistakes were made")
    await lab.exporters.straighten(list(where))
    await _recovered(lab, world, where, tried)
    await truth.expect_reported(lab, where, within_s=_AGREED_WITHIN_S, after="mistakes were made good")
    for pods in (*tried.values(), *before):
        await lab.delete(pods)


async def _judge(lab: Lab, world: World, node: str, mistake: Mistake, tried: Workloads) -> None:
    found = await truth.ends_of(lab, tried)
    wanted = mistake.outcome(world.knows)
    wrong = await truth.drifts_of(lab, [node])
    known = mistake.finding if world.knows != "reference" and wanted != mistake.right else ""
    lab.case(
        target=_TARGET,
        component="exporter",
        failure=f"reports {mistake.name}",
        expected=f"{mistakes.TOLD[wanted]}; with a true report {mistakes.TOLD[mistake.right]}",
        observed=f"{found.told}{_named(wrong)}",
        holds=outcome_of(found) == wanted and bool(wrong) == mistake.drifts,
        finding=known,
        breaks=(2,),
    )


def outcome_of(found: Ends) -> Outcome | None:
    """What became of a single pod; None: none of what can be."""
    if found.running:
        return "runs"
    if found.unaligned:
        return "refused"
    return "waits" if found.waits_for(truth.CANNOT_ALIGN) else None


def _named(wrong: Sequence[str]) -> str:
    return f"; {outcomes.told(wrong)}" if wrong else ""


async def _recovered(lab: Lab, world: World, where: dict[str, Mistake], tried: dict[str, Workloads]) -> None:
    """With true reports every pod runs that waited beside a free zone."""
    waited = [
        tried[node]
        for node, mistake in where.items()
        if mistake.right == "runs" and mistake.outcome(world.knows) == "waits"
    ]
    if not waited:
        return
    recovered = await waking.until_running(lab, world, *waited, count=len(waited))
    found = await truth.ends_of(lab, *waited)
    told = recovered.told(found)
    lab.expect("pods that fit run once reports are true", recovered.took_s is not None, told)
    if recovered.took_s is not None:
        lab.record(f"recovery from {where[next(iter(where))].name} and {len(where) - 1} others", "s", recovered.took_s)


async def _misprinted(lab: Lab, world: World, some: Sequence[Misprint]) -> None:
    """Reports are believed or not: whether a second pod runs beside the first, which has one of two zones."""
    where = dict(zip(world.names, some, strict=False))
    await distort(lab, {node: misprint.distortion for node, misprint in where.items()}, is_seen=False)
    await zoned.reread(lab, world)
    first = [await zoned.submit_on(lab, zoned.exclusive(name="first"), node) for node in where]
    await waking.set_up(lab, world, *first)
    second = {node: await zoned.submit_on(lab, zoned.exclusive(name="second"), node) for node in where}
    await truth.until_decided(lab, *second.values())
    believed = [second[node] for node, misprint in where.items() if world.knows in misprint.believed_by]
    recovered = await waking.until_running(lab, world, *believed, count=len(believed))
    if len(believed) < len(where):
        await lab.clock.sleep(2 * RESYNC_S + _STAYS_S)
    for node, misprint in where.items():
        found = await truth.ends_of(lab, second[node])
        runs = world.knows in misprint.believed_by
        lab.case(
            target=_TARGET,
            component="exporter",
            failure=f"reports {misprint.name}",
            expected="the report is believed: a second pod runs" if runs else "the report is not believed: it waits",
            observed=recovered.told(found) if runs else found.told,
            holds=outcome_of(found) == ("runs" if runs else "waits"),
            finding=recovered.finding if runs else "",
            breaks=(2,),
        )
    await lab.exporters.straighten(list(where))
    recovered = await waking.until_running(lab, world, *second.values(), count=len(where))
    lab.expect("a second pod runs wherever fingerprints are right again", recovered.took_s is not None)
    for pods in (*first, *second.values()):
        await lab.delete(pods)
    await truth.expect_reported(lab, where, within_s=_AGREED_WITHIN_S, after="fingerprints were wrong")


async def _ended_pods(lab: Lab, world: World) -> None:
    """Pods that are gone still count: a node that is free seems to be full."""
    node = world.names[-1]
    # It must not remember those that ended before: started anew it does not.
    await lab.exporters.crash([node])
    await lab.exporters.restart([node])
    await distort(lab, {node: TerminalPods()}, is_seen=False)
    before = await zoned.submit_on(lab, zoned.exclusive(name="ended"), node, count=zoned.FITTING)
    await waking.set_up(lab, world, before)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="pods came that will end")
    await lab.delete(before)
    after = await zoned.submit_on(lab, zoned.exclusive(name="after"), node)
    await truth.until_decided(lab, after)
    await lab.clock.sleep(RESYNC_S + _STAYS_S)
    found, wrong = await truth.ends_of(lab, after), await truth.drifts_of(lab, [node])
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="reports pods that have ended",
        expected="a pod waits beside free zones, none is refused",
        observed=f"{found.told}{_named(wrong)}",
        holds=outcome_of(found) == "waits" and bool(wrong),
        breaks=(2,),
    )
    await lab.exporters.straighten([node])
    recovered = await waking.until_running(lab, world, after, count=1)
    lab.expect("a pod runs once pods that have ended count no more", recovered.took_s is not None)
    await lab.delete(after)


async def _spread_memory(lab: Lab, node: str) -> None:
    """Memory on several zones: the resource-topology-exporter charges all of it to each."""
    pod = await zoned.submit_on(lab, zoned.exclusive(2, "40Gi", name="spread"), node)
    await lab.running(pod)

    async def differs() -> bool:
        return bool(await truth.drifts_of(lab, [node]))

    await truth.until(lab, differs, within_s=_AGREED_WITHIN_S)
    await lab.clock.sleep(2 * zoned.EXPORT_S)
    wrong = await truth.drifts_of(lab, [node])
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="a pod has memory on two zones",
        expected="all of it is charged to each zone",
        observed=outcomes.told(wrong) or "the report is true",
        holds=bool(wrong) and all("memory" in one for one in wrong),
        finding="the resource-topology-exporter charges memory of several zones to each of them",
    )
    await lab.delete(pod)


async def distort(lab: Lab, distortions: dict[str, Distortion], *, is_seen: bool = True) -> None:
    """Let exporters err, each in its way; returns when all reports show it.

    `is_seen` False: a report need not look otherwise yet; then for as long as an exporter takes to look twice.
    """
    before = await lab.exporters.written()
    for node, distortion in distortions.items():
        await lab.exporters.distort([node], [distortion])

    async def changed() -> bool:
        now = await lab.exporters.written()
        return all(_said(now[node]) != _said(before[node]) for node in distortions)

    if is_seen:
        took_s = await truth.until(lab, changed, within_s=_AGREED_WITHIN_S)
        lab.expect("reports show what exporters are made to write", took_s is not None)
    else:
        await lab.clock.sleep(2 * zoned.EXPORT_S)


def _said(report: Object) -> object:
    return {field: value for field, value in report.items() if field != "metadata"}
