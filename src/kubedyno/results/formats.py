"""The formats of a run's and a submission's folder: JSON Schemas, columns, and the reference pages made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.measure.columns import OBJECTS, SERIES, TIMES, Column
from kubedyno.measure.records import RunRecord, TrialRecord
from kubedyno.model.samples import SampledFile
from kubedyno.model.submissions import SubmittedFile
from kubedyno.results import submission_times
from kubedyno.workload.settings import Settings

RECORDS: dict[str, type[msgspec.Struct]] = {"run.json": RunRecord, "trial.json": TrialRecord}
TABLES: dict[str, tuple[Column, ...]] = {"objects.parquet": OBJECTS, "series.parquet": SERIES, "times.csv": TIMES}
SUBMISSION_RECORDS: dict[str, type[msgspec.Struct]] = {
    "submitted.json": SubmittedFile,
    "sampled.json": SampledFile,
    "settings.yaml": Settings,
}
SUBMISSION_TABLES: dict[str, tuple[Column, ...]] = {"times.csv": submission_times.COLUMNS}

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

_SUBMISSION = """\
# The folder of a submission

What `kubedyno submit`, `sample` and `plot` write into the folder that `-o` names, and the settings file that they read.

```
<-o>/
  submitted.json    what was submitted, one entry per workload
  submitted.jsonl   the same as a journal, kept while it goes on
  records/          what was recorded meanwhile, where no lab of ours records
  sampled.json      what was seen of each workload
  times.csv         one line per workload: all of its times and deltas
  general.png       the plot of the main steps (svg, html)
  detailed.png      the plot of all steps (svg, html)
```

This page is made from the definitions in the code (`scripts/docs`); a test fails when it is out of date. The JSON
Schemas are in `docs/schemas/`.
"""


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each record, by file name."""
    return {name: msgspec.json.schema(record) for name, record in {**RECORDS, **SUBMISSION_RECORDS}.items()}


def reference_page() -> str:
    """The reference page of the run folder, in Markdown."""
    return _page(_INTRODUCTION, RECORDS, TABLES)


def submission_page() -> str:
    """The reference page of the folder of a submission, in Markdown."""
    return _page(_SUBMISSION, SUBMISSION_RECORDS, SUBMISSION_TABLES)


def _page(
    introduction: str, records: Mapping[str, type[msgspec.Struct]], tables: Mapping[str, Sequence[Column]]
) -> str:
    parts = [introduction]
    for name, record in records.items():
        schema = msgspec.json.schema(record)
        parts.append(f"## {name}\n")
        definitions = schema["$defs"]
        root = schema["$ref"].rpartition("/")[2]
        titles = (root, *(other for other in definitions if other != root))
        parts.extend(_struct_table(title, definitions[title]) for title in titles)
    for name, columns in tables.items():
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
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    match schema.get("type", "any"):
        case "array":
            name = f"list of {_type_name(schema.get('items', {}))}"
        case "object":
            name = f"map to {_type_name(schema.get('additionalProperties') or {})}"
        case other:
            name = str(other)
    return name
