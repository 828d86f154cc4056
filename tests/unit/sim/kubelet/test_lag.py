"""What the simulator notes of itself."""

import pytest

from kubedyno.sim.kubelet.lag import Lag, Spread

pytestmark = pytest.mark.unit


def spread(*seconds: float) -> Spread:
    made = Spread()
    for one in seconds:
        made.add(one)
    return made


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5, 0.9, 0.99, 1.0])
def test_quantiles_are_exact_to_five_percent(share: float) -> None:
    seconds = [number / 1000 for number in range(1, 10_001)]
    found = spread(*seconds).quantile_s(share)
    exact = seconds[round(share * len(seconds)) - 1]
    assert exact <= found <= exact * 1.051


def test_the_largest_is_exact_and_nothing_exceeds_it() -> None:
    found = spread(0.1, 0.2, 1.234)
    assert found.quantile_s(1.0) == found.most_s == 1.234
    assert found.quantile_s(0.99) <= 1.234


def test_what_is_too_early_counts_as_in_time() -> None:
    found = spread(-5.0, 0.0, 1e-5)
    assert (found.count, found.quantile_s(0.99), found.total_s) == (3, 0.0, 1e-5)


def test_without_any_there_is_no_lag() -> None:
    assert Spread().quantile_s(0.99) == 0.0


def noted() -> Lag:
    lag = Lag()
    for number in range(100):
        lag.start.add(number / 100)
    lag.stop.add(0.5)
    lag.lease.add(2.0)
    lag.late_leases = 1
    lag.note_depth(7)
    lag.note_depth(3)
    lag.retries = 4
    lag.refused = 5
    lag.contested.update(("a", "b"))
    return lag


def test_the_report_has_all_of_it() -> None:
    report = noted().report()
    assert report.start_p50_s == pytest.approx(0.49, rel=0.06)
    assert report.start_p99_s == pytest.approx(0.98, rel=0.06)
    assert report.start_most_s == 0.99
    assert (report.started, report.stopped, report.renewals) == (100, 1, 1)
    assert (report.stop_p99_s, report.lease_p99_s, report.lease_most_s) == (0.5, 2.0, 2.0)
    assert (report.queue_depth, report.deepest_queue) == (3, 7)
    assert (report.late_leases, report.retries, report.refused, report.contested_nodes) == (1, 4, 5, 2)


def test_metrics_are_in_the_text_format_of_prometheus() -> None:
    lines = list(noted().metrics())
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values['kubedyno_kubelet_lease_lag_seconds{quantile="0.99"}'] == "2.000000"
    assert values['kubedyno_kubelet_start_lag_seconds{quantile="1"}'] == "0.990000"
    assert values["kubedyno_kubelet_start_lag_seconds_count"] == "100"
    assert float(values["kubedyno_kubelet_start_lag_seconds_sum"]) == pytest.approx(49.5)
    assert values["kubedyno_kubelet_queue_depth"] == "3"
    assert values["kubedyno_kubelet_queue_depth_max"] == "7"
    assert values["kubedyno_kubelet_late_leases_total"] == "1"
    assert values["kubedyno_kubelet_contested_nodes"] == "2"
    for name in {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}:
        metric = name.removesuffix("_sum").removesuffix("_count") if "_lag_seconds" in name else name
        assert sum(line.startswith(f"# HELP {metric} ") for line in lines) == 1
        assert sum(line.startswith(f"# TYPE {metric} ") for line in lines) == 1
