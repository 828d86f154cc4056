"""`kubedyno clusterloader` as a user meets it, on the embedded engine in virtual time: files, sentences, exit codes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from tests.commands import argv, own_env, run_kubedyno

from kubedyno import cli
from kubedyno.client.rest import Client
from kubedyno.kube import schema
from kubedyno.kube.resources import PODS

pytestmark = pytest.mark.unit

TOP = Path(__file__).parents[3]

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}
  labels:
    group: {{.Group}}
spec:
  containers:
  - name: pause
    image: pause
    resources:
      requests:
        cpu: {{DefaultParam .Cpu "100m"}}
"""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{.Name}}
  labels: {group: web}
spec:
  replicas: {{.Replicas}}
  selector:
    matchLabels:
      app: {{.Name}}
  template:
    metadata:
      labels:
        group: web
        app: {{.Name}}
    spec:
      containers:
      - name: pause
        image: {{.Image}}
"""

THROUGHPUT = """
name: throughput
tuningSets:
- name: Uniform
  qpsLoad: {qps: 50}
steps:
- name: Start
  measurements:
  - Identifier: Startup
    Method: PodStartupLatency
    Params: {action: start, labelSelector: group = load, threshold: %s}
  - {Identifier: Throughput, Method: SchedulingThroughput, Params: {action: start, measurmentInterval: 1s}}
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 100
    tuningSet: Uniform
    objectBundle:
    - {basename: load, objectTemplatePath: pod.yaml, templateFillMap: {Group: load, Cpu: %s}}
- name: Wait
  measurements:
  - identifier: Running
    method: WaitForRunningPods
    params: {desiredPodCount: 100, labelSelector: group = load, timeout: 1m, isFatal: %s}
- name: Gather
  measurements:
  - {identifier: Startup, method: PodStartupLatency, params: {action: gather}}
  - {identifier: Throughput, method: SchedulingThroughput, params: {action: gather, threshold: %s}}
