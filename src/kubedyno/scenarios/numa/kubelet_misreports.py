"""Kubelets that are there and tell, admit or report wrongly."""

from collections.abc import Sequence
from typing import Final

import msgspec

from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios import outcomes
from kubedyno.scenarios.numa import matching, truth, waking, zoned
from kubedyno.scenarios.numa.exporter_accounting import outcome_of
from kubedyno.scenarios.numa.matching import RESYNC_S, Cache
from kubedyno.scenarios.numa.mistakes import TOLD, Outcome
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import NodeCount
from kubedyno.sim.faults.misbehaving import Misreport, SlowStatus, WrongAdmission
from kubedyno.sim.faults.selecting import Selection

_TARGET = "kubelet misreporting"
_AGREED_WITHIN_S = 20 * zoned.EXPORT_S
_SLOW_S = 5
_MEMORY: Final = {"memory": 1 << 30}


class Untruth(msgspec.Struct, frozen=True, kw_only=True):
    """What a kubelet tells its exporter, and what becomes of a pod of more than half a zone for that node."""

    name: str
    fault: Misreport
    before: int = 0
    """Such pods that are on the node before."""
    right: Outcome
    outcome: Outcome | None
    """None: what a scheduler makes of it is not asked; that the report is wrong is."""


UNTRUTHS: Final = (
    Untruth(
        name="memory without a NUMA node",
        fault=Misreport(what="no-numa", resource="memory"),
        right="runs",
        outcome=None,
    ),
    Untruth(
        name="memory on NUMA node -1",
        fault=Misreport(what="negative-numa", resource="memory"),
        right="runs",
        outcome=None,
    ),
    Untruth(
        name="memory on several NUMA nodes",
        fault=Misreport(what="several-numa", resource="memory"),
        before=1,
        right="runs",
        outcome=None,
    ),
    Untruth(
        name="fewer CPUs than the node has",
        fault=Misreport(what="allocatable", resource="cpu", by=-24),
        right="runs",
        outcome="waits",
    ),
    Untruth(
        name="CPUs as if its pods were not there",
        fault=Misreport(what="hidden-pods"),
        before=zoned.FITTING,
        right="waits",
        outcome="refused",
    ),
)


@scenario("numa/kubelet-misreports", tags=("numa", "faults"), needs=("numa",), settings=matching.settings)
async def kubelet_misreports(lab: Lab, *, nodes: NodeCount = 10, cache: Cache = "passthrough") -> None:
    """Kubelets tell their exporters what is not so, admit what they must not, refuse what they could, or are slow.

    Exporters publish what they are told: that it is wrong is seen by comparing it with the ledger. A pod that was
    refused though a zone has room for it is found that way, and one that was admitted without any by the CPUs that two
    pods have.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
    """
    del cache  # the lab was started with it
    world = await zoned.begin(lab, nodes)
    with lab.timed():
        for number, untruth in enumerate(UNTRUTHS):
            await _told(lab, world, world.names[number % nodes], untruth)
        await _stale(lab, world, world.names[0])
    await _rejects(lab, world.names[0], "TopologyAffinityError")
    await _rejects(lab, world.names[-1], "OutOfcpu")
    await _accepts(lab, world)
    await _slow(lab, world)


async def _told(lab: Lab, world: World, node: str, untruth: Untruth) -> None:
    before = await zoned.submit_on(lab, zoned.exclusive(name="before"), node, count=untruth.before)
    await waking.set_up(lab, world, before)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"pods came before: {untruth.name}")
    await lab.fail(untruth.fault, Selection(names=(node,)))
    wrong = await _seen(lab, node)
    # The over-reserving cache counts its own pods, and believes no report without them, unless it starts with it.
    wary = untruth.fault.what == "hidden-pods" and world.knows == "over-reserve"
    if not wary:
        await zoned.reread(lab, world)
    pod = await zoned.submit_on(lab, zoned.exclusive(name="tried"), node)
    await truth.until_decided(lab, pod)
    if wary:
        await lab.clock.sleep(2 * RESYNC_S)
    found = await truth.ends_of(lab, pod)
    wanted = "waits" if wary else untruth.outcome
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure=f"tells {untruth.name}",
        expected=f"the exporter reports what it was told{'' if wanted is None else f'; {TOLD[wanted]}'}",
        observed=f"{outcomes.told(wrong) or 'the report is true'}; {found.told}",
        holds=bool(wrong) and (wanted is None or outcome_of(found) == wanted),
        breaks=(1,),
    )
    await truth.expect_sound(lab, [node], pod, before, after=f"a kubelet told {untruth.name}")
    await lab.recover(Selection(names=(node,)))
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"no kubelet told {untruth.name}")
    for pods in (pod, before):
        await lab.delete(pods)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"pods went: {untruth.name}")
    await zoned.reread(lab, world)


