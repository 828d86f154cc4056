"""The two servers, and all chosen behaviours run on both while the tests wait for theirs."""

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from tests.conformance.behaviour import BEHAVIOURS, Behaviour
from tests.conformance.recording import Recording, Server, recorded
from tests.labs import lab_in_process

from kubedyno.client import kubeconfig
from kubedyno.client.access import StaticToken
from kubedyno.client.http import HttpTransport
from kubedyno.kit.clock import RealClock
from kubedyno.lab.starting import RunningLab

AT_ONCE = 12
"""Behaviours in flight on each server: the real one is mostly waited for."""

BothSides = tuple[Recording, Recording]

for _module in sorted(Path(__file__).with_name("behaviours").glob("*.py")):
    importlib.import_module(f"tests.conformance.behaviours.{_module.stem}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per behaviour, named by its sentence."""
    if "behaviour" in metafunc.fixturenames:
        metafunc.parametrize("behaviour", list(BEHAVIOURS.values()), ids=lambda item: item.sentence)


@contextlib.asynccontextmanager
async def _reached(name: str, lab: RunningLab) -> AsyncIterator[Server]:
    access = kubeconfig.load(lab.kubeconfig)
    unknown = msgspec.structs.replace(
        access, client_certificate=None, client_key=None, token_source=StaticToken("nobody-knows-this")
    )
    async with contextlib.AsyncExitStack() as stack:
        transports = [HttpTransport(access), HttpTransport(unknown)]
        for transport in transports:
            stack.push_async_callback(transport.close)
        yield Server(name, *transports)


@pytest.fixture(scope="module")
async def real(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """A control plane of its own: it ends up full of what the behaviours leave behind."""
    folder = tmp_path_factory.mktemp("real") / "lab"
    # With kube-scheduler the control plane serves workloads and pod groups too.
    async with lab_in_process(folder, scheduler="kube-scheduler") as lab, _reached("real", lab) as server:
        yield server


@pytest.fixture(scope="module")
async def embedded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    folder = tmp_path_factory.mktemp("embedded") / "lab"
    async with lab_in_process(folder, engine="embedded", scheduler="none") as lab, _reached("embedded", lab) as server:
        yield server


@pytest.fixture(scope="module")
async def both_sides(
    real: Server, embedded: Server, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[[Behaviour], Awaitable[BothSides]]]:
    """What a behaviour saw on the real and on the embedded server.

    All behaviours of the chosen tests are started at once, so that one test does not wait for the waits of another.
    """
    clock = RealClock()
    gates = {server.name: asyncio.Semaphore(AT_ONCE) for server in (real, embedded)}

    async def run(behaviour: Behaviour, server: Server, own_name: str) -> Recording:
        async with gates[server.name]:
            return await recorded(behaviour, server, own_name=own_name, clock=clock)

    chosen = [behaviour for item in request.session.items if (behaviour := _behaviour_of(item)) is not None]
    runs = {
        behaviour.sentence: asyncio.gather(
            run(behaviour, real, f"conform-{number:03d}"), run(behaviour, embedded, f"conform-{number:03d}")
        )
        for number, behaviour in enumerate(chosen)
    }

    async def sides(behaviour: Behaviour) -> BothSides:
        return await runs[behaviour.sentence]

    yield sides
    for pending in runs.values():
        pending.cancel()
    await asyncio.gather(*runs.values(), return_exceptions=True)


def _behaviour_of(item: pytest.Item) -> Behaviour | None:
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    found = parameters.get("behaviour")
    return found if isinstance(found, Behaviour) else None
