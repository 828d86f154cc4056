"""Shapes that configs of ClusterLoader2's own tests have, in configs of our own words: they run as they are."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno import cli

pytestmark = pytest.mark.unit

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("NUM_NODES", raising=False)
    monkeypatch.chdir(tmp_path)

    def call(files: dict[str, str], *args: str) -> tuple[int, str, str]:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        what = [] if any(word.startswith("--testsuite") for word in args) else ["--testconfig=config.yaml"]
        words = [*what, "--report-dir=reports", "--time", "virtual", "--nodes=3", *args]
        monkeypatch.setattr(sys, "argv", ["kubedyno", "clusterloader", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return call


def trial(folder: Path) -> Any:
    """The record of the only trial."""
    (path,) = folder.glob("reports/kubedyno/*/trials/*/trial.json")
    return msgspec.json.decode(path.read_bytes())


STARTING = """
{{$count := DefaultParam .COUNT 4}} # not a value of CL2_*: an overrides file alone can say it
name: starting
automanagedNamespaces: {{$count}}
tuningSets:
- name: Uniform
  qpsLoad: {qps: 2}
steps:
- measurements:
  - {Identifier: Startup, Method: PodStartupLatency, Params: {action: start, labelSelector: group = latency}}
  - Identifier: Waiting
    Method: WaitForControlledPodsRunning
    Params: {action: start, apiVersion: v1, kind: ReplicationController, labelSelector: group = latency}
- phases:
  - namespaceRange: {min: 1, max: {{$count}}}
    replicasPerNamespace: 1
    tuningSet: Uniform
    objectBundle:
    - basename: latency
      objectTemplatePath: controller.yaml
      templateFillMap: {Replicas: 1, Group: latency}
- measurements:
  - {Identifier: Waiting, Method: WaitForControlledPodsRunning, Params: {action: gather}}
- phases:
  - namespaceRange: {min: 1, max: {{$count}}}
    replicasPerNamespace: 0
    tuningSet: Uniform
    objectBundle: [{basename: latency, objectTemplatePath: controller.yaml}]
- measurements:
  - {Identifier: Waiting, Method: WaitForControlledPodsRunning, Params: {action: gather}}
- measurements:
  - {Identifier: Startup, Method: PodStartupLatency, Params: {action: gather}}
"""

CONTROLLER = """
apiVersion: v1
kind: ReplicationController
metadata:
  name: {{.Name}}
  labels:
    group: {{.Group}}
spec:
  replicas: {{.Replicas}}
  selector:
    name: {{.Name}}
  template:
    metadata:
      labels:
        name: {{.Name}}
        group: {{.Group}}
    spec:
      containers:
      - name: {{.Name}}
        image: pause
        ports:
"""


def test_replication_controllers_have_their_pods(run: Run, tmp_path: Path) -> None:
    code, out, err = run({"config.yaml": STARTING, "controller.yaml": CONTROLLER})
    assert code == 0, out + err
    assert err == ""
    (lives,) = (tmp_path / "reports").glob("PodStartupLatency_Startup_starting_*.json")
    items = {item["labels"]["Metric"]: item["data"] for item in msgspec.json.decode(lives.read_bytes())["dataItems"]}
    assert 0 < items["pod_startup"]["Perc99"] < 5000


BARE = """
name: bare
tuningSets:
- name: all
  globalQPSLoad: {qps: 500, burst: 1000}
steps:
- name: Create
  phases:
  - &pods
    namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 20
    tuningSet: all
    objectBundle: [{basename: pod, objectTemplatePath: pod.yaml}]
- name: Wait
  measurements:
  - {Identifier: Running, Method: WaitForRunningPods, Params: {desiredPodCount: 20, labelSelector: group = bare}}
- name: Delete
  phases:
  - <<: *pods
    replicasPerNamespace: 5
- name: Look on
  measurements: [{Identifier: Rest, Method: Sleep, Params: {duration: 2m}}]
"""

POD = """
apiVersion: v1
kind: Pod
metadata:
  generateName: is-moot-
  labels: {group: bare}
spec:
  containers: [{name: pause, image: pause}]
