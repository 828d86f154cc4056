"""Exporters that die or are refused: nobody tells of what pods take and give back, on one node or on all."""

from typing import Final, Literal

import msgspec

from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube import status
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.model.workloads import Workload
from kubedyno.scenarios import outcomes
from kubedyno.scenarios.numa import matching, truth, waking, zoned
from kubedyno.scenarios.numa.matching import Cache
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import NodeCount, Seconds
from kubedyno.sim.faults.misbehaving import ViewsUnavailable
from kubedyno.sim.faults.selecting import Selection

_TARGET = "exporter crash"
_LOOP_S = 5.0
_REFUSALS: Final = (409, 429, 503)
"""HTTP statuses: a conflict, too many requests, a server that is not available."""
_REPORTED_WITHIN_S: Final = 20 * zoned.EXPORT_S
_MOST_BACKOFF_S: Final = 300.0
"""So long a kubelet may wait before it starts an exporter again that ended."""


@scenario("numa/exporter-crash", tags=("numa", "faults"), needs=("numa",), settings=matching.settings)
async def exporter_crash(
    lab: Lab,
    *,
    nodes: NodeCount = 10,
    cache: Cache = "passthrough",
    style: Literal["rte", "nfd"] = "rte",
    down_s: Seconds = 10.0,
) -> None:
    """Exporters of all nodes die or are refused by the API server; one dies again and again, one gets no answer.

    What they wrote stays, and grows old. While all are dead more pods come than fit; when they are back, one report of
    each must be enough for all that fits to run. The same when the API server has refused to take their reports. In the
    end a node is deleted: its report goes with it if the exporter says that it belongs to the node.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
        style: which exporter is played, the resource-topology-exporter or that of node-feature-discovery
        down_s: how long exporters are dead, or refused with each HTTP status
    """
    del cache  # the lab was started with it
    world = await zoned.begin(lab, nodes, exporters=msgspec.structs.replace(zoned.EXPORTERS, style=style))
    with lab.timed():
        await _all_die(lab, world, down_s)
    for code in _REFUSALS:
        await _all_are_refused(lab, world, code, style, down_s)
    await _one_dies_again_and_again(lab, world)
    await _one_gets_no_answer(lab, world)
    await _node_goes(lab, world, style)


async def _all_die(lab: Lab, world: World, down_s: float) -> None:
    nodes = len(world.names)
    await lab.exporters.crash(world.names)
    before = await lab.exporters.written()
    count = zoned.SEEMING * nodes
    burst = await lab.submit(zoned.exclusive(name="burst"), count=count)
    dead = await truth.until_decided(lab, burst)
    await lab.clock.sleep(down_s)
    after = await lab.exporters.written()
    changed = [name for name in world.names if _version(before[name]) != _version(after[name])]
    ages_s = [_age_s(lab, after[name]) for name in world.names]
    lab.record("age of reports while exporters were dead", "s", ages_s)
    lab.expect("reports stay as they were while exporters are dead", not changed, outcomes.told(changed))
    lab.expect("reports tell their age", min(ages_s) >= down_s - 1, f"the youngest is {min(ages_s):.1f} s old")
    await truth.expect_sound(lab, world.names, burst, after="exporters died")
    lab.record("pods refused for their alignment", "pods", dead.unaligned)
    keeps = matching.reserves(world.knows)
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="dead on all nodes while pods come",
        expected=f"{nodes} pods run, the others wait, none is refused" if keeps else "pods are refused by kubelets",
        observed=dead.told,
        holds=(not dead.unaligned and len(dead.running) == nodes) if keeps else dead.unaligned > 0,
        finding="" if keeps else f"the {world.knows} cache believes a report that is out of date",
        breaks=(1, 2),
    )
    await lab.exporters.restart(world.names)
    if keeps:
        await waking.expect_fitting(
            lab,
            world,
            burst,
            target=_TARGET,
            failure="started again on all nodes",
            expected=f"{zoned.FITTING * nodes} pods run, none is refused",
            recorded="recovery after exporters were started again",
        )
    await truth.expect_reported(lab, world.names, within_s=_REPORTED_WITHIN_S, after="exporters were started again")
    await lab.delete(burst)
    await truth.expect_reported(lab, world.names, within_s=_REPORTED_WITHIN_S, after="the pods were gone")
    await zoned.reread(lab, world)


