"""Faults carried out: written on nodes when their time comes, and taken away again, whatever happens meanwhile."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal
from weakref import WeakKeyDictionary

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import MODIFY_ATTEMPTS, Client
from kubedyno.kit.clock import NS_PER_S, Clock, rfc3339
from kubedyno.kit.errors import UsageError
from kubedyno.kit.randomness import stream
from kubedyno.kit.tasks import owning
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.sim import marks
from kubedyno.sim.faults import fault as faults
from kubedyno.sim.faults import maintaining
from kubedyno.sim.faults.aiming import AnyGpus, aimed, timed
from kubedyno.sim.faults.fault import Fault, Faults, KubeletRestart
from kubedyno.sim.faults.maintaining import Drain, Maintenance
from kubedyno.sim.faults.scheduling import Outage, Timing, planned
from kubedyno.sim.faults.selecting import Selection, select, told
from kubedyno.sim.patience import PATIENCE_S, patiently

Trouble = Fault | AnyGpus | Maintenance
ONCE: Final = Timing()

_LAST_PATIENCE_S = 3.0
"""When we are asked to end: who interrupts does not want to wait, and the end of a fault stands on its node anyway."""
_REMEMBERED_S = 60.0
"""A fault that is over is left on its node that long: a kubelet must have seen that it was restarted."""


_numbers: WeakKeyDictionary[Clock, "itertools.count[int]"] = WeakKeyDictionary()
"""Faults are counted by clock, so that ids differ at one moment, and repeat in a virtual time that is run again."""


class Injection(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was done to a domain, and when (RFC 3339)."""

    at: str
    event: Literal["failed", "drained", "recovered"]
    kind: str
    domain: str
    nodes: tuple[str, ...]
    """Those that were there."""
    until: str | None = None
    """When it is planned to end; None: not by itself."""


def kind_of(trouble: Trouble) -> str:
    """The name by which the command knows it."""
    return "gpu-lost" if isinstance(trouble, AnyGpus) else str(trouble.__struct_config__.tag)


def needs_recovery(node: Object) -> bool:
    """Whether there is anything to take away from the node."""
    return marks.FAULTS in meta.annotations(node) or is_cordoned(node)


def is_cordoned(node: Object) -> bool:
    """Whether new pods are kept off the node."""
    return bool((node.get("spec") or {}).get("unschedulable"))


