"""The catalogue of scenarios."""

from collections.abc import Mapping
from typing import Final

from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Scenario
from kubedyno.scenarios import hello, kai, numa, stability

SCENARIOS: Registry[Scenario] = Registry("scenario")
for _part in (hello, kai, stability, numa):
    _part.register(SCENARIOS)

ALIASES: Final[Mapping[str, str]] = {"fill": "kai/fill"}
"""Short names."""

__all__ = ["ALIASES", "SCENARIOS"]
