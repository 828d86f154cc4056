"""Which engines and schedulers a scenario can use, and why not the others. Pure."""

from collections.abc import Iterator

import msgspec

from kubedyno.lab.scenario import Scenario
from kubedyno.lab.spec import ENGINES
from kubedyno.model.features import missing
from kubedyno.schedulers import SCHEDULERS


class Applicability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a scenario can be run on a scheduler on an engine."""

    engine: str
    scheduler: str
    reason: str | None
    """Why not; None: it can."""
    is_of_engine: bool
    """Whether it is the engine that does not have the scheduler."""


def why_not(scenario: Scenario, scheduler: str) -> str | None:
    """Why a scenario does not apply to a scheduler; None: it does."""
    reasons = "; ".join(missing(scenario.needs, SCHEDULERS.get(scheduler).lacks))
    return f"scheduler {scheduler} cannot do it: {reasons}" if reasons else None


def applicability(scenario: Scenario) -> Iterator[Applicability]:
    """All engines with all schedulers."""
    for name in SCHEDULERS:
        lacking = why_not(scenario, name)
        for engine in ENGINES:
            mounted = engine in SCHEDULERS.get(name).engines
            reason = lacking if mounted else f"scheduler {name} cannot be mounted on the {engine} engine"
            yield Applicability(engine=engine, scheduler=name, reason=reason, is_of_engine=not mounted)
