"""What documents of kwok-dra warn of, where no other test has it: a class that is missing, and a label that is."""

import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kubedyno import cli

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[3] / "examples" / "clusterloader"

CONFIG = """
name: noted
{dependencies}
tuningSets: [{{name: Fast, qpsLoad: {{qps: 10}}}}]
steps:
- name: Follow
  measurements:
  - {{method: WaitForFinishedJobs, identifier: End, params: {{action: start}}}}
- name: Template
  phases:
  - namespaceRange: {{min: 1, max: 1}}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle: [{{basename: kwok-gpu-claim-template, objectTemplatePath: kwok-gpu-resource-claim-template.yaml}}]
- name: Job
  phases:
  - namespaceRange: {{min: 1, max: 1}}
    replicasPerNamespace: 1
    tuningSet: Fast
    objectBundle:
    - {{basename: job, objectTemplatePath: job.yaml, templateFillMap: {{Replicas: 1, Mode: Indexed, Sleep: 100h}}}}
- name: Run
  measurements: [{{method: WaitForRunningPods, identifier: Run, params: {{desiredPodCount: 1, timeout: 20s}}}}]
- name: End
  measurements: [{{method: WaitForFinishedJobs, identifier: End, params: {{action: gather, timeout: 10m}}}}]
"""
DEPENDENCY = "dependencyConfigs: [{name: kwok-dra, params: {nodes: 1}}]"

Run = Callable[..., dict[str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the config in virtual time; what is wrong with each of its steps, by their names."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("KUBECONFIG", "NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    template = "kwok-gpu-resource-claim-template.yaml"
    (tmp_path / template).write_text((EXAMPLES / template).read_text())

    def call(dependencies: str, label: str, *args: str) -> dict[str, str]:
        job = (EXAMPLES / "kwok-gpu-job.yaml").read_text().replace("job-type: short-lived", label)
        (tmp_path / "job.yaml").write_text(job)
        (tmp_path / "config.yaml").write_text(CONFIG.format(dependencies=dependencies))
        words = ("--testconfig=config.yaml", "--report-dir=reports", "--time=virtual", *args)
        monkeypatch.setattr(sys, "argv", ["kubedyno", "clusterloader", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        suite = ET.parse(tmp_path / "reports" / "junit.xml").getroot()  # noqa: S314 - we wrote it
        found = {case.attrib["name"].partition("] ")[2]: case.findtext("failure") or "" for case in suite[1:]}
        assert ended.value.code == int(any(found.values()))
        return found

    return call


def test_a_device_class_that_is_missing_is_named_with_what_brings_it(run: Run) -> None:
    told = run("", "job-type: short-lived", "--nodes=1")["Run [00] - Run"]
    assert "cl2-gpu.kwok.x-k8s.io does not exist" in told
    assert "; a DeviceClass comes with the dependency kwok-dra, or from a step before" in told


def test_pods_end_after_their_time_with_the_label_alone(run: Run) -> None:
    assert run(DEPENDENCY, "job-type: short-lived")["End [00] - End"] == ""
    assert "1 of 1 Jobs did not finish within 600 s" in run(DEPENDENCY, "job-type: others")["End [00] - End"]