"""


def test_pods_that_a_phase_deletes_are_not_lost(run: Run, tmp_path: Path) -> None:
    code, out, err = run({"config.yaml": BARE, "pod.yaml": POD})
    assert code == 0, out + err
    assert trial(tmp_path)["violations"] == []


RECONCILING = """
{{$namespaces := 2}}
{{$volumes := DefaultParam .VOLUMES 0}}
{{$name := "reconciling"}}
{{if .CL2_OTHERWISE}}
{{$name = "otherwise"}}
{{end}}
name: {{$name}}
namespace:
  number: {{$namespaces}}
tuningSets:
- name: Sequence
  parallelismLimitedLoad: {parallelismLimit: 1}
- name: Spread
  RandomizedTimeLimitedLoad:
    timeLimit: {{DivideInt 20 2}}s
steps:
- module:
    path: /modules/scope.yaml
    params: {replicas: 1}
- module:
    path: modules/nothing.yaml # comes to no steps
- module:
    path: /modules/reconcile.yaml
    params: {action: create, namespaces: {{$namespaces}}, replicas: 2, size: 3}
- module:
    path: /modules/reconcile.yaml
    params: {action: scale and update, namespaces: {{$namespaces}}, replicas: 2, size: 5}
- module:
    path: /modules/reconcile.yaml
    params: {action: delete, namespaces: {{$namespaces}}, replicas: 0, size: 5, volumes: {{$volumes}}}
- module:
    path: modules/scope.yaml
    params: {replicas: 0}
"""

SCOPE = """
steps:
- name: The cluster's own objects
  phases:
  - namespaceList: [""]
    replicasPerNamespace: {{.replicas}}
    tuningSet: Sequence
    objectBundle: [{basename: apart, objectTemplatePath: modules/namespace.yaml}]
{{if eq .replicas 1.0}}
- name: In a namespace that a phase has made
  phases:
  - namespaceList: ["apart-0"]
    replicasPerNamespace: 1
    tuningSet: Sequence
    objectBundle: [{basename: settings, objectTemplatePath: modules/settings.yaml}]
{{end}}
"""

RECONCILE = """
{{$is_deleting := (eq .action "delete")}}
{{$title := printf "%s objects" .action}}
steps:
- name: Starting measurement for '{{$title}}'
  measurements:
  - Method: WaitForControlledPodsRunning
    Instances:
    - Identifier: Deployments
      Params: {apiVersion: apps/v1, kind: Deployment}
    - Identifier: Jobs
      Params: {apiVersion: batch/v1, kind: Job}
    Params: {action: start, checkIfPodsAreUpdated: true, labelSelector: group = load, operationTimeout: 5m}
- name: {{$title}}
  phases:
  - namespaceRange:
      min: 1
      max: {{.namespaces}}
    replicasPerNamespace: {{.replicas}}
    tuningSet: Spread
    objectBundle:
    - basename: web
      objectTemplatePath: /modules/settings.yaml
    - basename: web
      objectTemplatePath: /modules/deployment.yaml
      templateFillMap: {Least: {{.size}}, Most: {{AddInt .size 1}}}
{{if $is_deleting}}
  - namespaceRange: {min: 1, max: {{.namespaces}}}
    replicasPerNamespace: 0
    tuningSet: Spread
    objectBundle:
  {{range $index := Loop .volumes}}
    - basename: volume-{{$index}}
      objectTemplatePath: /modules/settings.yaml
      listUnknownObjectOptions:
        labelSelector:
          matchLabels: {name: web-{{$index}}}
  {{end}}
{{end}}
- name: Waiting for '{{$title}}' to be completed
  measurements:
  - Method: WaitForControlledPodsRunning
    Instances:
    - Identifier: Deployments
    - Identifier: Jobs
    Params: {action: gather}
"""

MODULES = {
    "modules/scope.yaml": SCOPE,
    "modules/reconcile.yaml": RECONCILE,
    "modules/nothing.yaml": "{{if .CL2_MORE}}\nsteps:\n- name: More\n{{end}}\n",
    "modules/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{.Name}}\n",
    "modules/settings.yaml": """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{.Name}}
