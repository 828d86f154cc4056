"""Owning asynchronous work: the entry into the event loop, and signals that become cancellation."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import uvloop

Result = TypeVar("Result")


class Interrupted(BaseException):
    """SIGINT or SIGTERM ended the work, after everything was cleaned up. No error: not an Exception."""


def run(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run `main` to its end on a fresh event loop.

    The first SIGINT or SIGTERM cancels it, and its context managers clean up; then `Interrupted` is raised.
    Further signals are ignored, so an impatient second ctrl-C cannot leave processes behind.
    """

    async def supervised() -> Result:
        loop = asyncio.get_running_loop()
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

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(supervised())
