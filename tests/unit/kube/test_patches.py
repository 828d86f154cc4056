import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kube.patches import (
    MalformedPatch,
    PatchDoesNotApply,
    apply_json_patch,
    apply_merge_patch,
    json_equal,
    merge_diff,
)

pytestmark = pytest.mark.unit

# Results of gopkg.in/evanphx/json-patch.v4 v4.13.0, the library inside kube-apiserver v1.36.3.
GO_JSON_PATCHES = json.loads(Path(__file__).with_name("json_patch_cases.json").read_text())
GO_MERGE_PATCHES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"a": 1, "e": None}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ({"a": "foo"}, {"a": {"b": {"c": None}, "d": 1}}, {"a": {"b": {}, "d": 1}}),
    ({"a": {"b": 1}}, {"a": [1, None]}, {"a": [1, None]}),
]

scalars = st.one_of(st.booleans(), st.integers(min_value=-3, max_value=3), st.floats(0, 1), st.sampled_from("abc"))
names = st.sampled_from(["a", "b", "c", "m/n", "x~y", "0"])
trees = st.recursive(
    scalars,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(names, below, max_size=3)),
    max_leaves=12,
)
objects = st.dictionaries(names, trees, max_size=4)


@pytest.mark.parametrize("case", GO_JSON_PATCHES["cases"], ids=lambda case: json.dumps(case["patch"]))
def test_json_patches_agree_with_the_api_server(case: dict[str, Any]) -> None:
    document = deepcopy(GO_JSON_PATCHES["document"])
    if case.get("refused"):
        with pytest.raises(PatchDoesNotApply, match=r"^operation 0 of the JSON patch"):
            apply_json_patch(document, case["patch"])
    else:
        assert json_equal(apply_json_patch(document, case["patch"]), case["result"])
    assert json_equal(document, GO_JSON_PATCHES["document"])


def test_the_error_names_operation_and_path() -> None:
    patch: list[dict[str, Any]] = [{"op": "test", "path": "/a", "value": 1}, {"op": "remove", "path": "/spec/nodeName"}]
    with pytest.raises(PatchDoesNotApply) as caught:
        apply_json_patch({"a": 1, "spec": {}}, patch)
    assert str(caught.value) == (
        "operation 1 of the JSON patch (remove /spec/nodeName) does not apply: there is no 'nodeName' to remove"
    )


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "replace", "path": "a/b", "value": 1}, "must begin with '/'"),
        ({"op": "replace", "path": "", "value": 1}, "an object or an array only"),
        ({"op": ["add"], "path": "/a"}, "no such operation"),
        ({"op": "add", "path": 1}, "'path' is missing or no text"),
        ({"op": "move", "path": "/b", "from": ""}, "the whole document"),
        ({"op": "test", "path": "/a", "value": 2}, "the value is 1, not 2"),
        ({"op": "add", "path": "/l/01x", "value": 2}, "'01x' is no array index"),
    ],
)
def test_refused_operations_say_why(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchDoesNotApply, match=message):
        apply_json_patch({"a": 1, "l": []}, [operation])


def test_an_operation_that_is_no_object_is_malformed() -> None:
    with pytest.raises(MalformedPatch, match="operation 0 of the JSON patch is no object"):
        apply_json_patch({}, ["add"])  # type: ignore[list-item]


def test_json_patch_results_share_nothing_with_the_patch() -> None:
    value: dict[str, Any] = {"x": []}
    result = apply_json_patch(
        {},
        [
            {"op": "add", "path": "/a", "value": value},
            {"op": "copy", "path": "/b", "from": "/a"},
            {"op": "add", "path": "/b/x/-", "value": 1},
        ],
    )
    assert result == {"a": {"x": []}, "b": {"x": [1]}}
    assert value == {"x": []}


@pytest.mark.parametrize(("target", "patch", "result"), GO_MERGE_PATCHES)
def test_merge_patches_agree_with_the_api_server(target: Any, patch: Any, result: Any) -> None:
    before = deepcopy((target, patch))
    assert json_equal(apply_merge_patch(target, patch), result)
    assert (target, patch) == before


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({"a": 1}, {"b": [{"c": None}]}, {"a": 1, "b": [{"c": None}]}),
    ],
)
def test_merge_patches_follow_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert json_equal(apply_merge_patch(target, patch), result)


def test_merge_patch_results_share_nothing_with_the_inputs() -> None:
    target: dict[str, Any] = {"kept": {"x": []}, "merged": {"y": []}}
    patch: dict[str, Any] = {"merged": {"z": []}, "new": []}
    result = apply_merge_patch(target, patch)
    result["kept"]["x"].append(1)
    result["merged"]["y"].append(1)
    result["merged"]["z"].append(1)
    result["new"].append(1)
    assert target == {"kept": {"x": []}, "merged": {"y": []}}
    assert patch == {"merged": {"z": []}, "new": []}


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1, "b": 2}, {"b": 3}, {"a": None, "b": 3}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({}, {"a": {}}, {"a": {}}),
        ({"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_merge_diff_is_small(old: dict[str, Any], new: dict[str, Any], patch: dict[str, Any]) -> None:
    assert json_equal(merge_diff(old, new), patch)


@given(objects, objects)
def test_a_merge_diff_leads_from_old_to_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    before = deepcopy((old, new))
    patch = merge_diff(old, new)
    assert json_equal(apply_merge_patch(old, patch), new)
    assert (patch == {}) == json_equal(old, new)
    assert (old, new) == before


@given(objects, trees)
def test_add_then_test_then_remove_is_nothing(document: dict[str, Any], value: Any) -> None:
    patch = [
        {"op": "add", "path": "/added~1here", "value": value},
        {"op": "test", "path": "/added~1here", "value": value},
        {"op": "remove", "path": "/added~1here"},
    ]
    assert json_equal(apply_json_patch(document, patch), document)


@given(trees, trees)
def test_json_equality_is_equality_of_texts(left: Any, right: Any) -> None:
    assert json_equal(left, right) == (json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True))
    assert json_equal(left, deepcopy(left))
