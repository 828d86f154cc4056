"""What a measurement is: made once for each method and identifier of a test, and called by its steps."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from typing import Any, Protocol

import msgspec

from kubedyno.client.rest import Client
from kubedyno.clusterloader.config import ChaosMonkey
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.clusterloader.measurements.prometheus import Prometheus
from kubedyno.clusterloader.measurements.scrapes import Scrapes
from kubedyno.clusterloader.reporting.summaries import Summary
from kubedyno.kit.clock import Clock
from kubedyno.lab.scraping import Scraper


class Background:
    """What goes on between the steps, in tasks of a group that outlives them."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Let work go on until it ends or is ended."""
        task = self._group.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def end(self) -> None:
        """End all of it."""
        for task in tuple(self._tasks):
            task.cancel()


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What measurements work with."""

    client: Client
    clock: Clock
    background: Background
    scraper: Scraper
    scrapes: Scrapes
    prometheus: Prometheus | None = None
    """Who answers queries instead of our own scrapes."""
    prefix: str
    """Of the test's own namespaces."""
    render: Callable[[str], str]
    """The text of a file beside the config, as a template with the test's values."""
    unleash: Callable[[ChaosMonkey, set[str]], Coroutine[Any, Any, None]]
    """Lets nodes fail until it is cancelled; those that did are put into the set, and do not fail again."""
    may_execute: bool = False
    """Whether steps may run programs on this machine."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one call came to."""

    summaries: tuple[Summary, ...] = ()
    errors: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """What is to be known, and fails nothing."""
    skipped: str = ""
    """Why nothing was measured; empty: it was."""
    is_fatal: bool = False
    """The errors end the test: the steps that follow are not run."""


DONE = Result()


class Measurement(Protocol):
    """One instance. What it follows between its calls is the scene's background."""

    async def execute(self, params: Params) -> Result:
        """One call of a step; UsageError when its parameters are wrong."""
        ...


class Method(msgspec.Struct, frozen=True, kw_only=True):
    """A method by what it takes and what makes an instance of it."""

    make: Callable[[str, Scene], Measurement]
    """From the identifier and the scene."""
    params: Collection[str]
    """Names of all parameters that it reads."""
