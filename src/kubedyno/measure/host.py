"""The machine, and what each component uses of it."""

import os
import platform
from collections.abc import Callable, Mapping
from itertools import pairwise

import psutil

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.records import Host

_SAMPLE_EVERY_S = 0.5
SAMPLE_EVERY_NS = round(_SAMPLE_EVERY_S * NS_PER_S)
INSTRUMENT = "kubedyno"
HOST_BUSY = "host_busy"
HOST_BUSY_S = "host_busy_s"


def describe() -> Host:
    """This machine."""
    return Host(
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        kernel=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        python=platform.python_version(),
    )


class Usage:
    """Samples CPU time and memory of processes, the instrument's own among them."""

    def __init__(self, pids: Callable[[], Mapping[str, int]], clock: Clock) -> None:
        self._pids = pids
        self._clock = clock
        self.rows: list[SeriesRow] = []

    async def follow(self) -> None:
        """Sample until cancelled."""
        while True:
            self.sample()
            await self._clock.sleep(_SAMPLE_EVERY_S)

    def sample(self) -> None:
        """One sample of every process that lives."""
        now_ns = self._clock.wall_ns()
        for component, pid in {**self._pids(), INSTRUMENT: os.getpid()}.items():
            try:
                process = psutil.Process(pid)
                times, memory = process.cpu_times(), process.memory_info()
            except psutil.NoSuchProcess:
                continue  # it was stopped between the question and the answer
            self.rows.append(SeriesRow(now_ns, "cpu_s", component, times.user + times.system))
            self.rows.append(SeriesRow(now_ns, "memory_bytes", component, float(memory.rss)))

    def cpu_used_s(self, component: str, *, since_ns: int = 0, until_ns: int | None = None) -> float:
        """CPU seconds that a component used between its first and its last sample, in a part of the time if told.

        A process that was started anew counts from zero again.
        """
        values = [
            row.value
            for row in self.rows
            if row.series == "cpu_s" and row.component == component and _within(row.time_ns, since_ns, until_ns)
        ]
        return sum(after - before if after >= before else after for before, after in pairwise(values))

    def components(self) -> list[str]:
        """Everybody who was sampled, the instrument among them."""
        return list(dict.fromkeys(row.component for row in self.rows if row.component is not None))


class Load:
    """Samples how busy the cores are that this process may use, whoever keeps them so."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._cores = os.sched_getaffinity(0)
        self._before: tuple[float, float] | None = None
        self.rows: list[SeriesRow] = []
        """Series `host_busy_s` and `host_busy`: seconds that cores were busy so far, all together, and the part of
        them that was since the last sample."""

    async def follow(self) -> None:
        """Sample until cancelled."""
        while True:
            self.sample()
            await self._clock.sleep(_SAMPLE_EVERY_S)

    def sample(self) -> None:
        """One sample; of the part that is busy there is none at the first."""
        idle_s = all_s = 0.0
        for number, times in enumerate(psutil.cpu_times(percpu=True)):
            if number in self._cores:
                # The kernel counts guests' time in that of users already.
                all_s += sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
                idle_s += times.idle + getattr(times, "iowait", 0.0)
        now_ns = self._clock.wall_ns()
        self.rows.append(SeriesRow(now_ns, HOST_BUSY_S, None, all_s - idle_s))
        if self._before is not None:
            passed_s = all_s - self._before[0]
            if passed_s > 0:
                busy = 1 - (idle_s - self._before[1]) / passed_s
                self.rows.append(SeriesRow(now_ns, HOST_BUSY, None, min(1.0, max(0.0, busy))))
        self._before = all_s, idle_s

    def busy(self, *, since_ns: int = 0, until_ns: int | None = None) -> list[float]:
        """The parts that were busy, sample by sample."""
        return [row.value for row in self.rows if row.series == HOST_BUSY and _within(row.time_ns, since_ns, until_ns)]

    def busy_s(self, *, since_ns: int = 0, until_ns: int | None = None) -> float:
        """CPU seconds that were used by everybody between the first and the last sample."""
        values = [
            row.value for row in self.rows if row.series == HOST_BUSY_S and _within(row.time_ns, since_ns, until_ns)
        ]
        return values[-1] - values[0] if values else 0.0


def _within(time_ns: int, since_ns: int, until_ns: int | None) -> bool:
    return since_ns <= time_ns and (until_ns is None or time_ns <= until_ns)