"""


class Ran:
    """What one call of the command left."""

    def __init__(self, code: int, out: str, err: str, reports: Path) -> None:
        self.code, self.out, self.err, self.reports = code, out, err, reports

    def summary(self, prefix: str) -> Any:
        """The only one whose name begins so."""
        (path,) = self.reports.glob(f"{prefix}*.json")
        return json.loads(path.read_text())

    @property
    def junit(self) -> Mapping[str, str]:
        """The failure of each case by its name; empty: it passed."""
        suite = ET.fromstring((self.reports / "junit.xml").read_text())  # noqa: S314 - we wrote it
        found = {case.attrib["name"]: (case.findtext("failure") or "") for case in suite.iter("testcase")}
        assert suite.attrib["tests"] == str(len(found))
        assert suite.attrib["failures"] == str(sum(bool(text) for text in found.values()))
        return found

    @property
    def trial(self) -> Any:
        """The record of the only trial."""
        (path,) = self.reports.glob("kubedyno/*/trials/*/trial.json")
        return msgspec.json.decode(path.read_bytes())


Command = Callable[..., Ran]
Until = Callable[[Callable[[], object]], Awaitable[None]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("NUM_NODES", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "deployment.yaml").write_text(DEPLOYMENT)

    def call(config: str, *args: str) -> Ran:
        path = tmp_path / "config.yaml"
        if "\n" in config:
            path.write_text(config)
            config = "config.yaml"
        reports = tmp_path / "reports"
        words = [f"--testconfig={config}", f"--report-dir={reports}", "--time", "virtual", *args]
        monkeypatch.setattr(sys, "argv", ["kubedyno", "clusterloader", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        left = tmp_path / "state" / "kubedyno" / "runs"
        assert not left.is_dir() or list(left.iterdir()) == []
        return Ran(code, printed.out, printed.err, reports)

    return call


def test_pods_are_made_measured_and_told_in_the_files_that_readers_expect(run: Command) -> None:
    ran = run(THROUGHPUT % ("5s", "100m", "true", 40), "--nodes=5")
    assert ran.code == 0, ran.out + ran.err
    assert set(ran.junit.values()) == {""}
    assert list(ran.junit) == [
        "throughput overall (config.yaml)",
        "throughput: [step: 01] Start [00] - Startup",
        "throughput: [step: 01] Start [01] - Throughput",
        "throughput: [step: 02] Create",
        "throughput: [step: 03] Wait [00] - Running",
        "throughput: [step: 04] Gather [00] - Startup",
        "throughput: [step: 04] Gather [01] - Throughput",
    ]
    startup = ran.summary("PodStartupLatency_Startup_throughput_")
    assert {item["labels"]["Metric"] for item in startup["dataItems"]} == {
        *("create_to_schedule", "schedule_to_run", "run_to_watch", "schedule_to_watch", "pod_startup", "create_to_run")
    }
    assert ran.summary("SchedulingThroughput_throughput_")["max"] == pytest.approx(50, rel=0.05)
    assert (ran.reports / "generatedConfig_throughput.yaml").is_file()
    facts = json.loads((ran.reports / "cl2-metadata.json").read_text())
    assert (facts["nodes"], facts["kubernetesVersion"]) == ("5", schema.kubernetes_version())
    assert ran.trial["verdict"] == "passed"
    assert "everything is in" in ran.out


def test_each_threshold_that_is_missed_fails_its_case_and_the_run(run: Command) -> None:
    ran = run(THROUGHPUT % ("1ns", "100m", "true", 1000), "--nodes=5")
    assert ran.code == 1
    startup = ran.junit["throughput: [step: 04] Gather [00] - Startup"]
    assert "pod startup: too high latency: the 50th percentile is" in startup
    assert "scheduler throughput:" in ran.junit["throughput: [step: 04] Gather [01] - Throughput"]
    assert "and 1000 are asked for" in ran.junit["throughput overall (config.yaml)"]
    assert ran.summary("PodStartupLatency_Startup_throughput_")["version"] == "1.0"


def test_a_failed_step_does_not_stop_the_test_unless_it_is_fatal(run: Command) -> None:
    ran = run(THROUGHPUT % ("5s", "9", "false", 0), "--nodes=5")
    assert ran.code == 1
    waited = ran.junit["throughput: [step: 03] Wait [00] - Running"]
    assert "15 of 100 pods run and are ready; 85 say: 0/5 nodes" in waited
    assert "after 60 s (labelSelector 'group = load')" in waited
    assert "throughput: [step: 04] Gather [00] - Startup" in ran.junit
    fatal = run(THROUGHPUT % ("5s", "9", "true", 0), "--nodes=5", "--report-dir=again")
    assert fatal.code == 1
    assert "step 3 failed for good: 1 were not run" in fatal.out


RECONCILED = """
name: reconciled
namespace: {number: 2}
tuningSets:
- name: Fast
  parallelismLimitedLoad: {parallelismLimit: 4}
steps:
- name: Follow
  measurements:
  - method: WaitForControlledPodsRunning
    instances:
    - identifier: Web
      params: {action: start, apiVersion: apps/v1, kind: Deployment, labelSelector: group = web, operationTimeout: 1m}
  - {method: Timer, identifier: Timer, params: {action: start, label: all}}
- name: Create
  phases: &phases
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: 3
    tuningSet: Fast
    objectBundle:
    - {basename: web, objectTemplatePath: deployment.yaml, templateFillMap: {Replicas: 2, Image: one}}
- name: Wait
  measurements: &wait
  - {method: WaitForControlledPodsRunning, identifier: Web, params: {action: gather}}
- name: Patch
  phases:
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: 3
    tuningSet: Fast
    objectBundle:
    - {basename: web, objectTemplatePath: deployment.yaml, templateFillMap: {Replicas: 4, Image: two}}
- name: Wait again
  measurements: *wait
- name: Count
  measurements:
  - {method: WaitForRunningPods, identifier: All, params: {desiredPodCount: 24, labelSelector: group = web}}
- name: Delete
  phases:
  - namespaceRange: {min: 1, max: 2}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle:
    - {basename: web, objectTemplatePath: deployment.yaml, templateFillMap: {Replicas: 4, Image: two}}
- name: Wait for the end
  measurements: *wait
- name: Count what is left
  measurements:
  - {method: WaitForRunningPods, identifier: Left, params: {desiredPodCount: 8, labelSelector: group = web}}
  - {method: Timer, identifier: Timer, params: {action: stop, label: all}}
