from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.lab.spec import LabSpec, check, parse_gates, parse_runtime_config

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": "a"},
        {"name": "a" * 40},
        {"name": "my-lab-2", "scheduler": "kai", "ha": "external", "profile": "production", "nodes": 50_000},
        {"scheduler": "kube-scheduler", "ha": "stacked", "profile": "unthrottled"},
    ],
)
def test_a_good_spec_is_returned_as_it_is(fields: dict[str, Any]) -> None:
    spec = LabSpec(**{"name": "lab", **fields})
    assert check(spec) is spec


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
        ({"engine": "embedded"}, "--engine embedded is not there yet: use --engine local"),
        ({"kubelet": "kwork"}, "--kubelet kwork: did you mean 'kwok'?"),
        ({"kubelet": "builtin"}, "--kubelet builtin is not there yet: use --kubelet kwok"),
        ({"profile": "producton"}, "--profile producton: did you mean 'production'?"),
        ({"ha": "three"}, "--ha three: known are: external, none, stacked"),
        ({"scheduler": "kube"}, "--scheduler kube: known are: kai, kube-scheduler, none"),
        ({"scheduler": "kube-schedular"}, "--scheduler kube-schedular: did you mean 'kube-scheduler'?"),
        ({"nodes": -1}, "--nodes -1: a lab has 0 to 50000 nodes"),
        ({"nodes": 50_001}, "--nodes 50001: a lab has 0 to 50000 nodes"),
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


def test_files_that_exist_are_fine(tmp_path: Path) -> None:
    stage = tmp_path / "stage.yaml"
    stage.touch()
    spec = LabSpec(name="lab", stages=(str(stage),), bin_dir=str(tmp_path))
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
