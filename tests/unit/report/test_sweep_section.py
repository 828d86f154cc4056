"""The part of a run's page about sizes and rates."""

from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from tests import records, sweeps

from kubedyno.measure.records import TrialRecord
from kubedyno.report import knee_bars, log_panels, run_page, sweep_tables
from kubedyno.report.log_panels import Line, Panel, Value
from kubedyno.report.sweep_reading import Ratio
from kubedyno.report.sweep_section import section
from kubedyno.results.folder import RunFolder

pytestmark = pytest.mark.unit

HOST = msgspec.structs.replace(records.RUN.host, cores=2, memory_bytes=8 * 1024**3)


class _Tags(HTMLParser):
    """Checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs


def made(*trials: TrialRecord) -> str:
    """The part, in which all tags are closed."""
    text = section(trials, HOST)
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    return text


def test_a_run_without_curves_says_nothing_of_them(tmp_path: Path) -> None:
    assert section([records.TRIAL], HOST) == ""
    sink = RunFolder(tmp_path, records.RUN.id)
    sink.begin(records.RUN)
    sink.trial(records.TRIAL, objects=[], series=[], logs=None)
    assert "Sizes and rates" not in run_page.write(sink.end(records.RUN)).read_text()


def test_the_page_of_a_run_has_curves_knees_prices_and_a_table_per_size(tmp_path: Path) -> None:
    run = msgspec.structs.replace(records.RUN, host=HOST)
    sink = RunFolder(tmp_path, run.id)
    sink.begin(run)
    for aware in (True, False):
        sink.trial(sweeps.trial(aware=aware), objects=[], series=[], logs=None)
    text = run_page.write(sink.end(run)).read_text()
    for said in (
        '<section id="sweep">',
        "2 processors and 8.0 GiB",
        "Scheduler latency: creation to bound",
        "Against size <small>at 50 pods/s",
        "Against rate, small <small>100 nodes",
        "Price of awareness",
        "Toy: 10 nodes",
        "Small: 100 nodes",
        "Kubelets are simulated by kubedyno",
    ):
        assert said in text, said
    assert "three processes on one machine" not in text
    assert "Price of HA" not in text
    # Three percentiles at both sizes, and two of each rate beside them; the knee likewise.
    assert text.count("\N{MULTIPLICATION SIGN}1.50 (") == 6 + 8
    assert text.count("\N{MULTIPLICATION SIGN}0.67 (0.55 to 0.81)") == 2 + 2


def test_curves_of_two_variants_are_six_lines_and_of_more_a_panel_for_each_percentile() -> None:
    two = made(sweeps.trial(aware=True), sweeps.trial(aware=False))
    assert two.count("<figure>") == 3 + 1  # against size, against the rate of two sizes, knees
    four = made(*(sweeps.trial(aware=aware, ha=ha) for aware in (True, False) for ha in (True, False)))
    assert four.count("<figure>") == 9 + 1
    assert "Against rate, toy: p99" in four


def test_replicas_on_one_machine_are_said_to_stand_for_three_and_have_a_price() -> None:
    text = made(sweeps.trial(aware=True, ha=True), sweeps.trial(aware=True))
    assert "three processes on one machine stand for three machines" in text
    assert "Price of HA" in text
    assert "Price of awareness" not in text


def test_the_embedded_engine_is_said_to_show_no_api_server() -> None:
    trial = msgspec.structs.replace(sweeps.trial(aware=True, engine="embedded"), knees=(), time="virtual")
    text = made(trial)
    assert "They show nothing of Kubernetes&#x27; own API server" in text
    assert "Virtual time" in text
    assert "here for Schedperf" in text
    assert "<h3>Knees</h3>" not in text


def test_hollow_kubelets_are_not_called_simulated() -> None:
    text = made(msgspec.structs.replace(sweeps.trial(aware=True), kubelet="kubemark"))
    assert "Hollow kubelets" in text
    assert "Kubelets are simulated by kubedyno" not in text


def test_notes_of_figures_are_said_once() -> None:
    trial = sweeps.trial(aware=False)
    note = "the kubelets are simulated; unaware: nothing is <exported>; zones are heeded"
    text = made(
        msgspec.structs.replace(trial, curves=tuple(msgspec.structs.replace(one, note=note) for one in trial.curves))
    )
    assert text.count("<li>Unaware: nothing is &lt;exported&gt;; zones are heeded.</li>") == 1
    assert "The kubelets are simulated." not in text


def test_what_gave_way_stands_with_evidence_errors_and_recovery() -> None:
    trial = msgspec.structs.replace(
        sweeps.TRIAL,
        knees=(
            sweeps.knee(
                broke=("latency", "errors"),
                component="kube-apiserver",
                evidence="p99 was 2.3 s <slow>",
                first_error="429 Too Many Requests",
                errors={"504": 12, "429": 1311},
                recovery_s=2.4,
                confirmed=True,
                steps=11,
            ),
        ),
    )
    text = made(trial)
    for said in (
        "100 (90 to 110)</span><br><small>confirmed, 11 steps",
        "<b>kube-apiserver</b>: p99 was 2.3 s &lt;slow&gt;",
        ">429 Too Many Requests<",
        ">429: 1,311, 504: 12<",
        ">2.40 s<",
        ">latency, errors<",
        "limit: p99 1 s",
    ):
        assert said in text, said
    assert ">did not fit<" not in text  # no column in which nothing would stand


def test_what_did_not_fit_is_a_row_and_not_a_gap() -> None:
    trial = msgspec.structs.replace(
        sweeps.TRIAL,
        curves=(sweeps.missing(scale="huge", why="did not fit: 5 s were left & more are needed"),),
        knees=(sweeps.knee(scale="huge", rate=None, lower=None, upper=None, unfit="did not fit: no time"),),
    )
    text = made(trial)
    assert "Huge: 5,000 nodes" in text
    assert "did not fit: 5 s were left &amp; more are needed" in text
    assert "not looked for" in text
    assert ">did not fit: no time<" in text
    assert "<figure>" not in text


def test_a_load_that_was_not_reached_and_its_errors_are_said() -> None:
    trial = msgspec.structs.replace(sweeps.TRIAL, curves=(sweeps.point(rate=200.0, achieved=120.0, errors={"429": 7}),))
    text = made(trial)
    assert "only 120/s came about" in text
    assert "errors 429: 7" in text


@pytest.mark.parametrize(
    ("rate", "lower", "upper", "said"),
    [
        (100.0, 90.0, 110.0, "100 (90 to 110)"),
        (1500.4, None, 2100.0, "1,500 (up to 2,100)"),
        (100.0, 90.0, None, "100 or more"),
        (None, None, 5.0, "below 5"),
        (None, None, None, "none found"),
    ],
)
def test_a_knee_says_what_it_lies_between(
    rate: float | None, lower: float | None, upper: float | None, said: str
) -> None:
    assert sweep_tables.knee_words(sweeps.knee(rate=rate, lower=lower, upper=upper, steps=3)) == said


@pytest.mark.parametrize(
    ("lower", "upper", "said"),
    [
        (0.9, 1.1, "(0.90 to 1.10)"),
        (None, 1.1, "(up to 1.10)"),
        (0.9, None, "(0.90 or more)"),
        (None, None, "(no bounds)"),
    ],
)
def test_a_price_says_what_it_lies_between(lower: float | None, upper: float | None, said: str) -> None:
    words = sweep_tables.ratio_words(Ratio(value=1.0, lower=lower, upper=upper))
    assert words == f"\N{MULTIPLICATION SIGN}1.00 {said}"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 12.0, [1.0, 2.0, 3.0, 5.0, 7.0, 10.0]),
        (75.0, 125.0, [75.0, 80.0, 85.0, 90.0, 95.0, 100.0]),
        (0.001, 1000.0, [0.001, 0.1, 10.0, 1000.0]),
    ],
)
def test_ticks_are_round_and_few(low: float, high: float, expected: list[float]) -> None:
    assert log_panels.ticks(low, high) == pytest.approx(expected)


def test_values_that_are_not_above_zero_are_not_drawn() -> None:
    def drawn(*values: Value) -> str:
        lines = (Line("p50", 0, 0, values),)
        return log_panels.svg(
            Panel(title="t", told="", x_label="x", unit="s", lines=lines, reach=log_panels.reach(lines))
        )

    assert drawn(Value(1, 0.0, 0.0, 0.0), Value(2, 0.0, 0.0, 0.0)) == ""
    assert drawn(Value(1, 0.5, 0.4, 0.6)) == ""  # one place is no curve
    assert drawn(Value(1, 0.5, 0.0, 0.6), Value(2, 0.0, 0.0, 0.0), Value(3, 0.7, 0.6, 0.8)).count("<circle") == 2


def test_a_knee_without_an_upper_end_is_an_arrow() -> None:
    def drawn(upper: float | None, label: str = "etcd") -> str:
        bar = knee_bars.Bar(group="toy 10", colour=0, rate=100.0, lower=90.0, upper=upper, label=label)
        return knee_bars.svg(knee_bars.Knees(title="t", told="", x_label="1/s", bars=(bar,)))

    assert "l5 4l-5 4" in drawn(None)
    assert "l5 4l-5 4" not in drawn(110.0)
    assert "<title>a component with a name that is long</title>" in drawn(None, "a component with a name that is long")
