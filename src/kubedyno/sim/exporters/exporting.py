"""Exporters at work: one for each node with NUMA zones, all in one task group with one timetable.

Each looks at once when it starts, then at the ticks of its timer and at events, and writes what it saw. What goes wrong
is counted and tried again at the next look, as the resource-topology-exporter does; the topology updater of
node-feature-discovery ends when it cannot write, and is started again after a back-off, as kubelets do it.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Literal

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.retrying import backoff_s
from kubedyno.client.watching import Event as News
from kubedyno.kit import draws, randomness, tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kit.timetable import Timetable
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, NODES
from kubedyno.model.numa.podresources import Host, View
from kubedyno.sim import marks
from kubedyno.sim.exporters import connecting, distorting, drafting, publishing, reading, steering, writing
from kubedyno.sim.exporters.connecting import USER_AGENT, Clients, Connect
from kubedyno.sim.exporters.drafting import Draft
from kubedyno.sim.exporters.exporter import Exporter
from kubedyno.sim.exporters.pacing import Event, next_tick_ns
from kubedyno.sim.exporters.reporting import Report, Tally
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.views import Views, ViewUnavailable
from kubedyno.sim.following import follow, present
from kubedyno.sim.kubelet.machines import build_of

Manages = Callable[[str], bool]
Turn = tuple[Literal["look", "tick", "start"], str]
"""What is due, and at which node."""

VIEW_WITHIN_S: Final = 10.0
"""So long exporters of the field wait for a kubelet."""
HOME: Final = "kube-system"
"""The namespace that exporters are in; node-feature-discovery makes it the owner of its objects."""
_MOST_UNDER_WAY: Final = 512
_FIRST_BACKOFF_S: Final = 10.0
_MOST_BACKOFF_S: Final = 300.0
_FORGIVEN_S: Final = 600.0
"""Who has worked for so long is started again as if it had never ended."""
_DEADLINE: Final = "DeadlineExceeded"
_log = Log("sim.exporters")


class Exporters:
    """The exporters of many nodes. `connect` makes the clients where each is to have its own."""

    def __init__(
        self,
        client: Client,
        views: Views,
        settings: Settings,
        *,
        clock: Clock,
        seed: int = 0,
        connect: Connect | None = None,
        manages: Manages | None = None,
        selector: str | None = None,
    ) -> None:
        self._client = client.known_as(USER_AGENT)
        self._views = views
        self._settings = reading.check(settings)
        self._clock = clock
        self._seed = seed
        self._connect = connect if settings.clients == "per-node" else None
        self._manages = manages
        self._selector = selector
        self._rng = randomness.stream(seed, "exporters")
        self._exporters: dict[str, Exporter] = {}
        self._tally = Tally()
        self._under_way = 0
        self._one_back = asyncio.Event()
        self._home: Object | None = None
        self._group: asyncio.TaskGroup
        self._due: Timetable[Turn]
        self._clients = Clients(self._client, self._connect, self._refusal)

    def report(self) -> Report:
        """What they did so far."""
        found = self._exporters.values()
        return self._tally.report(
            exporters=len(found),
            retries=self._clients.retries,
            written_ns={one.name: one.written_ns for one in found if one.written_ns is not None},
            # One that is at it since before may still write what it saw.
            steered={
                one.name: one.text for one in found if one.text and (not one.is_busy or one.begun_with == one.text)
            },
            now_ns=self._clock.monotonic_ns(),
        )

    async def run(self) -> None:
        """Export until cancelled. UsageError where the kind is not served; `ViewUnavailable` where nobody tells."""
        await self._refuse_unserved()
        version = ""
        if self._settings.trigger != "timed":
            version, _ = await self._views.changes("")
        if self._settings.style == "nfd":
            self._home = await self._client.get(NAMESPACES, HOME)
        connected = connecting.clients(self._client, self._connect, self._refusal)
        async with connected as self._clients, tasks.owning() as group:
            self._group = group
            self._due = Timetable(self._clock, group.create_task)
            nodes = follow(self._client, NODES, self._hear, rng=self._rng, label_selector=self._selector)
            group.create_task(nodes, name="nodes with exporters")
            group.create_task(self._take_turns(), name="turns of exporters")
            if self._settings.trigger != "timed":
                group.create_task(self._listen(version), name="events of exporters")

    async def _refuse_unserved(self) -> None:
        resource = publishing.resource_of(self._settings)
        try:
            await self._client.list(resource, limit=1)
        except ApiError as error:
            if not error.is_not_found:
                raise
            raise UsageError(
                f"{resource.kind} of {resource.api_version} is not served here: install its "
                "CustomResourceDefinition, or take a scheduler that brings it (plugins, reference)"
            ) from None

    # Who there is.

    def _hear(self, news: News) -> None:
        for node in present(news, self._exporters, self._gone, lambda node: str(node["metadata"]["name"])):
            name = node["metadata"]["name"]
            if self._manages is not None and not self._manages(name):
                continue
            if not self._has_zones(node):
                if name in self._exporters:
                    self._end_for_good(name)
                continue
            uid = node["metadata"]["uid"]
            exporter = self._exporters.get(name)
            if exporter is not None and exporter.uid != uid:
                self._gone(name)
                exporter = None
            if exporter is None:
                exporter = self._exporters[name] = Exporter(name, uid)
                self._heed(exporter, node)
                if not exporter.steering.crashed:
                    self._start(exporter)
            else:
                self._steer(exporter, node)

    def _has_zones(self, node: Object) -> bool:
        try:
            return build_of(node).numa is not None
        except UsageError as error:
            self._note(f"node {node['metadata']['name']} has no exporter: {error}")
            return False

    def _gone(self, name: str) -> None:
        self._note(f"node {name} is gone: its exporter has ended")
        self._end_for_good(name)

    def _end_for_good(self, name: str) -> None:
        self._stop(self._exporters.pop(name))
        self._group.create_task(self._clients.drop(name), name="close the connections of an exporter")

    def _heed(self, exporter: Exporter, node: Object) -> None:
        text = meta.annotations(node).get(marks.EXPORTER) or ""
        if text == exporter.text:
            return
        exporter.text = text
        try:
            exporter.steering = steering.of(node)
        except UsageError as error:
            self._note(f"node {exporter.name}: its exporter goes on as it did: {error}")

    def _steer(self, exporter: Exporter, node: Object) -> None:
        before = exporter.steering
        self._heed(exporter, node)
        now = exporter.steering
        if now.crashed:
            if not before.crashed:
                self._stop(exporter)
        elif now.crash_loop_s is not None and now.crash_loop_s != before.crash_loop_s:
            self._end(exporter, now.crash_loop_s)
        elif before.crashed or (now.crash_loop_s is None and before.crash_loop_s is not None and not exporter.is_up):
            self._tally.restarts += 1
            self._start(exporter)

    # Lives.

    def _start(self, exporter: Exporter) -> None:
        now_ns = self._clock.monotonic_ns()
        self._stop(exporter)
        exporter.renew(is_up=True)
        exporter.started_ns = now_ns
        self._happen(exporter, Event(now_ns))
        if self._settings.trigger != "events":
            self._set_timer(exporter, now_ns)

    def _stop(self, exporter: Exporter) -> None:
        exporter.renew(is_up=False)
        for turn in ("look", "tick", "start"):
            self._due.drop((turn, exporter.name))

    def _end(self, exporter: Exporter, pause_s: float) -> None:
        """It ends, and is started again later."""
        self._stop(exporter)
        self._due.put(("start", exporter.name), self._clock.monotonic_ns() + round(pause_s * NS_PER_S))

    def _backoff_s(self, exporter: Exporter) -> float:
        """The first time none, then doubling."""
        if self._clock.monotonic_ns() - exporter.started_ns > _FORGIVEN_S * NS_PER_S:
            exporter.ends = 0
        exporter.ends += 1
        return 0.0 if exporter.ends == 1 else min(_MOST_BACKOFF_S, _FIRST_BACKOFF_S * 2.0 ** (exporter.ends - 2))

    # Reasons to look.

    def _happen(self, exporter: Exporter, event: Event) -> None:
        if not exporter.is_up:
            return
        is_first = not len(exporter.pace)
        if not exporter.pace.hear(event):
            self._tally.dropped_events += 1
        elif is_first:
            self._let_through(exporter)

    def _let_through(self, exporter: Exporter) -> None:
        permitted_ns = exporter.pace.permit_ns(self._settings, self._clock.monotonic_ns())
        self._due.put(("look", exporter.name), permitted_ns)

    def _set_timer(self, exporter: Exporter, last_ns: int) -> None:
        unit = draws.unit(self._seed, f"tick {exporter.name} {exporter.ticks}") if self._settings.jitter else 0.0
        exporter.ticks += 1
        now_ns = self._clock.monotonic_ns()
        self._due.put(("tick", exporter.name), next_tick_ns(self._settings, last_ns=last_ns, now_ns=now_ns, unit=unit))

    async def _listen(self, version: str) -> None:
        failures = 0
        while True:
            try:
                version, names = await self._views.changes(version)
            except ViewUnavailable as error:
                self._note(f"events are not heard for a while: {error}")
                await self._clock.sleep(backoff_s(failures))
                failures += 1
                continue
            failures = 0
            now_ns = self._clock.monotonic_ns()
            for name in names:
                exporter = self._exporters.get(name)
                if exporter is not None:
                    self._happen(exporter, Event(now_ns))

    async def _take_turns(self) -> None:
        while True:
            (turn, name), due_ns = await self._due.take()
            while turn == "look" and self._under_way >= _MOST_UNDER_WAY:
                self._one_back.clear()
                await self._one_back.wait()
            exporter = self._exporters.get(name)
            if exporter is None:
                continue
            match turn:
                case "look":
                    self._begin(exporter)
                case "tick":
                    self._happen(exporter, Event(due_ns, is_timer=True))
                    self._set_timer(exporter, due_ns)
                case "start":
                    self._tally.restarts += 1
                    self._start(exporter)

    def _begin(self, exporter: Exporter) -> None:
        if exporter.is_busy:
            exporter.is_due = True
            return
        if not len(exporter.pace):
            return  # it ended while there was no room
        event = exporter.pace.take()
        if len(exporter.pace):
            self._let_through(exporter)
        exporter.is_busy, exporter.begun_with = True, exporter.text
        self._under_way += 1
        self._group.create_task(self._look_in_turn(exporter, event), name="look")

    # Looking and writing.

    async def _look_in_turn(self, exporter: Exporter, event: Event) -> None:
        life = exporter.life
        try:
            self._tally.looks += 1
            self._tally.wake_up_s.append((self._clock.monotonic_ns() - event.at_ns) / NS_PER_S)
            await self._look(exporter, life, event)
        finally:
            self._under_way -= 1
            self._one_back.set()
            if exporter.life == life:
                exporter.is_busy = False
                if exporter.is_due:
                    exporter.is_due = False
                    self._due.put(("look", exporter.name), self._clock.monotonic_ns())

    async def _look(self, exporter: Exporter, life: int, event: Event) -> None:
        told = await self._ask(exporter)
        if told is None or exporter.life != life:
            return
        draft = drafting.drafted(*told, self._settings, exporter.past, self._rng)
        exporter.past = drafting.remembered(draft)
        if exporter.steering.frozen:
            return
        await self._write(exporter, life, self._written(exporter, draft, event))

    async def _ask(self, exporter: Exporter) -> tuple[View, Host] | None:
        begun_ns = self._clock.monotonic_ns()
        try:
            async with asyncio.timeout(VIEW_WITHIN_S):
                return await self._views.view(exporter.name)
        except TimeoutError:
            self._tally.view_failures[_DEADLINE] += 1
        except ViewUnavailable as error:
            self._tally.view_failures[error.code] += 1
            _log.debug(f"node {exporter.name}: {error}")
        finally:
            self._tally.view_s.append((self._clock.monotonic_ns() - begun_ns) / NS_PER_S)
        return None

    def _written(self, exporter: Exporter, draft: Draft, event: Event) -> Object:
        if exporter.steering.distortions:
            try:
                draft = distorting.distorted(draft, exporter.steering.distortions)
            except UsageError as error:
                self._note(f"node {exporter.name}: what its exporter writes is not distorted: {error}")
        return writing.written(
            {"metadata": {"name": exporter.name, "uid": exporter.uid}},
            draft.zones,
            draft.host,
            self._settings,
            fingerprint=draft.fingerprint,
            reason="periodic" if event.is_timer else "reactive",
            namespace=self._home,
        )

    async def _write(self, exporter: Exporter, life: int, wanted: Object) -> None:
        def failed(error: ApiError | Unreachable) -> None:
            self._tally.failures[str(error.code) if isinstance(error, ApiError) else "unreachable"] += 1
            self._note(f"node {exporter.name}: its object could not be written as it should: {error}")

        begun_ns = self._clock.monotonic_ns()
        client = await self._clients.of(exporter.name)
        try:
            operation = await publishing.publish(client, wanted, exporter.kept, self._settings, failed)
        except (ApiError, Unreachable) as error:
            failed(error)
            if self._settings.style == "nfd" and exporter.life == life:
                self._end(exporter, self._backoff_s(exporter))
            return
        now_ns = self._clock.monotonic_ns()
        self._tally.writes[operation] += 1
        self._tally.write_s.append((now_ns - begun_ns) / NS_PER_S)
        exporter.written_ns = now_ns
        if exporter.steering.crash_loop_s is not None and exporter.life == life:
            self._end(exporter, exporter.steering.crash_loop_s)

    def _refusal(self, node: str) -> int | None:
        exporter = self._exporters.get(node)
        return None if exporter is None else exporter.steering.refused_with

    def _note(self, sentence: str) -> None:
        if self._tally.note(sentence):
            _log.debug(sentence)
