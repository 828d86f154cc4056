"""ClusterLoader2's configs on the real API server, with the real kube-scheduler: claims are allocated by it."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.commands import run_kubedyno

from .conftest import User, processes_below

pytestmark = pytest.mark.local

EXAMPLE = Path(__file__).parents[2] / "examples" / "clusterloader" / "test-config.yaml"


def test_the_example_runs_and_leaves_nothing(user: User) -> None:
    reports = user.home / "reports"
    done = run_kubedyno(
        "clusterloader",
        f"--testconfig={EXAMPLE}",
        "--engine=local",
        "--provider=skeleton",
        f"--report-dir={reports}",
        env={**user.env, "CL2_JOB_RUNNING_TIME_MS": "3000"},
        cwd=user.home,
        within_s=180,
    )
    assert "engine local, scheduler kube-scheduler" in done.stdout
    suite = ET.fromstring((reports / "junit.xml").read_text())  # noqa: S314 - we wrote it
    assert suite.attrib["failures"] == "0"
    (path,) = reports.glob("ResourceClaimAllocationLatency_GpuClaims_kwok-dra-test_*.json")
    claims = {item["labels"]["Metric"]: item["data"] for item in json.loads(path.read_text())["dataItems"]}
    assert claims["claim_allocation"]["Perc99"] > 0
    (path,) = reports.glob("PodStartupLatency_GpuPods_kwok-dra-test_*.json")
    assert json.loads(path.read_text())["dataItems"]
    assert processes_below(user.home) == []
