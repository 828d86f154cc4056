"""The catalogue on real schedulers, small; what is known of them is expected to fail in that very way."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.trials import expect_passed, played, played_on

from kubedyno.lab import waiting
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import Verdict
from kubedyno.scenarios import SCENARIOS

pytestmark = pytest.mark.local

ON_KAI: dict[str, dict[str, Any]] = {
    "kai/topology-preferred": {"nodes": 18},
    "kai/topology-none": {"nodes": 8},
    "kai/reclaim-unschedulable": {"nodes": 6, "samples": 2},
    "kai/reclaim-large": {"nodes": 6, "background": 0.1, "churn": 1.0},
    "kai/reclaim-latency": {"nodes": 4, "samples": 3},
    "kai/reclaim-many": {"nodes": 4},
    "kai/reclaim-distributed": {"nodes": 4},
    "kai/reclaim-full-nodes": {"nodes": 6},
    "kai/burst": {"nodes": 4, "per_size": 2, "runs_for": "uniform(1s, 3s)"},
    "kai/disaggregated-inference": {"nodes": 18, "reclaim": False},
    "kai/elastic-reclaim": {"nodes": 4},
    "kai/hero-job": {"nodes": 8, "reclaim": False},
    "kai/multi-queue-mix": {"nodes": 4},
    "stability/concurrent-creation": {"nodes": 4, "bursts": 2, "every_s": 3},
    "stability/fragmentation": {"nodes": 6},
    "stability/scheduler-crash": {"nodes": 4, "crashes": 2, "over_s": 6},
}
ON_KUBE_SCHEDULER: dict[str, dict[str, Any]] = {
    "kai/fill": {"nodes": 4},
    "kai/burst": {"nodes": 4, "per_size": 2, "runs_for": "uniform(1s, 3s)"},
    "stability/churn": {"nodes": 4, "duration_s": 15, "rate": 1.0},
    "stability/concurrent-creation": {"nodes": 4, "bursts": 2, "every_s": 3},
    "stability/fragmentation": {"nodes": 6},
    "stability/scheduler-crash": {"nodes": 4, "crashes": 2, "over_s": 6},
}
FIGURES = {
    "kai/reclaim-unschedulable": {"evicted pods": 24},
    "kai/reclaim-full-nodes": {"evicted pods": 6},
    "kai/burst": {"pods succeeded": 14},
}


@pytest.fixture(scope="module")
async def kai_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """One lab for all that need no settings of their own: what a scenario leaves behind would spoil the next."""
    async with lab_in_process(tmp_path_factory.mktemp("kai") / "lab", scheduler="kai") as lab:
        yield lab


@pytest.fixture(scope="module")
async def kube_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_in_process(tmp_path_factory.mktemp("kube") / "lab", scheduler="kube-scheduler") as lab:
        yield lab


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is known to stall."""
    monkeypatch.setattr(waiting, "STALLED_AFTER_S", 15.0)


@pytest.mark.parametrize("name", ON_KAI)
async def test_it_passes_on_kai(name: str, kai_lab: RunningLab, tmp_path: Path) -> None:
    record = await played_on(kai_lab, SCENARIOS.get(name), tmp_path, **ON_KAI[name])
    expect_passed(record, FIGURES.get(name, {}))


@pytest.mark.parametrize("name", ON_KUBE_SCHEDULER)
async def test_it_passes_on_kube_scheduler(name: str, kube_lab: RunningLab, tmp_path: Path) -> None:
    record = await played_on(kube_lab, SCENARIOS.get(name), tmp_path, **ON_KUBE_SCHEDULER[name])
    expect_passed(record, {})


def test_jobs_are_moved_by_a_kai_of_its_own_that_consolidates() -> None:
    record = played(SCENARIOS.get("kai/consolidate"), engine="local", scheduler="kai", nodes=6)
    expect_passed(record, {"moved jobs": 3})


@pytest.mark.usefixtures("little_patience")
async def test_consolidation_that_is_turned_off_is_told_by_nothing_moving(kai_lab: RunningLab, tmp_path: Path) -> None:
    """The profile for scale tests turns it off."""
    record = await played_on(kai_lab, SCENARIOS.get("kai/consolidate"), tmp_path, nodes=4)
    assert record.verdict == Verdict.FAILED
    assert "pods were not scheduled, and nothing happened to them" in record.message


@pytest.mark.usefixtures("little_patience")
@pytest.mark.parametrize(("name", "nodes"), [("kai/hero-job", 4), ("kai/disaggregated-inference", 18)])
async def test_kai_does_not_reclaim_for_a_gang_that_must_be_close_together(
    name: str, nodes: int, kai_lab: RunningLab, tmp_path: Path
) -> None:
    record = await played_on(kai_lab, SCENARIOS.get(name), tmp_path, nodes=nodes)
    assert record.verdict == Verdict.FAILED
    assert "No relevant domains found for workload in topology tree" in record.message


@pytest.mark.usefixtures("little_patience")
async def test_when_kai_over_commits_fractions_it_is_told_and_else_they_pass(
    kai_lab: RunningLab, tmp_path: Path
) -> None:
    record = await played_on(kai_lab, SCENARIOS.get("kai/fractions"), tmp_path, nodes=3)
    if record.verdict != Verdict.PASSED:
        told = {violation.invariant for violation in record.violations}
        assert told & {"shared GPU over-committed", "pod lost"} or "reservation pod" in record.message
        assert record.verdict == Verdict.FAILED


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("kai/reclaim-many", ("quotas", "reclaim")),
        ("kai/consolidate", ("consolidation",)),
        ("kai/fractions", ("fractions",)),
    ],
)
def test_what_kube_scheduler_cannot_express_is_not_applicable_and_says_why(name: str, needs: tuple[str, ...]) -> None:
    record = played(SCENARIOS.get(name), engine="local", scheduler="kube-scheduler", nodes=4)
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert all(f"{need}: " in record.message for need in needs)