async def _seen(lab: Lab, node: str) -> Sequence[str]:
    """How a report differs from the truth, once it does."""

    async def differs() -> bool:
        return bool(await truth.drifts_of(lab, [node]))

    await truth.until(lab, differs, within_s=_AGREED_WITHIN_S)
    return await truth.drifts_of(lab, [node])


async def _stale(lab: Lab, world: World, node: str) -> None:
    """It tells what was: a pod that came since is not seen."""
    await lab.fail(Misreport(what="stale"), Selection(names=(node,)))
    pod = await zoned.submit_on(lab, zoned.exclusive(name="unseen"), node)
    await lab.running(pod)
    await lab.clock.sleep(2 * zoned.EXPORT_S)
    wrong = await truth.drifts_of(lab, [node])
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure="tells what was before a pod came",
        expected="the exporter reports what it was told: all CPUs are free",
        observed=outcomes.told(wrong) or "the report is true",
        holds=any("cpu" in one for one in wrong),
        breaks=(1,),
    )
    await lab.recover(Selection(names=(node,)))
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="a kubelet told what was")
    await lab.delete(pod)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="the unseen pod went")
    await zoned.reread(lab, world)


async def _rejects(lab: Lab, node: str, reason: str) -> None:
    await lab.fail(WrongAdmission(verdict="rejects", reason=reason), Selection(names=(node,)))
    pod = await zoned.submit_on(lab, zoned.exclusive(name=f"rejected-{reason.lower()}"), node)
    found = await truth.until_decided(lab, pod)
    room = truth.has_room(await lab.ledgers.zones(node), {"cpu": zoned.LARGE, **_MEMORY})
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure=f"refuses a pod that fits, with {reason}",
        expected="the pod has failed, and the ledger has room for it",
        observed=f"{found.told}; the ledger has {'room' if room else 'none'}",
        holds=list(found.refused) == [reason] and room,
        breaks=(3,),
    )
    await lab.recover(Selection(names=(node,)))
    await lab.delete(pod)


async def _accepts(lab: Lab, world: World) -> None:
    """A node that is full of zones takes one more: somebody's CPUs are given out twice."""
    node = world.names[1]
    await lab.exporters.freeze([node])
    await zoned.reread(lab, world)
    await lab.fail(WrongAdmission(verdict="accepts"), Selection(names=(node,)))
    shape = zoned.exclusive(name="accepted", spec={"nodeName": node})
    pods = await lab.submit(shape, count=zoned.SEEMING)
    found = await truth.until_decided(lab, pods)
    twice = await lab.ledgers.overlaps(node)
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure="admits a pod for which no zone has room",
        expected="all pods run, and two of them have the same CPUs",
        observed=f"{found.told}; {len(twice)} CPUs are held twice{outcomes.listed(twice[:1])}",
        holds=len(found.running) == zoned.SEEMING and bool(twice),
        breaks=(3,),
    )
    await lab.recover(Selection(names=(node,)))
    await lab.delete(pods)
    await lab.exporters.thaw([node])
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="a pod was admitted wrongly")
    await zoned.reread(lab, world)


async def _slow(lab: Lab, world: World) -> None:
    """Statuses come late: a pod has its node, and nobody hears that it runs."""
    nodes = len(world.names)
    await lab.fail(SlowStatus(extra=f"{_SLOW_S}s"), Selection(names=world.names))
    pods = await lab.submit(zoned.exclusive(name="slow"), count=nodes)
    await lab.scheduled(pods)
    took_s = await truth.until_running(lab, pods, count=nodes, within_s=20.0 * _SLOW_S)
    found = await truth.ends_of(lab, pods)
    await lab.recover(Selection(names=world.names))
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure=f"writes what becomes of its pods {_SLOW_S} s late",
        expected="all pods run in the end, each where it was bound first",
        observed=f"{found.told}{'' if took_s is None else f' after {took_s:.1f} s'}",
        holds=took_s is not None and found.unaligned == 0,
        breaks=(3,),
    )
    await truth.expect_sound(lab, world.names, pods, after="statuses were late")
