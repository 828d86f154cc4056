"""The formats of a run folder, in one place: JSON Schemas, columns, and the reference page made of them."""

from typing import Any

import msgspec

from kubedyno.measure.columns import OBJECTS, SERIES, TIMES, Column
from kubedyno.measure.records import RunRecord, TrialRecord

RECORDS: dict[str, type[msgspec.Struct]] = {"run.json": RunRecord, "trial.json": TrialRecord}
TABLES: dict[str, tuple[Column, ...]] = {"objects.parquet": OBJECTS, "series.parquet": SERIES, "times.csv": TIMES}

_INTRODUCTION = """\
# The run folder

One invocation of `kubedyno run` is one run with one id and one folder; each scenario in it is a trial.

```
<out>/<run-id>/
  run.json        the run: command, host, programs, trials, verdict
  report.json     the same as a Ginkgo JSON report, one spec per trial
  junit.xml       the same as JUnit XML, one test case per trial
  trials/<n>-<scenario>/
    trial.json       parameters, settings, measurements, checks, audit, verdict
    objects.parquet  one row per object and phase
    series.parquet   CPU and memory per component over time
    times.csv        one line per workload
    logs/            the logs of the components
```

While a run goes on its folder is called `<run-id>.partial` and holds `journal.jsonl`, to which every finished trial
is appended; at the end it is renamed. A folder that was abandoned is finished with the verdict `crashed` by the next
`run` into the same `--out`.

This page is made from the definitions in the code (`scripts/docs`); a test fails when it is out of date. The JSON
Schemas are in `docs/schemas/`.
"""


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each record, by file name."""
    return {name: msgspec.json.schema(record) for name, record in RECORDS.items()}


def reference_page() -> str:
    """The reference page, in Markdown."""
    parts = [_INTRODUCTION]
    for name, schema in schemas().items():
        parts.append(f"## {name}\n")
        definitions = schema["$defs"]
        root = schema["$ref"].rpartition("/")[2]
        titles = (root, *(other for other in definitions if other != root))
        parts.extend(_struct_table(title, definitions[title]) for title in titles)
    for name, columns in TABLES.items():
        rows = [f"| `{column.name}` | {column.type} | {column.description} |" for column in columns]
        parts.append("\n".join([f"## {name}\n", "| column | type | meaning |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def _struct_table(title: str, definition: dict[str, Any]) -> str:
    lead = f"### {title}\n\n{definition.get('description', '').partition(chr(10))[0]}\n"
    if "enum" in definition:
        return f"{lead}\nOne of: {', '.join(f'`{value}`' for value in definition['enum'])}.\n"
    rows = [
        f"| `{field}` | {_type_name(schema)} | {schema.get('description', '')} |"
        for field, schema in definition["properties"].items()
    ]
    return "\n".join([lead, "| field | type | meaning |", "|---|---|---|", *rows, ""])


def _type_name(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "allOf" in schema:
        return _type_name(schema["allOf"][0])
    if "anyOf" in schema:
        return " or ".join(_type_name(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    if schema.get("type") == "object":
        return f"map to {_type_name(schema.get('additionalProperties') or {})}"
    return str(schema.get("type", "any"))
