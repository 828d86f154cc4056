"""Who leads, from what processes tell of themselves."""

import pytest

from kubedyno.kit.errors import EngineError
from kubedyno.lab import leaders
from kubedyno.plane.component import Component, Probe

pytestmark = pytest.mark.unit

FOLLOWS = b'# TYPE leader_election_master_status gauge\nleader_election_master_status{name="kube-scheduler"} 0\n'
LEADS = FOLLOWS.replace(b"} 0", b"} 1")


class Pages:
    """Metrics by port; what is missing cannot be asked."""

    def __init__(self, pages: dict[int, bytes]) -> None:
        self.pages = {f"https://127.0.0.1:{port}/metrics": text for port, text in pages.items()}

    async def fetch(self, probe: Probe) -> bytes:
        if probe.url not in self.pages:
            raise EngineError("nobody listens")
        return self.pages[probe.url]


def scheduler(number: int, *, replicated: bool = True) -> Component:
    return Component(
        name=f"plugins-{number}", program="p", decides=True, replicated=replicated, ports={"secure": 100 + number}
    )


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ({100: FOLLOWS, 101: LEADS}, "plugins-1"),
        ({100: LEADS, 101: FOLLOWS}, "plugins-0"),
        ({101: LEADS}, "plugins-1"),
        ({100: FOLLOWS, 101: b"workqueue_depth 1\n"}, None),
        ({}, None),
    ],
)
async def test_the_one_that_says_so_leads(pages: dict[int, bytes], expected: str | None) -> None:
    assert await leaders.leader((scheduler(0), scheduler(1)), Pages(pages)) == expected


async def test_one_alone_leads_nobody() -> None:
    assert await leaders.leader((scheduler(0, replicated=False),), Pages({100: LEADS})) is None