data:
  of: {{.Name}}
{{if not (eq (Mod .Index 20) 0 19)}} # most of them are for good
immutable: true
{{end}}
""",
    "modules/deployment.yaml": """
{{$host := DefaultParam .CL2_HOST_NETWORK false}}
{{$runtime := DefaultParam .CL2_RUNTIME_CLASS nil}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{.Name}}
  labels: {group: load}
spec:
  replicas: {{RandIntRange .Least .Most}}
  selector:
    matchLabels:
      name: {{.Name}}
  template:
    metadata:
      labels:
        group: load
        name: {{.Name}}
    spec:
      {{if $runtime}}
      runtimeClassName: {{$runtime}}
      {{end}}
      hostNetwork: {{$host}}
      containers:
      - name: pause
        image: pause
        env:
        - name: PAYLOAD
          value: {{RandDataWithSeed 0 .Name}}
      volumes:
      - name: settings
        configMap:
          name: {{.BaseName}}-{{.Index}}
""",
}


def test_objects_are_created_scaled_and_deleted_by_modules(run: Run, tmp_path: Path) -> None:
    code, out, err = run({"config.yaml": RECONCILING, **MODULES})
    assert code == 0, out + err
    assert [line for line in err.splitlines() if "objectBundle" not in line] == []
    assert "warning: modules/reconcile.yaml, line 28: steps[1].phases[1].objectBundle: it is empty" in err
    names = [check["name"] for check in trial(tmp_path)["checks"]]
    assert [name for name in names if name.endswith(" objects")] == [
        "reconciling: [step: 01] The cluster's own objects",
        "reconciling: [step: 04] create objects",
        "reconciling: [step: 07] scale and update objects",
        "reconciling: [step: 10] delete objects",
        "reconciling: [step: 12] The cluster's own objects",
    ]


KEEPING = """
name: keeping
dependencies: [{name: devices, method: DRATestDriver, params: {ExtendedResourceName: example.com/gpu}}]
tuningSets: [{name: Fast, qpsLoad: {qps: 10}}]
steps:
- phases:
  - namespaceRange: {min: 1, max: 1}
    replicasPerNamespace: 2
    tuningSet: Fast
    objectBundle: [{basename: set, objectTemplatePath: set.yaml}]
"""

SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: x}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: pause, image: pause}]}}
"""


def test_what_nobody_attends_to_is_said_before_anybody_waits_for_it(run: Run) -> None:
    code, out, err = run({"config.yaml": KEEPING, "set.yaml": SET})
    assert code == 0, out + err
    assert err == (
        "warning: config.yaml, line 10: the embedded engine has no controller of StatefulSets, so they will have no "
        "pods: run it with --engine local\n"
        "warning: config.yaml, line 3: ExtendedResourceName is for kube-scheduler: the reference scheduler looks for "
        "devices in claims alone, so pods will wait for ever: run it with --engine local\n"
    )


SUITE = """
- identifier: few
  configPath: config.yaml
- identifier: many
  configPath: config.yaml
  overridePaths: [many.yaml]
"""


def test_one_config_with_several_overrides_is_several_trials_that_can_be_told_apart(run: Run, tmp_path: Path) -> None:
    files = {"config.yaml": STARTING, "controller.yaml": CONTROLLER, "suite.yaml": SUITE, "many.yaml": "COUNT: 6"}
    (tmp_path / "more.yaml").write_text("CONT: 5")
    code, out, err = run(files, "--testsuite=suite.yaml", "--testoverrides=more.yaml")
    assert code == 0, out + err
    # Once, though it is true of both.
    assert err == (
        "warning: config.yaml, line 1: the value CONT is given, but no template mentions .CONT; did you mean 'COUNT'?\n"
    )
    folders = sorted(path.name for path in tmp_path.glob("reports/kubedyno/*/trials/*"))
    assert folders == ["1-clusterloader-starting-few", "2-clusterloader-starting-many"]
    startup = sorted(path.name for path in tmp_path.glob("reports/PodStartupLatency_*"))
    assert [name.split("_2026")[0] for name in startup] == [
        "PodStartupLatency_Startup_starting_few",
        "PodStartupLatency_Startup_starting_many",
    ]
