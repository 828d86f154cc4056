"""The machine, and what each component uses of it."""

import os
import platform
from collections.abc import Callable, Mapping

import psutil

from kubedyno.kit.clock import Clock
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.records import Host

_SAMPLE_EVERY_S = 0.5
INSTRUMENT = "kubedyno"


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

    def cpu_used_s(self, component: str) -> float:
        """CPU seconds that a component used between its first and its last sample."""
        values = [row.value for row in self.rows if row.series == "cpu_s" and row.component == component]
        return values[-1] - values[0] if values else 0.0
