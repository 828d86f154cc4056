"""The table of who asked whom."""

import msgspec
import pytest
from tests import records

from kubedyno.measure.records import Communication, Percentile
from kubedyno.report import run_tables

pytestmark = pytest.mark.unit


def test_who_asked_whom_stands_in_a_table_with_errors_and_intervals() -> None:
    found = (
        Communication(
            number=5,
            name="scheduler to API server",
            requests=12_345,
            errors={"429": 1200, "409": 3},
            latency=(
                Percentile(percent=50.0, value=0.0125, lower=0.01, upper=0.02),
                Percentile(percent=99.0, value=1.5, lower=1.0, upper=2.0),
            ),
            source="the audit log of the API server",
        ),
        Communication(number=6, name="API server to etcd", note="not applicable: <the store>"),
    )
    html = run_tables.communications(msgspec.structs.replace(records.TRIAL, communications=found))
    for cell in (
        "scheduler to API server",
        "12,345",
        "429: 1,200, 409: 3",
        "12.5 (10 to 20)",
        "1,500 (1,000 to 2,000)",
        "the audit log of the API server",
        "not applicable: &lt;the store&gt;",
    ):
        assert f">{cell}<" in html
    assert run_tables.communications(records.TRIAL) == ""
