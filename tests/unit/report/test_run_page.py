"""The page of a run, made from a folder that the sink wrote."""

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from tests import records

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.measure.columns import ObjectRow, SeriesRow
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
from kubedyno.report import run_page
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


def folder(tmp_path: Path, *trials: tuple[TrialRecord, Sequence[ObjectRow]]) -> Path:
    """A run folder as the sink writes it."""
    sink = RunFolder(tmp_path, RUN.id)
    sink.begin(RUN)
    for record, objects in trials:
        sink.trial(record, objects=[objects] if objects else [], series=[SERIES], logs=None)
    return sink.end(RUN)


class _Tags(HTMLParser):
    """Checks that tags are closed in order, and collects addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src"}]
        if tag not in {"meta", "img", "br"}:
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
    assert addresses == ["#trial-1", "trials/1-kai-fill/general.png", "trials/1-kai-fill/detailed.png"]
    for name in ("general.png", "detailed.png"):
        assert (run / "trials/1-kai-fill" / name).read_bytes().startswith(b"\x89PNG")


def test_charts_show_bindings_waits_and_processors(tmp_path: Path) -> None:
    text = run_page.write(folder(tmp_path, (TRIAL, rows(20)))).read_text()
    assert [title for title in ("Pods bound", "Wait of pods", "CPU by component", "GPUs in use") if title in text] == [
        "Pods bound",
        "Wait of pods",
        "CPU by component",
    ]
    assert text.count('class="key k') == 2  # two components; one trial needs no key


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
    with pytest.raises(UsageError, match="is no folder of a run"):
        run_page.write(tmp_path)
