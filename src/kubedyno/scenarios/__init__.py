"""The catalogue of scenarios."""

from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Scenario
from kubedyno.scenarios import hello

SCENARIOS: Registry[Scenario] = Registry("scenario")
hello.register(SCENARIOS)

__all__ = ["SCENARIOS"]
