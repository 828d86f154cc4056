"""The eight points of failure on the embedded engine with the reference scheduler, in virtual time."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from tests.trials import failed_checks, measured, played

from kubedyno.lab.applying import why_not
from kubedyno.lab.scenario import Scenario
from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.scenarios import SCENARIOS, numa
from kubedyno.scenarios.numa import mistakes
from kubedyno.sim.exporters.distorting import KINDS

pytestmark = pytest.mark.unit

EIGHT = {scenario.name: scenario for scenario in numa.SCENARIOS}
SMALL: dict[str, dict[str, Any]] = {"numa/wrong-node": {"pods": 6}, "numa/stale": {"frozen_s": 8}}
"""At four nodes."""
FIGURES: dict[str, dict[str, float]] = {
    "numa/stale": {"pods refused for their alignment": 0},
    "numa/exporter-crash": {"pods refused for their alignment": 0},
    "numa/scheduler-down": {"pods refused after what was placed was forgotten": 0},
}
CASES = {
    "numa/side-effects": 8,
    "numa/stale": 8,
    "numa/exporter-accounting": 17,
    "numa/wrong-node": 11,
    "numa/kubelet-misreports": 10,
    "numa/kubelet-down": 6,
    "numa/scheduler-down": 3,
    "numa/exporter-crash": 8,
}


def expect_good(record: TrialRecord) -> None:
    assert (record.message, record.violations, failed_checks(record)) == ("", (), [])
    assert record.verdict == Verdict.PASSED
    assert record.timed_s is not None


@pytest.mark.parametrize("name", EIGHT)
def test_it_passes_on_the_reference_scheduler(name: str) -> None:
    record = played(EIGHT[name], **{"nodes": 4, **SMALL.get(name, {})})
    expect_good(record)
    figures = measured(record)
    assert {figure: figures[figure] for figure in FIGURES.get(name, {})} == FIGURES.get(name, {})
    assert len(record.cases) == CASES[name]
    for case in record.cases:
        assert case.passed
        assert all((case.target, case.component, case.failure, case.expected, case.observed))
        assert set(case.breaks) <= set(range(1, 7))
    assert any(case.breaks for case in record.cases) or name == "numa/wrong-node"
    # Of our own scheduler no fault is known; of an exporter of the field one is.
    known = [case.finding for case in record.cases if case.finding]
    assert known == (
        ["the resource-topology-exporter charges memory of several zones to each of them"]
        if name == "numa/exporter-accounting"
        else []
    )


def test_a_report_of_node_feature_discovery_outlives_its_node() -> None:
    record = played(EIGHT["numa/exporter-crash"], nodes=4, style="nfd")
    expect_good(record)
    assert record.cases[-1].expected == "its report stays: it belongs to the exporter's namespace"


def test_every_way_to_write_wrongly_is_tried() -> None:
    tried = {one.distortion.kind for one in itertools.chain(mistakes.MISTAKES, mistakes.MISPRINTS)}
    # The two others depend on pods that have ended, and on memory of several zones.
    assert KINDS.keys() - tried == {"terminal-pods", "memory-charged-to-each"}


@pytest.mark.parametrize("scenario", EIGHT.values(), ids=list(EIGHT))
def test_it_says_what_it_shows_and_what_its_parameters_are(scenario: Scenario) -> None:
    assert scenario.description.endswith(".")
    assert scenario.tags[0] == "numa"
    assert scenario.needs == ("numa",)
    assert all(parameter.doc for parameter in scenario.parameters)
    assert scenario.parameter("nodes").default == 10
    assert scenario.parameter("cache").choices == ("passthrough", "over-reserve", "discard-reserved")
    assert SCENARIOS.get(scenario.name) is scenario


def test_they_apply_to_schedulers_that_look_at_zones() -> None:
    stale = EIGHT["numa/stale"]
    assert {name for name in ("reference", "plugins", "kube-scheduler", "kai") if why_not(stale, name) is None} == {
        "reference",
        "plugins",
    }


def test_the_pages_name_every_scenario() -> None:
    docs = Path(__file__).parents[3] / "docs"
    for page in ("numa.md", "catalogue.md"):
        text = (docs / page).read_text()
        assert [name for name in EIGHT if f"`{name}`" not in text] == []