- name: Gather
  measurements:
  - {method: Timer, identifier: Timer, params: {action: gather}}
"""


def test_phases_create_patch_and_delete_what_is_missing_or_too_much(run: Command) -> None:
    ran = run(RECONCILED, "--nodes=10")
    assert ran.code == 0, ran.out + ran.err
    timer = ran.summary("Timer_reconciled_")
    assert timer["version"] == "v1"
    assert timer["dataItems"][0]["labels"] == {"test": "phases"}
    assert timer["dataItems"][0]["data"]["all"] > 0


def test_the_seeds_example_runs_by_the_path_that_it_has_elsewhere(run: Command) -> None:
    for path in ("pkg/dependency/kwok/examples", "clusterloader2/pkg/dependency/kwok/examples"):
        ran = run(f"{path}/test-config.yaml", "--provider=skeleton", "--nodes=3", "--v=2")
        assert ran.code == 0, ran.out + ran.err
        assert set(ran.junit.values()) == {""}
        claims = ran.summary("ResourceClaimAllocationLatency_GpuClaims_kwok-dra-test_")
        assert {item["labels"]["Metric"] for item in claims["dataItems"]} == {
            *("claim_allocation", "pod_create_to_claim_create", "PodGetCalls")
        }
        for left in ran.reports.glob("*.json"):
            left.unlink()


def test_jobs_work_as_long_as_the_environment_says(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    config = str(TOP / "examples" / "clusterloader" / "test-config.yaml")
    times = {}
    for milliseconds in ("10000", "40000"):
        monkeypatch.setenv("CL2_JOB_RUNNING_TIME_MS", milliseconds)
        ran = run(config, "--nodes=3")
        assert ran.code == 0, ran.out + ran.err
        assert "CL2_JOB_RUNNING_TIME_MS" not in ran.err
        suite = ET.fromstring((ran.reports / "junit.xml").read_text())  # noqa: S314 - we wrote it
        times[milliseconds] = float(suite.attrib["time"])
        for path in ran.reports.glob("*.json"):
            path.unlink()
    assert times["40000"] - times["10000"] == pytest.approx(30, abs=3)


def test_a_dry_run_prints_the_config_and_runs_nothing(run: Command) -> None:
    ran = run(THROUGHPUT % ("5s", "100m", "true", 40), "--nodes=5", "--dry-run")
    assert ran.code == 0
    assert "name: throughput" in ran.out
    assert not (ran.reports / "junit.xml").exists()


PHASE = """
name: a
tuningSets: [{{name: Fast, qpsLoad: {{qps: 1}}}}]
steps:
- phases:
  - replicasPerNamespace: {replicas}
    tuningSet: {tuning_set}
    objectBundle: [{{basename: b, objectTemplatePath: {template}}}]
  {more}
"""


def phase(*, replicas: int = 1, tuning_set: str = "Fast", template: str = "pod.yaml", more: str = "") -> str:
    return PHASE.format(replicas=replicas, tuning_set=tuning_set, template=template, more=more)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("name: a\nsteps: [\n", "config.yaml, line 3: this is no YAML: did not find expected node content"),
        (
            "name: a\nsteps:\n- {{nothing}}\n",
            "template: config.yaml:3:4: function \"nothing\" not defined; did you mean 'not'?",
        ),
        (
            "name: a\nsteps:\n- name: {{DivideInt 1 0}}\n",
            (
                'template: config.yaml:3:10: executing "config.yaml" at <DivideInt 1 0>: error calling DivideInt: '
                "the divisor is 0; look at what it is made of"
            ),
        ),
        (
            phase(tuning_set="Fats"),
            "config.yaml, line 6: there is no tuning set 'Fats'; did you mean 'Fast'?",
        ),
        (
            phase(template="pd.yaml"),
            (
                "config.yaml, line 8: objectTemplatePath: there is no file pd.yaml; "
                "paths begin in the folder of config.yaml"
            ),
        ),
        (
            phase(more="measurements: [{method: Sleep, identifier: s}]"),
            (
                "config.yaml, line 5: steps[0]: a step has one of phases, measurements and module, "
                "but there is phases and measurements"
            ),
        ),
        (
            phase(replicas=-1),
            "config.yaml, line 6: steps[0].phases[0].replicasPerNamespace: -1 is too small; write 0 or more",
        ),
        (
            f"namespace: {{number: 10000}}{phase()}",
            "config.yaml, line 1: namespace.number: 10000 namespaces are too many; write 5000 or fewer",
        ),
        (
            "name: a\nsteps:\n- measurements: [{method: Sleeep, identifier: a}]\n",
            "config.yaml, line 3: there is no measurement 'Sleeep'; did you mean 'Sleep'?",
        ),
    ],
    ids=("yaml", "function", "template", "tuning set", "file", "both", "negative", "namespaces", "method"),
)
def test_what_is_wrong_with_a_config_is_said_before_anything_runs(run: Command, config: str, told: str) -> None:
    ran = run(config)
    assert ran.code == 2
    assert ran.err == f"kubedyno: {told}\n"
    assert not ran.out
    assert not ran.reports.exists()


LATE = """
name: late
dependencies:
- {name: gpus, method: kwok-dra, timeout: 1ms, params: {nodes: 20}}
steps:
- name: Rest
  measurements: [{Identifier: A, Method: Sleep, Params: {duration: 1s}}]
