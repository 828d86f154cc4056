"""One supervisor turns components into processes: started in order, health awaited, exits noticed, stopped in order.

async with supervise(folder=..., programs=..., prober=..., clock=...) as supervisor:
    await supervisor.start(components)
    ...                                # a component that exits unasked ends this block with ProcessFailure
# everything is stopped here, the other way round
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from kubedyno.client.errors import Unreachable
from kubedyno.kit import tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.durable import write_atomic
from kubedyno.kit.errors import ProcessFailure
from kubedyno.kit.logs import Log
from kubedyno.plane.component import Component, levels
from kubedyno.plane.health import Prober
from kubedyno.plane.processes import Process, exit_words

_PROBE_EVERY_S = 0.05
_NEWS_WITHIN_S = 0.5
_log = Log("plane.supervision")


class Supervisor:
    """Owns the processes of one lab."""

    def __init__(
        self,
        *,
        folder: Path,
        programs: Mapping[str, Path],
        prober: Prober,
        clock: Clock,
        watchers: asyncio.TaskGroup,
    ) -> None:
        self._folder = folder
        self._programs = programs
        self._prober = prober
        self._clock = clock
        self._watchers = watchers
        self._processes: dict[str, Process] = {}
        self._components: dict[str, Component] = {}
        self._expected_to_end: set[str] = set()
        self._healthy_once: set[str] = set()
        self.lost: dict[str, str] = {}
        """Replicas that died unasked, and how."""

    @property
    def processes(self) -> Mapping[str, Process]:
        """The running processes by component name."""
        return {name: process for name, process in self._processes.items() if process.running}

    async def start(self, components: Iterable[Component], *, is_at_work: bool = True) -> None:
        """Start the components, each when those in its `after` are healthy; return when all are.

        Without `is_at_work` it is enough that they answer.
        """
        wanted = tuple(components)
        for component in wanted:
            self._components[component.name] = component
        healthy = {component.name: asyncio.Event() for component in wanted}

        async def one(component: Component) -> None:
            for name in component.after:
                if name in healthy:
                    await healthy[name].wait()
            await self._start_one(component, is_at_work=is_at_work)
            healthy[component.name].set()

        async with tasks.owning() as group:
            for component in wanted:
                group.create_task(one(component), name=f"start {component.name}")

    async def _start_one(self, component: Component, *, is_at_work: bool) -> None:
        for file in component.files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(file.path, file.text, mode=file.mode)
        program = self._programs[component.program]
        if component.name in self._processes:
            await self._processes[component.name].wait()  # a killed one may still be dying, and holds its ports so long
        process = await Process.spawn(component, program, self._folder, self._clock)
        self._processes[component.name] = process
        self._expected_to_end.discard(component.name)
        self.lost.pop(component.name, None)
        self._watchers.create_task(self._watch(process), name=f"watch {component.name}")
        await self._healthy(process, is_at_work=is_at_work)
        self._healthy_once.add(component.name)
        took_s = (self._clock.monotonic_ns() - process.started_ns) / NS_PER_S
        _log.debug("healthy", component=component.name, pid=process.pid, after_s=f"{took_s:.2f}")

    async def _watch(self, process: Process) -> None:
        """Raise when the process ends unasked: that cancels the block that owns the supervisor."""
        code = await process.wait()
        name = process.component.name
        if name in self._expected_to_end:
            return
        failure = process.failure(exit_words(code))
        if process.component.replicated and name in self._healthy_once:
            self.lost[name] = str(failure)
            return
        raise await self._root_of(process) or failure

    async def _root_of(self, process: Process) -> ProcessFailure | None:
        """The failure of what a dead process stood on, if that is dead too.

        A big process takes a while to die, and who loses it may be gone before: a controller manager that is just
        starting gives up at the first broken connection, when the kernel still clears away the API server's memory.
        """
        foundations = [self._processes[name] for name in self._below(process.component) if name in self._processes]
        if not foundations:
            return None
        await self._clock.sleep(_NEWS_WITHIN_S)
        for foundation in foundations:
            code = foundation.code
            if code is not None and foundation.component.name not in self._expected_to_end:
                return foundation.failure(exit_words(code))
        return None

    def _below(self, component: Component) -> Iterator[str]:
        """What a component stands on, the lowest first."""
        for name in component.after:
            if name in self._components:
                yield from self._below(self._components[name])
                yield name

    async def _healthy(self, process: Process, *, is_at_work: bool) -> None:
        """Return when the component's probe succeeds; its exit is raised by its watcher."""
        probe = process.component.ready
        if probe is None:
            return
        if not is_at_work:
            probe = msgspec.structs.replace(probe, contains="")
        deadline_ns = self._clock.monotonic_ns() + process.component.start_timeout_s * NS_PER_S
        answer = await self._prober.ask(probe)
        while not answer.healthy:
            if self._clock.monotonic_ns() > deadline_ns:
                raise process.failure(f"was not healthy ({probe.url}: {answer.said})")
            await self._clock.sleep(_PROBE_EVERY_S)
            answer = await self._prober.ask(probe)

    async def stop(self, names: Iterable[str]) -> None:
        """Stop these components, dependants first; unknown or ended ones are left alone."""
        wanted = set(names)
        self._expected_to_end |= wanted  # all at once: one that falls over while another stops is no news
        chosen = tuple(c for c in self._components.values() if c.name in wanted)
        alone = tuple(
            Component(name=c.name, program=c.program, after=tuple(a for a in c.after if a in wanted)) for c in chosen
        )
        for level in reversed(levels(alone)):
            async with tasks.owning() as group:
                for component in level:
                    process = self._processes.get(component.name)
                    if process is not None:
                        _log.debug("stopping", component=component.name, pid=process.pid)
                        group.create_task(process.stop(), name=f"stop {component.name}")

    async def restart(self, names: Iterable[str], *, is_at_work: bool = True) -> None:
        """Start stopped components again, with the same data.

        Without `is_at_work` it is enough that they answer: a scheduler's first cycle takes as long as there is work.
        """
        await self.start((self._components[name] for name in names), is_at_work=is_at_work)

    def send(self, names: Iterable[str], number: signal.Signals) -> None:
        """Send a signal to running components."""
        for name in names:
            self._processes[name].send(number)

    def kill(self, name: str) -> None:
        """End a component as a crash would, and go on without it: a fault, not a failure of the lab."""
        self._expected_to_end.add(name)
        self._processes[name].send(signal.SIGKILL)

    def spare(self, names: Iterable[str]) -> None:
        """From now on the end of these is no failure of the lab; one that is started again counts as before."""
        self._expected_to_end |= set(names)

    def claim(self, names: Iterable[str]) -> None:
        """From now on the end of these is a failure of the lab again."""
        self._expected_to_end -= set(names)

    async def stop_all(self) -> None:
        """Stop everything, dependants first."""
        await self.stop(list(self._components))


@contextlib.asynccontextmanager
async def supervise(
    *, folder: Path, programs: Mapping[str, Path], prober: Prober, clock: Clock
) -> AsyncIterator[Supervisor]:
    """A supervisor for the duration of a block; `programs` gives each program's path by name."""
    async with tasks.owning() as watchers:
        supervisor = Supervisor(folder=folder, programs=programs, prober=prober, clock=clock, watchers=watchers)
        try:
            yield supervisor
        except Unreachable:
            # Broken connections are noticed a little before the death of the process that they led to, which says more.
            await clock.sleep(3 * _NEWS_WITHIN_S)
            raise
        finally:
            await supervisor.stop_all()
