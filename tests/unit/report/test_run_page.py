"""The page of a run, made from a folder that the sink wrote."""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from tests import records

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.measure.columns import ClaimRow, Lived, ObjectRow, SeriesRow
from kubedyno.measure.records import (
    AuditLine,
    Check,
    Finding,
    Measurement,
    Percentile,
    TrialRecord,
    Verdict,
    Violation,
)
from kubedyno.model.settings import Evidence, Setting
from kubedyno.report import placement_map, run_page, run_summaries
from kubedyno.results.folder import RunFolder

pytestmark = pytest.mark.unit

BEGUN_NS = 1_800_000_000 * NS_PER_S
RUN = msgspec.structs.replace(
    records.RUN,
    command=("kubedyno", "run", "fill", "--note=<b>"),
    ended_at="2026-01-02T03:05:05.000000Z",
    host=msgspec.structs.replace(records.RUN.host, memory_bytes=8 * 1024**3),
    programs={},
    verdict=Verdict.PASSED,
    exit_code=0,
)
TRIAL = msgspec.structs.replace(
    records.TRIAL,
    scenario="kai/fill",
    description="Fills the cluster.",
    settings=(
        Setting(component="binder", field="qps", wanted=None, value="50", evidence=Evidence.ARGV, source="/proc/1"),
        Setting(component="binder", field="workers", wanted="9", value="9", evidence=Evidence.REPORTED, source="url"),
    ),
    measurements=(
        Measurement(
            name="wait of pods",
            unit="s",
            value=1.25,
            lower=1.0,
            upper=1.5,
            samples=(1.0, 1.25, 1.5),
            percentiles=(Percentile(percent=50.0, value=1.25, lower=1.1, upper=1.4),),
        ),
    ),
    checks=(
        Check(name="all are bound", passed=True, detail=""),
        Check(name="none is <lost>", passed=False, detail="pod & co"),
    ),
    audit=(AuditLine(name="stall", value=2.0, unit="s", limit=0.5),),
    violations=(
        Violation(
            invariant="over-commit",
            object="Pod default/a",
            node="n-1",
            at_ns=BEGUN_NS,
            evidence="9 GPUs bound, 8 there",
        ),
    ),
    findings=(
        Finding(name="limited by binder.qps", component="binder", declared=False, evidence="20 requests a second"),
    ),
    verdict=Verdict.FAILED,
    message='none is <lost>: "pod" & co',
)


def rows(count: int, *, scale: float = 1.0) -> Sequence[ObjectRow]:
    """Pods of one workload each: created, bound and running a second apart."""
    return [
        ObjectRow(
            uid=f"u{number}",
            kind="Pod",
            role="pod",
            namespace="default",
            name=f"p{number}",
            owner=None,
            workload=f"w{number}",
            node=None,
            phase=phase,
            detail=None,
            arrival_ns=BEGUN_NS + round((number * 0.1 + after_s * scale) * NS_PER_S),
            server_ns=None,
            lower_ns=None,
            upper_ns=BEGUN_NS + round((number * 0.1 + after_s * scale) * NS_PER_S),
        )
        for number in range(count)
        for phase, after_s in (("created", 0.0), ("scheduled", 1.0), ("running", 2.0))
    ]


SERIES = [
    SeriesRow(BEGUN_NS + second * NS_PER_S, "cpu_s", component, float(second * share))
    for component, share in (("binder", 0.5), ("kubedyno", 0.1))
    for second in range(5)
]


def folder(
    tmp_path: Path,
    *trials: tuple[TrialRecord, Sequence[ObjectRow]],
    series: Sequence[SeriesRow] = SERIES,
    claims: Sequence[ClaimRow] = (),
    summaries: Mapping[str, str | bytes] | None = None,
    logs: Path | None = None,
) -> Path:
    """A run folder as the sink writes it."""
    sink = RunFolder(tmp_path, RUN.id)
    sink.begin(RUN)
    for record, objects in trials:
        sink.trial(
            record,
            objects=[objects] if objects else [],
            series=[series],
            lived=Lived(claims=tuple(claims)),
            summaries=summaries or {},
            logs=logs,
        )
    return sink.end(RUN)


