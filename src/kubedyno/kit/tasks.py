"""Owning asynchronous work: the entry into the event loop, and signals that become cancellation."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar

import uvloop

from kubedyno.kit.collecting import collect_seldom
from kubedyno.kit.errors import KubedynoError
from kubedyno.kit.virtualtime import VirtualLoop

Result = TypeVar("Result")


class Interrupted(BaseException):
    """SIGINT or SIGTERM ended the work, after everything was cleaned up. No error: not an Exception."""


def run(main: Callable[[], Coroutine[Any, Any, Result]], *, virtual: bool = False) -> Result:
    """Run `main` to its end on a fresh event loop, on request one whose time is virtual.

    The first SIGINT or SIGTERM cancels it, and its context managers clean up; then `Interrupted` is raised.
    Further signals are ignored, so an impatient second ctrl-C cannot leave processes behind.
    """

    async def supervised() -> Result:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(report)
        work = asyncio.ensure_future(main())
        interrupted = False

        def interrupt() -> None:
            nonlocal interrupted
            if not interrupted:
                interrupted = True
                work.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        try:
            return await work
        except asyncio.CancelledError:
            if interrupted:
                raise Interrupted from None
            raise

    collect_seldom()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with asyncio.Runner(loop_factory=VirtualLoop if virtual else uvloop.new_event_loop) as runner:
            return runner.run(supervised())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # uvloop leaves its own behind, which would ignore the signals from here on


def is_being_cancelled() -> bool:
    """Whether the running task was cancelled, and is cleaning up: then nobody waits for it with patience."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What the event loop could tell nobody else, but for one thing that is no news.

    When a TLS connection is closed while data is still coming in, uvloop goes on to write to it and reports that as
    fatal. The connection is gone, as it should be.
    """
    of_tls = context.get("message") == "Fatal error on SSL protocol"
    if of_tls and "the handler is closed" in str(context.get("exception")):
        return
    loop.default_exception_handler(context)


class _Group(asyncio.TaskGroup):
    """A task group whose end can be awaited inside its block."""

    def __init__(self) -> None:
        super().__init__()
        self._children: set[asyncio.Task[Any]] = set()

    def create_task(self, *args: Any, **options: Any) -> asyncio.Task[Any]:
        task = super().create_task(*args, **options)
        self._children.add(task)
        task.add_done_callback(self._children.discard)
        return task

    async def ended(self) -> None:
        """Return when all tasks have ended, also those that others have created meanwhile."""
        while self._children:
            await asyncio.wait(self._children)


@contextlib.asynccontextmanager
async def owning() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group whose failure is one error, not a group of them.

    The first task that fails ends the others and the block; its error is raised as it is. Of several errors one of
    ours goes before a stranger, because it says what to do.
    """
    try:
        async with _Group() as group:
            yield group
            # A task that fails cancels the block. Before Python 3.13 the group takes that back only if the block had
            # not ended: else the owner would count as cancelled for good, and his error as an interruption.
            await group.ended()
    except BaseExceptionGroup as errors:
        leaves = list(_leaves(errors))
        chosen = next((leaf for leaf in leaves if isinstance(leaf, KubedynoError)), leaves[0])
        raise chosen from chosen.__cause__


def _leaves(errors: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in errors.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
