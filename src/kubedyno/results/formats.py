"""Formats of the folders of runs and submissions and of stores: JSON Schemas, columns, and reference pages of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.measure.columns import CLAIMS, NODES, OBJECTS, PODS, SERIES, TIMES, Column
from kubedyno.measure.records import RunRecord, TrialRecord
from kubedyno.model.samples import SampledFile
from kubedyno.model.submissions import SubmittedFile
from kubedyno.results import submission_times
from kubedyno.results.comparison.history import Turns
from kubedyno.results.publishing.manifest import Manifest
from kubedyno.results.publishing.rows import Shard
from kubedyno.workload.settings import Settings

RECORDS: dict[str, type[msgspec.Struct]] = {"run.json": RunRecord, "trial.json": TrialRecord}
TABLES: dict[str, tuple[Column, ...]] = {
    "objects.parquet": OBJECTS,
    "series.parquet": SERIES,
    "pods.parquet": PODS,
    "nodes.parquet": NODES,
    "claims.parquet": CLAIMS,
    "times.csv": TIMES,
}
SUBMISSION_RECORDS: dict[str, type[msgspec.Struct]] = {
    "submitted.json": SubmittedFile,
    "sampled.json": SampledFile,
    "settings.yaml": Settings,
}
STORE_RECORDS: dict[str, type[msgspec.Struct]] = {
    "manifest.json": Manifest,
    "index.json": Shard,
    "regressions.json": Turns,
}
SUBMISSION_TABLES: dict[str, tuple[Column, ...]] = {"times.csv": submission_times.COLUMNS}

_INTRODUCTION = """\
# The run folder

One invocation of `kubedyno run` is one run with one id and one folder; each scenario in it is a trial.

```
<out>/<run-id>/
  index.html      the page of the run, for people; it needs nothing but the files beside it
  run.json        the run: command, host, programs, trials, verdict
  report.json     the same as a Ginkgo JSON report, one spec per trial
  junit.xml       the same as JUnit XML, one test case per trial
  summary.md      the same in Markdown, for a pull request
  kwok_scale_test.json  the same as KAI's scale tests write it
  trials/<n>-<scenario>/
    trial.json       parameters, settings, measurements, checks, audit, verdict
    objects.parquet  one row per object and phase
    series.parquet   CPU and memory per component over time
    pods.parquet     one row per pod: where it was, with how many GPUs, from when until when
    nodes.parquet    one row per node: its GPUs, and where it stands
    claims.parquet   one row per claim of devices; where there were any
    times.csv        one line per workload
    general.png      the main steps of workloads, drawn; detailed.png has all
    summaries/       what the scenario itself wrote: of ClusterLoader2's configs the summary of each measurement
    logs/            the logs of the components
```

While a run goes on its folder is called `<run-id>.partial` and holds `journal.jsonl`, to which every finished trial
is appended; at the end it is renamed. A folder that was abandoned is finished with the verdict `crashed` by the next
`run` into the same `--out`.

The page tells of each trial its verdict and why; what went wrong, with the lines of logs that complain; curves of pods,
throughput, waits, GPUs, processors and memory; measurements with bounds, percentiles and histograms; checks; a map of
which workload sat where at each moment; a timeline of workloads and their evictions; audit and effective settings; and
links to the raw data. On the map a cell is a device where a claim names it, else a pod: which GPUs other pods have, and
how many, is in no table, nor are the labels of nodes. `kubedyno report DIR...` makes the page and the plots anew from
a run's folder alone.

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

_STORE = """\
# The store

```sh
./kubedyno publish runs/20261116-101135-2632ca --to s3://bucket/prefix     # or a folder; several at once
./kubedyno publish runs/* --to results --commit abc123 --prune-older-than 90
./kubedyno index rebuild --from s3://bucket/prefix
```

A store is a folder, or a bucket of S3 below a prefix. Endpoint, region and credentials come from the variables that
AWS's own tools read: AWS_ENDPOINT_URL (or AWS_ENDPOINT_URL_S3) for servers other than Amazon's, AWS_REGION,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; on Amazon's machines the role of the machine.

```
Public/
  manifest.json             which runs there are
  index/<month>.json        what is searched and drawn, the runs that began in a month (UTC)
  regressions.json          where figures changed their level; `kubedyno regressions --write` makes it
  <run-id>/
    report.json             the run as a Ginkgo JSON report
    ...                     and everything else of its run folder
```

The manifest has the form that KAI's pipeline writes, so its dashboard reads our stores, and we read its: reports as
Ginkgo's JSON, as `{metadata, results}`, and as `{status, tests}`. A report that cannot be read stays a run, marked as
broken, with the reason.

A run is in the store when it is in the manifest. Its files are written first, its report last of them, then its row of
the index, then its entry of the manifest: whoever is stopped in between has published nothing, and may begin again. To
publish a run again changes nothing. Many may publish at once: manifest and index are replaced on the condition that
nobody else did since they were read (on S3 by conditional writes, in a folder by a lock), and tried again otherwise.

`index rebuild` makes index and manifest anew from the reports that lie there; entries of the manifest are kept.
`--prune-older-than` takes runs out of manifest and index, and then deletes their files.

Files of a newer format than this version knows are left alone, and told.

This page is made from the definitions in the code (`scripts/docs`); a test fails when it is out of date. The JSON
Schemas are in `docs/schemas/`.
"""


def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema of each record, by file name."""
    return {
        name: msgspec.json.schema(record) for name, record in {**RECORDS, **SUBMISSION_RECORDS, **STORE_RECORDS}.items()
    }


def reference_page() -> str:
    """The reference page of the run folder, in Markdown."""
    return _page(_INTRODUCTION, RECORDS, TABLES)


def submission_page() -> str:
    """The reference page of the folder of a submission, in Markdown."""
    return _page(_SUBMISSION, SUBMISSION_RECORDS, SUBMISSION_TABLES)


def store_page() -> str:
    """The reference page of the store, in Markdown."""
    return _page(_STORE, STORE_RECORDS, {})


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
