"""KAI's scale suite: its thirteen situations in their order, then those that its users ask for."""

from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Scenario
from kubedyno.scenarios.kai import (
    bursting,
    consolidating,
    elastic,
    filling,
    fractions,
    hero,
    inference,
    mixing,
    reclaiming,
    topology,
)

SCENARIOS: tuple[Scenario, ...] = (
    topology.topology_preferred,
    topology.topology_none,
    filling.fill,
    filling.fill_live,
    filling.fill_with_pending,
    reclaiming.reclaim_unschedulable,
    reclaiming.reclaim_large,
    reclaiming.reclaim_latency,
    reclaiming.reclaim_many,
    reclaiming.reclaim_distributed,
    consolidating.consolidate,
    reclaiming.reclaim_full_nodes,
    bursting.burst,
    inference.disaggregated_inference,
    elastic.elastic_reclaim,
    hero.hero_job,
    mixing.multi_queue_mix,
    fractions.fractions,
)


def register(registry: Registry[Scenario]) -> None:
    """Add them to the catalogue."""
    for scenario in SCENARIOS:
        registry.register(scenario.name, scenario)
