"""Waking those who wait for the next write of a resource."""

import asyncio

from kubedyno.store.store import Store


class Changes:
    """Who waits for which resource. It listens to the store for as long as it lives."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, dict[asyncio.Future[None], None]] = {}
        store.on_change(self._tell)

    async def wait(self, resource: str, *, until_s: float) -> None:
        """Return at the next write of the resource, or at a time of the event loop."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(resource, {})[woken] = None
        timer = loop.call_at(until_s, _wake, woken)
        try:
            await woken
        finally:
            timer.cancel()
            self._waiting.get(resource, {}).pop(woken, None)

    def _tell(self, resource: str) -> None:
        for woken in self._waiting.pop(resource, ()):
            _wake(woken)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
