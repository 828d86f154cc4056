import csv
import io

import msgspec
import pytest
from tests.submissions import BEGAN_NS, NS_PER_S, TROUBLED, make_up

from kubedyno.model.lifecycles import STEPS
from kubedyno.report import times
from kubedyno.report.ways import Way, cut, join
from kubedyno.results.submission_times import COLUMNS

pytestmark = pytest.mark.unit


def lines(ways: tuple[Way, ...], **options: int) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(times.table(ways, **options))))


def test_columns_are_described_and_named_once() -> None:
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    for column in COLUMNS:
        assert column.description.endswith(".")
        assert "|" not in column.description


def test_every_workload_has_a_line_with_all_columns_also_those_in_trouble() -> None:
    submitted, sampled = make_up(200, troubles=TROUBLED)
    table = lines(join(submitted, sampled))
    assert [line["name"] for line in table] == [workload.name for workload in submitted.workloads]
    for line, workload, sample in zip(table, submitted.workloads, sampled.workloads, strict=True):
        assert list(line) == [column.name for column in COLUMNS]
        assert None not in line.values()
        assert (line["kind"], line["namespace"], line["project"], line["queue"]) == (
            workload.kind,
            workload.namespace,
            workload.project,
            workload.queue,
        )
        assert (line["gpus"], line["workers"]) == (str(workload.gpus), str(workload.workers))
        assert (line["uid"], line["refused"]) == (workload.uid or "", workload.error or "")
        assert line["template_hash"] == workload.template_hash
        assert (line["pods"], line["gang"]) == (str(sample.pods), str(sample.gang))
        assert (line["evictions"], line["evicted_by"]) == (str(sample.evictions), "; ".join(sample.evicted_by))
        assert line["errors"] == "; ".join(sample.errors)
    assert {line["refused"] for line in table} == {"", 'exceeded quota: gpus, requested: 1, used: "8"'}


def test_times_are_exact_to_the_microsecond_and_deltas_are_their_differences() -> None:
    submitted, sampled = make_up(50, workload_type="distributed", workers=7, troubles=TROUBLED)
    for line, sample in zip(lines(join(submitted, sampled)), sampled.workloads, strict=True):
        before_us = None
        for step in STEPS:
            at = sample.steps.get(step)
            if at is None:
                assert {line[step], line[f"{step}_lower"], line[f"{step}_upper"]} == {""}
                continue
            for suffix, time_ns in (("", at.at_ns), ("_lower", at.lower_ns), ("_upper", at.upper_ns)):
                whole, _, decimals = line[f"{step}{suffix}"].partition(".")
                assert (int(whole), int(decimals)) == divmod(time_ns // 1000, 1_000_000)
                assert len(decimals) == 6
            if before_us is not None:
                assert line[f"{step}_delta"] == f"{(at.at_ns // 1000 - before_us) / 1e6:.6f}"
            before_us = at.at_ns // 1000
        last = [step for step in STEPS if step in sample.steps][-1]
        assert line["last_step"] == last
        assert line["total"] == f"{(before_us or 0) / 1e6 - sample.steps['submitted'].at_ns // 1000 / 1e6:.6f}"


def test_whole_seconds_are_cut_before_deltas_are_taken() -> None:
    submitted, sampled = make_up(20)
    ways = join(submitted, sampled, resolution_ns=NS_PER_S)
    for line, sample in zip(lines(ways, resolution_ns=NS_PER_S), sampled.workloads, strict=True):
        for step, at in sample.steps.items():
            assert line[step] == str(at.at_ns // NS_PER_S)
        submitted_s = sample.steps["submitted"].at_ns // NS_PER_S
        assert line["total"] == str(sample.steps["last_running"].at_ns // NS_PER_S - submitted_s)
        assert line["planned"] == str(submitted_s)


def test_what_was_submitted_after_the_sample_has_the_submitters_times_only() -> None:
    submitted, sampled = make_up(5)
    early = msgspec.structs.replace(sampled, workloads=sampled.workloads[:3])
    *_, late = lines(join(submitted, early))
    assert late["submitted"].startswith(str(BEGAN_NS // NS_PER_S)[:6])
    assert (late["accepted"] != "", late["job"], late["pods"], late["errors"]) == (True, "", "", "")
    assert late["last_step"] == "accepted"


@pytest.mark.parametrize(
    ("head", "tail", "left"),
    [
        (None, None, [0, 1, 2, 3, 4]),
        (3, None, [0, 1, 2]),
        (None, 2, [3, 4]),
        (4, 2, [2, 3]),
        (9, 9, [0, 1, 2, 3, 4]),
    ],
)
def test_head_and_tail_go_by_time_of_submission(head: int | None, tail: int | None, left: list[int]) -> None:
    ways = join(*make_up(5))
    assert [ways.index(way) for way in cut(ways, head=head, tail=tail)] == left


def test_the_same_files_give_the_same_table() -> None:
    first, second = (times.table(join(*make_up(50, troubles=TROUBLED))) for _ in range(2))
    assert first == second
