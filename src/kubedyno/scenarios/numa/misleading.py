"""A scheduler whose extender misleads it: with nodes that cannot be, with scores, or by not answering."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.scenarios.numa import extender, truth, waking, zoned
from kubedyno.scenarios.numa.exporter_accounting import outcome_of
from kubedyno.scenarios.numa.extender import SILENT, Extender, Kind
from kubedyno.scenarios.numa.mistakes import TOLD, Outcome
from kubedyno.scenarios.numa.zoned import World

_COMPONENT: Final = "extender"
_NOWHERE: Final = "no-such-node"
_UNKNOWN: Final = "not found in the input node list"
_OVERDUE: Final = "deadline exceeded"
_MOST_POINTS: Final = 10
_REPORTED_WITHIN_S: Final = 20 * zoned.EXPORT_S


class _Fault(msgspec.Struct, frozen=True, kw_only=True):
    """A wrong answer to the question which nodes are good for a pod."""

    name: str
    kind: Kind
    answer: Callable[[Object], Any]
    """Made of a node without room for the pod."""
    outcome: Outcome
    right: Outcome
    says: str = ""
    """Words of the scheduler for why the pod waits."""
    finding: str = ""


def _name_of(full: Object) -> str:
    return str(full["metadata"]["name"])


FAULTS: Final = (
    _Fault(
        name="names a node that does not exist",
        kind="names",
        answer=lambda _: {"NodeNames": [_NOWHERE]},
        outcome="waits",
        right="waits",
        says=_UNKNOWN,
    ),
    _Fault(
        name="names a node that does not exist, and is ignorable",
        kind="ignorable",
        answer=lambda _: {"NodeNames": [_NOWHERE]},
        outcome="runs",
        right="runs",
    ),
    _Fault(
        name="names only a node without room",
        kind="names",
        answer=lambda full: {"NodeNames": [_name_of(full)]},
        outcome="waits",
        right="waits",
        says=_UNKNOWN,
    ),
    _Fault(
        name="is told whole nodes, and gives back only one without room",
        kind="whole",
        answer=lambda full: {"Nodes": {"items": [full]}},
        outcome="refused",
        right="waits",
        finding="an extender that is told whole nodes may give back one that was filtered out, and is believed",
    ),
    _Fault(
        name="does not answer",
        kind="names",
        answer=lambda _: SILENT,
        outcome="waits",
        right="waits",
        says=_OVERDUE,
    ),
    _Fault(
        name="does not answer, and is ignorable",
        kind="ignorable",
        answer=lambda _: SILENT,
        outcome="runs",
        right="runs",
    ),
)


async def misled(lab: Lab, world: World, *, target: str) -> None:
    """Cases of an extender that errs, where the scheduler of the lab asks one; else none."""
    port = extender.port_of(lab)
    if port is None:
        return
    full, used, *_ = world.names
    before = [
        await zoned.submit_on(lab, zoned.exclusive(name="full"), full, count=zoned.FITTING),
        await zoned.submit_on(lab, zoned.exclusive(name="used"), used),
    ]
    await waking.set_up(lab, world, *before)
    await _reported(lab, world, "pods came before the extender")
    async with extender.extending(port, lab.clock) as asked:
        for fault in FAULTS:
            await _misled(lab, world, asked, fault, full=full, target=target)
        await _swayed(lab, world, asked, full=full, target=target)
    for pods in before:
        await lab.delete(pods)
    await _reported(lab, world, "the extender was gone")


async def _misled(lab: Lab, world: World, asked: Extender, fault: _Fault, *, full: str, target: str) -> None:
    asked.answers[fault.kind] = fault.answer(await lab.client.get(NODES, full))
    questions = asked.asked[fault.kind]
    pod = await lab.submit(extender.exclusive(fault.kind, name="misled"))
    found = await truth.until_decided(lab, pod)
    said = await _said(lab, pod)
    placed = set(lab.placement(pod).values())
    # It waits for the extender, not for a zone: in the scheduler's own words.
    became: Outcome | None = "waits" if found.pending else outcome_of(found)
    observed = [f"it waits: {said}" if found.pending else found.told]
    holds = (
        asked.asked[fault.kind] > questions
        and became == fault.outcome
        and fault.says in said
        and (fault.outcome != "runs" or full not in placed)
    )
    expected = TOLD[fault.outcome]
    if fault.outcome == "waits":
        asked.answers[fault.kind] = {"NodeNames": [world.names[-1]]}
        recovered = await waking.until_running(lab, world, pod)
        observed.append(f"then {recovered.told(await truth.ends_of(lab, pod))}")
        expected += f", and says: {fault.says}; it runs as soon as the extender is right"
        holds &= recovered.took_s is not None
    elif fault.outcome != fault.right:
        expected += f"; right would be: {TOLD[fault.right]}"
    lab.case(
        target=target,
        component=_COMPONENT,
        failure=fault.name,
        expected=expected,
        observed="; ".join(observed),
        holds=holds,
        finding=fault.finding,
    )
    await truth.expect_sound(lab, world.names, pod, after=f"an extender {fault.name}")
    await _gone(lab, world, pod, fault.name)


async def _swayed(lab: Lab, world: World, asked: Extender, *, full: str, target: str) -> None:
    """It gives all its points to a node with room that the scheduler would not have chosen by itself."""
    alone = await lab.submit(zoned.exclusive(name="alone"))
    await waking.set_up(lab, world, alone)
    own = next(iter(lab.placement(alone).values()))
    await _gone(lab, world, alone, "no extender was asked")
    wanted = next((name for name in world.names if name not in {full, own}), own)
    asked.answers["scores"] = [{"Host": name, "Score": _MOST_POINTS if name == wanted else 0} for name in world.names]
    pod = await lab.submit(extender.exclusive("scores", name="swayed"))
    found = await truth.until_decided(lab, pod)
    placed = next(iter(lab.placement(pod).values()), None)
    lab.case(
        target=target,
        component=_COMPONENT,
        failure="gives all points to a node that would not be chosen",
        expected=f"the pod runs on {wanted}: its scores outweigh those of the plugins",
        observed=f"{found.told} on {placed}; without an extender it was {own}",
        holds=outcome_of(found) == "runs" and placed == wanted and asked.asked["scores"] > 0,
    )
    await truth.expect_sound(lab, world.names, pod, after="an extender swayed the choice")
    await _gone(lab, world, pod, "an extender swayed the choice")


async def _said(lab: Lab, pod: Workloads) -> str:
    """What the scheduler says of a pod, in its own words."""
    return "; ".join(
        (meta.condition(one, "PodScheduled") or {}).get("message") or "" for one in await truth.pods_of(lab, pod)
    )


async def _gone(lab: Lab, world: World, pod: Workloads, after: str) -> None:
    await lab.delete(pod)
    await _reported(lab, world, f"a pod went: {after}")


async def _reported(lab: Lab, world: World, after: str) -> None:
    await truth.expect_reported(lab, world.names, within_s=_REPORTED_WITHIN_S, after=after)
    await zoned.reread(lab, world)
