"""Sets of fields and their written form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kube.fieldsets import (
    below_any,
    field,
    from_fields_v1,
    item_by_keys,
    item_by_value,
    to_fields_v1,
)

pytestmark = pytest.mark.unit

ELEMENTS = st.one_of(
    st.sampled_from("abc").map(field),
    st.sampled_from("xy").map(lambda name: item_by_keys({"name": name})),
    st.integers(0, 2).map(item_by_value),
)
SETS = st.frozensets(st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=12)


def test_a_field_that_is_owned_itself_beside_what_is_below_has_a_dot() -> None:
    labels = (field("metadata"), field("labels"))
    paths = frozenset([labels, (*labels, field("app")), (field("data"),)])
    tree = {"f:data": {}, "f:metadata": {"f:labels": {".": {}, "f:app": {}}}}
    assert to_fields_v1(paths) == tree
    assert from_fields_v1(tree) == paths


def test_keys_are_written_in_the_order_of_their_names() -> None:
    assert item_by_keys({"protocol": "TCP", "containerPort": 80}) == 'k:{"containerPort":80,"protocol":"TCP"}'
    assert item_by_value("a") == 'v:"a"'


@given(SETS)
def test_what_is_written_reads_back(paths: frozenset[tuple[str, ...]]) -> None:
    assert from_fields_v1(to_fields_v1(paths)) == paths


@given(SETS, SETS)
def test_below_any_is_what_starts_with_a_prefix(
    paths: frozenset[tuple[str, ...]], prefixes: frozenset[tuple[str, ...]]
) -> None:
    naive = {path for path in paths for prefix in prefixes if path[: len(prefix)] == prefix}
    assert below_any(paths, prefixes) == naive
