import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kube.merge_keys import MergeKeys, merge_keys_for
from kubedyno.kube.patches import MalformedPatch, PatchDoesNotApply, apply_merge_patch
from kubedyno.kube.strategic import apply_strategic_patch

pytestmark = pytest.mark.unit

# Results of StrategicMergePatch of k8s.io/apimachinery v0.36.3 on the typed structs of k8s.io/api, without the
# directives it leaves in values taken as they are (typed decoding drops those in the API server).
GO_STRATEGIC = json.loads(Path(__file__).with_name("strategic_cases.json").read_text())
# The patchStrategy:patchMergeKey tags that a patch can reach, read from the Go structs by reflection.
GO_TAGS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("merge_key_tags.json").read_text())


def keys_for(api_version: str, kind: str) -> MergeKeys:
    keys = merge_keys_for(api_version, kind)
    assert keys is not None
    return keys


POD = keys_for("v1", "Pod")


def tags(keys: MergeKeys, path: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, below in keys.fields.items():
        place = f"{path}.{name}".lstrip(".")
        if below.strategy:
            found[place] = f"{below.strategy}:{below.key}"
        found |= tags(below, place)
    return found


@pytest.mark.parametrize("case", GO_STRATEGIC["cases"], ids=lambda case: str(case["name"]))
def test_strategic_patches_agree_with_apimachinery(case: dict[str, Any]) -> None:
    original = deepcopy(GO_STRATEGIC["originals"][case["original"]])
    patch = deepcopy(case["patch"])
    keys = keys_for(original["apiVersion"], original["kind"])
    if case.get("refused"):
        with pytest.raises((MalformedPatch, PatchDoesNotApply)):
            apply_strategic_patch(original, patch, keys)
    else:
        assert apply_strategic_patch(original, patch, keys) == case["result"]
    assert original == GO_STRATEGIC["originals"][case["original"]]
    assert patch == case["patch"]


# The table has what a lab serves; Go knows older and newer versions of some kinds too.
COMPARED = [kind for kind in sorted(GO_TAGS) if merge_keys_for(*kind.split()) is not None]


def test_most_kinds_are_compared_with_go() -> None:
    assert len(COMPARED) >= 30
    assert {"v1 Pod", "v1 Node", "v1 Service", "apps/v1 Deployment", "batch/v1 Job"} <= set(COMPARED)


@pytest.mark.parametrize("kind", COMPARED)
def test_the_table_has_the_tags_of_the_go_structs(kind: str) -> None:
    metadata = {"metadata.ownerReferences": "merge:uid", "metadata.finalizers": "merge:"}
    assert tags(keys_for(*kind.split())) == GO_TAGS[kind] | metadata


@pytest.mark.parametrize(
    ("api_version", "kind", "supported"),
    [
        ("v1", "Pod", True),
        ("v1", "ConfigMap", True),
        ("coordination.k8s.io/v1", "Lease", True),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", True),
        ("batch.volcano.sh/v1alpha1", "Job", False),
        ("kueue.x-k8s.io/v1beta1", "Workload", False),
        ("scheduling.run.ai/v2alpha2", "PodGroup", False),
    ],
)
def test_custom_resources_have_no_merge_keys(api_version: str, kind: str, supported: bool) -> None:
    assert (merge_keys_for(api_version, kind) is not None) is supported


@pytest.mark.parametrize(
    ("patch", "error", "message"),
    [
        ({"spec": {"$patch": "merge"}}, MalformedPatch, r"\$patch at spec is 'merge'"),
        ({"$patch": "wipe"}, MalformedPatch, "at the top"),
        ({"spec": {"$retainKeys": 1}}, MalformedPatch, r"\$retainKeys at spec must be a list"),
        ({"spec": {"$retainKeys": [], "a": 1}}, MalformedPatch, "does not list 'a'"),
        ({"spec": {"containers": [{"image": "x"}]}}, PatchDoesNotApply, "spec.containers has no 'name'"),
        ({"spec": {"containers": [{"name": "a", "$patch": "x"}]}}, MalformedPatch, "item of spec.containers is 'x'"),
        ({"spec": {"containers": ["a"]}}, PatchDoesNotApply, "spec.containers is empty or mixed"),
        ({"spec": {"$deleteFromPrimitiveList/containers": [{"name": "a"}]}}, MalformedPatch, "lists of plain values"),
        ({"spec": {"$setElementOrder/": []}}, MalformedPatch, "names no list"),
        ({"spec": {"$setElementOrderX/containers": []}}, MalformedPatch, "names no list"),
        ({"spec": {"containers": None, "$setElementOrder/containers": []}}, MalformedPatch, "is for lists only"),
        ({"spec": {"$setElementOrder/tolerations": [{"key": "a"}]}}, PatchDoesNotApply, "has no merge key"),
    ],
)
def test_refused_patches_name_the_place(patch: dict[str, Any], error: type[UsageError], message: str) -> None:
    pod = {"spec": {"containers": [{"name": "a"}], "tolerations": [{"key": "a"}]}}
    with pytest.raises(error, match=message):
        apply_strategic_patch(pod, patch, POD)


def test_a_value_may_be_deleted_and_added_anew() -> None:
    patch = {"metadata": {"finalizers": ["a"], "$deleteFromPrimitiveList/finalizers": ["a"]}}
    patched = apply_strategic_patch({"metadata": {"finalizers": ["a", "b"]}}, patch, POD)
    # In Go the order of the two is random; the other one would leave b only.
    assert patched == {"metadata": {"finalizers": ["a", "b"]}}


def test_directives_in_new_values_are_dropped() -> None:
    patch = {
        "spec": {
            "initContainers": [{"name": "i", "$setElementOrder/env": [{"name": "X"}], "env": [{"name": "X"}]}],
            "volumes": [{"name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}],
        }
    }
    assert apply_strategic_patch({}, patch, POD) == {
        "spec": {
            "initContainers": [{"name": "i", "env": [{"name": "X"}]}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        }
    }


def test_own_tables_can_be_given() -> None:
    table = MergeKeys(fields={"jobs": MergeKeys("merge", "id", {"tags": MergeKeys("merge")})})
    original = {"jobs": [{"id": 1, "tags": ["x"]}, {"id": 2}]}
    patched = apply_strategic_patch(original, {"jobs": [{"id": 1, "tags": ["y"]}]}, table)
    assert patched == {"jobs": [{"id": 1, "tags": ["y", "x"]}, {"id": 2}]}


def test_the_result_shares_nothing_with_the_patch_and_with_the_original_only_what_stayed() -> None:
    original: dict[str, Any] = {"spec": {"tolerations": [{"key": "a"}]}}
    patch: dict[str, Any] = {"spec": {"containers": [{"name": "a", "args": []}]}}
    patched = apply_strategic_patch(original, patch, POD)
    assert patched["spec"]["tolerations"] is original["spec"]["tolerations"]
    patched["spec"]["containers"][0]["args"].append("changed")
    assert original == {"spec": {"tolerations": [{"key": "a"}]}}
    assert patch == {"spec": {"containers": [{"name": "a", "args": []}]}}


scalars = st.one_of(st.booleans(), st.integers(), st.sampled_from("abc"))
trees = st.recursive(scalars, lambda below: st.dictionaries(st.sampled_from("abc"), below, max_size=3), max_leaves=10)
objects = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)
containers = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcdef")}, optional={"image": st.sampled_from("12")}),
    max_size=5,
    unique_by=lambda container: str(container["name"]),
)


@given(objects, objects)
def test_without_lists_it_is_a_merge_patch(original: dict[str, Any], patch: dict[str, Any]) -> None:
    assert apply_strategic_patch(original, patch, MergeKeys()) == apply_merge_patch(original, patch)


@given(containers, containers)
def test_keyed_lists_are_united_by_key(live: list[dict[str, str]], wanted: list[dict[str, str]]) -> None:
    patched = apply_strategic_patch({"spec": {"containers": live}}, {"spec": {"containers": wanted}}, POD)
    merged = patched["spec"]["containers"]
    by_name = {item["name"]: dict(item) for item in live}
    for item in wanted:
        by_name[item["name"]] = by_name.get(item["name"], {}) | item
    assert {item["name"]: item for item in merged} == by_name
    assert len(merged) == len(by_name)
    from_patch = [item["name"] for item in wanted]
    assert [item["name"] for item in merged if item["name"] in from_patch] == from_patch
    assert apply_strategic_patch(patched, {"spec": {"containers": wanted}}, POD) == patched


@given(containers, st.sets(st.sampled_from("abcdef")))
def test_deleted_items_are_gone_and_the_rest_stays(live: list[dict[str, str]], gone: set[str]) -> None:
    patch = {"spec": {"containers": [{"$patch": "delete", "name": name} for name in sorted(gone)]}}
    patched = apply_strategic_patch({"spec": {"containers": live}}, patch, POD)
    assert patched["spec"]["containers"] == [item for item in live if item["name"] not in gone]


@given(containers, st.permutations("abcdef"))
def test_an_order_of_all_items_is_followed(live: list[dict[str, str]], order: list[str]) -> None:
    patch = {"spec": {"$setElementOrder/containers": [{"name": name} for name in order]}}
    if live:
        patched = apply_strategic_patch({"spec": {"containers": live}}, patch, POD)
        assert patched["spec"]["containers"] == sorted(live, key=lambda item: order.index(item["name"]))
