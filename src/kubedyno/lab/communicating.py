"""Who asked whom during a trial, and who was at his limit: gathered from logs and pages, at ends and in between.

await communicating.begin()
...                                     # a load
part = await communicating.take()       # what was since the beginning, or since the last part
bottleneck.decide(part.seen)
...
communications = await communicating.end()

On the real API server requests are read from its audit log, which goes by user and user agent; what it asks of etcd is
the difference of its own figures. The embedded one tells of each request as it is answered. Reading is left to the
ends of parts: while a load is on, nothing is done here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import EngineError
from kubedyno.lab import lagging
from kubedyno.lab.auditing import Auditor, metrics_probe
from kubedyno.lab.auditlogs import AuditLog, audit_logs
from kubedyno.lab.planning import LabPlan
from kubedyno.lab.starting import RunningLab
from kubedyno.measure import communications, host
from kubedyno.measure.auditlog import Served
from kubedyno.measure.bottleneck import API_SERVER, ETCD, Deciding, Kubelets, Seen, Server, Store
from kubedyno.measure.communications import Counted, Etcd, Parties, Tally
from kubedyno.measure.histograms import Histogram, Labels, Page, together
from kubedyno.measure.records import Communication
from kubedyno.plane.component import OWN_PROGRAM, Component, set_name
from kubedyno.server.inprocess import InProcess
from kubedyno.sim import mounting
from kubedyno.sim.exporters.reporting import Report

_IN_FLIGHT_LIMIT: Final = 600.0
"""Of an API server with priority and fairness: 400 that read and 200 that write, its defaults."""
_WAITING: Final = ("active", "backoff")
_LONG: Final = ("WATCH", "CONNECT")
_TOO_MANY: Final = "429"
_REAL_NOTE: Final = "the time that the server needed"
_VIRTUAL_NOTE: Final = "in virtual time a request takes what is charged for it"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a trial."""

    since_ns: int
    until_ns: int
    communications: tuple[Communication, ...]
    seen: Seen

    @property
    def duration_s(self) -> float:
        """How long it was."""
        return (self.until_ns - self.since_ns) / NS_PER_S


