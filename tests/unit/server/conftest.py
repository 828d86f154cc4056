import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

# With --import-mode=importlib test folders are not on the path; `attacking` is shared by the tests of this one.
sys.path.insert(0, str(Path(__file__).parent))

from attacking import Served, a_server


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with a_server() as server:
        yield server
        assert await server.is_well()
