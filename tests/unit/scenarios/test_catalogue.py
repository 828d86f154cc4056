"""Every scenario of the catalogue on the embedded engine with the reference scheduler, small and in virtual time."""

from pathlib import Path
from typing import Any

import pytest
from tests.trials import failed_checks, measured, played

from kubedyno.lab.scenario import Scenario
from kubedyno.measure.records import Verdict
from kubedyno.model.features import FEATURES
from kubedyno.scenarios import kai, stability
from kubedyno.schedulers import SCHEDULERS

pytestmark = pytest.mark.unit

CATALOGUE = {scenario.name: scenario for scenario in (*kai.SCENARIOS, *stability.SCENARIOS)}
ON_EVERY_SCHEDULER = (
    "kai/fill",
    "kai/fill-live",
    "stability/churn",
    "stability/concurrent-creation",
    "stability/fragmentation",
    "stability/scheduler-crash",
)

SMALL: dict[str, dict[str, Any]] = {
    "kai/reclaim-unschedulable": {"samples": 3},
    "kai/reclaim-latency": {"samples": 3, "background": 0.2, "churn": 2.0},
    "kai/reclaim-large": {"background": 0.2, "churn": 2.0},
    "stability/churn": {"duration_s": 60, "rate": 0.2},
    "stability/quota-fairness": {"duration_s": 20, "nodes": 4, "tolerance": 0.05},
}
FIGURES: dict[str, dict[str, float]] = {
    "kai/topology-preferred": {"nodes in the tree": 8, "racks spanned": 1, "racks needed at least": 1},
    "kai/reclaim-unschedulable": {"evicted pods": 32, "GPUs evicted for each reclaimed": 1},
    "kai/reclaim-large": {"evicted pods": 32, "GPUs evicted for each reclaimed": 1},
    "kai/reclaim-latency": {"evicted pods": 3, "GPUs evicted for each reclaimed": 1},
    "kai/reclaim-many": {"evicted pods": 64, "GPUs evicted for each reclaimed": 1},
    "kai/reclaim-distributed": {"evicted pods": 40, "GPUs evicted for each reclaimed": 1},
    "kai/reclaim-full-nodes": {"evicted pods": 8, "GPUs evicted for each reclaimed": 1},
    "kai/consolidate": {"moved jobs": 4, "evicted pods": 4},
    "kai/burst": {"pods succeeded": 15, "pods failed": 0, "pods pending": 0, "pods deleted": 0},
    "kai/elastic-reclaim": {"evicted pods": 32, "GPUs evicted for each reclaimed": 1},
    "kai/hero-job": {"nodes in the tree": 8, "evicted pods": 32, "GPUs evicted for each reclaimed": 1},
    "kai/multi-queue-mix": {"GPUs of serving": 8, "GPUs of notebooks": 8},
}
"""What comes out at eight nodes."""


@pytest.mark.parametrize("name", CATALOGUE)
def test_it_passes_on_the_reference_scheduler(name: str) -> None:
    record = played(CATALOGUE[name], **{"nodes": 8, **SMALL.get(name, {})})
    assert (record.message, record.violations, failed_checks(record)) == ("", (), [])
    assert record.verdict == Verdict.PASSED
    assert record.checks
    assert record.measurements
    assert record.timed_s is not None
    figures = measured(record)
    assert {figure: figures[figure] for figure in FIGURES.get(name, {})} == FIGURES.get(name, {})


@pytest.mark.parametrize("name", ["kai/topology-preferred", "kai/consolidate", "kai/hero-job"])
def test_it_passes_where_it_must_choose_between_many_places(name: str) -> None:
    record = played(CATALOGUE[name], nodes=24)
    assert (record.message, record.violations, record.verdict) == ("", (), Verdict.PASSED)


def test_the_suite_of_kai_is_there_in_its_order() -> None:
    assert [scenario.name.removeprefix("kai/") for scenario in kai.SCENARIOS[:13]] == [
        "topology-preferred",
        "topology-none",
        "fill",
        "fill-live",
        "fill-with-pending",
        "reclaim-unschedulable",
        "reclaim-large",
        "reclaim-latency",
        "reclaim-many",
        "reclaim-distributed",
        "consolidate",
        "reclaim-full-nodes",
        "burst",
    ]


@pytest.mark.parametrize("scenario", CATALOGUE.values(), ids=list(CATALOGUE))
def test_it_says_what_it_shows_and_what_its_parameters_are(scenario: Scenario) -> None:
    assert scenario.description.endswith(".")
    assert scenario.tags
    assert set(scenario.needs) <= set(FEATURES)
    assert all(parameter.doc for parameter in scenario.parameters)
    nodes = scenario.parameter("nodes")
    assert (nodes.least, nodes.most) == (8 if "inference" in scenario.tags else 2, 50_000)
    families = {"topology": 512, "stability": nodes.default}
    assert nodes.default == families.get(scenario.tags[0], 500)


@pytest.mark.parametrize("name", ON_EVERY_SCHEDULER)
def test_the_plain_ones_need_nothing_that_a_scheduler_may_lack(name: str) -> None:
    assert CATALOGUE[name].needs == ()


def test_reclaim_and_fill_beside_waiting_jobs_are_not_applicable_to_a_scheduler_without_queues() -> None:
    reason = SCHEDULERS.get("kube-scheduler").lacks["quotas"]
    for name in ("kai/reclaim-many", "kai/fill-with-pending"):
        record = played(CATALOGUE[name], engine="local", scheduler="kube-scheduler", nodes=2)
        assert record.verdict == Verdict.NOT_APPLICABLE
        assert f"quotas: {reason}" in record.message
        assert record.setup_s < 1


def test_the_catalogue_page_names_every_scenario() -> None:
    page = (Path(__file__).parents[3] / "docs" / "catalogue.md").read_text()
    assert [name for name in CATALOGUE if f"`{name}`" not in page] == []
