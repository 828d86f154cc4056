from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kube import meta

pytestmark = pytest.mark.unit

OWNER = {"kind": "Job", "name": "j", "uid": "1", "controller": True}
OTHER = {"kind": "Node", "name": "n", "uid": "2", "controller": False}
CONDITIONS = [{"type": "PodScheduled", "status": "False"}, {"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("obj", "key"),
    [
        ({"metadata": {"namespace": "ns", "name": "a"}}, ("ns", "a")),
        ({"metadata": {"name": "node"}}, ("", "node")),
        ({"metadata": None}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_key(obj: dict[str, Any], key: tuple[str, str]) -> None:
    assert meta.key(obj) == key


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {}}, {"metadata": {"labels": None}}])
def test_absent_metadata_is_empty(obj: dict[str, Any]) -> None:
    assert meta.labels(obj) == {}
    assert meta.annotations(obj) == {}
    assert meta.owner_references(obj) == []
    assert meta.controller_owner(obj) is None


def test_labels_and_annotations() -> None:
    obj = {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}
    assert meta.labels(obj) == {"a": "b"}
    assert meta.annotations(obj) == {"c": "d"}


def test_the_controller_is_the_owner_that_is_marked() -> None:
    obj = {"metadata": {"ownerReferences": [OTHER, OWNER]}}
    assert meta.owner_references(obj) == [OTHER, OWNER]
    assert meta.controller_owner(obj) == OWNER
    assert meta.controller_owner({"metadata": {"ownerReferences": [OTHER]}}) is None


def test_conditions_are_found_by_type() -> None:
    obj = {"status": {"conditions": CONDITIONS}}
    assert meta.condition(obj, "PodScheduled") == CONDITIONS[0]
    assert meta.condition(obj, "Initialized") is None
    assert meta.is_condition_true(obj, "Ready")
    assert not meta.is_condition_true(obj, "PodScheduled")
    assert not meta.is_condition_true(obj, "Initialized")
    assert not meta.is_condition_true({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, "Ready")


@pytest.mark.parametrize("obj", [{}, {"status": None}, {"status": {"conditions": None}}])
def test_absent_conditions_are_not_true(obj: dict[str, Any]) -> None:
    assert meta.condition(obj, "Ready") is None
    assert not meta.is_condition_true(obj, "Ready")


@pytest.mark.parametrize("text", ["a", "0", "a-b", "team-1", "a" * 63])
def test_right_labels(text: str) -> None:
    assert meta.dns1123_label_problem(text) is None
    assert meta.dns1123_subdomain_problem(text) is None


@pytest.mark.parametrize("text", ["", "A", "-a", "a-", "a_b", "a b", "a\n", "a" * 64, "\u00e9", "a.b"])
def test_wrong_labels_are_named(text: str) -> None:
    problem = meta.dns1123_label_problem(text)
    assert problem is not None
    assert repr(text) in problem


@pytest.mark.parametrize("text", ["a.b", "node-1.example.com", "a" * 253, "1.2.3.4"])
def test_right_subdomains(text: str) -> None:
    assert meta.dns1123_subdomain_problem(text) is None


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a.-b", "a-.b", "A.b", "a" * 254, "a.b\n"])
def test_wrong_subdomains_are_named(text: str) -> None:
    problem = meta.dns1123_subdomain_problem(text)
    assert problem is not None
    assert repr(text) in problem


trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(st.text(max_size=2), below, max_size=3)),
    max_leaves=12,
)


@given(trees)
def test_a_copy_is_equal(tree: Any) -> None:
    assert meta.copied(tree) == tree


def test_a_copy_shares_nothing() -> None:
    tree: dict[str, Any] = {"a": [{"b": []}]}
    copy = meta.copied(tree)
    copy["a"][0]["b"].append(1)
    assert tree == {"a": [{"b": []}]}
