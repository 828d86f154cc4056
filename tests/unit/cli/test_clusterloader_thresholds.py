"""Every method of ClusterLoader2 that can fail a test fails it: one config in which nothing is as it should be."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from kubedyno import cli
from kubedyno.clusterloader.measurements import METHODS, REFUSED

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[3] / "examples" / "clusterloader"

UPSTREAM = """
APIAvailability APIResponsivenessPrometheus BlockProfile CPUProfile ChaosMonkey CiliumEndpointPropagationDelay
ClusterOOMsTracker ContainerRestarts DNSPerformanceK8sHostnames DnsLookupLatency DnsPropagation EtcdMetrics Exec
GenericPrometheusQuery InClusterAPIServerRequestLatency InClusterNetworkLatency JobLifecycleLatency
KubeStateMetricsLatency LoadBalancerNodeSyncLatency MemoryProfile MetricsForE2E MetricsServerPrometheus NegLatency
NetworkPerformanceMetrics NetworkPolicyEnforcement NetworkProgrammingLatency NodeHealthTracker
NodeLocalDNSLatencyPrometheus PodPeriodicCommand PodStartupLatency PrometheusSchedulingMetrics
ResourceClaimAllocationLatency ResourceUsageSummary RestartApiserver SLOMeasurement SchedulingMetrics
SchedulingThroughput SchedulingThroughputPrometheus ServiceCreationLatency Sleep SystemPodMetrics TestMetrics Timer
WaitForAvailablePVs WaitForBoundPVCs WaitForControlledPodsRunning WaitForFinishedJobs WaitForGenericK8sObjects
WaitForNodes WaitForRunningPods WindowsResourceUsagePrometheus
"""

WITHOUT_THRESHOLDS = {
    *("BlockProfile", "CPUProfile", "ChaosMonkey", "EtcdMetrics", "MemoryProfile", "MetricsForE2E"),
    *("PrometheusSchedulingMetrics", "SchedulingMetrics", "Sleep", "Timer"),
}
OF_COMPONENTS = {
    *("APIResponsivenessPrometheus", "GenericPrometheusQuery", "SLOMeasurement", "SchedulingThroughputPrometheus"),
}
"""They fail in tests/local/test_clusterloader.py: what they look at is there on real components alone."""

FAILS = {
    "Exec": "false: exit code 1",
    "JobLifecycleLatency": "2 of 2 Jobs did not complete within 5 s",
    "NodeHealthTracker": "node health: 3 of 3 nodes were out of order at one time, and 2 is the limit",
    "PodStartupLatency": "pod startup: too high latency: the 50th percentile is",
    "ResourceClaimAllocationLatency": "claim allocation: too high latency: the 99th percentile is",
    "ResourceUsageSummary": "bytes, and 1000 is the limit",
    "SchedulingThroughput": "and 1000 are asked for",
    "SystemPodMetrics": "and 0 is the limit",
    "TestMetrics": "bytes, and 1000 is the limit",
    "WaitForAvailablePVs": "0 of 1 persistentvolumes are Available after 1 s",
    "WaitForBoundPVCs": "0 of 1 persistentvolumeclaims are Bound after 1 s",
    "WaitForControlledPodsRunning": "0 of 1 pods run and are ready after 5 s",
    "WaitForFinishedJobs": "2 of 2 Jobs did not finish within 5 s",
    "WaitForGenericK8sObjects": "0 jobs.batch are successful and 0 failed, where 1 are wanted",
    "WaitForNodes": "nodes are ready, and 99 to 99 are wanted, after 1 s",
    "WaitForRunningPods": "of 99 pods run and are ready",
}


def test_every_method_is_offered_or_refused_with_a_reason() -> None:
    assert sorted({*METHODS, *REFUSED}) == sorted(UPSTREAM.split())
    assert not METHODS.keys() & REFUSED.keys()
    assert all(REFUSED.values())


def test_every_method_is_in_this_file() -> None:
    assert {*FAILS, *WITHOUT_THRESHOLDS, *OF_COMPONENTS} == METHODS.keys()


POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}
  labels: {group: pods}
spec:
  tolerations: [{operator: Exists}]
  containers:
  - {name: main, image: pause, command: [sleep, "{{.Sleep}}"]}
"""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{.Name}}"}
spec:
  selector: {matchLabels: {app: large}}
  template:
    metadata: {labels: {app: large}}
    spec:
      containers: [{name: main, image: pause, resources: {requests: {cpu: 1000}}}]
