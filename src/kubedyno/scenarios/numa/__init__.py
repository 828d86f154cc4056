"""Scheduling by NUMA zones, tested end to end: eight points of failure, and five cases of latency and overload."""

from kubedyno.kit.registry import Registry
from kubedyno.lab.scenario import Scenario
from kubedyno.scenarios.numa import (
    apiserver_latency,
    apiserver_overload,
    exporter_accounting,
    exporter_crash,
    kubelet_down,
    kubelet_misreports,
    kubelet_overload,
    scheduler_down,
    scheduler_latency,
    scheduler_overload,
    side_effects,
    stale,
    sweep,
    wrong_node,
)

SCENARIOS: tuple[Scenario, ...] = (
    side_effects.side_effects,
    stale.stale,
    exporter_accounting.exporter_accounting,
    wrong_node.wrong_node,
    kubelet_misreports.kubelet_misreports,
    kubelet_down.kubelet_down,
    scheduler_down.scheduler_down,
    exporter_crash.exporter_crash,
)
"""In the order of the points of failure."""

PERFORMANCE: tuple[Scenario, ...] = (
    scheduler_latency.scheduler_latency,
    apiserver_latency.apiserver_latency,
    apiserver_overload.apiserver_overload,
    scheduler_overload.scheduler_overload,
    kubelet_overload.kubelet_overload,
    sweep.sweep,
)
"""Latency and overload, in the order of the cases, and all of them together."""


def register(registry: Registry[Scenario]) -> None:
    """Add them to the catalogue."""
    for scenario in (*SCENARIOS, *PERFORMANCE):
        registry.register(scenario.name, scenario)
