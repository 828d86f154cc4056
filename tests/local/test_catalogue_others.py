"""The catalogue on real Kueue and scheduler-plugins, small; what is known of them is expected to fail in that way."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.trials import expect_passed, played_on

from kubedyno.lab import waiting
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import Verdict
from kubedyno.scenarios import SCENARIOS

pytestmark = pytest.mark.local

ON_KUEUE: dict[str, dict[str, Any]] = {
    "kai/fill-with-pending": {"nodes": 4},
    "kai/topology-preferred": {"nodes": 8},
    "kai/reclaim-latency": {"nodes": 4, "samples": 3},
    "kai/reclaim-full-nodes": {"nodes": 6},
    "kai/hero-job": {"nodes": 4},
}
ON_PLUGINS: dict[str, dict[str, Any]] = {
    "hello": {"nodes": 4},
    "kai/fill": {"nodes": 4},
    "kai/burst": {"nodes": 4, "per_size": 2, "runs_for": "uniform(1s, 3s)"},
    "stability/concurrent-creation": {"nodes": 4, "bursts": 2, "every_s": 3},
    "stability/scheduler-crash": {"nodes": 4, "crashes": 2, "over_s": 6},
}
FIGURES = {
    "kai/reclaim-latency": {"evicted pods": 3},
    "kai/reclaim-full-nodes": {"evicted pods": 6},
    "kai/burst": {"pods succeeded": 14},
}


@pytest.fixture(scope="module")
async def kueue_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_in_process(tmp_path_factory.mktemp("kueue") / "lab", scheduler="kueue") as lab:
        yield lab


@pytest.fixture(scope="module")
async def plugins_lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_in_process(tmp_path_factory.mktemp("plugins") / "lab", scheduler="plugins") as lab:
        yield lab


@pytest.mark.parametrize("name", ON_KUEUE)
async def test_it_passes_on_kueue(name: str, kueue_lab: RunningLab, tmp_path: Path) -> None:
    record = await played_on(kueue_lab, SCENARIOS.get(name), tmp_path, **ON_KUEUE[name])
    expect_passed(record, FIGURES.get(name, {}))


@pytest.mark.parametrize("name", ON_PLUGINS)
async def test_it_passes_on_scheduler_plugins(name: str, plugins_lab: RunningLab, tmp_path: Path) -> None:
    record = await played_on(plugins_lab, SCENARIOS.get(name), tmp_path, **ON_PLUGINS[name])
    expect_passed(record, FIGURES.get(name, {}))


async def test_kueue_reclaims_quota_and_not_room(
    kueue_lab: RunningLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "STALLED_AFTER_S", 10.0)
    record = await played_on(kueue_lab, SCENARIOS.get("kai/reclaim-large"), tmp_path, nodes=6)
    assert record.verdict == Verdict.FAILED
    assert "pods were not scheduled, and nothing happened to them" in record.message
    assert "6 Insufficient nvidia.com/gpu" in record.message


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kai/elastic-reclaim", "elastic-gangs: a Job that it starts with fewer pods never grows"),
        ("kai/consolidate", "consolidation: it never moves a workload to make room"),
        ("kai/multi-queue-mix", "non-preemptible: whoever has a higher priority"),
    ],
)
async def test_what_kueue_cannot_express_is_not_applicable_and_says_why(
    name: str, reason: str, kueue_lab: RunningLab, tmp_path: Path
) -> None:
    record = await played_on(kueue_lab, SCENARIOS.get(name), tmp_path)
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert reason in record.message
