"""ClusterLoader2's configs on the real API server, with the real kube-scheduler: claims are allocated by it."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl
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
    (path,) = reports.glob("kubedyno/*/trials/*/claims.parquet")
    rows = pl.read_parquet(path)
    assert rows.height == rows["devices"].n_unique() == 10
    for row in rows.iter_rows(named=True):
        assert row["devices"].startswith(f"{row['node']}/gpu")
        assert row["created_ns"] <= row["allocated_ns"] <= row["reserved_ns"] <= row["released_ns"]
    quality = {one["name"]: one for one in json.loads((path.parent / "trial.json").read_text())["quality"]}
    assert quality["claims"]["value"] == 10
    assert len(quality["wait for allocation"]["samples"]) == 10
    assert 1 <= quality["devices allocated at most"]["value"] <= 10
    assert processes_below(user.home) == []


POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}
  labels:
    group: load
spec:
  containers:
  - name: pause
    image: pause
"""

MEASURED = """
name: measured
tuningSets: [{name: Uniform, qpsLoad: {qps: 20}}]
steps:
- name: Start
  measurements:
  - method: PodStartupLatency
    identifier: Startup
    params: {action: start, labelSelector: group = load, threshold: 1m}
  - {method: SchedulingThroughput, identifier: Throughput, params: {action: start, measurmentInterval: 1s}}
  - method: TestMetrics
    identifier: All
    params: {action: start, waitTime: 2s, resourceConstraints: limits.yaml, systemPodMetricsEnabled: true}
  - {method: PrometheusSchedulingMetrics, identifier: Prom, params: {action: start}}
  - {method: SchedulingThroughputPrometheus, identifier: Bindings, params: {action: start}}
  - {method: APIResponsivenessPrometheus, identifier: API, params: {action: start}}
  - method: GenericPrometheusQuery
    identifier: Generic
    params:
      action: start
      metricName: Requests
      metricVersion: v1
      unit: "1"
      dimensions: [verb]
      queries:
      - {name: Count, query: 'sum(increase(apiserver_request_total{resource="pods"}[%v])) by (verb)', threshold: 1}
  - {method: APIResponsivenessPrometheus, identifier: Slow, params: {action: start}}
  - {method: SLOMeasurement, identifier: SLO, params: {action: start}}
  - {method: CPUProfile, identifier: CPU, params: {action: start, componentName: kube-scheduler}}
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 400
    tuningSet: Uniform
    objectBundle: [{basename: load, objectTemplatePath: pod.yaml}]
- name: Wait
  measurements:
  - method: WaitForRunningPods
    identifier: Wait
    params: {desiredPodCount: 400, labelSelector: group = load, timeout: 2m}
- name: Gather
  measurements:
  - {method: PodStartupLatency, identifier: Startup, params: {action: gather}}
  - {method: SchedulingThroughput, identifier: Throughput, params: {action: gather}}
  - {method: TestMetrics, identifier: All, params: {action: gather, systemPodMetricsEnabled: true}}
  - {method: PrometheusSchedulingMetrics, identifier: Prom, params: {action: gather}}
  - {method: SchedulingThroughputPrometheus, identifier: Bindings, params: {action: gather, threshold: 10000}}
  - {method: APIResponsivenessPrometheus, identifier: API, params: {action: gather, useSimpleLatencyQuery: true}}
  - {method: GenericPrometheusQuery, identifier: Generic, params: {action: gather, enableViolations: true}}
  - method: APIResponsivenessPrometheus
    identifier: Slow
    params: {action: gather, useSimpleLatencyQuery: true, summaryName: Slow, singleResourceThreshold: 1ns,
      enableViolations: true}
  - method: SLOMeasurement
    identifier: SLO
    params: {action: gather, enableViolations: true, overrides: {SchedulingThroughputPrometheus: {threshold: 9999}}}
  - {method: CPUProfile, identifier: CPU, params: {action: gather}}
"""