"""

CONFIG = """
name: thresholds
dependencies: [{name: gpus, method: kwok-dra, params: {nodes: 3}}]
tuningSets: [{name: Fast, qpsLoad: {qps: 10}}]
steps:
- name: Start
  measurements:
  - {method: JobLifecycleLatency, identifier: JobLifecycleLatency, params: {action: start}}
  - {method: NodeHealthTracker, identifier: NodeHealthTracker, params: {action: start, threshold: 2}}
  - {method: PodStartupLatency, identifier: PodStartupLatency, params: {action: start, threshold: 1ns}}
  - method: ResourceClaimAllocationLatency
    identifier: ResourceClaimAllocationLatency
    params: {action: start, threshold: 1m, perc99Threshold: 1ns}
  - {method: ResourceUsageSummary, identifier: ResourceUsageSummary, params: &limits {
      action: start, resourceConstraints: limits.yaml}}
  - {method: TestMetrics, identifier: TestMetrics, params: *limits}
  - {method: SchedulingThroughput, identifier: SchedulingThroughput, params: {action: start, measurmentInterval: 1s}}
  - {method: SystemPodMetrics, identifier: SystemPodMetrics, params: {action: start, systemPodMetricsEnabled: true}}
  - method: WaitForControlledPodsRunning
    identifier: WaitForControlledPodsRunning
    params: {action: start, apiVersion: apps/v1, kind: Deployment, operationTimeout: 5s}
  - {method: WaitForFinishedJobs, identifier: WaitForFinishedJobs, params: {action: start}}
- name: Create a template
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle:
    - {basename: kwok-gpu-claim-template, objectTemplatePath: kwok-gpu-resource-claim-template.yaml}
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 2
    tuningSet: Fast
    objectBundle:
    - {basename: job, objectTemplatePath: job.yaml, templateFillMap: {Replicas: 1, Mode: Indexed, Sleep: 1h}}
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{basename: large, objectTemplatePath: deployment.yaml}]
  - namespaceList: [kube-system]
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{basename: restless, objectTemplatePath: pod.yaml, templateFillMap: {Sleep: 1}}]
- name: Let a monkey loose
  measurements:
  - method: ChaosMonkey
    identifier: ChaosMonkey
    params: {action: start, failureRate: 1, interval: 30s, simulatedDowntime: 1h}
- name: Wait for its work
  measurements:
  - {method: WaitForNodes, identifier: Down, params: {minDesiredNodeCount: 0, maxDesiredNodeCount: 0, timeout: 10m}}
- name: Catch it
  measurements: [{method: ChaosMonkey, identifier: ChaosMonkey, params: {action: stop}}]
- name: Wait for repairs
  measurements:
  - {method: WaitForNodes, identifier: Up, params: {minDesiredNodeCount: 3, maxDesiredNodeCount: 3, timeout: 10m}}
