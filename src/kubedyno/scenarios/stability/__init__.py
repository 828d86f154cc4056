"""What must hold for a long time and when things go wrong: fairness, churn, failing nodes, fragmentation, crashes."""

from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Scenario
from kubedyno.scenarios.stability import churning, crashing, creating, fairness, fragmenting

SCENARIOS: tuple[Scenario, ...] = (
    fairness.quota_fairness,
    creating.concurrent_creation,
    churning.churn,
    fragmenting.fragment,
    crashing.scheduler_crash,
)


def register(registry: Registry[Scenario]) -> None:
    """Add them to the catalogue."""
    for scenario in SCENARIOS:
        registry.register(scenario.name, scenario)
