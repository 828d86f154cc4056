"""From the text of a template to objects."""

import json
import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.loading.objects import object_name, placeholders, read_objects
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.patches import apply_merge_patch

pytestmark = pytest.mark.unit

CLAIM_TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: mine
  generateName: moot-
  namespace: elsewhere
  labels: {group: test}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, count: 1}}]}}}
"""


def read(text: str, *, name: str = "claim-0", namespace: str = "test-1") -> tuple[Object, ...]:
    return read_objects(text, source="claim.yaml", name=name, namespace=namespace)


def refusal(text: str) -> str:
    with pytest.raises(UsageError) as raised:
        read(text)
    assert raised.value.exit_code == ExitCode.USAGE
    return str(raised.value)


def test_an_object_is_named_by_its_place_whatever_its_template_says() -> None:
    (found,) = read(CLAIM_TEMPLATE)
    assert found == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": "claim-0",
            "generateName": "moot-",
            "namespace": "test-1",
            "labels": {"group": "test"},
        },
        "spec": yaml.safe_load(CLAIM_TEMPLATE)["spec"],
    }


def test_an_object_of_the_cluster_has_no_namespace() -> None:
    (found,) = read(CLAIM_TEMPLATE, namespace="")
    assert "namespace" not in found["metadata"]


@pytest.mark.parametrize("metadata", ["", "metadata:\n", "metadata: {}\n"])
def test_metadata_may_be_missing(metadata: str) -> None:
    assert read(f"apiVersion: v1\nkind: ConfigMap\n{metadata}") == (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "claim-0", "namespace": "test-1"}},
    )


def test_several_documents_of_different_kinds_are_several_objects_in_their_order() -> None:
    text = """\
---
# the first
apiVersion: v1
kind: Secret
---

---
# none
--- # the second
apiVersion: v1
kind: ConfigMap
data: {text: "--- no begin"}
--- {apiVersion: example.com/v1, kind: ConfigMap}
---
apiVersion: example.com/v2
kind: ConfigMap
---
"""
    found = read(text)
    assert [(each["apiVersion"], each["kind"]) for each in found] == [
        ("v1", "Secret"),
        ("v1", "ConfigMap"),
        ("example.com/v1", "ConfigMap"),
        ("example.com/v2", "ConfigMap"),
    ]
    assert {each["metadata"]["name"] for each in found} == {"claim-0"}


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing here\n", "---\n---\n", "--- # nothing\n", "~\n"])
def test_a_template_that_renders_to_nothing_makes_nothing(text: str) -> None:
    assert read(text) == ()


def test_scalars_are_what_kubernetes_reads_and_whole_numbers_are_whole() -> None:
    text = """\
apiVersion: v1
kind: Custom
spec: {a: 1e+06, b: [2.0, 2.5, -3.0], c: yes, d: 1e+21, e: 2026-01-02, f: '1e+06', g: 010, h: 5}
"""
    (found,) = read(text)
    spec = found["spec"]
    assert spec == {
        "a": 1_000_000,
        "b": [2, 2.5, -3],
        "c": True,
        "d": 1e21,
        "e": "2026-01-02",
        "f": "1e+06",
        "g": 8,
        "h": 5,
    }
    assert codec.encode({"a": spec["a"], "b": spec["b"]}) == b'{"a":1000000,"b":[2,2.5,-3]}'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "apiVersion: v1\nkind: Pod\n---\n# again\n\napiVersion: v1\nkind: Pod\n",
            (
                "claim.yaml, line 6: a second Pod of v1: all objects of one template get the same name, so each must "
                "be of another kind; give this one a template and an entry in objectBundle of its own"
            ),
        ),
        (
            "\n# one\nkind: Pod\n",
            "claim.yaml, line 3: the object has no apiVersion: write both, like apiVersion: v1 and kind: Pod",
        ),
        (
            "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind:\n",
            "claim.yaml, line 4: the object has no kind: write both, like apiVersion: v1 and kind: Pod",
        ),
        ("apiVersion: 1\nkind: Pod\n", "claim.yaml, line 1: apiVersion must be text, not 1"),
        ("apiVersion: v1\nkind: [Pod]\n", "claim.yaml, line 1: kind must be text, not a list"),
        ("apiVersion: v1\nkind: Pod\nmetadata: [x]\n", "claim.yaml, line 1: metadata must be a mapping, not a list"),
        (
            "---\n- a\n",
            "claim.yaml, line 2: a document must be a mapping with apiVersion and kind, not a list",
        ),
        ("<no value>\n", "claim.yaml, line 1: a document must be a mapping with apiVersion and kind, not text"),
    ],
)
def test_what_is_no_object_is_refused(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Secret\nspec: {a: [1, 2}\n",
            "claim.yaml, line 6: what the template makes is no YAML: did not find expected ',' or ']'",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  a: b: c\n",
            "claim.yaml, line 4: what the template makes is no YAML: mapping values are not allowed in this context",
        ),
        (
            "apiVersion: v1\nkind: *pod\n",
            "claim.yaml: what the template makes is no YAML: unknown anchor 'pod' referenced",
        ),
    ],
)
def test_what_is_no_yaml_is_refused_at_its_line(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_an_object_is_its_own_patch() -> None:
    """It changes what it says, and leaves alone what it does not mention."""
    live: Object = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web-0", "namespace": "test-1", "uid": "1", "labels": {"old": "1", "kept": "2"}},
        "spec": {"replicas": 3, "paused": True},
        "status": {"replicas": 3},
    }
    (wanted,) = read(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {labels: {old: '5'}}\nspec: {replicas: 7}\n", name="web-0"
    )
    assert apply_merge_patch(live, wanted) == {
        **live,
        "metadata": {"name": "web-0", "namespace": "test-1", "uid": "1", "labels": {"old": "5", "kept": "2"}},
        "spec": {"replicas": 7, "paused": True},
    }


def test_placeholders_go_over_the_fill_map_and_that_over_the_values() -> None:
    values = {"Nodes": 5.0, "CL2_A": 1, "Group": "values", "Name": "values", "Index": 9.0}
    assert placeholders(
        values, {"Group": "fill", "Namespace": "fill", "Replicas": 3.0}, basename="web", index=2, namespace="test-1"
    ) == {
        "Nodes": 5.0,
        "CL2_A": 1,
        "Group": "fill",
        "Replicas": 3.0,
        "Name": "web-2",
        "BaseName": "web",
        "Index": 2,
        "Namespace": "test-1",
    }
    assert values["Name"] == "values"


KEYS = st.text(string.ascii_letters, min_size=1, max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(string.printable, max_size=20)
TREES = st.recursive(SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3))


@given(specs=st.lists(TREES, max_size=4), index=st.integers(min_value=0, max_value=2**31 - 1))
def test_what_a_template_says_is_kept(specs: list[object], index: int) -> None:
    documents = [{"apiVersion": "v1", "kind": f"Kind{n}", "spec": spec} for n, spec in enumerate(specs)]
    name = object_name("web", index)
    assert read("\n---\n".join(map(json.dumps, documents)), name=name) == tuple(
        {**document, "metadata": {"name": f"web-{index}", "namespace": "test-1"}} for document in documents
    )
