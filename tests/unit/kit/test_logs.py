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