class _Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What components told of themselves at one moment, counted from their start."""

    at_ns: int = 0
    etcd: Etcd = Etcd()
    fsync: Histogram = Histogram()
    served: Histogram = Histogram()
    refused: float = 0.0
    waited: Histogram = Histogram()
    decided: Histogram = Histogram()
    attempts: Histogram = Histogram()
    pending: float = 0.0
    counted: Counted | None = None
    """What the exporters told; None: there were none."""


class Communicating:
    """Follows the communications of a lab from `begin` to `end`.

    `report` asks the exporters. Of a cluster that is not ours little is known.
    """

    def __init__(
        self,
        lab: RunningLab | None,
        auditor: Auditor,
        clock: Clock,
        *,
        report: Callable[[], Awaitable[Report]],
    ) -> None:
        self._lab = lab
        self._auditor = auditor
        self._clock = clock
        self._report = report
        self._is_real = lab is None or lab.plan.spec.time == "real"
        self._load = host.Load(clock)
        parties = Parties() if lab is None else parties_of(lab.plan)
        self._whole, self._part = Tally(parties), Tally(parties)
        self._logs = [] if lab is None else [AuditLog(path) for path in audit_logs(lab.plan)]
        self._first, self._last = _Figures(), _Figures()

    async def begin(self) -> None:
        """The lab is up: note where everything stands."""
        for log in self._logs:
            log.skip()
        if isinstance(transport := self._transport(), InProcess):
            transport.api.listener = self._hear
        self._first = self._last = await self._figures()

    async def take(self) -> Part:
        """What was since the last part ended."""
        before, now = self._last, await self._figures()
        await self._read()
        taken = Part(
            since_ns=before.at_ns,
            until_ns=now.at_ns,
            communications=self._told(self._part, before, now),
            seen=await self._seen(before, now),
        )
        self._whole.add(self._part)
        self._part, self._last = Tally(self._part.parties), now
        return taken

    async def end(self) -> tuple[Communication, ...]:
        """All six, from the beginning on. An audit log that was kept for them alone is gone then."""
        now = await self._figures()
        await self._read()
        self._whole.add(self._part)
        self._part = Tally(self._part.parties)
        self.close()
        if self._lab is not None and not self._lab.plan.spec.keeps_audit_log:
            for log in self._logs:
                log.remove()
        return self._told(self._whole, self._first, now)

    def close(self) -> None:
        """Listen no more."""
        if isinstance(transport := self._transport(), InProcess):
            transport.api.listener = None
        for log in self._logs:
            log.close()

    def _transport(self) -> object:
        return None if self._lab is None else self._lab.client.transport

    def _hear(self, agent: str, verb: str, resource: str, code: int, took_ns: int) -> None:
        self._part.note(Served("", agent, resource, code, took_ns / NS_PER_S, verb == "WATCH"))

    async def _read(self) -> None:
        for log in self._logs:
            for piece in log.pieces():
                for served in log.lines.take(piece):
                    self._part.note(served)
                await asyncio.sleep(0)

    # The six.

    def _told(self, tally: Tally, before: _Figures, now: _Figures) -> tuple[Communication, ...]:
        counted = now.counted
        if counted is not None and before.counted is not None:
            counted = counted.since(before.counted)
        return (
            communications.of_exporters(counted, is_timed=self._is_real),
            *self._to_server(tally),
            self._to_etcd(before, now),
        )

    def _to_server(self, tally: Tally) -> list[Communication]:
        if isinstance(self._transport(), InProcess):
            note = _REAL_NOTE if self._is_real else _VIRTUAL_NOTE
            return tally.communications(source="the API server", note=note, is_timed=self._is_real)
        if self._logs:
            unread = sum(log.lines.unread for log in self._logs)
            note = f"{_REAL_NOTE}; {unread} lines of the log could not be read" if unread else _REAL_NOTE
            return tally.communications(source="the audit log of the API server", note=note)
        why = "the API server is not ours" if self._lab is None else "the lab keeps no audit log: use --audit-log"
        return [communications.unknown(number, why) for number in communications.TO_SERVER]

    def _to_etcd(self, before: _Figures, now: _Figures) -> Communication:
        if isinstance(self._transport(), InProcess):
            why = "not applicable: the store is in the process of the API server"
            return communications.unknown(communications.SERVER_TO_ETCD, why)
        if self._lab is None:
            return communications.unknown(communications.SERVER_TO_ETCD, "the API server is not ours")
        return communications.of_etcd(now.etcd.since(before.etcd))

    # What components tell of themselves.

    async def _figures(self) -> _Figures:
        if self._is_real:
            self._load.sample()
            self._auditor.usage.sample()
        at_ns = self._clock.wall_ns()
        servers = await self._pages(lambda one: one.program == API_SERVER)
        stores = await self._pages(lambda one: one.program == ETCD)
        deciding = await self._pages(lambda one: one.role == "scheduler")
        return _Figures(
            at_ns=at_ns,
            etcd=communications.etcd_of(servers),
            fsync=together(page.histogram("etcd_disk_wal_fsync_duration_seconds") for page in stores),
            served=together(page.histogram("apiserver_request_duration_seconds", _is_short) for page in servers),
            refused=sum(page.counter("apiserver_request_total", _is_put_off) for page in servers),
            waited=together(page.histogram("apiserver_flowcontrol_request_wait_duration_seconds") for page in servers),
            decided=together(page.histogram("scheduler_scheduling_algorithm_duration_seconds") for page in deciding),
            attempts=together(page.histogram("scheduler_scheduling_attempt_duration_seconds") for page in deciding),
            pending=sum(page.counter("scheduler_pending_pods", _is_waiting) for page in deciding),
            counted=counted_of(await self._report()),
        )

    async def _pages(self, chosen: Callable[[Component], bool]) -> list[Page]:
        """Of those components that run; one that cannot be read now is left out, as one that is paused."""
        lab = self._lab
        if lab is None or not self._is_real:
            return []
        running = [one for one in lab.plan.components if chosen(one) and one.name in lab.supervisor.processes]
        found = await asyncio.gather(*(self._page(lab, one) for one in running))
        return [page for page in found if page is not None]

    async def _page(self, lab: RunningLab, component: Component) -> Page | None:
        probe = metrics_probe(component)
        if probe is None:
            return None
        try:
            return Page(await lab.reader.fetch(probe))
        except EngineError:
            return None  # its figures are missing then, and what is missing is not counted

    async def _seen(self, before: _Figures, now: _Figures) -> Seen:
        duration_s = (now.at_ns - before.at_ns) / NS_PER_S
        busy = self._load.busy(since_ns=before.at_ns) if self._is_real else []
        return Seen(
            duration_s=duration_s,
            cores=host.describe().cores,
            busy=busy[-1] if busy else 0.0,
            cpu_s=self._cpu_s(before.at_ns, now.at_ns),
            one_core=frozenset({host.INSTRUMENT, mounting.NAME}),
            throttling=self._auditor.throttling(before.at_ns, now.at_ns),
            server=self._server(before, now, duration_s),
            store=self._store(before, now),
            scheduler=self._deciding(before, now),
            kubelets=await self._kubelets(),
        )

    def _cpu_s(self, since_ns: int, until_ns: int) -> dict[str, float]:
        """By component, replicas together."""
        usage, sets = self._auditor.usage, {}
        if self._lab is not None:
            sets = {one.name: set_name(one) for one in self._lab.plan.components}
        found: dict[str, float] = {}
        for name in usage.components():
            used_s = usage.cpu_used_s(name, since_ns=since_ns - host.SAMPLE_EVERY_NS, until_ns=until_ns)
            called = sets.get(name, name)
            found[called] = found.get(called, 0.0) + used_s
        return found

    def _server(self, before: _Figures, now: _Figures, duration_s: float) -> Server | None:
        served, waited = now.served.since(before.served), now.waited.since(before.waited)
        if not served.count or self._lab is None:
            return None
        replicas = sum(1 for one in self._lab.plan.components if one.program == API_SERVER)
        return Server(
            requests=served.count,
            refused=round(max(0.0, now.refused - before.refused)),
            p99_s=served.percentile(99.0),
            # Requests a second times the seconds that each takes.
            in_flight=served.total / duration_s if duration_s > 0 else 0.0,
            in_flight_limit=_IN_FLIGHT_LIMIT * replicas if self._lab.plan.site.profile.fair else None,
            waited_s=waited.total / waited.count if waited.count else 0.0,
        )

    def _store(self, before: _Figures, now: _Figures) -> Store | None:
        asked = now.etcd.since(before.etcd)
        if not asked.latency.count:
            return None
        return Store(
            requests=asked.latency.count,
            p99_s=asked.latency.percentile(99.0),
            errors=asked.errors,
            fsync_p99_s=now.fsync.since(before.fsync).percentile(99.0),
        )

    def _deciding(self, before: _Figures, now: _Figures) -> Deciding | None:
        decided, attempts = now.decided.since(before.decided), now.attempts.since(before.attempts)
        if self._lab is None or not decided.count:
            return None
        return Deciding(
            component=self._lab.plan.spec.scheduler,
            attempts=decided.count,
            deciding_s=decided.total,
            p99_s=attempts.percentile(99.0),
            pending_before=before.pending,
            pending_after=now.pending,
        )

    async def _kubelets(self) -> Kubelets | None:
        """Of simulated ones; what they tell is of their whole life."""
        if self._lab is None or not self._is_real:
            return None
        plan = self._lab.plan
        try:
            lag = await lagging.lag_of(self._lab.activities.running, plan.kubelet_components, self._lab.reader)
        except EngineError:
            return None
        if lag is None:
            return None
        return Kubelets(
            component=mounting.NAME,
            start_p99_s=float(lag["start_p99_s"]),
            deepest_queue=int(lag["deepest_queue"]),
        )


def parties_of(plan: LabPlan) -> Parties:
    """Whom the kubelets and the scheduler of a lab are known by. Processes of ours share a user agent, but no user."""
    own = () if plan.scheduler is None else plan.scheduler.identities
    schedulers = {identity.user for identity in own} | _programs(plan.scheduler_components)
    schedulers |= {activity.program for activity in plan.activities if activity.decides}
    kubelets = {identity.user for identity in plan.kubelet_identities} | _programs(plan.kubelet_components)
    kubelets |= {activity.program for activity in plan.activities if activity.role == "kubelet"}
    return Parties(kubelets=frozenset(kubelets), schedulers=frozenset(schedulers))


def counted_of(report: Report) -> Counted | None:
    """What exporters asked of kubelets; None: there were none."""
    if not report.looks and not report.exporters:
        return None
    return Counted(requests=len(report.view_s), errors=report.view_failures, latencies_s=report.view_s)


def _programs(components: tuple[Component, ...]) -> set[str]:
    return {component.program for component in components} - {OWN_PROGRAM}


def _is_short(labels: Labels) -> bool:
    return labels.get("verb") not in _LONG


def _is_put_off(labels: Labels) -> bool:
    return labels.get("code") == _TOO_MANY


def _is_waiting(labels: Labels) -> bool:
    return labels.get("queue") in _WAITING
