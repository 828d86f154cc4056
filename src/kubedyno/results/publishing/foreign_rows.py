"""Reports that others wrote, as rows of the index: Ginkgo's JSON, and the results of KAI's scale tests. Pure.

Whatever a report is, it becomes a row: one that cannot be read is a row that says why.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s
from kubedyno.results.publishing.manifest import Entry
from kubedyno.results.publishing.rows import FigureRow, RunRow, TestRow, series_of, shortened

BROKEN: Final = "broken"
_ENTRY: Final = "Test Metrics"
"""The report entry in which KAI's suite had its figures when it wrote Ginkgo's JSON."""
_OUTCOMES: Final = frozenset({"completed pods", "pending pods"})
_NOT_CONFIGURED: Final = frozenset({"timestamp", "kai_commit_hash", "kai_scheduler_ref", "test_focus"})
_KAI_STATUSES: Final = {"success": "passed", "failure": "failed"}
_GINKGO_STATUSES: Final = {"passed": "passed", "skipped": "skipped", "pending": "skipped"}


class Unreadable(Exception):
    """Why a report is none."""


def foreign_row(data: bytes, entry: Entry) -> RunRow:
    """The row of a report of others."""
    head: dict[str, Any] = {
        "id": entry.run_id,
        "path": entry.path,
        "started_at": entry.timestamp,
        "commit": entry.commit,
        "ref": entry.ref,
    }
    try:
        return _read(data, head)
    except Unreadable as reason:
        return RunRow(**head, source="unknown", status=BROKEN, reason=shortened(str(reason)))


def broken_row(entry: Entry, reason: str) -> RunRow:
    """The row of a run whose report is not there or cannot be had."""
    return RunRow(
        id=entry.run_id,
        path=entry.path,
        started_at=entry.timestamp,
        commit=entry.commit,
        ref=entry.ref,
        source="unknown",
        status=BROKEN,
        reason=shortened(reason),
    )


def _read(data: bytes, head: dict[str, Any]) -> RunRow:
    try:
        report = msgspec.json.decode(data)
    except msgspec.MsgspecError as error:
        raise Unreadable(f"it is half-written or no JSON: {error}") from error
    if isinstance(report, dict) and "SpecReports" in report:
        report = [report]
    if isinstance(report, list):
        return _ginkgo(report, head)
    if isinstance(report, dict) and isinstance(report.get("results"), dict):
        return _kai(report["results"], _mapping(report.get("metadata")), head)
    if isinstance(report, dict) and "tests" in report:
        return _kai(report, {}, head)
    raise Unreadable("it is neither a report of Ginkgo nor one of KAI's scale tests")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _kai(results: Mapping[str, Any], metadata: Mapping[str, Any], head: dict[str, Any]) -> RunRow:
    tests = results.get("tests")
    if not isinstance(tests, list):
        raise Unreadable("its `tests` are no list")
    configured = {name: value for name, value in metadata.items() if name not in _NOT_CONFIGURED and value != ""}
    rows = tuple(_kai_test(place, test, configured) for place, test in enumerate(tests))
    named = str(metadata.get("kai_commit_hash") or "")
    reference = str(metadata.get("kai_scheduler_ref") or "")
    # Upstream its status is that of the last test that was written: a failed test fails the run here.
    status = _KAI_STATUSES.get(str(results.get("status")), str(results.get("status")))
    if any(row.status == "failed" for row in rows):
        status = "failed"
    return RunRow(
        **{**head, "commit": head["commit"] or named},
        source="kai",
        status=status,
        versions={"kai": reference} if reference else {},
        tests=rows,
    )


def _kai_test(place: int, test: Any, metadata: Mapping[str, Any]) -> TestRow:
    name, status, details = (_mapping(test).get(key) for key in ("test_name", "status", "details"))
    if not isinstance(name, str) or not name or not isinstance(status, str):
        raise Unreadable(f"its test {place + 1} has no name or no status")
    figures = tuple(_figures(_mapping(details)))
    measured = {figure.name for figure in figures}
    configuration = {key: value for key, value in _mapping(details).items() if key not in measured} | dict(metadata)
    nodes = configuration.get("nodes", metadata.get("kwok_node_count"))
    times = [figure.value for figure in figures if figure.unit == "s"]
    return TestRow(
        name=name,
        series=series_of({"name": name, **configuration}),
        status=_KAI_STATUSES.get(status, status),
        duration_s=times[0] if times else 0.0,
        scheduler="kai",
        nodes=nodes if isinstance(nodes, int) else None,
        configuration=configuration,
        figures=figures,
    )


def _figures(details: Mapping[str, Any]) -> Iterator[FigureRow]:
    """What was measured: what is called a time (in seconds, or as Go writes it), and what was counted at the end."""
    for name, value in details.items():
        if name in _OUTCOMES and isinstance(value, int | float):
            yield FigureRow(name=name, unit="pods", value=float(value))
        elif "time" in name.lower().replace("(", " ").split() or name.lower().startswith("average time"):
            seconds = _seconds(value)
            if seconds is not None:
                yield FigureRow(name=name, unit="s", value=seconds)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return parse_duration_s(str(value))
    except UsageError:
        return None


def _ginkgo(suites: list[Any], head: dict[str, Any]) -> RunRow:
    rows = []
    succeeded = True
    for suite in suites:
        specs = _mapping(suite).get("SpecReports")
        if not isinstance(specs, list):
            raise Unreadable("one of its suites has no `SpecReports`")
        succeeded = succeeded and _mapping(suite).get("SuiteSucceeded") is not False
        rows += [_spec(_mapping(spec)) for spec in specs if _mapping(spec).get("LeafNodeType", "It") == "It"]
    failed = any(row.status == "failed" for row in rows)
    return RunRow(**head, source="ginkgo", status="failed" if failed or not succeeded else "passed", tests=tuple(rows))


def _spec(spec: Mapping[str, Any]) -> TestRow:
    leaf = spec.get("LeafNodeText")
    if not isinstance(leaf, str) or not leaf:
        raise Unreadable("one of its specs has no `LeafNodeText`")
    containers = [str(text) for text in spec.get("ContainerHierarchyTexts") or ()]
    took = spec.get("RunTime")
    details: dict[str, Any] = {}
    for one in spec.get("ReportEntries") or ():
        if _mapping(one).get("Name") == _ENTRY:
            details |= _entry(_mapping(one))
    figures = tuple(_figures(details))
    measured = {figure.name for figure in figures}
    configuration = {key: value for key, value in details.items() if key not in measured}
    name = " > ".join((*containers, leaf))
    nodes = configuration.get("nodes")
    return TestRow(
        name=name,
        series=series_of({"name": name, **configuration}),
        status=_GINKGO_STATUSES.get(str(spec.get("State")), "failed"),
        duration_s=took / NS_PER_S if isinstance(took, int | float) else 0.0,
        nodes=nodes if isinstance(nodes, int) else None,
        tags=tuple(str(label) for label in spec.get("LeafNodeLabels") or ()),
        configuration=configuration,
        message=shortened(str(_mapping(spec.get("Failure")).get("Message", ""))),
        figures=figures,
    )


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a report entry; the value is JSON within JSON."""
    text = _mapping(entry.get("Value")).get("AsJSON")
    if not isinstance(text, str):
        return {}
    try:
        return _mapping(msgspec.json.decode(text))
    except msgspec.MsgspecError:
        return {}
