"""The audit of a running lab: components scraped, processes and the host sampled, the event loop watched.

async with Auditor(lab, clock) as auditor:
    await auditor.begin()
    ...
    audit = await auditor.end(recording=..., timed=...)

What is seen is judged by `measure.audit`; here it is only gathered. Whoever cannot be read is told of, and never ends
a trial.
"""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import EngineError
from kubedyno.lab import lagging
from kubedyno.lab.starting import RunningLab
from kubedyno.measure import host
from kubedyno.measure.audit import clients, hosts, instrument, logs, metrics, outcome
from kubedyno.measure.audit.clients import PROGRAMS, Limits, Watched
from kubedyno.measure.audit.histories import History
from kubedyno.measure.audit.instrument import Lateness
from kubedyno.measure.audit.outcome import Audit
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.records import AuditLine, Finding
from kubedyno.model.samples import Recording
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.component import Component, Probe, set_name
from kubedyno.plane.controlplane import ADMIN
from kubedyno.plane.ports import LOOPBACK

STALL_PROBE_S: Final = 0.02
_SLIGHT_S: Final = 0.05
"""Shorter stalls are not kept."""
_SCRAPE_EVERY_S: Final = 1.0
_SELDOM_S: Final = 5.0
_PATIENCE: Final = 20
"""The longer a trial takes, the less often components are asked: so many times in all it has taken so far."""
_SERVER: Final = "kube-apiserver"

Timed = tuple[int, int]
"""From when until when numbers were taken, ns since the epoch."""