def test_what_components_say_of_themselves_is_measured_without_a_prometheus_server(user: User) -> None:
    (user.home / "pod.yaml").write_text(POD)
    (user.home / "config.yaml").write_text(MEASURED)
    (user.home / "limits.yaml").write_text("etcd: {cpuConstraint: 64, memoryConstraint: 1M}\n")
    reports = user.home / "reports"

    def summary(prefix: str) -> Any:
        path, *_ = sorted(reports.glob(f"{prefix}_measured_*.json"))  # SLOMeasurement has a second of one of them
        return json.loads(path.read_text())

    done = run_kubedyno(
        *("clusterloader", "--testconfig=config.yaml", "--engine=local", "--nodes=10", f"--report-dir={reports}"),
        "--set=etcd.enable-pprof=true",
        env=user.env,
        cwd=user.home,
        within_s=180,
        code=1,
    )
    suite = ET.fromstring((reports / "junit.xml").read_text())  # noqa: S314 - we wrote it
    failed = {case.attrib["name"]: case.findtext("failure") or "" for case in suite if case.find("failure") is not None}
    # Upstream's rule: thresholds of queries count where violations are enabled.
    assert sorted(failed) == [
        "measured overall (config.yaml)",
        "measured: [step: 04] Gather [02] - All",
        "measured: [step: 04] Gather [06] - Generic",
        "measured: [step: 04] Gather [07] - Slow",
        "measured: [step: 04] Gather [08] - SLO",
    ]
    assert failed["measured: [step: 04] Gather [02] - All"].startswith("[ResourceUsageSummary: etcd/etcd: the 99th")
    assert "bytes, and 1e+06 is the limit" in failed["measured: [step: 04] Gather [02] - All"]
    assert "Count: " in failed["measured: [step: 04] Gather [06] - Generic"]
    assert re.search(
        r"POST pods binding .* s, and 1e-09 s is the limit", failed["measured: [step: 04] Gather [07] - Slow"]
    )
    assert "pods/s at most, and 9999 are asked for" in failed["measured: [step: 04] Gather [08] - SLO"]
    assert "SLOMeasurement: DnsLookupLatency is left out: it measures a real network" in done.stderr
    assert "TestMetrics" not in done.stderr  # it has all its parts
    assert "SystemPodMetrics: kube-system has no pods" in done.stderr
    assert "this does not fail the test, since enableViolations is not set" in done.stderr
    for name in ("SchedulingMetrics", "Prom_PrometheusSchedulingMetrics"):
        assert summary(name)["frameworkExtensionPointDuration"]["Filter"]["Perc99"] > 0
        assert summary(name)["schedulingLatency"]["Perc50"] > 0
    etcd = summary("EtcdMetrics")
    assert etcd["walFsyncDuration"][0]["buckets"]["+Inf"] > 0
    assert etcd["maxDatabaseSize"] > 0
    profiles = {path.name.partition("_measured_")[0]: path.read_bytes()[:2] for path in reports.glob("*.pprof")}
    programs = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    compressed = b"\x1f\x8b"  # as pprof has it
    assert profiles == {
        "127.0.0.1_kube-scheduler_CPUProfile": compressed,
        **{f"127.0.0.1_{program}_{kind}Profile": compressed for program in programs for kind in ("Memory", "Block")},
    }
    assert summary("SystemPodMetrics") == {"pods": []}
    assert summary("MetricsForE2E")["APIServerMetrics"]["apiserver_request_total"]
    used = {one["Name"]: one for one in summary("ResourceUsageSummary")["99"]}
    assert used["kube-apiserver/kube-apiserver"]["CPU"] > 0
    assert used["kube-apiserver/kube-apiserver"]["Mem"] > 1_000_000
    assert summary("SchedulingThroughputPrometheus")["max"] > 10  # of 20 a second; more where they come in bursts
    assert summary("SchedulingThroughput")["max"] > 10
    calls = {
        (item["labels"]["Verb"], item["labels"]["Resource"], item["labels"]["Subresource"]): item
        for item in summary("APIResponsivenessPrometheus")["dataItems"]
    }
    # Of 400: what came before a series was first seen is not counted, and what is beyond the last scrape is guessed.
    assert 200 < int(calls["POST", "pods", "binding"]["labels"]["Count"]) < 500
    assert calls["POST", "pods", ""]["data"]["Perc99"] > 0
    requests = {
        item["labels"]["verb"]: item["data"]["Count"]
        for item in summary("GenericPrometheusQuery Requests")["dataItems"]
    }
    assert 400 < requests["POST"] < 1000
