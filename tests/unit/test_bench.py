"""How benchmarks are judged, and that `scripts/bench` lists them."""

import importlib
import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.unit

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def result() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_result", BENCH / "result.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("ours", "better", "limit", "ok"),
    [
        ([3.0], "lower", 1.5, True),
        ([3.1], "lower", 1.5, False),
        ([1.6], "higher", 0.8, True),
        ([1.5], "higher", 0.8, False),
    ],
)
def test_a_ratio_is_held_to_its_limit(
    result: ModuleType, ours: list[float], better: str, limit: float, ok: bool
) -> None:
    found = result.against_ratio("x", ours, [2.0], unit="s", limit=limit, better=better)
    assert found.ok is ok
    assert found.ratio == ours[0] / 2


def test_noise_decides_whether_a_lower_rate_counts(result: ModuleType) -> None:
    noisy = result.against_noise("x", [90.0, 110.0, 85.0, 112.0], [100.0, 100.0, 100.0, 100.0], unit="/s")
    assert noisy.ok
    slower = result.against_noise("x", [90.0, 91.0, 89.0, 90.0], [100.0, 100.0, 100.0, 100.0], unit="/s")
    assert not slower.ok
    assert slower.ratio == pytest.approx(0.9, rel=0.01)
    faster = result.against_noise("x", [110.0, 111.0, 112.0], [100.0, 100.0, 100.0], unit="/s")
    assert faster.ok


def test_a_value_is_held_to_its_limit_whatever_the_peer_does(result: ModuleType) -> None:
    assert result.against_value("x", [0.2], [0.01], unit="s", limit=0.3).ok
    assert not result.against_value("x", [0.4], [1.0], unit="s", limit=0.3).ok


def test_a_value_may_have_no_peer_and_a_goal_that_does_not_decide(result: ModuleType) -> None:
    found = result.against_value("x", [9000.0], unit="/s", limit=8000, goal=20000, better="higher")
    assert found.ok
    assert (found.peer, found.ratio) == (None, None)
    assert found.target == "ours >= 8000 [20000] /s"
    assert not result.against_value("x", [7999.0], unit="/s", limit=8000, goal=20000, better="higher").ok
    share = result.against_ratio("x", [1.0], [4.0], unit="s", limit=1 / 3, goal=1 / 5, better="lower")
    assert share.ok
    assert share.target == "ratio <= 0.333 [0.2]"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("embedded_load")


@pytest.mark.parametrize(("alike", "specs"), [(True, 1), (False, 6)])
def test_pods_differ_in_their_names_and_unless_alike_in_their_specs_over_all_rounds(
    load: ModuleType, alike: bool, specs: int
) -> None:
    bodies = [body for prefix in ("first", "second") for body in itertools.islice(load.pods(prefix, alike=alike), 3)]
    made = [json.loads(body) for body in bodies]
    assert len({pod["metadata"]["name"] for pod in made}) == 6
    assert len({json.dumps(pod["metadata"]["labels"]) for pod in made}) == 6
    assert len({json.dumps(pod["spec"]) for pod in made}) == specs


def test_the_benchmarks_are_listed_and_an_unknown_one_is_refused() -> None:
    listed = subprocess.run(
        [sys.executable, str(BENCH / "main.py"), "--list"], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [
        "help",
        "up",
        "client-stub",
        "client-local",
        "embedded-start",
        "embedded-size",
        "embedded-create",
        "embedded-watch",
        "embedded-latency",
        "embedded-schedule",
        "embedded-calls",
        "embedded-nodes",
        "simulate",
        "recorder",
        "submit",
        "clusterloader-compile",
        "clusterloader-throughput",
        "compare",
        "dashboard",
        "decide",
        "fill",
        "fill-large",
        "nodes-100,000",
    ]
    refused = subprocess.run(
        [sys.executable, str(BENCH / "main.py"), "upp"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "there is no benchmark 'upp'" in refused.stderr
