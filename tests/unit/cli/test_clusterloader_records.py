"""The run folder beside a report of ClusterLoader2: raw data of pods and claims, metrics of gangs and devices, a page.

On the embedded engine in virtual time.
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest

from kubedyno import cli
from kubedyno.measure.records import Measurement, TrialRecord

pytestmark = pytest.mark.unit

EXAMPLE = Path(__file__).parents[3] / "examples" / "clusterloader" / "test-config.yaml"
DRIVER = "cl2-gpu.kwok.x-k8s.io"


class Left:
    """The only run and trial of a report folder."""

    def __init__(self, reports: Path) -> None:
        self.reports = reports
        (self.run,) = reports.glob("kubedyno/*")
        (self.trial,) = self.run.glob("trials/*")
        self.record = msgspec.json.decode((self.trial / "trial.json").read_bytes(), type=TrialRecord)
        self.page = (self.run / "index.html").read_text()

    @property
    def quality(self) -> dict[str, Measurement]:
        return {one.name: one for one in self.record.quality}

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.trial / name)

    def times(self) -> list[dict[str, str]]:
        with (self.trial / "times.csv").open(newline="") as file:
            return list(csv.DictReader(file))


Command = Callable[..., Left]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("NUM_NODES", raising=False)
    monkeypatch.chdir(tmp_path)

    def call(config: Path, *args: str, code: int = 0) -> Left:
        reports = tmp_path / "reports"
        words = [f"--testconfig={config}", f"--report-dir={reports}", "--time", "virtual", *args]
        monkeypatch.setattr(sys, "argv", ["kubedyno", "clusterloader", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == code
        return Left(reports)

    return call


def test_every_claim_has_a_row_and_claims_have_metrics(run: Command) -> None:
    left = run(EXAMPLE, "--nodes=3")
    claims = left.table("claims.parquet")
    assert claims.height == 10
    assert claims["driver"].unique().to_list() == [DRIVER]
    assert claims["count"].unique().to_list() == [1]
    assert claims["devices"].n_unique() == 10
    for row in claims.iter_rows(named=True):
        assert row["pod"].startswith("kwok-gpu-job-")
        assert row["devices"].startswith(f"{row['node']}/gpu")
        assert row["created_ns"] <= row["allocated_ns"] <= row["reserved_ns"] < row["released_ns"]
    assert left.quality["claims"].value == 10
    waited = left.quality["wait for allocation"]
    assert len(waited.samples) == 10
    assert [one.percent for one in waited.percentiles] == [50.0, 90.0, 99.0]
    assert left.quality["devices allocated at most"].value == 10
    series = left.table("series.parquet").filter(pl.col("series") == "devices_allocated")
    assert series["component"].unique().to_list() == [DRIVER]
    assert (series["value"].max(), series["value"][-1]) == (10.0, 0.0)
    for said in ("Wait of claims", "Devices allocated", "Pods bound", "claim_allocation", "general.png"):
        assert said in left.page, said


def test_what_measurements_summarised_is_in_the_run_folder_as_in_the_report(run: Command) -> None:
    left = run(EXAMPLE, "--nodes=3")
    kept = {path.name: path.read_text() for path in (left.trial / "summaries").iterdir()}
    assert kept.keys() == {
        *(f"{kind}PodStartupLatency_GpuPods.json" for kind in ("", "Stateful", "Stateless")),
        "ResourceClaimAllocationLatency_GpuClaims.json",
        "generatedConfig.yaml",
    }
    (report,) = left.reports.glob("PodStartupLatency_GpuPods_kwok-dra-test_*.json")
    assert kept["PodStartupLatency_GpuPods.json"] == report.read_text()
    for name in kept:
        assert f'href="{(left.trial / "summaries" / name).relative_to(left.run).as_posix()}"' in left.page


JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {{.Name}}
  labels: {group: several}
spec:
  parallelism: 4
  completions: 4
  template:
    metadata:
      labels: {group: several}
    spec:
      restartPolicy: Never
      containers:
      - name: work
        image: busybox
        command: [sleep, 20s]
        resources: {requests: {cpu: "2"}}
"""

JOBS = """
name: several
namespace: {number: 2}
tuningSets: [{name: Steady, qpsLoad: {qps: 5}}]
steps:
- name: Follow
  measurements:
  - {method: WaitForFinishedJobs, identifier: Jobs, params: {action: start, labelSelector: group = several}}
  - {method: PrometheusSchedulingMetrics, identifier: Components, params: {action: start}}
  - {method: SchedulingThroughput, identifier: Throughput, params: {action: start, labelSelector: group = several}}
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: 5
    tuningSet: Steady
    objectBundle: [{basename: job, objectTemplatePath: job.yaml}]
- name: Wait
  measurements: [{method: WaitForFinishedJobs, identifier: Jobs, params: {action: gather, timeout: 3m}}]
- name: Gather
  measurements:
  - {method: SchedulingThroughput, identifier: Throughput, params: {action: gather, threshold: 1000}}
"""


def test_jobs_of_several_pods_are_told_as_a_whole_and_steps_in_their_order(run: Command, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "config.yaml").write_text(JOBS)
    left = run(tmp_path / "config.yaml", "--nodes=4", code=1)
    for name in ("Job latency", "Job spread", "Job start"):
        assert len(left.quality[name].samples) == 10, name
    assert left.quality["Job start"].value > left.quality["Job latency"].value > 0
    assert "gang latency" not in left.quality  # kube-scheduler's pods of a Job need not run together
    assert [line["pods"] for line in left.times()] == ["4"] * 10
    assert {line["workload"].rpartition("/")[2] for line in left.times()} == {f"job-{number}" for number in range(5)}
    assert not (left.trial / "claims.parquet").exists()
    assert [(check.name.removeprefix("several: "), check.passed, check.skipped) for check in left.record.checks] == [
        ("[step: 01] Follow [00] - Jobs", True, False),
        ("[step: 01] Follow [01] - Components", True, True),
        ("[step: 01] Follow [02] - Throughput", True, False),
        ("[step: 02] Create", True, False),
        ("[step: 03] Wait [00] - Jobs", True, False),
        ("[step: 04] Gather [00] - Throughput", False, False),
    ]
    assert '<span class="skipped">skipped</span> several: [step: 01] Follow [01] - Components' in left.page
    assert "and 1000 are asked for" in left.page
