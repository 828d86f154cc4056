"""What processes used, from samples of their counters."""

import pytest

from kubedyno.clusterloader.measurements.usage import samples_of, violations
from kubedyno.clusterloader.reporting.components import ContainerUsage, Usage
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import SeriesRow

pytestmark = pytest.mark.unit


def test_cores_are_cpu_seconds_by_the_time_between_two_looks() -> None:
    looks = [(0, 1.0, 10.0), (2, 4.0, 20.0), (4, 4.5, 30.0), (6, 0.25, 5.0)]
    rows = [
        SeriesRow(at_s * NS_PER_S, series, "etcd", value)
        for at_s, cpu_s, memory in looks
        for series, value in (("cpu_s", cpu_s), ("memory_bytes", memory))
    ]
    # The last one was started anew.
    assert samples_of(rows) == {"etcd/etcd": [Usage(1.5, 20), Usage(0.25, 30), Usage(0.0, 5)]}
    assert samples_of(rows[:2]) == {}


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ({}, []),
        ({"cpuConstraint": 2, "memoryConstraint": "1Gi"}, []),
        ({"cpuConstraint": "500m"}, ["etcd/etcd: the 99th percentile is 1.5 cores, and 0.5 is the limit"]),
        ({"memoryConstraint": 1000}, ["etcd/etcd: the 99th percentile is 2000 bytes, and 1000 is the limit"]),
    ],
)
def test_who_uses_more_than_it_may_is_named(limit: dict[str, object], told: list[str]) -> None:
    used = [ContainerUsage("etcd/etcd", 1.5, 2000), ContainerUsage("other/other", 99.0, 10**12)]
    assert violations(used, {"etcd": limit}) == told
