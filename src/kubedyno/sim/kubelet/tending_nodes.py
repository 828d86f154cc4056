"""Tending nodes: each says that it is ready, or what its faults make of that; one that is silent does nothing."""

import asyncio
from collections.abc import Callable

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kit.timetable import Timetable
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.sim.faults import fault
from kubedyno.sim.kubelet import nodestates, sending
from kubedyno.sim.kubelet.fleet import Fleet, NodeEntry
from kubedyno.sim.kubelet.heartbeats import Heartbeats
from kubedyno.sim.kubelet.lag import Lag
from kubedyno.sim.kubelet.sending import Fate

_MOST_BACKOFF_S = 5.0
_log = Log("sim.kubelet")


class NodeTender:
    """Writes the statuses of all nodes. `revisit` is called with a node whose pods must be looked at again."""

    def __init__(
        self,
        client: Client,
        fleet: Fleet,
        *,
        clock: Clock,
        group: asyncio.TaskGroup,
        heartbeats: Heartbeats | None,
        lag: Lag,
        revisit: Callable[[NodeEntry], None],
        reports: bool = True,
    ) -> None:
        self._client = client
        self._fleet = fleet
        self._clock = clock
        self._heartbeats = heartbeats
        self._lag = lag
        self._revisit = revisit
        self._reports = reports
        self._unreported: dict[str, Object] = {}
        self._names: WorkQueue[str] = WorkQueue(clock, group.create_task, most_s=_MOST_BACKOFF_S)
        self._turns: Timetable[str] = Timetable(clock, group.create_task)

    def seen(self, node: Object) -> None:
        """A node is new or has changed."""
        name, now_ns = node["metadata"]["name"], self._clock.wall_ns()
        before = self._fleet.nodes.get(name)
        if before is not None and int(node["metadata"]["resourceVersion"]) < before.version:
            return
        faults_before = before.faults if before is not None else ()
        try:
            entry, fresh = self._fleet.node_seen(node, now_ns)
        except UsageError as error:
            _log.warning(f"node {name} is not simulated until it is set right: {error}")
            self.gone(name)
            return
        self._restart(entry, now_ns)
        self._live(entry, now_ns)
        if not fault.is_down(entry.faults, now_ns):
            self._consider(entry, node, now_ns)
        if fresh or entry.faults != faults_before:
            self._look_ahead(entry, now_ns)
            self._revisit(entry)

    def gone(self, name: str) -> None:
        """A node is no more."""
        self._fleet.node_gone(name)
        self._unreported.pop(name, None)
        self._turns.drop(name)
        if self._heartbeats is not None:
            self._heartbeats.end(name)

    def _live(self, entry: NodeEntry, now_ns: int) -> None:
        if self._heartbeats is None:
            return
        if fault.is_down(entry.faults, now_ns):
            self._heartbeats.end(entry.name)
        else:
            self._heartbeats.begin(entry.name, entry.uid)

    def _consider(self, entry: NodeEntry, node: Object, now_ns: int) -> None:
        """Remember the node until it has been told what it lacks."""
        if self._reports and nodestates.needs_report(node, unready=_unready(entry, now_ns)):
            node["metadata"].pop("managedFields", None)
            self._unreported[entry.name] = node
            self._names.add(entry.name)
        else:
            self._unreported.pop(entry.name, None)

    def _look_ahead(self, entry: NodeEntry, now_ns: int) -> None:
        """Come back when the meaning of its faults changes by itself."""
        at_ns = fault.next_change_ns(entry.faults, now_ns)
        if at_ns is None:
            self._turns.drop(entry.name)
        else:
            self._turns.put(entry.name, self._clock.monotonic_ns() + at_ns - now_ns)

    async def follow_turns(self) -> None:
        """Nodes whose faults begin, end or alternate: read them again and act."""
        while True:
            name, _ = await self._turns.take()
            entry = self._fleet.nodes.get(name)
            if entry is None:
                continue
            now_ns = self._clock.wall_ns()
            self._look_ahead(entry, now_ns)
            try:
                node = await self._client.get(NODES, name)
            except (ApiError, Unreachable) as error:
                if isinstance(error, ApiError) and error.is_not_found:
                    continue
                if not may_pass(error):
                    raise
                self._turns.put(name, self._clock.monotonic_ns() + NS_PER_S)
                continue
            # A node that went meanwhile must not come back by this answer: what is new comes by the watch.
            if self._fleet.nodes.get(name) is entry and entry.uid == node["metadata"]["uid"]:
                self.seen(node)
                self._revisit(entry)

    def _restart(self, entry: NodeEntry, now_ns: int) -> None:
        """Restarts that are just over: with its state a kubelet goes on, without it all pods are admitted anew."""
        for one in fault.restarts(entry.faults, now_ns, entry.restarts_seen):
            entry.restarts_seen |= {one.id}
            if one.state == "lost":
                self._fleet.state_lost(entry.name)

    async def work(self) -> None:
        """Write what nodes lack."""
        while True:
            name = await self._names.get()
            try:
                await self._report(name)
            finally:
                self._names.done(name)

    async def _report(self, name: str) -> None:
        entry, node = self._fleet.nodes.get(name), self._unreported.get(name)
        if entry is None or node is None:
            return
        now_ns = self._clock.wall_ns()
        if fault.is_down(entry.faults, now_ns):
            return
        patch = nodestates.report(node, now=seconds_text(now_ns), unready=_unready(entry, now_ns))
        try:
            sent = await sending.patch_status(self._client, NODES.path(name=name), entry.uid, patch)
        except ApiError as error:
            self._lag.refused += 1
            _log.warning(f"the status of node {name} was refused: {error}")
            return
        if sent.fate is Fate.LATER or sent.fate is Fate.CONFLICT:
            self._lag.retries += 1
            self._names.retry(name)
            return
        self._names.forget(name)
        if self._unreported.get(name) is node:
            del self._unreported[name]


def _unready(entry: NodeEntry, now_ns: int) -> str:
    """What its kubelet says is wrong; empty when it is ready."""
    cause = fault.unready_cause(entry.faults, now_ns)
    return fault.UNREADY_MESSAGES[cause] if cause else ""
