import pytest

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.lags import Lags
from kubedyno.model.samples import Lag

pytestmark = pytest.mark.unit


def test_versions_are_bounded_by_the_probes_around_them() -> None:
    lags = Lags()
    assert (lags.written_after(5), lags.written_before(5)) == (None, None)
    lags.note_answer(100, 110, 10)
    lags.note_answer(200, 230, 20)
    assert [(lags.written_after(at), lags.written_before(at)) for at in (0, 9, 10, 15, 21)] == [
        (None, None),
        (None, 110),
        (100, 110),
        (100, 230),
        (200, None),
    ]


def test_an_answer_that_came_out_of_order_is_left_out() -> None:
    lags = Lags()
    lags.note_answer(100, 110, 10)
    lags.note_answer(120, 130, 9)
    assert lags.written_after(9) is None
    assert lags.written_before(11) is None


def test_lags_are_told_by_their_quantiles() -> None:
    lags = Lags()
    assert lags.summary() is None
    for milliseconds in range(100, 0, -1):
        lags.note_return(5, 5 + milliseconds * NS_PER_S // 1000)
    assert lags.summary() == Lag(probes=100, p50_s=0.051, p99_s=0.1, max_s=0.1)
