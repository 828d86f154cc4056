"""A simulator that runs by itself: its own connections, and an HTTP endpoint with its metrics."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import NamedTuple

import msgspec

from kubedyno.client.access import Access
from kubedyno.client.rest import Client
from kubedyno.kit.clock import Clock, RealClock
from kubedyno.kube.resources import NODES
from kubedyno.sim import asking, exposing
from kubedyno.sim.simulating import Instruments, Manages, Simulation, simulate

_CONNECTIONS = 32
_LEASE_CONNECTIONS = 16


class Endpoint(NamedTuple):
    """Where the metrics are served."""

    address: str
    port: int


@contextlib.asynccontextmanager
async def serving(instruments: Instruments, endpoint: Endpoint, clock: Clock) -> AsyncIterator[None]:
    """`/metrics` (Prometheus), `/lag` (JSON), `/healthz`, and what `asking` answers, for the duration of the block."""

    async def health() -> Iterable[str]:
        return ("ok",)

    async def lag() -> Iterable[str]:
        return (msgspec.json.encode(instruments.lag.report()).decode(),)

    pages: dict[str, exposing.Page] = {"/healthz": health, "/lag": lag, exposing.METRICS: instruments.metrics}
    asked = asking.questions(instruments.fleet, clock)
    async with exposing.serving(pages, questions=asked, address=endpoint.address, port=endpoint.port):
        yield


async def simulate_beside(
    access: Access, simulation: Simulation, endpoint: Endpoint | None, *, manages: Manages | None = None
) -> None:
    """Simulate the nodes of a cluster until cancelled; `manages` says by name which, without it all.

    Leases have connections of their own: pods do not delay them.
    """
    instruments = Instruments()
    clock = RealClock()
    async with (
        Client.connect(access, connections=_CONNECTIONS, clock=clock) as client,
        Client.connect(access, connections=_LEASE_CONNECTIONS, clock=clock) as lease_client,
        serving(instruments, endpoint, clock) if endpoint is not None else contextlib.nullcontext(),
    ):
        # Later a server that is away is waited for; at the beginning it is more likely the wrong one.
        await client.list(NODES, limit=1)
        await simulate(client, simulation, instruments, clock=clock, lease_client=lease_client, manages=manages)
