"""Debug lines: a constant message plus key=value pairs."""

import logging

import pytest

from kubedyno.kit.logs import Log

pytestmark = pytest.mark.unit


def test_a_debug_line_names_its_pairs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="kubedyno"):
        Log("plane.supervision").debug("healthy", component="etcd", pid=7)
    assert [(record.name, record.getMessage()) for record in caplog.records] == [
        ("kubedyno.plane.supervision", "healthy component=etcd pid=7")
    ]


def test_nothing_is_rendered_unless_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    class Loud:
        def __str__(self) -> str:
            raise AssertionError("rendered")

    with caplog.at_level(logging.WARNING, logger="kubedyno"):
        Log("client").debug("cut", stream=Loud())
    assert caplog.records == []


def test_a_fault_is_told_with_its_pairs_and_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="kubedyno"):
        try:
            {}["lost"]
        except KeyError:
            Log("server").exception("a request failed", path="/api", code=500)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("kubedyno.server", "ERROR")
    assert record.getMessage() == "a request failed path=/api code=500"
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError
    assert "KeyError: 'lost'" in caplog.text