class Auditor:
    """Audits a lab from `begin`, when it is up, to `end`, before it is taken down.

    Of a cluster that is not ours (None) only the instrument itself and the machine it runs on are looked at.
    """

    def __init__(self, lab: RunningLab | None, clock: Clock) -> None:
        self.lateness = Lateness()
        """To be told of submissions that had a planned time."""
        self._lab = lab
        self._clock = clock
        self._is_real = lab is None or lab.plan.spec.time == "real"
        self.usage = host.Usage(self._pids, clock)
        self._load = host.Load(clock)
        self._stalls: list[tuple[int, float]] = []
        self._histories: dict[str, History] = {}
        self._unread: dict[str, str] = {}
        self._log_sizes: dict[str, int] = {}
        self._begun_ns = 0
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop()

    @property
    def rows(self) -> list[SeriesRow]:
        """CPU and memory of all components, and how busy the host was."""
        return [*self.usage.rows, *self._load.rows]

    async def begin(self) -> None:
        """The lab is up: note where everything stands, and watch from now on."""
        self._begun_ns = self._clock.wall_ns()
        if not self._is_real:
            return  # nothing takes time there but what is charged
        for component in self._clients():
            log = self._log(component)
            self._log_sizes[component.name] = log.stat().st_size if log.exists() else 0
        await self._scrape(servers=True)
        self._tasks = [
            asyncio.create_task(self.usage.follow(), name="sample the processes"),
            asyncio.create_task(self._load.follow(), name="sample the host"),
            asyncio.create_task(self._watch_loop(), name="watch the event loop"),
            asyncio.create_task(self._follow(), name="ask the components"),
        ]

    def throttling(self, since_ns: int, until_ns: int) -> tuple[Finding, ...]:
        """Clients that were held back by their own limits in a part of the time, by their figures alone."""
        parts = (msgspec.structs.replace(one, logged=0) for one in self._watched(since_ns, until_ns))
        return tuple(finding for one in parts if (finding := clients.throttling(one)) is not None)

    async def end(self, *, recording: Recording | None = None, timed: Timed | None = None) -> Audit:
        """The lab is about to go: what was seen, in the part that was timed if there was one."""
        if self._is_real:
            self.usage.sample()
            self._load.sample()
        until_ns = self._clock.wall_ns()
        await self._scrape(servers=True)
        await self._stop()
        since_ns, until_ns = timed or (self._begun_ns, until_ns)
        lines: list[AuditLine] = []
        findings: list[Finding] = []
        if self._is_real:
            stalls = instrument.within(self._stalls, since_ns, until_ns)
            lines.append(instrument.stall_line(stalls, limit_s=self._stall_limit_s()))
        lines += instrument.lateness_lines(instrument.within(self.lateness.delays, since_ns, until_ns))
        if recording is not None:
            lines += instrument.recording_lines(recording, duration_s=(until_ns - since_ns) / NS_PER_S)
        watched = list(self._watched(since_ns, until_ns))
        for one in watched:
            lines += clients.lines(one)
            finding = clients.throttling(one)
            if finding is not None:
                findings.append(finding)
        found, saturated = self._of_host(since_ns, until_ns)
        lines += found
        findings += saturated
        lines += lagging.audit(await self._lag())
        settings = self._lab.settings if self._lab is not None else ()
        lines += _of_settings(settings)
        fields = {one.component: one.program.qps_field for one in watched}
        return Audit(
            lines=(*lines, *self._of_unread()),
            findings=tuple(findings),
            settings=outcome.marked(settings, findings, fields),
        )

    async def _stop(self) -> None:
        running, self._tasks = self._tasks, []
        for task in running:
            task.cancel()
        for ended in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    def _pids(self) -> Mapping[str, int]:
        if self._lab is None:
            return {}
        return {name: process.pid for name, process in self._lab.supervisor.processes.items()}

    async def _watch_loop(self) -> None:
        """Notice when this process could not look at its events in time: then stamps of arrival are late."""
        while True:
            before_ns = self._clock.monotonic_ns()
            await self._clock.sleep(STALL_PROBE_S)
            late_s = (self._clock.monotonic_ns() - before_ns) / NS_PER_S - STALL_PROBE_S
            if late_s > _SLIGHT_S:
                self._stalls.append((self._clock.wall_ns(), late_s))

    def _stall_limit_s(self) -> float | None:
        """Where all of a lab is this one process, nothing happens while it stands still: no stamp is late then."""
        is_alone = self._lab is not None and not self._lab.plan.components
        return None if is_alone else instrument.STALL_LIMIT_S

    async def _follow(self) -> None:
        while True:
            taken_s = (self._clock.wall_ns() - self._begun_ns) / NS_PER_S
            await self._clock.sleep(min(_SELDOM_S, max(_SCRAPE_EVERY_S, taken_s / _PATIENCE)))
            await self._scrape(servers=False)

    async def _scrape(self, *, servers: bool) -> None:
        """Ask the components whose clients have limits; the API servers, whose answers are long, on request."""
        if self._lab is None or not self._is_real:
            return
        asked = [*self._clients()]
        if servers:
            asked += [component for component in self._lab.plan.components if component.program == _SERVER]
        answers = await asyncio.gather(*(self._figures(component) for component in asked))
        now_ns = self._clock.wall_ns()
        served: dict[str, float] = {}
        for component, figures in zip(asked, answers, strict=True):
            if component.program == _SERVER:
                for name, value in (figures or {}).items():
                    served[name] = served.get(name, 0.0) + value
            elif figures is not None:
                self._histories.setdefault(component.name, History()).add(now_ns, figures)
        if served:
            self._histories.setdefault(_SERVER, History()).add(now_ns, served)

    async def _figures(self, component: Component) -> dict[str, float] | None:
        probe = metrics_probe(component)
        running = self._lab is not None and component.name in self._lab.supervisor.processes
        if probe is None or self._lab is None or not running:
            return None  # it tells nothing, or is paused
        try:
            return metrics.figures(await self._lab.reader.fetch(probe))
        except EngineError as error:
            if component.name in self._lab.supervisor.processes and component.name not in self._histories:
                self._unread[component.name] = str(error)
            return None

    def _clients(self) -> Iterator[Component]:
        if self._lab is not None:
            for component in self._lab.plan.components:
                if component.program in PROGRAMS:
                    yield component

    def _log(self, component: Component) -> Path:
        assert self._lab is not None  # noqa: S101 - there are components only in a lab
        return self._lab.plan.site.folder / "logs" / f"{component.name}.log"

    def _watched(self, since_ns: int, until_ns: int) -> Iterator[Watched]:
        """Each client with what is known of it."""
        server = self._histories.get(_SERVER, History())
        for component in self._clients() if self._is_real else ():
            whole = self._histories.get(component.name, History())
            history = whole.within(since_ns, until_ns)
            yield Watched(
                component=component.name,
                program=PROGRAMS[component.program],
                limits=self._limits(component),
                history=history,
                server=server,
                part=history.writes() / whole.writes() if whole.writes() else 1.0,
                logged=self._logged(component),
            )

    def _logged(self, component: Component) -> int:
        log = self._log(component)
        if not log.exists():
            return 0
        with log.open("rb") as file:
            file.seek(self._log_sizes.get(component.name, 0))
            return logs.throttled(file.read())

    def _limits(self, component: Component) -> Limits:
        assert self._lab is not None  # noqa: S101 - as above
        program = PROGRAMS[component.program]
        known = {setting.field: setting for setting in self._lab.settings if setting.component == component.name}
        qps, burst = known.get(program.qps_field), known.get(program.burst_field)
        # Who asks for production asks for the limits that programs have by themselves.
        keeps_defaults = self._lab.plan.site.profile.client_qps is None
        return Limits(
            field=f"{set_name(component)}.{program.qps_field}",
            qps=_number(qps, program.qps),
            burst=_number(burst, program.burst),
            declared=keeps_defaults or (qps is not None and qps.wanted is not None),
            source=qps.source if qps is not None else "the program's own default",
        )

    def _of_host(self, since_ns: int, until_ns: int) -> tuple[list[AuditLine], list[Finding]]:
        if not self._is_real:
            return [], []
        since_ns, until_ns = since_ns - host.SAMPLE_EVERY_NS, until_ns + host.SAMPLE_EVERY_NS
        busy = self._load.busy(since_ns=since_ns, until_ns=until_ns)
        used_s = {
            name: self.usage.cpu_used_s(name, since_ns=since_ns, until_ns=until_ns) for name in self.usage.components()
        }
        all_used_s = self._load.busy_s(since_ns=since_ns, until_ns=until_ns)
        own_s = used_s.get(host.INSTRUMENT, 0.0)
        lines = [
            *hosts.lines(busy, used_s, all_used_s),
            AuditLine(name=f"CPU used by {host.INSTRUMENT}", value=own_s, unit="s", limit=None),
        ]
        found = hosts.saturation(busy, used_s, all_used_s, cores=host.describe().cores)
        return lines, [found] if found is not None else []

    async def _lag(self) -> Mapping[str, Any] | None:
        if self._lab is None:
            return None
        try:
            return await lagging.lag_of(
                self._lab.activities.running, self._lab.plan.kubelet_components, self._lab.reader
            )
        except EngineError as error:
            self._unread["kubelets"] = str(error)
            return None

    def _of_unread(self) -> list[AuditLine]:
        return [
            AuditLine(name=f"{name}: figures that could not be read", value=1, unit="times", limit=None)
            for name in sorted(self._unread)
        ]


def metrics_probe(component: Component) -> Probe | None:
    """Where a component tells its figures; the serving ports of Kubernetes' own programs ask who wants to know."""
    if component.ready is not None and component.ready.url.endswith("/metrics"):
        return component.ready
    if "metrics" in component.ports:
        return Probe(url=f"http://{LOOPBACK}:{component.ports['metrics']}/metrics")
    if "secure" in component.ports:
        url = f"https://{LOOPBACK}:{component.ports['secure']}/metrics"
        return Probe(url=url, identity=ADMIN.name, self_signed=component.program != _SERVER)
    return None


def _number(setting: Setting | None, default: float) -> float:
    if setting is None:
        return default
    try:
        return float(setting.value)
    except ValueError:
        return default


def _of_settings(settings: tuple[Setting, ...]) -> list[AuditLine]:
    """How many settings their components confirm, and how many only their command lines tell."""
    if not settings:
        return []
    confirmed = sum(1 for setting in settings if setting.evidence is not Evidence.ARGV)
    counts = (("settings that components confirm", confirmed), ("settings by command line", len(settings) - confirmed))
    return [AuditLine(name=name, value=count, unit="settings", limit=None) for name, count in counts]
