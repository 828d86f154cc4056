from collections.abc import AsyncIterator

import pytest
from api_stub import Authority, JumpClock, Stub, serving

from kubedyno.client.access import Access
from kubedyno.client.rest import Client


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    async with serving() as server:
        yield server


@pytest.fixture
def clock() -> JumpClock:
    return JumpClock()


@pytest.fixture
async def client(stub: Stub, clock: JumpClock) -> AsyncIterator[Client]:
    async with Client.connect(Access(server=stub.url), clock=clock) as connected:
        yield connected


@pytest.fixture(scope="session")
def authority() -> Authority:
    return Authority("kubedyno test authority")
