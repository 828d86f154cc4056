"""The store that a command is about."""

import os
import random
from datetime import UTC, datetime

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.results.publishing.opening import open_place
from kubedyno.results.publishing.store import Store


def open_store(url: str, clock: Clock) -> Store:
    """The store at a URL, with what the environment says of S3; nothing is asked of it yet."""
    return Store(open_place(url, os.environ), clock=clock, generator=random.Random())  # noqa: S311 - pauses, no secrets


def now(clock: Clock) -> datetime:
    """The clock's time, UTC."""
    return datetime.fromtimestamp(clock.wall_ns() / NS_PER_S, tz=UTC)
