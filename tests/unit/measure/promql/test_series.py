"""What is scraped: pages, sources, series that end and come again, and what is dropped."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scrapes import ask, loaded, rising

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import EngineError
from kubedyno.measure.promql import NAME, Sample, Samples, exposition

pytestmark = pytest.mark.unit

PAGE = rb"""# HELP apiserver_request_total [STABLE] Counter of requests.
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",verb="POST"} 42
apiserver_request_total{code="200",verb="GET",} 1.5e+03

# TYPE odd gauge
odd{text="a \"b\" \\ } {, \n c",empty=""} +Inf
odd { text = "blank" }	NaN
plain -Inf
stamped 7 90000
"""


def test_a_page_is_read() -> None:
    samples = Samples()
    samples.append(100 * NS_PER_S, {"job": "apiserver"}, PAGE)
    assert ask(samples, "apiserver_request_total", 100) == {
        'apiserver_request_total{code="201", job="apiserver", verb="POST"}': 42,
        'apiserver_request_total{code="200", job="apiserver", verb="GET"}': 1500,
    }
    assert ask(samples, 'odd{text!="blank"}', 100) == {'odd{job="apiserver", text="a "b" \\ } {, \n c"}': math.inf}
    assert math.isnan(ask(samples, 'odd{text="blank"}', 100)['odd{job="apiserver", text="blank"}'])
    assert ask(samples, "plain", 100) == {'plain{job="apiserver"}': -math.inf}
    assert ask(samples, "timestamp(stamped)", 100) == {'{job="apiserver"}': 90}


@pytest.mark.parametrize(
    "line", ["m", "m{a=} 1", 'm{a="x} 1', "1m 2", "m one", "m 1 2 3", 'm{a="x" b="y"} 1', "m 1 now", "} 1"]
)
def test_a_line_that_cannot_be_read_is_told_and_nothing_of_the_page_is_taken(line: str) -> None:
    samples = Samples()
    with pytest.raises(EngineError) as told:
        samples.append(0, {"job": "x"}, f"good 1\n{line}\n".encode())
    assert str(told.value) == (
        f'line 2 of the metrics of {{job="x"}} cannot be read: {line!r}; it should be like name{{label="value"}} 1.5'
    )
    assert ask(samples, "good", 0) == {}


def test_labels_of_the_source_win() -> None:
    samples = Samples()
    samples.append(0, {"job": "ours"}, b'm{job="theirs"} 1')
    assert ask(samples, "m", 0) == {'m{exported_job="theirs", job="ours"}': 1}


def test_a_value_counts_for_less_than_five_minutes() -> None:
    samples = loaded(5, {"m": [1.0]})
    assert ask(samples, "m", 299.999) == {"m{}": 1}
    assert ask(samples, "m", 300) == {}
    assert ask(samples, "m", -1) == {}


def test_a_series_that_a_page_does_not_have_any_more_has_ended_until_it_comes_again() -> None:
    samples = loaded(10, {"m": [1.0, None, None, 4.0], "other": rising(0, 1, 3)})
    assert ask(samples, "m", 9) == {"m{}": 1}
    assert ask(samples, "m", 10) == ask(samples, "m", 29) == {}
    assert ask(samples, "m", 30) == {"m{}": 4}
    # Ranges have what there was.
    assert ask(samples, "count_over_time(m[1m])", 29) == {"{}": 1}
    assert ask(samples, "other offset -5s", 5) == {"other{}": 1}


def test_a_source_that_is_not_up_has_no_series() -> None:
    samples = Samples()
    for at_s, page in ((0, b"m 1"), (5, None), (10, b"m 3")):
        samples.append(at_s * NS_PER_S, {"job": "x"}, page)
        samples.append(at_s * NS_PER_S, {"job": "y"}, b"m 10")
    assert ask(samples, "sum(m)", 4) == {"{}": 11}
    assert ask(samples, "sum(m)", 5) == {"{}": 10}
    assert ask(samples, "sum(m)", 10) == {"{}": 13}
    assert ask(samples, "up", 5) == {'up{job="x"}': 0, 'up{job="y"}': 1}
    assert ask(samples, "avg_over_time(up[1m])", 10) == pytest.approx({'{job="x"}': 2 / 3, '{job="y"}': 1})


def test_series_with_times_of_their_own_do_not_end() -> None:
    samples = Samples()
    samples.append(10 * NS_PER_S, {}, b"m 1 8000")
    samples.append(20 * NS_PER_S, {}, b"m 1 8000")
    samples.append(30 * NS_PER_S, {}, b"")
    assert ask(samples, "m", 7.9) == {}
    assert ask(samples, "m", 8) == ask(samples, "m", 30) == {"m{}": 1}
    assert ask(samples, "count_over_time(m[1m])", 30) == {"{}": 1}


def test_the_first_of_two_equal_series_of_a_page_counts() -> None:
    samples = Samples()
    samples.append(0, {}, b'm{a="x",b="y"} 1\nm{b="y",a="x"} 2')
    assert ask(samples, "m", 0) == {'m{a="x", b="y"}': 1}


def test_recorded_rules_are_appended_as_samples() -> None:
    samples = Samples()
    rule = "job:m:sum"
    for at_s in range(0, 30, 10):
        at_ns = at_s * NS_PER_S
        samples.append(at_ns, {"job": "x"}, f"m {at_s}".encode())
        recorded = samples.query("sum by (job) (m) > 5", at_ns)
        samples.append(at_ns, {}, [Sample({**sample.labels, NAME: rule}, sample.value) for sample in recorded])
    assert ask(samples, f"avg_over_time({rule}[1m])", 20) == {'{job="x"}': 15}
    samples.append(30 * NS_PER_S, {}, [])
    assert ask(samples, rule, 30) == {}


def test_time_does_not_go_back_for_a_source() -> None:
    samples = Samples()
    samples.append(5, {"job": "x"}, b"m 1")
    samples.append(5, {"job": "y"}, b"m 1")
    with pytest.raises(ValueError, match=r'^{job="x"} was appended at 5 already: 5 is not later$'):
        samples.append(5, {"job": "x"}, b"m 2")


def test_only_metrics_that_queries_read_are_kept() -> None:
    samples = Samples({"m", "rule"})
    samples.append(0, {}, b"m 1\nn 2\nm_bucket 3\nnot readable {\n")
    samples.append(5, {}, [Sample({NAME: "rule"}, 4.0), Sample({NAME: "n"}, 5.0)])
    assert ask(samples, '{__name__=~".+"}', 0) == {"m{}": 1}
    assert ask(samples, '{__name__=~".+"}', 5) == {"rule{}": 4}


def test_what_no_query_needs_can_be_forgotten() -> None:
    samples = Samples()
    samples.append(0, {}, b"m 1\ngone 1")
    samples.append(10 * NS_PER_S, {}, b"m 2")
    samples.append(20 * NS_PER_S, {}, b"m 3")
    samples.forget(10 * NS_PER_S)
    assert ask(samples, "sum_over_time(m[1m])", 20) == {"{}": 5}
    assert ask(samples, "count_over_time(gone[1m])", 20) == {}
    assert {*samples._metrics["gone"]} == set()
    # A series that was forgotten comes again.
    samples.append(30 * NS_PER_S, {}, b"m 4\ngone 5")
    assert ask(samples, "gone", 30) == {"gone{}": 5}
    samples.forget(40 * NS_PER_S)
    samples.append(40 * NS_PER_S, {}, b"m 6")
    assert ask(samples, "sum_over_time(m[1m])", 40) == {"{}": 6}


@given(
    labels=st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text(min_size=1), max_size=4),
    value=st.floats(),
)
def test_what_is_written_is_read(labels: dict[str, str], value: float) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    inner = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
    ((number, series, rest),) = exposition.lines(f"m{{{inner}}} {value!r}".encode())
    assert number == 1
    assert exposition.metric(series) == b"m"
    assert exposition.labels(series) == {NAME: "m", **labels}
    assert exposition.reading(rest)[0] == pytest.approx(value, rel=0, abs=0, nan_ok=True)
