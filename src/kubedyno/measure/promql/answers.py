"""What a Prometheus server answers to a query at a moment: its documented JSON as vectors like those of `Samples`.

{"status": "success", "data": {"resultType": "vector", "result": [{"metric": {...}, "value": [1.5, "42"]}]}}
{"status": "error", "errorType": "bad_data", "error": "1:5: parse error: ..."}
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.measure.promql.values import Sample, Vector


class NoAnswer(ValueError):
    """A body that is not of this format."""


class Refused(ValueError):
    """The server's own words on why there is no answer."""


class Answer(msgspec.Struct, frozen=True):
    """A vector, and what the server says of how it came about."""

    vector: Vector
    warnings: tuple[str, ...] = ()


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Body(msgspec.Struct, rename="camel"):
    status: str
    data: _Data | None = None
    error_type: str = ""
    error: str = ""
    warnings: tuple[str, ...] = ()


class _Element(msgspec.Struct):
    metric: Mapping[str, str]
    value: tuple[float, str] | None = None
    histogram: Any = None


def decoded(body: bytes) -> Answer:
    """The answer; a number is a vector of one element without labels. Refused where the server says so."""
    try:
        told = msgspec.json.decode(body, type=_Body)
        if told.status == "error":
            raise Refused(": ".join(part for part in (told.error_type, told.error) if part) or "without a reason")
        if told.data is None:
            raise NoAnswer("it has no data")
        return Answer(_vector(told.data), told.warnings)
    except msgspec.MsgspecError as error:
        raise NoAnswer(str(error)) from None


def _vector(data: _Data) -> Vector:
    if data.result_type == "scalar":
        _, value = msgspec.json.decode(data.result, type=tuple[float, str])
        return (Sample({}, _number(value)),)
    if data.result_type != "vector":
        kind = {"matrix": "a range vector: put a function such as rate around it", "string": "a string"}
        raise Refused(f"the query gives {kind.get(data.result_type, data.result_type)}, and must give numbers")
    found = []
    for element in msgspec.json.decode(data.result, type=list[_Element]):
        if element.value is None:
            raise Refused("the query gives native histograms: put a function such as histogram_quantile around it")
        found.append(Sample(element.metric, _number(element.value[1])))
    return tuple(found)


def _number(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        raise NoAnswer(f"{written!r} is no number") from None