class Injector:
    """Carries out faults in one cluster. `tell` hears of each injection and recovery."""

    def __init__(
        self, client: Client, clock: Clock, *, seed: int = 0, tell: Callable[[Injection], None] = lambda _: None
    ) -> None:
        self._client = client
        self._clock = clock
        self._seed = seed
        self._tell = tell
        self._numbers = _numbers.setdefault(clock, itertools.count(1))

    async def fail(
        self, trouble: Trouble, selection: Selection, timing: Timing = ONCE, *, keep: bool = False
    ) -> tuple[Outage, ...]:
        """Let the selected nodes fail, and return when it is over: at once for what stays. What was done."""
        nodes = (await self._client.list_all(NODES)).items
        domains = select(nodes, selection, stream(self._seed, "selection"))
        if not isinstance(trouble, Maintenance):
            met = {name for domain in domains for name in domain.nodes}
            for node in nodes:
                if meta.key(node)[1] in met:
                    aimed(trouble, node, stream(self._seed, "trial"))  # what cannot be is told before anything is done
        outages = planned(self._seed, domains, timing, keep=keep)
        await self.carry_out(trouble, outages, keep=keep)
        return outages

    async def carry_out(self, trouble: Trouble, outages: Sequence[Outage], *, keep: bool = False) -> None:
        """Let every outage come and go at its time, which counts from now.

        Outages without an end stay. When this is cancelled, whatever has an end is ended at once; with `keep`, nothing
        is taken away or waited for: faults end by themselves at the time that stands on their nodes.
        """
        if keep and isinstance(trouble, Maintenance) and any(outage.until_s is not None for outage in outages):
            raise UsageError(f"--keep: a {kind_of(trouble)} does not end by itself; leave out --keep, or its end")
        begun_ns = self._clock.monotonic_ns()
        async with owning() as group:
            for outage in outages:
                left_s = outage.at_s - (self._clock.monotonic_ns() - begun_ns) / NS_PER_S
                if left_s > 0:
                    await self._clock.sleep(left_s)
                group.create_task(self._outage(trouble, outage, keep=keep))

    async def recover(self, selection: Selection) -> None:
        """Take all faults from the selected nodes, and lift their cordons."""
        await self._take_away(selection, "all", self._heal, needs_recovery, "nothing is wrong with")

    async def uncordon(self, selection: Selection) -> None:
        """Lift the cordons of the selected nodes, whoever made them."""
        await self._take_away(selection, "cordon", self._uncordon, is_cordoned, "no cordon is around")

    async def _take_away(
        self,
        selection: Selection,
        kind: str,
        act: Callable[[str], Awaitable[None]],
        concerns: Callable[[Object], bool],
        otherwise: str,
    ) -> None:
        nodes = (await self._client.list_all(NODES)).items
        domains = select(nodes, selection, stream(self._seed, "selection"))
        names = {name for domain in domains for name in domain.nodes}
        found = [meta.key(node)[1] for node in nodes if meta.key(node)[1] in names and concerns(node)]
        if not found:
            raise UsageError(f"{otherwise} the selected nodes ({told(selection)}): there is nothing to recover")
        self._say("recovered", kind, "", await self._each(found, act))

    async def _outage(self, trouble: Trouble, outage: Outage, *, keep: bool) -> None:
        now_ns = self._clock.wall_ns()
        length_s = None if outage.until_s is None else outage.until_s - outage.at_s
        until_ns = None if length_s is None else now_ns + round(length_s * NS_PER_S)
        kind, domain = kind_of(trouble), outage.domain
        id_ = f"{kind}-{now_ns:x}-{next(self._numbers)}"
        stays, patience_s = keep or isinstance(trouble, KubeletRestart), _LAST_PATIENCE_S
        try:
            reached = await self._each(domain.nodes, self._beginning(trouble, id_=id_, at_ns=now_ns, until_ns=until_ns))
            self._say("failed", kind, domain.name, reached, until_ns)
            if isinstance(trouble, Drain):
                await self._drain(trouble, domain.name, reached, length_s)
            elif length_s is not None and not stays:
                await self._clock.sleep(length_s)
            stays, patience_s = stays or length_s is None, PATIENCE_S
        finally:
            if not stays:
                reached = await self._each(domain.nodes, self._ending(trouble, id_), patience_s=patience_s)
                self._say("recovered", kind, domain.name, reached)

    def _beginning(
        self, trouble: Trouble, *, id_: str, at_ns: int, until_ns: int | None
    ) -> Callable[[str], Awaitable[None]]:
        """What is done to each node when an outage begins."""

        async def afflict(name: str) -> None:
            if isinstance(trouble, Maintenance):
                await maintaining.set_unschedulable(self._client, name, unschedulable=True)
                return

            def added(node: Object) -> Faults:
                fault = aimed(trouble, node, stream(self._seed, f"{id_}:{name}"))
                others = (known for known in _remembered(node, at_ns) if known.id != id_)
                return (*others, timed(fault, id_=id_, at_ns=at_ns, until_ns=until_ns))

            await self._rewrite(name, added)

        return afflict

    def _ending(self, trouble: Trouble, id_: str) -> Callable[[str], Awaitable[None]]:
        """What is done to each node when an outage ends."""

        async def relieve(name: str) -> None:
            if isinstance(trouble, Maintenance):
                await maintaining.set_unschedulable(self._client, name, unschedulable=False)
                return

            def without(node: Object) -> Faults:
                return tuple(fault for fault in _remembered(node, self._clock.wall_ns()) if fault.id != id_)

            await self._rewrite(name, without)

        return relieve

    async def _uncordon(self, name: str) -> None:
        await maintaining.set_unschedulable(self._client, name, unschedulable=False)

    async def _heal(self, name: str) -> None:
        patch = {"metadata": {"annotations": {marks.FAULTS: None}}, "spec": {"unschedulable": None}}
        await self._client.patch(NODES, name, patch, kind="merge")

    async def _drain(self, drain: Drain, domain: str, nodes: Sequence[str], length_s: float | None) -> None:
        """Evict the pods of all nodes; no longer than the outage lasts, which may be before all are gone."""

        async def evict() -> None:
            await self._each(
                nodes, lambda name: maintaining.evict_all(self._client, self._clock, name, grace_s=drain.grace_s)
            )
            self._say("drained", kind_of(drain), domain, nodes)

        if length_s is None:
            await evict()
            return
        async with owning() as group:
            evicting = group.create_task(evict())
            await self._clock.sleep(length_s)
            evicting.cancel()

    async def _rewrite(self, name: str, change: Callable[[Object], Faults]) -> None:
        """Change the faults of one node as they are now; others may write to the node meanwhile."""
        conflicts = 0
        while True:
            node = await self._client.get(NODES, name)
            wanted = change(node)
            metadata = {
                "resourceVersion": node["metadata"]["resourceVersion"],
                "annotations": {marks.FAULTS: faults.written(wanted) if wanted else None},
            }
            try:
                await self._client.patch(NODES, name, {"metadata": metadata}, kind="merge")
            except ApiError as error:
                conflicts += 1
                if not error.is_conflict or conflicts == MODIFY_ATTEMPTS:
                    raise
            else:
                return

    async def _each(
        self, nodes: Sequence[str], act: Callable[[str], Awaitable[None]], *, patience_s: float = PATIENCE_S
    ) -> tuple[str, ...]:
        """Do it to all nodes at once; those that were there."""
        gone: set[str] = set()

        async def attempt(name: str) -> None:
            try:
                await patiently(self._client, lambda: act(name), patience_s=patience_s)
            except ApiError as error:
                if not error.is_not_found:
                    raise
                gone.add(name)

        async with owning() as group:
            for name in nodes:
                group.create_task(attempt(name))
        return tuple(name for name in nodes if name not in gone)

    def _say(
        self,
        event: Literal["failed", "drained", "recovered"],
        kind: str,
        domain: str,
        nodes: Sequence[str],
        until_ns: int | None = None,
    ) -> None:
        self._tell(
            Injection(
                at=rfc3339(self._clock.wall_ns()),
                event=event,
                kind=kind,
                domain=domain,
                nodes=tuple(nodes),
                until=None if until_ns is None else rfc3339(until_ns),
            )
        )


def _remembered(node: Object, now_ns: int) -> Faults:
    """The faults of a node without those that are over for long enough."""
    long_ago_ns = now_ns - round(_REMEMBERED_S * NS_PER_S)
    return tuple(fault for fault in faults.of(node) if not faults.is_over(fault, long_ago_ns))
