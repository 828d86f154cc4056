"""ClusterLoader2's configs: how fast a large one compiles, and whether the asked rate of creates is held."""

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree as ET

from result import Result, against_value

from kubedyno.clusterloader import assembling
from kubedyno.clusterloader.assembling import Asked
from kubedyno.kit.errors import EngineError

PODS = 5000
RATE_PER_S = 500.0
WITHIN = 0.01
"""Of the asked rate."""
NODES = 100
COMPILED_WITHIN_S = 2.0
COMPILES = 5
RUNS = 3
STEPS = 200
"""Of a config as large as the largest known ones, in modules of four."""

_POD = """
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}
  labels:
    group: {{.Group}}
spec:
  containers:
  - name: pause
    image: {{.ImageRegistry}}/pause
    resources:
      requests:
        cpu: 5m
        memory: 20M
"""

_THROUGHPUT = f"""
name: throughput
tuningSets:
- name: Uniform
  qpsLoad: {{qps: {RATE_PER_S:g}}}
steps:
- name: Start
  measurements:
  - {{method: PodStartupLatency, identifier: Startup, params: {{action: start, labelSelector: group = load}}}}
  - {{method: SchedulingThroughput, identifier: Throughput, params: {{action: start, measurmentInterval: 1s}}}}
- name: Create
  phases:
  - namespaceRange: {{min: 1, max: 1}}
    replicasPerNamespace: {PODS}
    tuningSet: Uniform
    objectBundle:
    - {{basename: load, objectTemplatePath: pod.yaml, templateFillMap: {{Group: load}}}}
- name: Wait
  measurements:
  - method: WaitForRunningPods
    identifier: Wait
    params: {{desiredPodCount: {PODS}, labelSelector: group = load, timeout: 5m}}
- name: Gather
  measurements:
  - {{method: PodStartupLatency, identifier: Startup, params: {{action: gather}}}}
  - {{method: SchedulingThroughput, identifier: Throughput, params: {{action: gather}}}}
"""

_LARGE = """
{{$nodes := DefaultParam .Nodes 100}}
{{$perNode := DefaultParam .CL2_PODS_PER_NODE 30}}
{{$namespaces := MinInt 100 (MaxInt 1 (DivideInt $nodes 50))}}
name: large
namespace: {number: {{$namespaces}}}
tuningSets:
- name: Uniform
  qpsLoad: {qps: 10}
steps:
{{range $index := Loop %d}}
- module:
    path: module.yaml
    params:
      index: {{$index}}
      namespaces: {{$namespaces}}
      replicas: {{MultiplyInt $nodes $perNode}}
{{end}}
"""

_MODULE = """
steps:
{{range $size := StringSplit "small,medium,large,huge"}}
- name: Create {{$size}} {{$.index}}
  phases:
  - namespaceRange:
      min: 1
      max: {{$.namespaces}}
    replicasPerNamespace: {{IfThenElse (eq $size "small") (Ceil (DivideFloat $.replicas 7)) 3}}
    tuningSet: Uniform
    objectBundle:
    - basename: {{$size}}
      objectTemplatePath: pod.yaml
      templateFillMap:
        Group: {{$size}}
{{end}}
"""


def compile_large() -> list[Result]:
    """Seconds to compile a config of hundreds of modules."""
    took_s = []
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(_LARGE % STEPS)
        (Path(folder) / "module.yaml").write_text(_MODULE)
        (Path(folder) / "pod.yaml").write_text(_POD)
        for _ in range(COMPILES):
            begun_s = time.perf_counter()
            (test,) = assembling.tests(Asked(configs=(str(config),), nodes=5000))
            took_s.append(time.perf_counter() - begun_s)
    lines = test.config.generated.count("\n")
    return [
        against_value(
            f"compile, {len(test.config.steps)} steps, {lines} lines", took_s, unit="s", limit=COMPILED_WITHIN_S
        )
    ]


def throughput() -> list[Result]:
    """Creates a second of the throughput test's shape, on the embedded engine and on real programs."""
    return [_throughput("embedded", RUNS), _throughput("local", 1)]


def _throughput(engine: str, runs: int) -> Result:
    rates = [_rate(engine) for _ in range(runs)]
    # A real API server goes as far as it goes: what it came to is told, and held to nothing.
    least = RATE_PER_S * (1 - WITHIN) if engine == "embedded" else 0.0
    return against_value(
        f"creates at 500/s, {engine}", rates, unit="creates/s", limit=least, better="higher", goal=RATE_PER_S
    )


def _rate(engine: str) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.yaml").write_text(_THROUGHPUT)
        (folder / "pod.yaml").write_text(_POD)
        command = ("clusterloader", "--testconfig=config.yaml", f"--nodes={NODES}", "--report-dir=reports")
        done = subprocess.run(
            [sys.executable, "-m", "kubedyno", *command, f"--engine={engine}", f"--seed={random.randrange(1000)}"],  # noqa: S311
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if not (folder / "reports" / "junit.xml").is_file():
            raise EngineError(f"the test was not run:\n{done.stdout}\n{done.stderr}")
        suite = ET.parse(folder / "reports" / "junit.xml").getroot()  # noqa: S314 - we wrote it
        steps = {case.attrib["name"]: case for case in suite}
        created = next(case for name, case in steps.items() if name.endswith("] Create"))
        if created.find("failure") is not None:
            raise EngineError(f"pods were not created: {created.findtext('failure')}")
        return PODS / float(created.attrib["time"])