"""


def test_a_dependency_that_does_not_get_ready_ends_the_test_before_its_steps(run: Command) -> None:
    ran = run(LATE)
    assert ran.code == 3
    told = "dependency gpus was not set up within 0.001 s (config.yaml, line 4): give it a longer timeout"
    assert f"  {told}\n" in ran.out
    assert dict(ran.junit) == {"late overall (config.yaml)": f"[{told}]"}
    assert ran.trial["verdict"] == "error"


def test_nothing_to_run_is_a_sentence(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    del run
    monkeypatch.setattr(sys, "argv", ["kubedyno", "clusterloader"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2


MISSING_TOLERATION = """
name: intolerant
dependencies: [{name: gpus, method: kwok-dra, params: {nodes: 1}}]
tuningSets: [{name: Fast, qpsLoad: {qps: 10}}]
steps:
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{basename: pod, objectTemplatePath: pod.yaml, templateFillMap: {Group: a}}]
- name: Wait
  measurements: [{method: WaitForRunningPods, identifier: Pods, params: {desiredPodCount: 1, timeout: 20s}}]
"""


def test_a_pod_without_the_toleration_says_so(run: Command) -> None:
    ran = run(MISSING_TOLERATION)
    assert ran.code == 1
    waited = ran.junit["intolerant: [step: 02] Wait [00] - Pods"]
    assert "0 of 1 pods run and are ready; 1 says: 0/1 nodes are available" in waited
    assert "it does not tolerate kwok.x-k8s.io/node=fake:NoSchedule, the taint of fake nodes" in waited


WITHOUT_TEMPLATE = """
name: unordered
dependencies: [{name: gpus, method: DRAKWOKDriver, params: {nodes: 1}}]
tuningSets: [{name: Fast, qpsLoad: {qps: 10}}]
steps:
- name: Follow
  measurements:
  - method: WaitForControlledPodsRunning
    identifier: Jobs
    params: {action: start, apiVersion: batch/v1, kind: Job, operationTimeout: 20s}
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle:
    - basename: job
      objectTemplatePath: kwok-gpu-job.yaml
      templateFillMap: {Replicas: 1, Mode: Indexed, Sleep: 30s}
- name: Wait
  measurements: [{method: WaitForControlledPodsRunning, identifier: Jobs, params: {action: gather}}]
