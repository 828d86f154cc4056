"""When a field is printed, read from the text of Go structs."""

from pathlib import Path

import pytest

from kubedyno.kit.errors import EngineError
from kubedyno.kube import gostructs, schema

pytestmark = pytest.mark.unit

PARTS = """package v1

type Shape struct {
	Corners int32 `json:"corners,omitempty"`
	Colour *string `json:"colour,omitempty"`
}
"""
TOYS = """package v1

import (
	parts "k8s.io/api/parts/v1"
)

// Toy has { braces } in its comment.
type Toy struct {
	TypeMeta `json:",inline"`
	parts.Shape `json:",inline"`

	// +optional
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	Size *int64 `json:"size"`
	Box Box `json:"box,omitempty"`
	Spare *Box `json:"spare,omitempty"`
	Tags []string `json:"tags"`
	Notes map[string]string `json:"notes,omitempty"`
	Made metav1.Time `json:"made,omitempty"`
	Seen metav1.Time `json:"seen,omitempty,omitzero"`
	Weight resource.Quantity `json:"weight,omitempty"`
	hidden string
	Secret string `json:"-"`
}

type TypeMeta struct {
	Kind string `json:"kind,omitempty"`
}

type Doll Toy

type Box struct{}
"""
SOURCES = {"toys.v1": [TOYS], "parts.v1": [PARTS]}
EXPECTED = {
    "kind": "string",
    "corners": "int32",
    "colour": "string given",
    "name": "string required always",
    "size": "int64 null",
    "box": "@toys.v1.Box embedded always",
    "spare": "@toys.v1.Box given",
    "tags": "[]string null",
    "notes": "{}string",
    "made": "time null",
    "seen": "time",
    "weight": "quantity always",
}


@pytest.mark.parametrize("name", ["toys.v1.Toy", "toys.v1.Doll"])
def test_each_field_gets_its_word(name: str) -> None:
    from_server = {
        field: " ".join(w for w in text.split() if w not in gostructs.WORDS) for field, text in EXPECTED.items()
    }
    made = gostructs.with_presences({name: from_server}, SOURCES)
    assert made == {name: EXPECTED}
    assert gostructs.without_presences(made) == {name: from_server}


def test_a_field_that_no_struct_has_is_refused() -> None:
    with pytest.raises(EngineError, match=r"no Go struct has toys\.v1\.Toy\.wheels"):
        gostructs.with_presences({"toys.v1.Toy": {"wheels": "int32"}}, SOURCES)


def test_sources_are_found_in_the_module_cache(tmp_path: Path) -> None:
    for folder, name in (
        ("api@v0.36.3/core/v1", "types.go"),
        ("api@v0.36.3/core/v1", "zz_generated.deepcopy.go"),
        ("apimachinery@v0.36.3/pkg/apis/meta/v1", "types.go"),
    ):
        (tmp_path / "k8s.io" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "k8s.io" / folder / name).write_text(f"{folder} {name}")
    assert gostructs.read_sources(["core.v1.Pod", "core.v1.Node", "meta.v1.Time"], tmp_path, "v1.36.3") == {
        "core.v1": ["api@v0.36.3/core/v1 types.go"],
        "meta.v1": ["apimachinery@v0.36.3/pkg/apis/meta/v1 types.go"],
    }
    assert gostructs.read_sources(["core.v1.Pod"], tmp_path, "v1.99.0") == {}


@pytest.mark.parametrize(
    ("type_name", "field", "presence"),
    [
        ("core.v1.Container", "resources", "always"),
        ("core.v1.PodSpec", "containers", "null"),
        ("core.v1.PodSpec", "hostNetwork", ""),
        ("core.v1.PodSpec", "terminationGracePeriodSeconds", "given"),
        ("core.v1.Event", "eventTime", "null"),
        ("meta.v1.ObjectMeta", "creationTimestamp", ""),
        ("apps.v1.DeploymentSpec", "strategy", "always"),
        ("batch.v1.JobSpec", "suspend", "given"),
    ],
)
def test_the_table_has_these_words(type_name: str, field: str, presence: str) -> None:
    assert schema.type_named(type_name).fields[field].presence == presence
