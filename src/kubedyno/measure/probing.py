"""The probe: an object that is written again and again and seen to come back.

It shows how late news is. And its versions are marks in the order of all writes, whose times are known.
"""

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.watching import Changed, Watch
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS
from kubedyno.measure.columns import SeriesRow
from kubedyno.measure.host import INSTRUMENT
from kubedyno.measure.lags import Lags
from kubedyno.measure.recorder import number

IDLE_S: Final = 0.5
"""Between two probes while nothing happens."""

BUSY_S: Final = 0.1
"""Between two probes while something does, and for some seconds after that."""

WATCH_LAG: Final = "watch_lag_s"
PROBE_LABEL: Final = "kubedyno/probe"

_BUSY_FOR_NS: Final = 3 * NS_PER_S
_REMOVED_WITHIN_S: Final = 5.0


class Prober:
    """Writes a ConfigMap, and sees it come back over a watch of its own on the same client.

    `on_written` is told of each one that was written, with the time when it was sent (ns since the epoch); `on_row`
    gets the series `watch_lag_s`. If the probe cannot be written, `trouble` says why, and the lag stays unknown.
    """

    def __init__(
        self,
        client: Client,
        lags: Lags,
        *,
        namespace: str = "default",
        idle_s: float = IDLE_S,
        busy_s: float = BUSY_S,
        on_written: Callable[[int], None],
        on_row: Callable[[SeriesRow], None] | None = None,
    ) -> None:
        self.trouble: str | None = None
        self._client = client
        self._clock = client.clock
        self._lags = lags
        self._namespace = namespace
        self._idle_s = idle_s
        self._busy_s = busy_s
        self._on_written = on_written
        self._on_row = on_row
        self._wanted = asyncio.Event()
        self._busy_until_ns = 0
        self._sequence = 0
        self._sent: dict[int, int] = {}
        self._left: list[str] = []
        """Probes that are to be removed."""

    def probe_now(self) -> None:
        """Do not wait for the next one's time."""
        self._wanted.set()

    def note_news(self, arrival_ns: int) -> None:
        """Something happens: probe more often for a while. The first news after a pause is followed by a probe."""
        if arrival_ns > self._busy_until_ns:
            self._wanted.set()
        self._busy_until_ns = arrival_ns + _BUSY_FOR_NS

    async def run(self) -> None:
        """Probe until cancelled; the probe is removed then. Returns at once if it cannot be written."""
        failures = 0
        while True:
            try:
                await self._probe(await self._make())
            except (ApiError, Unreachable) as error:
                if not retrying.may_pass(error):
                    self.trouble = f"the probe of the watch's lag failed: {error}"
                    return
            await self._clock.sleep(retrying.backoff_s(failures))
            failures += 1

    async def _probe(self, name: str) -> None:
        """Probe with this object until somebody else deletes it, or the server is away before it was once seen."""
        try:
            async with tasks.owning() as group:
                group.create_task(self._look(name), name="see the probe come back")
                group.create_task(self._write(name), name="write the probe")
        except ApiError as error:
            if not error.is_not_found:
                raise
        finally:
            await self._remove(name)

    async def _make(self) -> str:
        """Create the probe; its name."""
        probe = {"metadata": {"generateName": "kubedyno-probe-", "labels": {PROBE_LABEL: "watch-lag"}}}
        made = await self._client.create(CONFIG_MAPS, probe, namespace=self._namespace)
        return str(made["metadata"]["name"])

    async def _write(self, name: str) -> None:
        while True:
            self._sequence += 1
            body = b'{"data":{"sequence":"%d"}}' % self._sequence
            sent_ns = self._sent[self._sequence] = self._clock.wall_ns()
            try:
                answer = await self._client.patch(CONFIG_MAPS, name, body, kind="merge", namespace=self._namespace)
            except (ApiError, Unreachable) as error:
                if not retrying.may_pass(error):
                    raise
            else:
                version = number(answer["metadata"]["resourceVersion"])
                self._lags.note_answer(sent_ns, self._clock.wall_ns(), version)
                self._on_written(sent_ns)
            is_busy = sent_ns < self._busy_until_ns
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._busy_s if is_busy else self._idle_s):
                    await self._wanted.wait()
            self._wanted.clear()

    async def _look(self, name: str) -> None:
        watch = Watch(
            self._client,
            CONFIG_MAPS,
            namespace=self._namespace,
            field_selector=f"metadata.name={name}",
            rng=randomness.stream(0, "probe"),
        )
        async with aclosing(watch.events()) as events:
            async for event in events:
                if isinstance(event, Changed) and event.type == "MODIFIED":
                    self._came_back(event.object, event.wall_ns)

    def _came_back(self, probe: Object, back_ns: int) -> None:
        sequence = int((probe.get("data") or {}).get("sequence") or 0)
        sent_ns = self._sent.get(sequence)
        if sent_ns is None:
            return  # somebody else has touched the probe
        for passed in [one for one in self._sent if one <= sequence]:
            del self._sent[passed]
        self._lags.note_return(sent_ns, back_ns)
        if self._on_row is not None:
            self._on_row(SeriesRow(sent_ns, WATCH_LAG, INSTRUMENT, (back_ns - sent_ns) / NS_PER_S))

    async def _remove(self, name: str) -> None:
        """Remove the probe, and those before it that could not be. The label tells whose those are that stay."""
        self._left.append(name)
        for one in tuple(self._left):
            try:
                async with asyncio.timeout(_REMOVED_WITHIN_S):
                    await self._client.delete(CONFIG_MAPS, one, namespace=self._namespace)
            except (Unreachable, TimeoutError):
                return
            except ApiError as error:
                if not error.is_not_found:
                    return
            self._left.remove(one)
