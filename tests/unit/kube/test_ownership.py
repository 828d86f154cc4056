"""Field ownership without a server: what the tests against the real one do not look at."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.errors import UsageError
from kubedyno.kube import ownership
from kubedyno.kube.fieldsets import field
from kubedyno.kube.ownership import FieldConflict, Owned, Owner
from kubedyno.kube.typed import compare, field_set, merge, merged_order, remove, view_of

pytestmark = pytest.mark.unit

POD = view_of("v1", "Pod")
CONFIG_MAP = view_of("v1", "ConfigMap")
CUSTOM = view_of("example.com/v1", "Toy")


def config_map(**data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}


def applier(manager: str) -> Owner:
    return Owner(manager=manager, operation="Apply", api_version="v1")


def test_a_conflict_says_with_whom_and_over_what() -> None:
    live, owners = ownership.apply(
        {}, config_map(a="1"), (), by=applier("first"), force=False, view=CONFIG_MAP, now="t1"
    )
    with pytest.raises(FieldConflict, match=r'^Apply failed with 1 conflict: conflict with "first": \.data\.a$'):
        ownership.apply(live, config_map(a="2"), owners, by=applier("second"), force=False, view=CONFIG_MAP, now="t2")


def test_an_apply_that_changes_nothing_keeps_its_time() -> None:
    live, owners = ownership.apply(
        {}, config_map(a="1"), (), by=applier("first"), force=False, view=CONFIG_MAP, now="t1"
    )
    again, after = ownership.apply(
        live, config_map(a="1"), owners, by=applier("first"), force=False, view=CONFIG_MAP, now="t2"
    )
    assert again == live
    assert [owned.time for owned in after] == ["t1"]


def test_managed_fields_are_written_applies_first_then_by_time() -> None:
    fields = frozenset([(field("data"), field("a"))])
    owners = (
        Owned(owner=Owner(manager="z", operation="Update", api_version="v1"), fields=fields, time="1"),
        Owned(
            owner=Owner(manager="s", operation="Update", api_version="v1", subresource="status"),
            fields=fields,
            time="0",
        ),
        Owned(owner=applier("b"), fields=fields, time="2"),
        Owned(owner=applier("a"), fields=fields, time="2"),
    )
    written = ownership.write(owners)
    assert [(entry["manager"], entry.get("subresource")) for entry in written] == [
        ("a", None),
        ("b", None),
        ("s", "status"),
        ("z", None),
    ]
    assert set(ownership.read(written)) == set(owners)


def test_status_is_left_alone_where_the_endpoint_does_not_write_it() -> None:
    status = frozenset([(field("status"),)])
    by = Owner(manager="m", operation="Update", api_version="v1")
    new = {"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}
    (owned,) = ownership.after_update({"spec": {}, "status": {}}, new, (), by=by, view=POD, now="t", ignored=status)
    assert owned.fields == {(field("spec"), field("nodeName"))}


def test_the_lists_of_a_custom_resource_are_taken_whole() -> None:
    obj = {"spec": {"parts": [{"name": "a"}], "size": {"x": 1}}}
    assert field_set(obj, CUSTOM) == {
        (field("spec"),),
        (field("spec"), field("parts")),
        (field("spec"), field("size")),
        (field("spec"), field("size"), field("x")),
    }


def test_two_items_of_one_key_are_refused() -> None:
    twice = {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}
    with pytest.raises(UsageError, match="the configuration has two items with the same keys"):
        merge({"spec": {"containers": [{"name": "b"}]}}, twice, POD)


UPDATES = st.lists(st.tuples(st.sampled_from(["x", "y"]), st.integers(0, 10**6)), min_size=1, max_size=5)


def pod_of(seed: int) -> dict[str, Any]:
    """Some pod: fields come and go, lists by key among them."""
    chance = random.Random(seed)  # noqa: S311 - a test's randomness
    metadata = {"labels": {key: str(chance.randint(0, 2)) for key in "abc" if chance.random() < 0.5}}
    containers = [
        {"name": name, "image": str(chance.randint(0, 1)), "env": [{"name": "E", "value": str(chance.randint(0, 1))}]}
        for name in "mn"
        if chance.random() < 0.7
    ]
    return {"metadata": metadata, "spec": {"containers": containers, "tolerations": [{"key": "a"}] * (seed % 2)}}


@given(st.integers(0, 10**6))
def test_a_creation_is_written_down_as_an_update_of_nothing_would_be(seed: int) -> None:
    new, by = pod_of(seed), Owner(manager="m", operation="Update", api_version="v1")
    empty = {"metadata": {}, "spec": {"containers": None}, "status": {}}
    ignored = frozenset([(field("status"),)])
    owners = ownership.after_update(empty, new, (), by=by, view=POD, now="t", ignored=ignored)
    made = ownership.entry_of_creation(new, empty, by=by, view=POD, now="t", ignored=ignored)
    assert made == ownership.write(owners)


@given(UPDATES)
def test_trees_and_sets_say_the_same_of_owners(updates: list[tuple[str, int]]) -> None:
    live: dict[str, Any] = {"metadata": {}, "spec": {}}
    owners: tuple[Owned, ...] = ()
    entries: list[Any] = []
    for step, (manager, seed) in enumerate(updates):
        new, by = pod_of(seed), Owner(manager=manager, operation="Update", api_version="v1")
        owners = ownership.after_update(live, new, owners, by=by, view=POD, now=f"t{step}")
        entries = ownership.entries_after_update(live, new, entries, by=by, view=POD, now=f"t{step}")
        assert entries == ownership.write(owners)
        live = new


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(NAMES, NAMES)
def test_a_merged_list_has_everything_once_and_the_configuration_in_its_order(
    live: list[str], config: list[str]
) -> None:
    merged = merged_order(live, config)
    assert sorted(merged) == sorted({*live, *config})
    assert [name for name in merged if name in config] == config
    alone = [name for name in live if name not in config]
    assert [name for name in merged if name in alone] == alone


PODS = st.builds(
    lambda names, zone: {
        "spec": {"containers": [{"name": name, "image": name} for name in names], "nodeSelector": {"zone": zone}}
    },
    st.lists(st.sampled_from("abc"), unique=True, max_size=3),
    st.sampled_from(["east", "west"]),
)


def by_name(pod: Any) -> Any:
    """The pod without the order of its containers, which a comparison does not see."""
    spec = pod["spec"]
    return {**spec, "containers": sorted(spec["containers"], key=lambda one: str(one["name"]))}


@given(PODS, PODS)
def test_a_comparison_says_how_one_becomes_the_other(old: dict[str, object], new: dict[str, object]) -> None:
    change = compare(old, new, POD)
    unchanged = change.removed | change.modified | change.added == frozenset()
    assert unchanged == (by_name(old) == by_name(new))
    back = compare(new, old, POD)
    assert (back.removed, back.added, back.modified) == (change.added, change.removed, change.modified)


@given(PODS)
def test_removing_all_fields_leaves_what_was_empty(pod: dict[str, Any]) -> None:
    left = remove(pod, field_set(pod, POD), POD)
    assert left == (None if pod["spec"]["containers"] else {"spec": {"containers": []}})
