"""Scenarios in tests: `pytest_plugins = ["kubedyno.testing"]` gives the fixture `lab`, and `try_scenario` runs a trial.

    @pytest.mark.kubedyno(nodes=4)
    async def test_a_gang_starts_as_a_whole(lab: Lab) -> None:
        gang = await lab.submit(distributed(workers=8, gpus=4))
        await lab.scheduled(gang)

The fixture has a lab of its own for each test, embedded with the reference scheduler unless the marker says otherwise.
When the test is over, a check of `lab.expect` that does not hold, or an invariant that was violated, fails it.
"""

from kubedyno.lab.handles import Evicted, Nodes, Stamp, Workloads
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Range, Scenario, scenario
from kubedyno.testing.fixtures import lab, pytest_configure
from kubedyno.testing.trying import Tried, try_scenario

__all__ = [
    "Evicted",
    "Lab",
    "Nodes",
    "Range",
    "Scenario",
    "Stamp",
    "Tried",
    "Workloads",
    "lab",
    "pytest_configure",
    "scenario",
    "try_scenario",
]
