from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.measure.columns import CLAIMS, OBJECTS, SERIES, TIMES
from kubedyno.results import formats
from kubedyno.results.submission_times import COLUMNS

pytestmark = pytest.mark.unit

DOCS = Path(__file__).parents[3] / "docs"
HINT = "out of date: run scripts/docs"


def test_the_reference_pages_are_up_to_date() -> None:
    assert (DOCS / "run-folder.md").read_text() == formats.reference_page(), HINT
    assert (DOCS / "submission-folder.md").read_text() == formats.submission_page(), HINT
    assert (DOCS / "store.md").read_text() == formats.store_page(), HINT


def test_the_schemas_are_up_to_date() -> None:
    written = {path.name: msgspec.json.decode(path.read_bytes()) for path in (DOCS / "schemas").iterdir()}
    expected = {f"{Path(name).stem}.schema.json": schema for name, schema in formats.schemas().items()}
    assert written == msgspec.json.decode(msgspec.json.encode(expected)), HINT


def test_the_pages_name_every_field_and_column() -> None:
    page = formats.reference_page() + formats.submission_page() + formats.store_page()
    for columns in (OBJECTS, SERIES, CLAIMS, TIMES, COLUMNS):
        for column in columns:
            assert f"| `{column.name}` | {column.type} | {column.description} |" in page
    for schema in formats.schemas().values():
        for definition in schema["$defs"].values():
            for field in definition.get("properties", {}):
                assert f"| `{field}` | " in page


@pytest.mark.parametrize("name", formats.schemas())
def test_every_field_of_a_record_is_described(name: str) -> None:
    def undescribed(title: str, definition: dict[str, Any]) -> list[str]:
        return [
            f"{title}.{field}"
            for field, schema in definition.get("properties", {}).items()
            if not schema.get("description")
        ]

    definitions = formats.schemas()[name]["$defs"]
    missing = [field for title, definition in definitions.items() for field in undescribed(title, definition)]
    # A Setting is a struct of the model, which carries its meanings in its docstrings.
    assert [field for field in missing if not field.startswith("Setting.")] == []
