from typing import get_args, get_type_hints

import msgspec
import pytest

from kubedyno.measure.columns import CLAIMS, OBJECTS, SERIES, TIMES, ClaimRow, Column, ObjectRow, SeriesRow

pytestmark = pytest.mark.unit

TYPES = {"int64": int, "float64": float, "string": str}


@pytest.mark.parametrize(("columns", "row"), [(OBJECTS, ObjectRow), (SERIES, SeriesRow), (CLAIMS, ClaimRow)])
def test_a_row_has_exactly_its_columns_in_order(columns: tuple[Column, ...], row: type[msgspec.Struct]) -> None:
    assert [column.name for column in columns] == list(row.__struct_fields__)
    hints = get_type_hints(row)
    for column in columns:
        hint = hints[column.name]
        kinds = set(get_args(hint)) - {type(None)} or {hint}
        assert kinds == {TYPES[column.type]}, column.name
        if column.description.endswith("never null."):
            assert type(None) not in get_args(hint), column.name


@pytest.mark.parametrize("columns", [OBJECTS, SERIES, CLAIMS, TIMES])
def test_columns_are_described_and_named_once(columns: tuple[Column, ...]) -> None:
    assert len({column.name for column in columns}) == len(columns)
    for column in columns:
        assert column.description.endswith(".")
        assert "|" not in column.description