"""


def test_a_claim_without_its_template_says_what_comes_first(run: Command, tmp_path: Path) -> None:
    (tmp_path / "kwok-gpu-job.yaml").write_text((TOP / "examples/clusterloader/kwok-gpu-job.yaml").read_text())
    ran = run(WITHOUT_TEMPLATE)
    assert ran.code == 1
    waited = ran.junit["unordered: [step: 03] Wait [00] - Jobs"]
    assert "Job test-" in waited
    assert "0 of 1 pods run and are ready after 20 s; it has 1; 1 says:" in waited
    assert "see that the ResourceClaimTemplate kwok-gpu-claim-template-0 is there: create it in a step before" in waited
    failed = ran.summary("WaitForControlledPodsRunning_")
    assert [pod["status"] for pod in failed] == ["Pending"]


@pytest.mark.parametrize(
    ("params", "told"),
    [("{nodes: many}", "'many' is not a number"), ("{gpusPerNode: -1}", "gpusPerNode is -1: write 0 to 1024")],
)
def test_a_dependency_with_wrong_parameters_is_refused_before_anything_runs(
    run: Command, params: str, told: str
) -> None:
    ran = run(MISSING_TOLERATION.replace("{nodes: 1}", params))
    assert ran.code == 2
    assert told in ran.err


JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {{.Name}}
  labels:
    group: jobs
spec:
  ttlSecondsAfterFinished: 1
  backoffLimit: 0
  template:
    metadata:
      labels:
        group: jobs
        job-type: {{.Type}}
    spec:
      restartPolicy: Never
      containers:
      - name: work
        image: work
"""

JOBS = """
name: jobs
tuningSets: [{name: Fast, globalQPSLoad: {qps: 10, burst: 5}}]
steps:
- name: Follow
  measurements:
  - {method: WaitForFinishedJobs, identifier: End, params: {action: start, labelSelector: group = jobs}}
  - {method: JobLifecycleLatency, identifier: Life, params: {action: start, labelSelector: group = jobs}}
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 20
    tuningSet: Fast
    objectBundle: [{basename: job, objectTemplatePath: job.yaml, templateFillMap: {Type: %s}}]
- name: Look at some
  measurements:
  - method: WaitForGenericK8sObjects
    identifier: Some
    params:
      objectGroup: batch
      objectVersion: v1
      objectResource: jobs
      namespaceRange: {min: 1, max: 1}
      successfulConditions: [Complete=True]
      failedConditions: [Failed=True]
      minDesiredObjectCount: 1
      timeout: 2m
  - {method: WaitForNodes, identifier: Nodes, params: {minDesiredNodeCount: %s, maxDesiredNodeCount: 9, timeout: 5s}}
- name: Gather
  measurements:
  - {method: WaitForFinishedJobs, identifier: End, params: {action: gather, timeout: 3m}}
  - {method: JobLifecycleLatency, identifier: Life, params: {action: gather, timeout: 3m}}
"""


