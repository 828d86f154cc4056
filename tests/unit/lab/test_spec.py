from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.lab.spec import DEFAULT_SCHEDULERS, LabSpec, check, parse_gates, parse_runtime_config

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": "a"},
        {"name": "a" * 40},
        {"scheduler": "reference", "profile": "unthrottled"},
        {"scheduler": "kube-scheduler", "kubelet": "kwok"},
        {"scheduler": "reference", "time": "virtual", "seed": 7},
        {"time": "virtual"},
        {
            "name": "my-lab-2",
            "engine": "local",
            "kubelet": "kwok",
            "scheduler": "kai",
            "ha": "external",
            "profile": "production",
            "nodes": 50_000,
        },
        {"engine": "local", "kubelet": "kwok", "scheduler": "kube-scheduler", "ha": "stacked"},
        {"engine": "local", "scheduler": "reference", "audit_log": True, "runtime_config": {"api/all": "true"}},
    ],
)
def test_a_good_spec_is_returned_as_it_is(fields: dict[str, Any]) -> None:
    spec = LabSpec(**{"name": "lab", "kubelet": "builtin", **fields})
    assert check(spec) is spec


def test_a_lab_is_embedded_unless_it_says_otherwise() -> None:
    assert LabSpec(name="lab").engine == "embedded"
    assert DEFAULT_SCHEDULERS == {"embedded": "reference", "local": "kube-scheduler"}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        *(
            (
                {"name": name},
                f"--name {name}: a lab's name has up to 40 lower-case letters, digits and dashes, like my-lab",
            )
            for name in ("", "My-Lab", "-a", "a-", "a_b", "a/b", "..", "a" * 41, "a\n")
        ),
        ({"engine": "loccal"}, "--engine loccal: did you mean 'local'?"),
        ({"engine": "cloud"}, "--engine cloud: known are: embedded, local"),
        ({"kubelet": "kwork"}, "--kubelet kwork: did you mean 'kwok'?"),
        ({"time": "virtuall"}, "--time virtuall: did you mean 'virtual'?"),
        (
            {"scheduler": "kai"},
            (
                "--scheduler kai: its clients take protobuf answers only, which the embedded engine does not give; "
                "use --engine local"
            ),
        ),
        (
            {"scheduler": "kueue"},
            (
                "--scheduler kueue: its clients take protobuf answers only, which the embedded engine does not give; "
                "use --engine local"
            ),
        ),
        ({"ha": "stacked"}, "--ha stacked: the embedded engine is one process; use --engine local"),
        ({"ha": "external"}, "--ha external: the embedded engine is one process; use --engine local"),
        ({"audit_log": True}, "--audit-log: this is a setting of the real API server; use --engine local"),
        (
            {"runtime_config": {"api/all": "true"}},
            "--runtime-config: this is a setting of the real API server; use --engine local",
        ),
        (
            {"time": "virtual", "engine": "local"},
            "--time virtual: the processes of --engine local live in real time; use embedded",
        ),
        (
            {"time": "virtual", "scheduler": "kube-scheduler"},
            "--time virtual: kube-scheduler is a process of its own and lives in real time; use --scheduler reference",
        ),
        (
            {"time": "virtual", "kubelet": "kwok"},
            "--time virtual: kwok is a process of its own and lives in real time; use builtin",
        ),
        (
            {"kubelet": "kubemark"},
            (
                "--kubelet kubemark: hollow nodes are real kubelets, which start no pod without a token for its "
                "service account, and the embedded engine gives none; use --engine local"
            ),
        ),
        (
            {"kubelet": "kubemark", "engine": "local", "stages": ("/",)},
            "--stages: hollow nodes are real kubelets and know no stages; use --kubelet builtin or kwok",
        ),
        (
            {"kubelet": "kubemark", "engine": "local", "heartbeats": "80s"},
            (
                "--heartbeats 80s: hollow nodes renew leases of 40s, and kubemark has no option for it; "
                "use --kubelet builtin"
            ),
        ),
        (
            {"kubelet": "kubemark", "engine": "local", "nodes": 101},
            (
                "pool default: 101 hollow nodes are more than 100, and each of them is a process that takes half a "
                "second of CPU to start and 20 MiB; use --kubelet builtin"
            ),
        ),
        ({"profile": "producton"}, "--profile producton: did you mean 'production'?"),
        ({"ha": "three"}, "--ha three: known are: external, none, stacked"),
        ({"scheduler": "kube"}, "--scheduler kube: did you mean 'kueue'?"),
        ({"scheduler": "x"}, "--scheduler x: known are: kai, kube-scheduler, kueue, none, plugins, reference"),
        ({"scheduler": "kube-schedular"}, "--scheduler kube-schedular: did you mean 'kube-scheduler'?"),
        ({"nodes": -1}, "--nodes -1: a lab has 0 to 50000 nodes"),
        ({"nodes": 50_001}, "--nodes 50001: a lab has 0 to 50000 nodes"),
        (
            {"stages": ("/",), "kubelet": "none"},
            "--stages: with --kubelet none nobody plays nodes; use --kubelet builtin",
        ),
        ({"cluster_stages": True, "kubelet": "kwok"}, "--cluster-stages: for --kubelet builtin, and without --stages"),
        ({"nodes": 5, "kubelet": "none"}, "--nodes: with --kubelet none nobody plays nodes; use --kubelet builtin"),
        (
            {"heartbeats": "soon"},
            "--heartbeats soon: 'soon' is no duration: write it like 30s, 1m30s or 250ms; or off",
        ),
        ({"heartbeats": "0s"}, "--heartbeats 0s: a lease lasts at least 1s; off means none"),
        (
            {"scheduler": "reference", "scheduler_config": {"a": 1}},
            "--scheduler-config: scheduler reference has no configuration file",
        ),
        (
            {"feature_gates": {"A": True}},
            "--feature-gates: nothing in this lab has gates; use --engine local or --scheduler kube-scheduler",
        ),
        (
            {"stages": ("/no/such/file",)},
            "/no/such/file does not exist: --stages names files, --bin-dir a folder of programs",
        ),
        (
            {"bin_dir": "/no/such/folder"},
            "/no/such/folder does not exist: --stages names files, --bin-dir a folder of programs",
        ),
    ],
)
def test_each_refusal_names_the_option_and_what_to_write(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(LabSpec(**{"name": "lab", **fields}))
    assert str(caught.value) == sentence
    assert caught.value.exit_code == ExitCode.USAGE


def test_files_that_exist_are_fine(tmp_path: Path) -> None:
    stage = tmp_path / "stage.yaml"
    stage.touch()
    spec = LabSpec(name="lab", kubelet="kwok", stages=(str(stage),), bin_dir=str(tmp_path))
    assert check(spec) is spec


def test_gates_are_collected_and_the_last_counts() -> None:
    assert parse_gates(["A=true,B=false", "C=TRUE,", "A=false"]) == {"A": False, "B": False, "C": True}
    assert parse_gates([]) == {}


@pytest.mark.parametrize("text", ["A", "A=", "A=yes", "A=1"])
def test_a_gate_is_on_or_off(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_gates([f"B=true,{text}"])
    assert str(caught.value) == f"--feature-gates {text}: write it as Gate=true or Gate=false"


def test_runtime_config_is_collected() -> None:
    assert parse_runtime_config(["api/all=true,a.b/v1=false", "c/v1=true"]) == {
        "api/all": "true",
        "a.b/v1": "false",
        "c/v1": "true",
    }


@pytest.mark.parametrize("text", ["api/all", "=true", "a/v1="])
def test_runtime_config_needs_a_key_and_a_value(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_runtime_config([text])
    assert str(caught.value) == f"--runtime-config {text}: write it as group/version=true, or api/all=true"


def test_a_spec_survives_being_written_down() -> None:
    spec = LabSpec(
        name="lab",
        settings={"binder": {"qps": "20"}},
        feature_gates={"A": True},
        scheduler_config={"profiles": [{"a": 1}]},
        stages=("/a",),
        ha="stacked",
    )
    assert msgspec.json.decode(msgspec.json.encode(spec), type=LabSpec) == spec
