"""Histograms of measurements."""

import pytest

from kubedyno.measure.records import Measurement, Percentile
from kubedyno.report.downloads import size
from kubedyno.report.histograms import histograms, svg

pytestmark = pytest.mark.unit


def measured(*samples: float) -> Measurement:
    percentile = Percentile(percent=50.0, value=2.0, lower=1.5, upper=2.5)
    return Measurement(
        name="wait <s>", unit="s", value=2.0, lower=1.0, upper=3.0, samples=samples, percentiles=(percentile,)
    )


def test_many_samples_that_differ_have_bars() -> None:
    few, alike, many = measured(*range(5)), measured(*[1.0] * 50), measured(*range(100))
    (made,) = histograms([few, alike, many])
    assert sum(made.counts) == 100
    assert (made.edges[0], made.edges[-1]) == (0.0, 99.0)
    text = svg(made)
    assert text.count('class="percentile"') == text.count('class="band"') == 1
    assert "wait &lt;s&gt;: 100 from 0 to 99 s; p50 2 s" in text
    assert "<s>" not in text


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 * 1024**2, "5 MiB"), (3 * 1024**4, "3.07e+03 GiB")],
)
def test_sizes(count: int, told: str) -> None:
    assert size(count) == told
