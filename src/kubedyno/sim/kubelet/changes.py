"""Which nodes' ledgers have changed since somebody looked: for those who wait for it. It costs nothing before."""

import asyncio
from collections.abc import Iterable

import msgspec


class Changed(msgspec.Struct, frozen=True):
    """The nodes that have changed, and up to which version that is known: ask with it next time."""

    version: int
    nodes: tuple[str, ...]


class Changes:
    """The last change of every node, in the order of time.

    Nothing is kept until the first question: whoever asks first, or with a version of another time, is told all nodes.
    """

    def __init__(self) -> None:
        self._version = 0
        self._of: dict[str, int] | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    def note(self, node: str) -> None:
        """The ledger of a node has changed, or the node came or went."""
        if self._of is None:
            return
        self._version += 1
        self._of.pop(node, None)  # put last again: the newest are found from the end
        self._of[node] = self._version
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def since(self, version: int, everybody: Iterable[str], *, within_s: float | None = None) -> Changed:
        """The nodes that have changed after `version`: at once if there are any, else as soon as there is one.

        After `within_s` seconds without any it is none. `everybody` is told where `version` is not known: 0 at first.
        """
        if self._of is None:
            self._of, self._version = {}, 1
        if not 0 < version <= self._version:
            return Changed(self._version, tuple(everybody))
        if version == self._version:
            await self._wait(within_s)
        return Changed(self._version, self._after(version))

    def _after(self, version: int) -> tuple[str, ...]:
        found: list[str] = []
        for node, changed in reversed((self._of or {}).items()):
            if changed <= version:
                break
            found.append(node)
        return tuple(reversed(found))

    async def _wait(self, within_s: float | None) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            async with asyncio.timeout(within_s):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._waiters.discard(waiter)