class _Tags(HTMLParser):
    """Checks that tags are closed in order, and collects addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]
        if tag not in {"meta", "img", "br", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs


def parsed(text: str) -> _Tags:
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    return tags


def test_a_page_tells_everything_of_a_trial_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    run = folder(tmp_path, (TRIAL, rows(20)))
    path = run_page.write(run)
    assert path == run / "index.html"
    text = path.read_text()
    for said in (
        "Run 20260102-030405-a1b2c3",
        "kai/fill",
        "1.25 (1.1 to 1.4)",
        "9 GPUs bound, 8 there",
        "limited by binder.qps",
        "nobody asked for it",
        "command line only, unconfirmed",
        "above its limit",
        "8.0 GiB",
        "none is &lt;lost&gt;: &quot;pod&quot; &amp; co",
        "--note=&lt;b&gt;",
    ):
        assert said in text, said
    assert "<lost>" not in text
    addresses = parsed(text).addresses
    files = ("trial.json", "objects.parquet", "series.parquet", "times.csv", "general.png", "detailed.png")
    of_run = ["run.json", "report.json", "junit.xml", "summary.md", "kwok_scale_test.json"]
    assert addresses == ["#trial-1", *(f"trials/1-kai-fill/{name}" for name in files), *of_run]
    assert all((run / address).is_file() for address in addresses[1:])
    for name in ("general.png", "detailed.png"):
        assert (run / "trials/1-kai-fill" / name).read_bytes().startswith(b"\x89PNG")


def test_charts_show_bindings_waits_and_processors(tmp_path: Path) -> None:
    text = run_page.write(folder(tmp_path, (TRIAL, rows(20)))).read_text()
    titles = ("Pods bound", "Wait of pods", "Pods by phase", "CPU by component", "Memory by component", "GPUs in use")
    assert [title for title in titles if title in text] == list(titles[:4])
    assert text.count('class="key k') == 3 + 2  # phases and components; one trial needs no key


def test_pods_that_say_of_no_workload_are_drawn_by_their_owner(tmp_path: Path) -> None:
    strange = [msgspec.structs.replace(row, workload=None, owner="job") for row in rows(4)]
    job = msgspec.structs.replace(strange[0], uid="job", kind="Job", role="job", name="j", owner=None)
    event = msgspec.structs.replace(strange[0], uid="e", kind="Event", role="event", owner="u0")
    run = folder(tmp_path, (TRIAL, [*strange, event, job]))
    text = run_page.write(run).read_text()
    assert "Pods bound" in text
    (read,) = run_page.read(run).trials
    assert {name: len(marks) for name, marks in read.workloads.items()} == {"default/j": 13}


def test_claims_have_charts_of_their_waits_and_their_devices(tmp_path: Path) -> None:
    claims = [
        ClaimRow(f"c{at}", "ns", f"c{at}", None, None, None, None, 0, BEGUN_NS, allocated_ns, None, None)
        for at, allocated_ns in enumerate((BEGUN_NS + NS_PER_S, None, BEGUN_NS + 3 * NS_PER_S))
    ]
    devices = [
        SeriesRow(BEGUN_NS + second * NS_PER_S, "devices_allocated", driver, float(second))
        for driver in ("a", "b")
        for second in range(4)
    ]
    (read,) = run_page.read(folder(tmp_path, (TRIAL, rows(2)), series=devices, claims=claims)).trials
    drawn = {chart.title: chart.curves[0].points for chart in run_page.run_curves.charts([read])}
    assert drawn["Wait of claims"] == [(0.0, 0.0), (1.0, 50.0), (3.0, 100.0)]
    assert drawn["Devices allocated"] == [(0.0, 0.0), (1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]


PERFDATA = """
{"version": "1.0", "dataItems": [
  {"data": {"Perc50": 1.5, "Perc99": 12345.6}, "unit": "ms", "labels": {"Resource": "<pods>", "Metric": "startup"}},
  {"data": {"Count": 7}, "unit": "count"},
  {"data": {}, "unit": "ms"}
]}
"""


def test_files_of_the_scenario_are_linked_and_their_figures_shown(tmp_path: Path) -> None:
    many = [{"data": {"a": at}, "unit": "s", "labels": {}} for at in range(150)]
    summaries: dict[str, str | bytes] = {
        "Startup %.json": PERFDATA,
        "Throughput.json": '{"perc50": 0.25, "max": 5}',
        "Zeros.json": '{"perc50": 0}',
        "Many.json": msgspec.json.encode({"version": "1.0", "dataItems": many}),
        "Broken.json": "{",
        "generatedConfig.yaml": "name: <b>",
        "Profile.pprof": b"\xff",
    }
    run = folder(tmp_path, (TRIAL, rows(2)), summaries=summaries)
    text = run_page.write(run).read_text()
    addresses = parsed(text).addresses
    assert [one.rpartition("/")[2] for one in addresses if "/summaries/" in one] == [
        *("Broken.json", "Many.json", "Profile.pprof", "Startup%20%25.json", "Throughput.json", "Zeros.json"),
        "generatedConfig.yaml",
    ]
    assert "startup, Resource=&lt;pods&gt;" in text
    assert "12,346" in text
    assert "The first 100 of 150 lines" in text
    assert text.count("<details open>") == 2  # long ones and zeros are folded
    assert "<b>" not in text
    assert text.index("<h3>Checks") < text.index("<h3>Summaries") < text.index("How it was made")


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"dataItems": null}', b'{"a": {"b": 1}}', b'"text"'])
def test_other_files_have_no_figures(text: bytes) -> None:
    assert run_summaries.figures(text) == ()


def test_what_nobody_could_look_at_is_told_as_skipped(tmp_path: Path) -> None:
    skipped = Check(name="metrics", passed=True, detail="nobody serves them", skipped=True)
    record = msgspec.structs.replace(TRIAL, checks=(skipped,))
    text = run_page.write(folder(tmp_path, (record, rows(2)))).read_text()
    assert '<span class="skipped">skipped</span> metrics: nobody serves them' in text
    assert ">held<" not in text


def test_schedulers_stand_side_by_side(tmp_path: Path) -> None:
    other = msgspec.structs.replace(
        TRIAL,
        scheduler="kube-scheduler",
        measurements=(Measurement(name="wait of pods", unit="s", value=7.5, lower=7.0, upper=8.0, samples=(7.5,)),),
    )
    text = run_page.write(folder(tmp_path, (TRIAL, rows(20)), (other, rows(20, scale=6.0)))).read_text()
    parsed(text)
    assert "kai/fill: schedulers side by side" in text
    side = text[text.index("side by side") : text.index('<section id="trial-1"')]
    assert "1.25" in side
    assert "7.5" in side
    assert "kube-scheduler, trial 2" in side
    assert side.count('class="curve') == 4  # two schedulers in two charts


def test_a_trial_that_never_began_has_a_page_without_pictures(tmp_path: Path) -> None:
    record = msgspec.structs.replace(
        TRIAL, verdict=Verdict.NOT_APPLICABLE, message="reclaim: it has no queues", measurements=(), checks=()
    )
    run = folder(tmp_path, (record, ()))
    text = run_page.write(run).read_text()
    parsed(text)
    assert 'class="verdict not-applicable"' in text
    assert "reclaim: it has no queues" in text
    assert not list(run.glob("trials/*/*.png"))


def test_pods_that_replace_evicted_ones_do_not_count_as_late(tmp_path: Path) -> None:
    first = rows(3)
    gone = msgspec.structs.replace(first[0], phase="deleted", arrival_ns=BEGUN_NS + 10 * NS_PER_S)
    again = [
        msgspec.structs.replace(row, uid="u0-again", arrival_ns=row.arrival_ns + 60 * NS_PER_S)
        for row in first
        if row.workload == "w0"
    ]
    run = folder(tmp_path, (TRIAL, [*first, gone, *again]))
    read = run_page.read(run).trials[0]
    way = run_page.trial_pictures.way_of(read.workloads["w0"])
    assert way["last pod bound"].uid == "u0"


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.json is missing: the run folder is incomplete; copy it whole"):
        run_page.write(tmp_path)


@pytest.mark.parametrize("name", ["objects.parquet", "series.parquet", "claims.parquet"])
def test_a_table_that_is_missing_or_cut_is_told(tmp_path: Path, name: str) -> None:
    claim = ClaimRow("c", "ns", "c", None, None, None, None, 0, BEGUN_NS, None, None, None)
    run = folder(tmp_path, (TRIAL, rows(2)), claims=[claim])
    table = run / "trials/1-kai-fill" / name
    for length in (table.stat().st_size // 2, 2, 0):
        table.write_bytes(table.read_bytes()[:length])
        with pytest.raises(UsageError, match=f"{name} is cut off: the run folder is incomplete; copy it whole"):
            run_page.write(run)
    table.unlink()
    if name != "claims.parquet":  # most trials have none
        with pytest.raises(UsageError, match=f"{name} is missing"):
            run_page.write(run)


def test_a_failure_has_the_lines_of_the_logs_that_complain(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "binder.log").write_text("I0102 fine\nE0102 03:04:05 bind <script>alert(1)</script> refused\n")
    run = folder(tmp_path / "out", (TRIAL, rows(2)), logs=logs)
    text = run_page.write(run).read_text()
    tags = parsed(text)
    assert "==&gt; binder.log &lt;==\nE0102 03:04:05 bind &lt;script&gt;alert(1)&lt;/script&gt; refused" in text
    assert "I0102 fine" not in text
    assert "<li>none is &lt;lost&gt;: pod &amp; co</li>" in text
    assert "<li>over-commit, Pod default/a: 9 GPUs bound, 8 there</li>" in text
    assert "trials/1-kai-fill/logs/binder.log" in tags.addresses


def test_a_trial_that_passed_has_no_failure(tmp_path: Path) -> None:
    passed = msgspec.structs.replace(TRIAL, verdict=Verdict.PASSED, message="")
    assert "What went wrong" not in run_page.write(folder(tmp_path, (passed, rows(2)))).read_text()


def test_memory_throughput_and_fairness_have_curves(tmp_path: Path) -> None:
    series = [
        SeriesRow(BEGUN_NS + second * NS_PER_S, name, component, value)
        for name, component, value in (
            ("memory_bytes", "binder", 3 * 1024.0**2),
            ("bound_per_s", None, 7.0),
            ("fair_share_error", None, 0.25),
        )
        for second in range(3)
    ]
    run = folder(tmp_path, (TRIAL, rows(2)), series=series)
    (read,) = run_page.read(run).trials
    drawn = {chart.title: chart.curves[0].points for chart in run_page.run_curves.charts([read])}
    assert drawn["Throughput"] == [(0.0, 7.0), (1.0, 7.0), (2.0, 7.0)]
    assert drawn["GPUs shared unfairly"][0] == (0.0, 25.0)
    memory = run_page.run_curves.memory(read)
    assert [(curve.name, curve.points[-1]) for curve in memory.curves] == [("binder", (2.0, 3.0))]
    text = run_page.write(run).read_text()
    assert "Throughput" in text
    assert "Memory by component" in text


def test_a_page_has_maps_as_long_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_map, "MOST_CELLS", 5)
    small, large = ([msgspec.structs.replace(row, node="n1") for row in rows(count)] for count in (2, 4))
    text = run_page.page(run_page.read(folder(tmp_path, (TRIAL, small), (TRIAL, large), (TRIAL, ()), (TRIAL, small))))
    parsed(text)
    assert [number for number in range(1, 5) if f'id="map-{number}"' in text] == [1, 4]
    assert "4 places are too many for this page" in text
    assert text.count("Where workloads sat") == 3
    assert text.count("<script>") == 1


def test_an_eviction_that_only_an_event_tells_is_its_pods(tmp_path: Path) -> None:
    pods = rows(2)
    event = msgspec.structs.replace(
        pods[0], uid="e", kind="Event", role="event", owner="u1", workload=None, phase="evicted"
    )
    (read,) = run_page.read(folder(tmp_path, (TRIAL, [*pods, event]))).trials
    assert [mark.phase for mark in read.workloads["w1"] if mark.role == "event"] == ["evicted"]
