"""Answers of a Prometheus server, as its documentation has them."""

import math

import pytest

from kubedyno.measure.promql import NAME, Sample
from kubedyno.measure.promql.answers import Answer, NoAnswer, Refused, decoded

pytestmark = pytest.mark.unit


def body(kind: str, result: str, more: str = "") -> bytes:
    return f'{{"status": "success", "data": {{"resultType": "{kind}", "result": {result}}}{more}}}'.encode()


def test_vectors_and_numbers_are_read() -> None:
    found = decoded(
        body(
            "vector",
            '[{"metric": {"__name__": "up", "job": "a"}, "value": [1435781451.781, "1"]}, '
            '{"metric": {}, "value": [1435781451, "-Inf"]}]',
            ', "infos": ["x"], "warnings": ["a target is down"], "somethingNew": {}',
        )
    )
    assert found == Answer((Sample({NAME: "up", "job": "a"}, 1.0), Sample({}, -math.inf)), ("a target is down",))
    assert decoded(body("vector", "[]")) == Answer(())
    assert decoded(body("scalar", '[1435781451.781, "1.5e+06"]')) == Answer((Sample({}, 1.5e6),))
    (sample,) = decoded(body("vector", '[{"metric": {}, "value": [0, "NaN"]}]')).vector
    assert math.isnan(sample.value)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b'{"status":"error","errorType":"bad_data","error":"1:5: parse error"}', "bad_data: 1:5: parse error"),
        (b'{"status":"error","data":null}', "without a reason"),
        (body("matrix", "[]"), "a range vector: put a function such as rate around it"),
        (body("string", '[0, "a"]'), "the query gives a string, and must give numbers"),
        (body("vector", '[{"metric": {}, "histogram": [0, {"count": "1"}]}]'), "native histograms"),
    ],
)
def test_what_the_server_has_no_number_for_is_said(answer: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why):
        decoded(answer)


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"",
        b"[]",
        b'{"status":"success"}',
        body("vector", '{"a": 1}'),
        body("vector", '[{"metric": {"a": 1}, "value": [0, "1"]}]'),
        body("vector", '[{"metric": {}, "value": [0, "one"]}]'),
        body("scalar", "[0, 1]"),
    ],
)
def test_what_no_prometheus_says_is_not_taken_for_an_answer(answer: bytes) -> None:
    with pytest.raises(NoAnswer):
        decoded(answer)
