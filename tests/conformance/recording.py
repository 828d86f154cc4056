"""Running one behaviour on one server, in a namespace of its own. What it makes stays: the servers are the tests'."""

import asyncio
import datetime as dt
import traceback

import msgspec
from tests.conformance.api import Api, Entry
from tests.conformance.behaviour import Behaviour
from tests.conformance.masking import masked
from tests.conformance.objects import namespace, service_account

from kubedyno.client.transport import Transport
from kubedyno.kit.clock import Clock

BEHAVIOUR_WITHIN_S = 40.0


class Server(msgspec.Struct, frozen=True):
    """A server, as its administrator and as somebody with an unknown token."""

    name: str
    transport: Transport
    stranger: Transport


class Recording(msgspec.Struct, frozen=True):
    """What a behaviour saw, masked; `failure` is why its own expectations did not hold."""

    entries: list[Entry]
    failure: str | None


async def recorded(behaviour: Behaviour, server: Server, *, own_name: str, clock: Clock) -> Recording:
    """Run a behaviour; its failure is part of the record, and does not raise."""
    api = Api(server.transport, server.stranger, own_name)
    failure = None
    try:
        await _prepare(api)
        async with asyncio.timeout(BEHAVIOUR_WITHIN_S):
            await behaviour.steps(api)
    except Exception as error:  # noqa: BLE001 - a behaviour may fail in any way: the test tells of it
        failure = "".join(traceback.format_exception(error))
    now = dt.datetime.fromtimestamp(clock.wall_ns() / 1e9, dt.UTC)
    entries = masked(api.record, namespace=own_name, now=now, controlled=behaviour.controlled)
    return Recording(entries, failure)


async def _prepare(api: Api) -> None:
    await api.create(namespace(api.namespace), recorded=False)
    # Pods are refused until it is there; on a real control plane a controller may be quicker than we are.
    await api.create(service_account("default"), recorded=False)
