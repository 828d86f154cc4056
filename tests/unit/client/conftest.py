import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

# With --import-mode=importlib test folders are not on the path; `api_stub` is shared by the tests of this one.
sys.path.insert(0, str(Path(__file__).parent))

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