def test_jobs_that_their_time_has_deleted_count_as_finished(run: Command, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    ran = run(JOBS % ("short-lived", 3), "--nodes=3")
    assert ran.code == 0, ran.out + ran.err
    items = {item["labels"]["Metric"]: item["data"] for item in ran.summary("JobLifecycleLatency_Life_")["dataItems"]}
    assert 30_000 <= items["start_to_complete"]["Perc50"] <= 32_000
    assert items["create_to_start"]["Perc99"] <= 1000


def test_jobs_and_nodes_that_do_not_come_are_named_with_the_time(run: Command, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    ran = run(JOBS % ("long-running", 7), "--nodes=3")
    assert ran.code == 1
    assert (
        "3 nodes are ready, and 7 to 9 are wanted, after 5 s" in ran.junit["jobs: [step: 03] Look at some [01] - Nodes"]
    )
    assert "0 jobs.batch are successful and 0 failed" in ran.junit["jobs: [step: 03] Look at some [00] - Some"]
    ended = ran.junit["jobs: [step: 04] Gather [00] - End"]
    assert "20 of 20 Jobs did not finish within 180 s: test-" in ended
    assert ", ..." in ended
    assert "20 of 20 Jobs did not complete within 180 s" in ran.junit["jobs: [step: 04] Gather [01] - Life"]


OTHERS = """
name: others
steps:
- name: Ask
  measurements:
  - {method: SchedulingMetrics, identifier: A, params: {action: start}}
  - {method: SchedulingThroughputPrometheus, identifier: B, params: {action: start}}
  - {method: Exec, identifier: C, params: {command: ['%s'], retries: 2, backoffDelay: 1s}}
- name: Tell
  measurements:
  - method: SchedulingThroughputPrometheus
    identifier: B
    params: {action: gather, enableViolations: %s, trueshold: 1}
  - {method: Timer, identifier: D, params: {action: stop, label: never}}
"""


def test_what_is_not_there_is_skipped_in_sight(run: Command) -> None:
    ran = run(OTHERS % ("true", "false"), "--nodes=1", "--enable-exec-service")
    assert ran.code == 1
    assert "  - others: [step: 01] Ask [00] - A was skipped: no scheduler of this lab serves" in ran.out
    assert "  - others: [step: 01] Ask [01] - B and 1 more were skipped: no component of this lab serves" in ran.out
    assert "skipped" not in ran.err
    assert (
        "SchedulingThroughputPrometheus does not read the parameter 'trueshold'; did you mean 'threshold'?" in ran.err
    )
    failed = {name for name, text in ran.junit.items() if text}
    assert failed == {"others overall (config.yaml)", "others: [step: 02] Tell [01] - D"}
    assert "never is stopped, but was not started" in ran.junit["others: [step: 02] Tell [01] - D"]
    again = run(OTHERS % ("false", "true"), "--nodes=1", "--enable-exec-service=true", "--report-dir=again")
    assert again.code == 1
    again.reports = again.reports.with_name("again")
    assert "false: exit code 1" in again.junit["others: [step: 01] Ask [02] - C"]


QUERY = """
name: query
steps:
- name: Ask
  measurements:
  - method: GenericPrometheusQuery
    identifier: A
    params:
      {action: start, metricName: m, metricVersion: v1, unit: s, queries: [{name: Up, query: up, requireSamples: %s}]}
- name: Tell
  measurements: [{method: GenericPrometheusQuery, identifier: A, params: {action: gather}}]
"""


def test_a_query_that_requires_samples_fails_where_there_are_none(run: Command) -> None:
    assert run(QUERY % "false", "--nodes=1").code == 0
    ran = run(QUERY % "true", "--nodes=1")
    assert ran.code == 1
    assert "Up: there are no samples: no component of this lab" in ran.junit["query: [step: 02] Tell [00] - A"]


def test_methods_that_need_real_nodes_are_refused_by_name(run: Command) -> None:
    used = "- measurements: [{method: DnsLookupLatency, identifier: a}]\n"
    ran = run(f"name: a\nsteps:\n{used}{used}")
    assert ran.code == 2
    assert ran.err == (
        "kubedyno: config.yaml, line 3: DnsLookupLatency is not offered: it measures a real network between real "
        "nodes; leave it out\n"
    )


def test_programs_of_the_users_are_run_only_where_that_was_allowed(run: Command) -> None:
    ran = run(OTHERS % ("true", "false"), "--nodes=1")
    assert "allow that with --enable-exec-service" in ran.junit["others: [step: 01] Ask [02] - C"]


def test_flags_that_mean_nothing_here_are_taken_and_said(run: Command) -> None:
    ran = run(THROUGHPUT % ("5s", "100m", "true", 40), "--dry-run", "--alsologtostderr", "--k8s-clients-number=40")
    assert ran.code == 0
    assert "warning: --alsologtostderr has no effect here" in ran.err
    assert "warning: --k8s-clients-number has no effect here: there is one client, without a limit" in ran.err


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As somebody types it at the top of the checkout, with report folders in a folder of the test's own."""
    env = {name: value for name, value in os.environ.items() if name not in {"KUBECONFIG", "NUM_NODES"}}
    return subprocess.run(
        ["sh", "-ec", command.replace("/tmp/", f"{folder}/")],  # noqa: S108 - not there
        cwd=TOP,
        env={**env, "XDG_STATE_HOME": str(folder / "state"), "CL2_JOB_RUNNING_TIME_MS": "1000"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


KNOWN = {
    "reports": """
        ./run-e2e.sh cluster-loader2 \\
          --testconfig=pkg/dependency/kwok/examples/test-config.yaml \\
          --provider=skeleton \\
          --nodes=3 \\
          --report-dir=/tmp/reports
        """,
    "kwok-dra-test": """
        cp pkg/dependency/kwok/examples/test-config.yaml /tmp/your-test-config.yaml
        ./run-e2e.sh cluster-loader2 \\
          --testconfig=pkg/dependency/kwok/examples/test-config.yaml \\
          --provider=kind \\
          --nodes=3 \\
          --report-dir=/tmp/kwok-dra-test
        """,
    "kwok-test": """
        export KLOG_V=2
        ./run-e2e.sh cluster-loader2 \\
          --testconfig=clusterloader2/pkg/dependency/kwok/examples/test-config.yaml \\
          --provider=kind \\
          --nodes=3 \\
          --report-dir=/tmp/kwok-test --v=2
        """,
    "": """
        export CL2_JOB_RUNNING_TIME_MS=2000
        ./clusterloader2 --testconfig=test-config.yaml --out /tmp/runs
        """,
}
"""By their report folders."""


@pytest.mark.parametrize(("reports", "command"), KNOWN.items())
def test_commands_that_are_known_from_elsewhere_run_as_they_are_written(
    reports: str, command: str, tmp_path: Path
) -> None:
    done = shell(command, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kwok-dra-test: passed" in done.stdout
    if reports:
        suite = ET.parse(tmp_path / reports / "junit.xml").getroot()  # noqa: S314 - we wrote it
        assert suite.attrib["failures"] == "0"


def test_the_front_door_lists_its_tools_and_says_which_it_has_not(tmp_path: Path) -> None:
    helped = shell("./run-e2e.sh --help", tmp_path)
    assert helped.returncode == 0
    for tool in ("cluster-loader2", "network-performance", "kube-dns", "core-dns", "node-local-dns"):
        assert tool in helped.stdout
    refused = shell("./run-e2e.sh core-dns", tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == (
        "run-e2e.sh: core-dns measures a real network between real nodes, which kubedyno does not have: "
        "it is not offered\n"
    )
    assert shell("./run-e2e.sh", tmp_path).returncode == 2


HELD_UP = """
name: slow
tuningSets: [{name: Uniform, qpsLoad: {qps: 10}}, {name: Fast, parallelismLimitedLoad: {parallelismLimit: 10}}]
steps:
- name: Nothing to do
  measurements: [{method: Sleep, identifier: A, params: {duration: 1s}}]
- name: Create
  phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 20
    tuningSet: Uniform
    objectBundle: [{basename: pod, objectTemplatePath: pod.yaml, templateFillMap: {Group: a}}]
"""


def test_a_rate_that_was_not_reached_is_said(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    create = Client.create

    async def slowly(self: Client, *args: Any, **options: Any) -> Any:
        if args[0] == PODS:
            await self.clock.sleep(3)  # what an API server that is busy takes
        return await create(self, *args, **options)

    assert "as fast as the API server answered" not in run(HELD_UP, "--nodes=1").err
    monkeypatch.setattr(Client, "create", slowly)
    ran = run(HELD_UP, "--nodes=1", "--report-dir=again")
    assert "20 times pod took 4.9 s, where the tuning set Uniform asks for 2.0 s: 4 a second" in ran.err
    assert "no phase uses the tuning set 'Fast'" in ran.err


USED = """
name: used
steps:
- name: Start
  measurements: &all
  - {method: TestMetrics, identifier: A, params: {action: start}}
  - {method: EtcdMetrics, identifier: B, params: {action: start}}
- name: Wait
  measurements: [{method: Sleep, identifier: C, params: {duration: 3s}}]
- name: Gather
  measurements:
  - {method: TestMetrics, identifier: A, params: {action: gather}}
  - {method: EtcdMetrics, identifier: B, params: {action: gather}}
"""


def test_one_process_is_all_that_the_embedded_engine_has_to_measure(run: Command) -> None:
    ran = run(USED, "--nodes=1")
    assert ran.code == 0, ran.out + ran.err
    (used,) = ran.summary("ResourceUsageSummary_used_")["99"]
    assert used["Name"] == "kubedyno/kubedyno"
    assert used["Mem"] > 0
    assert "TestMetrics: EtcdMetrics was skipped: this lab has no etcd; use --engine local" in ran.err
    assert "used: [step: 01] Start [01] - B and 1 more were skipped: this lab has no etcd" in ran.out


CHAOTIC = """
name: chaotic
chaosMonkey:
  nodeFailure: {failureRate: 0.2, interval: 30s, jitterFactor: 0.5, simulatedDowntime: 3m}
  excludedNodes: [node-0]
tuningSets: [{name: Fast, qpsLoad: {qps: 10}}]
steps:
- name: Wait for trouble
  measurements:
  - {method: WaitForNodes, identifier: A, params: {minDesiredNodeCount: 0, maxDesiredNodeCount: 8, timeout: 30m}}
- name: Wait for its end
  measurements:
  - {method: WaitForNodes, identifier: B, params: {minDesiredNodeCount: 10, maxDesiredNodeCount: 10, timeout: %s}}
"""


def test_nodes_fail_and_come_back_while_the_monkey_is_loose(run: Command) -> None:
    ran = run(CHAOTIC % "1s", "--nodes=10", "--heartbeats=8s")
    assert ran.code == 1
    failed = {name for name, text in ran.junit.items() if text}
    assert failed == {"chaotic overall (config.yaml)", "chaotic: [step: 02] Wait for its end [00] - B"}


def test_a_lab_that_is_kept_has_what_the_seed_looks_for(tmp_path: Path) -> None:
    env = {**own_env(tmp_path), "CL2_JOB_RUNNING_TIME_MS": "500"}
    config = TOP / "examples" / "clusterloader" / "test-config.yaml"

    def load(*args: str) -> str:
        words = ("clusterloader", f"--testconfig={config}", "--report-dir=reports", *args)
        return run_kubedyno(*words, env=env, cwd=tmp_path, within_s=100).stdout

    try:
        printed = load("--name=kept")
        assert "kwok-dra-test: passed" in printed
        assert "export KUBECONFIG=" in printed
        told = run_kubedyno("nodes", "snapshot", "--name=kept", env=env, cwd=tmp_path, within_s=60).stdout
        assert "kwok-node" in told
        # Once more on the same lab: what is there is changed in place.
        assert "kwok-dra-test: passed" in load("--name=kept")
    finally:
        run_kubedyno("down", "--name=kept", env=env, cwd=tmp_path, within_s=60)


ENDLESS = """
name: endless
dependencies: [{name: gpus, method: kwok-dra}]
steps:
- name: Begin
  measurements: [{method: Exec, identifier: A, params: {command: [touch, here]}}]
- name: Wait
  measurements: [{method: Sleep, identifier: B, params: {duration: 10h}}]
"""


async def test_ctrl_c_leaves_a_report_and_nothing_else(tmp_path: Path, until: Until) -> None:
    (tmp_path / "config.yaml").write_text(ENDLESS)
    words = ("clusterloader", "--testconfig=config.yaml", "--report-dir=reports", "--enable-exec-service")
    with subprocess.Popen(  # noqa: ASYNC220 - it is waited for without blocking
        argv(*words), env=own_env(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        await until(lambda: (tmp_path / "here").exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    suite = ET.parse(tmp_path / "reports" / "junit.xml").getroot()  # noqa: S314 - we wrote it
    assert [case.attrib["name"] for case in suite] == [
        "endless overall (config.yaml)",
        "endless: [step: 01] Begin [00] - A",
    ]
    assert "interrupted" in (suite[0].findtext("failure") or "")
    assert list((tmp_path / "state" / "kubedyno" / "runs").iterdir()) == []


SLICE = """
apiVersion: resource.k8s.io/v1beta2
kind: ResourceSlice
metadata:
  name: {{.Name}}
spec:
  driver: example.com
  nodeName: node-0
  pool: {name: node-0, generation: 1, resourceSliceCount: 1}
  devices:
  - name: gpu0
    attributes:
      gpu-type: {string: a}
      compute-capability: {string: "7.5"}
"""

SLICED = """
name: sliced
tuningSets: [{name: Fast, qpsLoad: {qps: 1}}]
steps:
- name: Create
  phases:
  - replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{basename: slice, objectTemplatePath: slice.yaml}]
"""


def test_attributes_with_dashes_get_the_servers_words_and_the_right_spelling(run: Command, tmp_path: Path) -> None:
    (tmp_path / "slice.yaml").write_text(SLICE)
    ran = run(SLICED, "--nodes=1")
    assert ran.code == 1
    told = ran.junit["sliced: [step: 01] Create"]
    assert "create slice: slice-0: " in told
    assert "C identifier" in told
    assert "names of attributes have no dashes: write compute_capability, gpu_type" in told
