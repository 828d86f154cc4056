"""Answers of a real Prometheus server, recorded, and ours to the same queries over the same pages.

The server scraped a page every second that lost series, counters that began anew, values that are no numbers, and a
source that was down every now and then; it was asked by its HTTP API. What it gave is in `prometheus_cases.json`.
"""

from pathlib import Path
from typing import Final

import msgspec
import pytest

from kubedyno.measure.promql import Samples
from kubedyno.measure.promql.values import shown

pytestmark = pytest.mark.unit

NS_PER_MS: Final = 1_000_000


class Recorded(msgspec.Struct, frozen=True):
    """Times are milliseconds since the beginning; infinities and NaN are texts."""

    program: str
    begin_ms: int
    series: list[str]
    scrapes: list[tuple[int, list[float | str | None] | None]]
    """When, and the values of all series; None: the series was not on the page, or the page could not be read."""
    asked: list[tuple[str, int, dict[str, float | str]]]


RECORDED: Final = msgspec.json.decode(Path(__file__).with_name("prometheus_cases.json").read_bytes(), type=Recorded)


@pytest.fixture(scope="module")
def samples() -> Samples:
    found = Samples()
    for at_ms, values in RECORDED.scrapes:
        page = None
        if values is not None:
            lines = (
                f"{name} {value}\n" for name, value in zip(RECORDED.series, values, strict=True) if value is not None
            )
            page = "".join(lines).encode()
        found.append((RECORDED.begin_ms + at_ms) * NS_PER_MS, {"job": "apiserver", "instance": "one"}, page)
    return found


@pytest.mark.parametrize("query", dict.fromkeys(query for query, _, _ in RECORDED.asked))
def test_the_answer_is_the_real_servers(samples: Samples, query: str) -> None:
    for asked, at_ms, answer in RECORDED.asked:
        if asked == query:
            # It writes the bounds of buckets as floats; we leave them as the component wrote them.
            wanted = {labels.replace('.0"', '"'): float(value) for labels, value in answer.items()}
            # Not in seconds: a float has too few digits for so late a nanosecond.
            answered = samples.query(query, (RECORDED.begin_ms + at_ms) * NS_PER_MS)
            found = {shown(sample.labels): sample.value for sample in answered}
            assert found == pytest.approx(wanted, rel=1e-9, nan_ok=True), at_ms


def test_what_was_recorded_tells_something() -> None:
    told = [query for query, _, answer in RECORDED.asked if answer]
    assert len(told) > 120
    assert sum(page is None for _, page in RECORDED.scrapes) >= 4
