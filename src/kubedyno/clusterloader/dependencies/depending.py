"""What a dependency is: something that a test needs around it, set up before its steps and torn down after them."""

import os
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

import msgspec

from kubedyno.client.rest import Client
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.kit.clock import Clock


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What dependencies work with."""

    client: Client
    clock: Clock
    environment: Mapping[str, str] = os.environ


class Dependency(Protocol):
    """One dependency of a test. Whatever it has made when its set-up ends or is ended, it can take away again."""

    async def set_up(self, params: Params) -> None:
        """Make the cluster have it; re-runs change what is there. UsageError when the parameters are wrong."""
        ...

    async def tear_down(self) -> None:
        """Take all of it away, and return when it is gone."""
        ...


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of dependency by what it takes and what makes one."""

    make: Callable[[Surroundings], Dependency]
    params: Collection[str]
    brings_nodes: Callable[[Params], int]
    """How many nodes it makes with these parameters."""
