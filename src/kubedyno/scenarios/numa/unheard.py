"""The policy of a node changes: whether a scheduler hears of it, also after its watch of reports has ended.

An API server ends watches when it is stopped, after half an hour or more, and when the definition of their kind is
written anew: the last is what can be had within seconds, and hits nothing else. Clients are to begin another watch.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

from kubedyno.client.watching import Watch
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS
from kubedyno.lab.lab import Lab
from kubedyno.measure.host import Usage
from kubedyno.scenarios.numa import matching, truth, waking, zoned
from kubedyno.scenarios.numa.exporter_accounting import distort, outcome_of
from kubedyno.scenarios.numa.matching import RESYNC_S
from kubedyno.scenarios.numa.mistakes import TOLD, Outcome
from kubedyno.scenarios.numa.zoned import World
from kubedyno.sim.exporters.distorting import WrongPolicy
from kubedyno.sim.exporters.writing import POLICY

FINDING: Final = "the over-reserving cache hears of no policy any more once its watch has ended"

_DEFINITION: Final = f"{zoned.TOPOLOGIES.plural}.{zoned.TOPOLOGIES.group}"
_BEFORE: Final = "none"
_AFTER: Final = "single-numa-node"
_ENDS_WITHIN_S: Final = 15.0
_REPORTED_WITHIN_S: Final = 20 * zoned.EXPORT_S
_HEARD_S: Final = 2.0
"""Longer than it takes to hear of something."""


async def policies_change(lab: Lab, world: World, *, target: str) -> None:
    """Two nodes align nothing as far as anybody knows, then they do: one of them after all watches have ended."""
    heard, unheard = world.names[:2]
    await distort(lab, dict.fromkeys((heard, unheard), WrongPolicy(policy=_BEFORE)))
    await zoned.reread(lab, world)
    cpus = await _changed(lab, world, heard)
    await _tried(lab, heard, target=target, failure="the policy of a node has changed", wanted="waits", cpus=cpus)
    ended = await _end_watches(lab, heard)
    cpus = await _changed(lab, world, unheard)
    is_deaf = ended and world.knows == "over-reserve"
    await _tried(
        lab,
        unheard,
        target=target,
        failure=f"the same, after the API server {'has ended all' if ended else 'could have ended'} watches of reports",
        wanted="refused" if is_deaf else "waits",
        cpus=cpus,
    )
    await zoned.reread(lab, world)


async def _changed(lab: Lab, world: World, node: str) -> float | None:
    """The report of a node says what is true, and for long enough; the CPUs that the scheduler took up meanwhile."""
    await lab.exporters.straighten([node])

    async def is_reported() -> bool:
        return _policy(await lab.client.get(zoned.TOPOLOGIES, node)) == _AFTER

    took_s = await truth.until(lab, is_reported, within_s=_REPORTED_WITHIN_S)
    lab.expect("a change of policy is reported", took_s is not None)
    usage, begun_ns = Usage(lambda: matching.pids(lab), lab.clock), lab.clock.monotonic_ns()
    usage.sample()
    await lab.clock.sleep(RESYNC_S + _HEARD_S if world.knows == "over-reserve" else _HEARD_S)
    usage.sample()
    used = [usage.cpu_used_s(name) for name in matching.pids(lab)]
    return sum(used) * NS_PER_S / (lab.clock.monotonic_ns() - begun_ns) if used else None


def _policy(report: Object) -> str | None:
    return next((one["value"] for one in report.get("attributes") or () if one["name"] == POLICY), None)


async def _tried(lab: Lab, node: str, *, target: str, failure: str, wanted: Outcome, cpus: float | None = None) -> None:
    """A pod that no zone can hold."""
    pod = await zoned.submit_on(lab, zoned.exclusive(zoned.WIDE, name="wide"), node)
    found = await truth.until_decided(lab, pod)
    is_right = wanted == "waits"
    takes = "" if cpus is None else f"; the scheduler takes up {cpus:.2f} CPUs"
    lab.case(
        target=target,
        component="scheduler",
        failure=failure,
        expected=TOLD[wanted] if is_right else f"{TOLD[wanted]}; right would be: {TOLD['waits']}",
        observed=f"{found.told}{takes}",
        holds=outcome_of(found) == wanted,
        finding="" if is_right else FINDING,
        breaks=(4,),
    )
    await truth.expect_sound(lab, [node], pod, after=failure)
    await lab.delete(pod)


async def _end_watches(lab: Lab, node: str) -> bool:
    """Write the definition of reports anew, and as it was again: whether that has ended all watches of them.

    A real API server does so, the embedded one does not. The report of `node` is touched, to be seen by such a watch.
    """
    watch = Watch(lab.client, zoned.TOPOLOGIES, rng=lab.rng)

    async def listen() -> None:
        async with aclosing(watch.events()) as events:
            async for _ in events:
                pass

    async def is_streaming() -> bool:
        await waking.touch(lab, [node])
        return watch.counts.changes > 0

    async def has_ended() -> bool:
        return watch.counts.streams > 1

    async with tasks.owning() as group:
        listening = group.create_task(listen(), name="watch reports")
        await truth.until(lab, is_streaming, within_s=_ENDS_WITHIN_S)
        before: Object = await lab.client.get(CRDS, _DEFINITION)
        await lab.client.modify(CRDS, _DEFINITION, _described("Zones of a node."))
        try:
            took_s = await truth.until(lab, has_ended, within_s=_ENDS_WITHIN_S)
        finally:
            await lab.client.modify(CRDS, _DEFINITION, _described(_description(before)))
        listening.cancel()
    if took_s is not None:
        await lab.clock.sleep(_HEARD_S)  # of several API servers another may be later
    return took_s is not None


def _described(text: str | None) -> Callable[[Object], None]:
    def change(definition: Object) -> None:
        schema = _schema(definition)
        schema.pop("description", None)
        if text is not None:
            schema["description"] = text

    return change


def _description(definition: Object) -> str | None:
    found: str | None = _schema(definition).get("description")
    return found


def _schema(definition: Object) -> dict[str, Any]:
    schema: dict[str, Any] = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema
