import json
import random
from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.clusterloader.reporting.components import (
    EXTENSION_POINTS,
    EtcdMetrics,
    Quantiles,
    SchedulingMetrics,
    Series,
    Usage,
    quantiles,
    resource_usage_json,
    series,
    usage_percentiles,
)
from kubedyno.clusterloader.reporting.perfdata import DataItem, PerfData, latency_item, percentile, throughput_json
from kubedyno.clusterloader.reporting.pods import (
    FailedPod,
    SystemContainer,
    SystemPod,
    failed_pods,
    system_pods_json,
)
from kubedyno.measure.histograms import Histogram

pytestmark = pytest.mark.unit

finite = st.floats(min_value=0, max_value=1e6)


@pytest.mark.parametrize(
    ("samples", "percent", "expected"),
    [
        ([], 99, 0.0),
        ([7.0], 50, 7.0),
        ([3.0, 1.0, 2.0], 50, 2.0),
        ([2.0, 1.0], 50, 1.0),
        ([float(number) for number in range(1, 101)], 99, 99.0),
        ([float(number) for number in range(1, 102)], 99, 100.0),
        ([1.0, 2.0, 3.0], 100, 3.0),
    ],
)
def test_a_percentile_is_the_sample_of_the_nearest_rank(
    samples: Sequence[float], percent: int, expected: float
) -> None:
    assert percentile(samples, percent) == expected


@given(st.lists(finite, min_size=1), st.integers(1, 100))
def test_so_many_percent_do_not_exceed_a_percentile_and_fewer_lie_below_it(samples: list[float], percent: int) -> None:
    found = percentile(samples, percent)
    assert found in samples
    assert sum(one <= found for one in samples) * 100 >= len(samples) * percent
    assert sum(one < found for one in samples) * 100 < len(samples) * percent


@given(st.lists(finite), st.integers(1, 100), st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(samples: list[float], percent: int, rng: random.Random) -> None:
    shuffled = list(samples)
    rng.shuffle(shuffled)
    assert percentile(shuffled, percent) == percentile(samples, percent)


def test_perfdata_is_written_with_the_names_that_perfdash_reads() -> None:
    data = PerfData(
        version="1.0",
        items=(latency_item([0.0022, 0.0011, 5.22], "pod_startup"), DataItem(data={"Count": 3.0}, unit="count")),
    )
    assert (
        data.json()
        == """\
{
  "version": "1.0",
  "dataItems": [
    {
      "data": {
        "Perc50": 2.2,
        "Perc90": 5220.0,
        "Perc99": 5220.0
      },
      "unit": "ms",
      "labels": {
        "Metric": "pod_startup"
      }
    },
    {
      "data": {
        "Count": 3.0
      },
      "unit": "count"
    }
  ]
}
"""
    )


def test_perfdata_without_items_has_an_empty_list_of_them() -> None:
    assert json.loads(PerfData(version="v1", items=(), labels={"b": "2", "a": "1"}).json()) == {
        "version": "v1",
        "dataItems": [],
        "labels": {"a": "1", "b": "2"},
    }


def test_keys_of_mappings_are_sorted_so_that_files_can_be_compared() -> None:
    data = PerfData(version="v1", items=(DataItem(data={"later": 2.0, "earlier": 1.0}, unit="s"),))
    assert data.json().index("earlier") < data.json().index("later")


def test_latencies_that_nobody_had_are_zero() -> None:
    assert latency_item([], "create_to_run").data == {"Perc50": 0.0, "Perc90": 0.0, "Perc99": 0.0}


@given(st.lists(st.integers(0, 10**13), min_size=1))
def test_latencies_are_exact_to_the_nanosecond(samples_ns: list[int]) -> None:
    item = latency_item([sample / 1e9 for sample in samples_ns], "any")
    assert round(item.data["Perc99"] * 1e6) == percentile(samples_ns, 99)


def test_throughput_has_percentiles_and_the_highest_rate() -> None:
    assert json.loads(throughput_json([10.0, 0.0, 30.0, 20.0])) == {
        "perc50": 10.0,
        "perc90": 30.0,
        "perc99": 30.0,
        "max": 30.0,
    }
    assert json.loads(throughput_json([])) == {"perc50": 0.0, "perc90": 0.0, "perc99": 0.0, "max": 0.0}


def test_scheduling_metrics_tell_of_all_extension_points_in_whole_nanoseconds() -> None:
    filtered = Quantiles(perc50_ns=1_000, perc90_ns=2_000, perc99_ns=3_000)
    metrics = SchedulingMetrics(
        extension_points={"Filter": filtered, "QueueingHint": filtered}, e2e_scheduling_latency=filtered
    )
    zeros = {"Perc50": 0, "Perc90": 0, "Perc99": 0}
    figures = {"Perc50": 1000, "Perc90": 2000, "Perc99": 3000}
    assert json.loads(metrics.json()) == {
        "frameworkExtensionPointDuration": {
            point: figures if point == "Filter" else zeros for point in EXTENSION_POINTS
        },
        "preemptionEvaluationLatency": zeros,
        "e2eSchedulingLatency": figures,
        "schedulingLatency": zeros,
    }


def test_quantiles_of_a_histogram_are_interpolated_within_its_buckets() -> None:
    histogram = Histogram(bounds=(0.001, 0.002, inf), counts=(50.0, 50.0, 0.0))
    assert quantiles(histogram) == Quantiles(perc50_ns=1_000_000, perc90_ns=1_800_000, perc99_ns=1_980_000)
    assert quantiles(Histogram()) == Quantiles()


def test_etcd_metrics_have_cumulated_buckets_by_upper_bound() -> None:
    histogram = Histogram(bounds=(0.001, 1.0, inf), counts=(3.0, 2.0, 1.0))
    (found,) = series(histogram, {"To": "peer"})
    assert found == Series({"To": "peer"}, {"0.001": 3, "1": 5, "+Inf": 6})
    assert json.loads(EtcdMetrics(wal_fsync_duration=(found,), max_database_size_bytes=4096.0).json()) == {
        "backendCommitDuration": [],
        "snapshotSaveTotalDuration": [],
        "peerRoundTripTime": [],
        "walFsyncDuration": [{"labels": {"To": "peer"}, "buckets": {"0.001": 3, "1": 5, "+Inf": 6}}],
        "maxDatabaseSize": 4096.0,
    }


def test_a_histogram_without_samples_is_no_series() -> None:
    assert series(Histogram(bounds=(0.1, inf), counts=(0.0, 0.0)), {}) == ()


def test_resource_usage_takes_the_percentile_of_each_resource_by_itself() -> None:
    samples = {
        "scheduler/main": [Usage(0.5, 300), Usage(0.1, 100), Usage(0.2, 200)],
        "etcd/main": [Usage(1.5, 7)],
        "gone/main": [],
    }
    told = json.loads(resource_usage_json(usage_percentiles(samples)))
    assert list(told) == ["100", "50", "90", "99"]
    etcd = {"Name": "etcd/main", "CPU": 1.5, "Mem": 7}
    assert told["50"] == [etcd, {"Name": "scheduler/main", "CPU": 0.2, "Mem": 200}]
    assert told["90"] == told["99"] == told["100"] == [etcd, {"Name": "scheduler/main", "CPU": 0.5, "Mem": 300}]


def test_system_pods_tell_how_often_their_containers_were_started_anew() -> None:
    pod = SystemPod("etcd-0", (SystemContainer("etcd", "etcd:3.6", 2, "OOMKilled"),))
    assert json.loads(system_pods_json([pod, SystemPod("bare")])) == {
        "pods": [
            {
                "name": "etcd-0",
                "containers": [
                    {"name": "etcd", "image": "etcd:3.6", "restartCount": 2, "lastRestartReason": "OOMKilled"}
                ],
            },
            {"name": "bare", "containers": []},
        ]
    }


def test_failed_pods_are_a_summary_with_the_second_in_its_name() -> None:
    pod = FailedPod(namespace="test-1", controlled_by="Job/fill-0", name="fill-0-x", status="Pending")
    summary = failed_pods([pod], 1_767_323_045_999_999_999)
    assert (summary.name, summary.extension) == ("WaitForControlledPodsRunning_1767323045_failedpods", "json")
    assert json.loads(summary.text) == [
        {"namespace": "test-1", "controlledBy": "Job/fill-0", "name": "fill-0-x", "host": "", "status": "Pending"}
    ]
