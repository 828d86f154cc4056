"""The fixture `lab` for pytest."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from kubedyno.kit.clock import RealClock
from kubedyno.kit.progress import Quiet
from kubedyno.lab import judging, running
from kubedyno.lab.grounds import own_ground
from kubedyno.lab.lab import Lab
from kubedyno.lab.matrix import Trial
from kubedyno.lab.scenario import Scenario
from kubedyno.lab.spec import DEFAULT_SCHEDULERS, LabSpec, check
from kubedyno.measure.records import Verdict
from kubedyno.testing.trying import provided_for

_MARKER = "kubedyno"


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"{_MARKER}(engine, scheduler, nodes, ...): the lab of a test, by fields of kubedyno's LabSpec"
    )


async def _nothing(lab: Lab) -> None:
    """The test itself is the scenario."""


@pytest_asyncio.fixture
async def lab(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lab]:
    """A lab of the test's own; it fails the test when a check or an invariant did not hold."""
    marker = request.node.get_closest_marker(_MARKER)
    options = dict(marker.kwargs) if marker is not None else {}
    engine = options.pop("engine", "embedded")
    scheduler = options.pop("scheduler", None) or DEFAULT_SCHEDULERS[engine]
    trial = Trial(
        scenario=Scenario(name="test", function=_nothing),
        parameters={},
        spec=check(LabSpec(name="test", engine=engine, scheduler=scheduler, **options)),
        run_id="test",
    )
    clock = RealClock()
    outcome = running.Outcome(begun_ns=clock.wall_ns())
    provided = await provided_for(trial.spec)
    folder = tmp_path / "lab"
    async with (
        own_ground(trial, folder=folder, provided=provided, clock=clock, progress=Quiet()) as ground,
        running.observed(trial, outcome, ground, records=folder / "records", clock=clock) as made,
    ):
        yield made
    verdict, message = judging.judge(running.evidence(trial, outcome))
    if verdict == Verdict.FAILED:
        pytest.fail(message, pytrace=False)