- name: Gather
  measurements:
  - {method: Exec, identifier: Exec, params: {command: ["false"]}}
  - {method: JobLifecycleLatency, identifier: JobLifecycleLatency, params: {action: gather, timeout: 5s}}
  - {method: NodeHealthTracker, identifier: NodeHealthTracker, params: {action: gather}}
  - {method: PodStartupLatency, identifier: PodStartupLatency, params: {action: gather}}
  - {method: ResourceClaimAllocationLatency, identifier: ResourceClaimAllocationLatency, params: {action: gather}}
  - {method: ResourceUsageSummary, identifier: ResourceUsageSummary, params: {action: gather}}
  - {method: SchedulingThroughput, identifier: SchedulingThroughput, params: {action: gather, threshold: 1000}}
  - method: SystemPodMetrics
    identifier: SystemPodMetrics
    params:
      action: gather
      systemPodMetricsEnabled: true
      enableRestartCountCheck: true
      restartCountThresholdOverrides: "other: 99"
  - {method: TestMetrics, identifier: TestMetrics, params: {action: gather}}
  - {method: WaitForAvailablePVs, identifier: WaitForAvailablePVs, params: {desiredPVCount: 1, timeout: 1s}}
  - {method: WaitForBoundPVCs, identifier: WaitForBoundPVCs, params: {desiredPVCCount: 1, timeout: 1s}}
  - {method: WaitForControlledPodsRunning, identifier: WaitForControlledPodsRunning, params: {action: gather}}
  - {method: WaitForFinishedJobs, identifier: WaitForFinishedJobs, params: {action: gather, timeout: 5s}}
  - method: WaitForGenericK8sObjects
    identifier: WaitForGenericK8sObjects
    params:
      objectGroup: batch
      objectVersion: v1
      objectResource: jobs
      successfulConditions: [Complete=True]
      minDesiredObjectCount: 1
      timeout: 1s
  - {method: WaitForNodes, identifier: WaitForNodes, params: {
      minDesiredNodeCount: 99, maxDesiredNodeCount: 99, timeout: 1s}}
  - {method: WaitForRunningPods, identifier: WaitForRunningPods, params: {desiredPodCount: 99, timeout: 1s}}
"""

Run = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a config on the embedded engine in virtual time; the report folder."""
    for name in ("STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    for name in ("KUBECONFIG", "NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    reports = tmp_path / "reports"

    def call(config: str, *args: str, code: int) -> Path:
        (tmp_path / "config.yaml").write_text(config)
        words = ("--testconfig=config.yaml", f"--report-dir={reports}", "--time=virtual", *args)
        monkeypatch.setattr(sys, "argv", ["kubedyno", "clusterloader", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == code
        return reports

    return call


def cases(reports: Path) -> dict[str, str]:
    """What each case says of its failure, by its name; empty: it passed."""
    suite = ET.fromstring((reports / "junit.xml").read_text())  # noqa: S314 - we wrote it
    return {case.attrib["name"]: case.findtext("failure") or "" for case in suite.iter("testcase")}


def summary(reports: Path, prefix: str) -> Any:
    (path,) = reports.glob(f"{prefix}_*.json")
    return json.loads(path.read_text())


def test_each_threshold_that_is_missed_fails_its_own_case(run: Run, tmp_path: Path) -> None:
    for name, text in {"pod.yaml": POD, "deployment.yaml": DEPLOYMENT}.items():
        (tmp_path / name).write_text(text)
    for name, example in {
        "job.yaml": "kwok-gpu-job.yaml",
        "kwok-gpu-resource-claim-template.yaml": "kwok-gpu-resource-claim-template.yaml",
    }.items():
        (tmp_path / name).write_text((EXAMPLES / example).read_text().replace("short-lived", "long-running"))
    (tmp_path / "limits.yaml").write_text("kubedyno: {memoryConstraint: 1k}\n")
    reports = run(CONFIG, "--heartbeats=8s", "--enable-exec-service", code=1)
    found = cases(reports)
    gathered = {
        match[1]: text
        for name, text in found.items()
        if (match := re.fullmatch(r"thresholds: \[step: 08\] Gather \[\d\d\] - (\w+)", name))
    }
    assert gathered.keys() == FAILS.keys()
    assert {method: text for method, text in gathered.items() if FAILS[method] not in text} == {}
    # The steps that led there are as they should be, and the test as a whole names all that is not.
    others = {name: text for name, text in found.items() if "step: 08" not in name}
    whole = others.pop("thresholds overall (config.yaml)")
    assert set(others.values()) == {""}
    assert all(text in whole for text in FAILS.values())
    (pod,) = summary(reports, "SystemPodMetrics")["pods"]
    assert pod["name"] == "restless-0"
    (container,) = pod["containers"]
    assert container["restartCount"] > 0
    assert container["lastRestartReason"].startswith("&ContainerStateTerminated{ExitCode:0,")
    health = summary(reports, "NodeHealthTracker")
    assert health["nodeCount"] == 3
    assert health["thresholdReached"]
