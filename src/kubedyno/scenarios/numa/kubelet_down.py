"""Kubelets that are gone: for good as far as anybody knows, or for a moment, with and without what they remembered."""

from typing import Any, Final

from kubedyno.kube import meta
from kubedyno.kube.resources import NODES
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import scenario
from kubedyno.scenarios import outcomes
from kubedyno.scenarios.numa import matching, truth, waking, zoned
from kubedyno.scenarios.numa.matching import Cache
from kubedyno.scenarios.numa.zoned import World
from kubedyno.scenarios.parameters import NodeCount, Seconds
from kubedyno.sim.faults.fault import Crash, KubeletRestart, State
from kubedyno.sim.faults.selecting import Selection

_TARGET = "kubelet unavailable"
_AGREED_WITHIN_S = 20 * zoned.EXPORT_S
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_NOTICED_WITHIN_S = 300.0
_BACK_WITHIN_S = 60.0
_DOWN_S = 3.0


@scenario("numa/kubelet-down", tags=("numa", "faults"), needs=("numa",), settings=matching.settings, heartbeats="8s")
async def kubelet_down(
    lab: Lab, *, nodes: NodeCount = 10, cache: Cache = "passthrough", tolerated_s: Seconds = 5.0
) -> None:
    """The kubelet of one node falls silent, and others restart with their files and without.

    A silent node keeps its report, which says nothing of whether it lives: it is the lease that does. It is declared
    unreachable, gets no pods any more, and its pods are evicted when they tolerate it no longer. A kubelet that
    restarts with its files gives its pods the same CPUs; without them it gives them out anew, and nobody's twice.

    Parameters:
        nodes: size of the cluster, of two zones each
        cache: how NodeResourceTopologyMatch knows the zones; read back from it, and without a meaning for others
        tolerated_s: how long pods tolerate a node that is unreachable; 300 s unless they say so
    """
    del cache  # the lab was started with it
    world = await zoned.begin(lab, nodes)
    with lab.timed():
        await _silent(lab, world, tolerated_s)
    states: tuple[State, ...] = ("kept", "lost")
    for state in states:
        await _restarted(lab, world, state)


def _tolerant(tolerated_s: float) -> dict[str, Any]:
    return {
        "tolerations": [
            {"key": _UNREACHABLE, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": round(tolerated_s)}
        ]
    }


async def _silent(lab: Lab, world: World, tolerated_s: float) -> None:
    node, nodes = world.names[0], len(world.names)
    shape = zoned.exclusive(name="held", spec=_tolerant(tolerated_s))
    held = await zoned.submit_on(lab, shape, node)
    await lab.running(held)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="a pod came before the silence")
    await zoned.reread(lab, world)
    before = (await lab.exporters.written())[node]
    await lab.fail(Crash(), Selection(names=(node,)))
    early = await zoned.submit_on(lab, zoned.exclusive(name="early"), node)
    await lab.scheduled(early)
    noticed_s = await truth.until(lab, lambda: _is_unreachable(lab, node), within_s=_NOTICED_WITHIN_S)
    report = (await lab.exporters.written()).get(node)
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure="silent on one node",
        expected="the node is declared unreachable after its grace; its report stays, and tells nothing of that",
        observed=(
            f"{'never noticed' if noticed_s is None else f'noticed after {noticed_s:.1f} s'}; "
            f"the report {'is gone' if report is None else 'is there'}"
        ),
        holds=noticed_s is not None
        and report is not None
        and truth.told_available(report) == truth.told_available(before),
        breaks=(1, 3),
    )
    if noticed_s is not None:
        lab.record("time until the node was declared unreachable", "s", noticed_s)
    others = await lab.submit(zoned.exclusive(name="others"), count=nodes - 1)
    await waking.set_up(lab, world, others)
    there = [name for name, where in lab.placement(others).items() if where == node]
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure="silent and declared unreachable: pods come",
        expected="no pod goes there",
        observed=f"{len(there)} go there{outcomes.listed(there)}",
        holds=not there,
        breaks=(3,),
    )

    async def is_evicted() -> bool:
        return all(pod["metadata"].get("deletionTimestamp") for pod in await truth.pods_of(lab, held))

    evicted_s = await truth.until(lab, is_evicted, within_s=tolerated_s + _BACK_WITHIN_S)
    stays = await truth.pods_of(lab, early)
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure=f"silent: its pods tolerate that for {tolerated_s:g} s, or for 300 s as usual",
        expected="the former are evicted, the latter stay as they are",
        observed=(
            f"{'not evicted' if evicted_s is None else f'evicted {evicted_s:.1f} s later'}; "
            f"those that came last are {', '.join(pod['status']['phase'] for pod in stays)}"
        ),
        holds=evicted_s is not None and [pod["status"]["phase"] for pod in stays] == ["Pending"],
        breaks=(3,),
    )
    await lab.recover(Selection(names=(node,)))
    back_s = await truth.until_running(lab, early, count=1, within_s=_BACK_WITHIN_S)
    found = await truth.ends_of(lab, early)
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure="back after a silence",
        expected="the pod that was bound to it meanwhile is admitted, once",
        observed=found.told if back_s is None else f"{found.told} after {back_s:.1f} s",
        holds=back_s is not None,
    )
    await truth.expect_sound(lab, world.names, early, others, after="a silence")
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after="a silence")
    for pods in (early, others):
        await lab.delete(pods)


async def _is_unreachable(lab: Lab, node: str) -> bool:
    found = await lab.client.get(NODES, node)
    taints = {(one["key"], one["effect"]) for one in (found.get("spec") or {}).get("taints") or ()}
    ready = meta.condition(found, "Ready") or {}
    return ready.get("status") == "Unknown" and (_UNREACHABLE, "NoExecute") in taints


async def _restarted(lab: Lab, world: World, state: State) -> None:
    """Of two pods the first has gone: the other one is not on the zone where it would be put anew."""
    node = world.names[1]
    gone = await zoned.submit_on(lab, zoned.exclusive(name=f"gone-{state}"), node)
    await waking.set_up(lab, world, gone)
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"the first of two pods came ({state})")
    pods = await zoned.submit_on(lab, zoned.exclusive(name=f"stays-{state}"), node)
    await waking.set_up(lab, world, pods)
    await lab.delete(gone)
    before = await lab.ledgers.pods(node)
    await lab.fail(KubeletRestart(state=state, down_s=_DOWN_S), Selection(names=(node,)))
    await lab.clock.sleep(2 * _DOWN_S)
    after = await lab.ledgers.pods(node)
    overlaps = await lab.ledgers.overlaps(node)
    found = await truth.until_decided(lab, pods)
    same = before == after
    lab.case(
        target=_TARGET,
        component="kubelet",
        failure=f"restarted with its files {state}",
        expected="its pods keep their CPUs" if state == "kept" else "its pods are admitted anew, nothing is held twice",
        observed=f"{found.told}; CPUs are {'the same' if same else 'others'}{outcomes.listed(overlaps)}",
        holds=not overlaps and len(found.running) == 1 and (same or state == "lost"),
        breaks=(1, 3),
    )
    await truth.expect_sound(lab, [node], pods, after=f"a restart with files {state}")
    await truth.expect_reported(lab, [node], within_s=_AGREED_WITHIN_S, after=f"a restart with files {state}")
    await lab.recover(Selection(names=(node,)))
    await lab.delete(pods)