async def _all_are_refused(lab: Lab, world: World, code: int, style: str, down_s: float) -> None:
    """Pods that fill all zones go and others come while the API server takes no report: all seems to be full."""
    answer = f"{code} {status.REASONS[code]}"
    ends = style == "nfd"
    within_s = _REPORTED_WITHIN_S + (_MOST_BACKOFF_S if ends else 0.0)
    full = await lab.submit(_filling(f"full-{code}"), count=len(world.names))
    await waking.set_up(lab, world, full)
    await truth.expect_reported(lab, world.names, within_s=within_s, after=f"pods came before {answer}")
    begun = await lab.exporters.refresh()
    await lab.exporters.refuse(world.names, code)
    before = await lab.exporters.written()
    await lab.delete(full)
    late = [await zoned.submit_on(lab, zoned.exclusive(name=f"late-{code}"), node) for node in world.names]
    waiting = await truth.until_decided(lab, *late)
    await lab.clock.sleep(down_s)
    after, told = await lab.exporters.written(), await lab.exporters.refresh()
    changed = [name for name in world.names if _version(before[name]) != _version(after[name])]
    ages_s = [_age_s(lab, after[name]) for name in world.names]
    answered = told.retries - begun.retries + told.failures.get(str(code), 0) - begun.failures.get(str(code), 0)
    lab.record(f"age of reports while exporters were answered with {code}", "s", ages_s)
    lab.expect(f"reports stay as they were while exporters get {answer}", not changed, outcomes.told(changed))
    lab.expect(
        f"reports tell their age while exporters get {answer}",
        min(ages_s) >= down_s - 1,
        f"the youngest is {min(ages_s):.1f} s old",
    )
    await lab.exporters.serve(world.names)
    recovered = await waking.until_running(lab, world, *late, within_s=waking.WITHIN_S + within_s)
    found = await truth.ends_of(lab, *late)
    restarts = (await lab.exporters.refresh()).restarts - begun.restarts
    lab.case(
        target=_TARGET,
        component="API server",
        failure=f"answers exporters with {answer} while pods go and come",
        expected="reports stay, pods wait with room for them; then all run"
        + ("; exporters may end, and are started again" if ends else ", and no exporter has ended"),
        observed=f"{answered} requests were answered so, {waiting.told}; then {recovered.told(found)}, "
        f"{restarts} exporters were started again",
        holds=answered > 0
        and waiting.waits_for(truth.CANNOT_ALIGN) == len(late)
        and recovered.took_s is not None
        and (ends or not restarts),
        finding=recovered.finding,
        breaks=(2,),
    )
    if recovered.took_s is not None:
        lab.record(f"recovery after exporters were answered with {code}", "s", recovered.took_s)
    await truth.expect_reported(lab, world.names, within_s=within_s, after=f"{answer} was over")
    await truth.expect_sound(lab, world.names, *late, after=f"{answer} was over")
    for pods in late:
        await lab.delete(pods)
    await truth.expect_reported(lab, world.names, within_s=within_s, after=f"pods went after {answer}")
    await zoned.reread(lab, world)


def _filling(name: str) -> Workload:
    """A pod that leaves no zone of its node room for another large one."""
    return zoned.containers({"a": zoned.guaranteed(zoned.LARGE), "b": zoned.guaranteed(zoned.LARGE)}, name=name)


async def _one_dies_again_and_again(lab: Lab, world: World) -> None:
    """Between two deaths it looks once: reports are late, and in the end true."""
    node = world.names[0]
    await lab.exporters.crash([node], loop_s=_LOOP_S)
    pod = await zoned.submit_on(lab, zoned.exclusive(name="looped"), node)
    await lab.running(pod)

    async def agrees() -> bool:
        return not await truth.drifts_of(lab, [node])

    took_s = await truth.until(lab, agrees, within_s=6 * _LOOP_S)
    lab.case(
        target=_TARGET,
        component="exporter",
        failure=f"of one node dies every {_LOOP_S:g} s",
        expected="its reports are late, and true between two deaths",
        observed="never true" if took_s is None else f"true after {took_s:.1f} s",
        holds=took_s is not None,
        breaks=(1, 2),
    )
    await lab.exporters.restart([node])
    await lab.delete(pod)


async def _one_gets_no_answer(lab: Lab, world: World) -> None:
    """Its kubelet answers later than it waits."""
    node = world.names[1]
    before = (await lab.exporters.written())[node]
    await lab.fail(ViewsUnavailable(how="timeout"), Selection(names=(node,)))
    pod = await zoned.submit_on(lab, zoned.exclusive(name="unseen"), node)
    await lab.running(pod)
    await lab.clock.sleep(2 * zoned.EXPORT_S)
    kept = (await lab.exporters.written())[node]
    wrong = await truth.drifts_of(lab, [node])
    await lab.recover(Selection(names=(node,)))
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure="answers its exporter too late",
        expected="the report stays as it was, and is out of date",
        observed=f"the report {'stays' if _version(kept) == _version(before) else 'changed'}{outcomes.listed(wrong)}",
        holds=_version(kept) == _version(before) and bool(wrong),
        breaks=(1,),
    )
    await truth.expect_reported(lab, [node], within_s=_REPORTED_WITHIN_S, after="the kubelet answers again")
    await lab.delete(pod)


async def _node_goes(lab: Lab, world: World, style: str) -> None:
    """Whose a report is decides whether it goes with its node."""
    node = world.names[-1]
    await lab.exporters.crash([node])
    await lab.client.delete(NODES, node)

    async def is_gone() -> bool:
        return node not in await lab.exporters.written()

    goes = style == "rte"
    took_s = await truth.until(lab, is_gone, within_s=60.0 if goes else 10.0)
    lab.case(
        target=_TARGET,
        component="exporter",
        failure="its node is deleted",
        expected="its report goes with the node"
        if goes
        else "its report stays: it belongs to the exporter's namespace",
        observed="the report is still there" if took_s is None else f"the report is gone after {took_s:.1f} s",
        holds=(took_s is not None) == goes,
        breaks=(2,),
    )


def _version(report: Object) -> str:
    return str(report["metadata"]["resourceVersion"])


def _age_s(lab: Lab, report: Object) -> float:
    """How long ago a report was last written, as its fields tell."""
    times = [entry["time"] for entry in report["metadata"].get("managedFields") or () if entry.get("time")]
    written_ns = max((parse_rfc3339_ns(time) for time in times), default=lab.clock.wall_ns())
    return (lab.clock.wall_ns() - written_ns) / NS_PER_S
