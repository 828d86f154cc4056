"""The host, the instrument itself, and what differs between contenders."""

from typing import Any

import pytest

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.audit import Difference, differences, hosts, instrument
from kubedyno.measure.audit.instrument import Lateness
from kubedyno.measure.records import AuditLine, TrialRecord, Verdict
from kubedyno.model.samples import Followed, Lag, Recording
from kubedyno.model.settings import Evidence, Setting

pytestmark = pytest.mark.unit

USED_S = {"kube-apiserver": 6.0, "kubedyno": 1.0}


@pytest.mark.parametrize(
    ("busy", "is_found"),
    [
        ([1.0, 0.97, 0.2], True),
        ([1.0, 0.96, 0.2, 0.3], False),  # half of the time is not most of it
        ([0.95] * 9, False),
        ([], False),
    ],
)
def test_a_host_with_nothing_left_for_most_of_the_time_is_a_finding(busy: list[float], is_found: bool) -> None:
    finding = hosts.saturation(busy, USED_S, 10.0, cores=2)
    assert (finding is not None) == is_found
    if finding is not None:
        assert (finding.name, finding.component, finding.declared) == ("limited by the host", None, True)
        assert finding.evidence == (
            "more than 95% of 2 cores were busy in 67% of the time; "
            "used by kube-apiserver 60%, others 30%, kubedyno 10%"
        )


def test_who_used_the_host_is_told() -> None:
    told = {line.name: line.value for line in hosts.lines([1.0, 0.5], USED_S, 10.0)}
    assert told == {
        "host CPU busy, mean": 0.75,
        "time with the host's CPU saturated": 0.5,
        "CPU share of kube-apiserver": 0.6,
        "CPU share of others": pytest.approx(0.3),
        "CPU share of kubedyno": 0.1,
    }
    assert hosts.lines([], {}, 0.0) == []
    assert hosts.shares({"a": 0.0}, 0.0) == {}


def test_components_that_were_counted_longer_than_the_host_are_no_contradiction() -> None:
    assert hosts.shares({"a": 3.0, "b": 1.0}, 2.0) == {"a": 0.75, "b": 0.25, "others": 0.0}


def line_named(lines: list[AuditLine], name: str) -> AuditLine:
    return next(line for line in lines if line.name == name)


def test_the_longest_stall_is_told() -> None:
    assert instrument.stall_line([], limit_s=1.0).acceptable
    assert not instrument.stall_line([(5, 0.2), (9, 1.5)], limit_s=1.0).acceptable
    assert instrument.stall_line([(9, 1.5)], limit_s=2.0).acceptable


def test_stalls_outside_of_the_part_that_counts_do_not_count() -> None:
    stalls = [(2 * NS_PER_S, 0.5), (5 * NS_PER_S, 0.5), (8 * NS_PER_S, 0.5), (30 * NS_PER_S, 23.0)]
    assert instrument.within(stalls, 4 * NS_PER_S, 7 * NS_PER_S) == [stalls[1], stalls[3]]


def test_submissions_are_late_against_their_plan() -> None:
    lateness = Lateness()
    assert instrument.lateness_lines(lateness.delays) == []
    for index in range(100):
        lateness.note(index * NS_PER_S, index * NS_PER_S + (5 * NS_PER_S if index > 90 else -3))
    lines = instrument.lateness_lines(lateness.delays)
    assert line_named(lines, "submit lateness p99").value == 5.0
    assert not line_named(lines, "submit lateness p99").acceptable
    assert line_named(lines, "submit lateness at most").acceptable


def recording(p99_s: float | None, *, relists: int = 0) -> Recording:
    lag = None if p99_s is None else Lag(probes=9, p50_s=0.1, p99_s=p99_s, max_s=p99_s)
    watch = Followed(resource="pods", changes=5, cuts=2, relists=relists)
    return Recording(began_ns=0, ended_ns=9, lag=lag, watches=(watch, watch), whole=True, proof="")


@pytest.mark.parametrize(
    ("p99_s", "duration_s", "acceptable"),
    [(1.9, 5.0, True), (2.5, 5.0, False), (2.5, 60.0, True), (6.5, 60.0, False)],
)
def test_a_lag_counts_against_what_was_timed(p99_s: float, duration_s: float, acceptable: bool) -> None:
    lines = instrument.recording_lines(recording(p99_s), duration_s=duration_s)
    assert line_named(lines, "watch lag p99").acceptable == acceptable


def test_a_watch_that_lost_states_cannot_be_believed() -> None:
    lines = instrument.recording_lines(recording(None, relists=1), duration_s=5.0)
    assert [(line.name, line.value, line.acceptable) for line in lines] == [
        ("watch relists", 2, False),
        ("watch streams cut", 4, True),
    ]


def record(scheduler: str, settings: dict[str, str], **more: Any) -> TrialRecord:
    return TrialRecord(
        format=1,
        scenario="fill",
        description="",
        tags=(),
        parameters=more.get("parameters", {"nodes": 5}),
        seed=1,
        time="real",
        engine="local",
        scheduler=scheduler,
        kubelet="builtin",
        profile=more.get("profile", "scale"),
        simulated=(),
        started_at="",
        setup_s=1.0,
        duration_s=1.0,
        settings=tuple(
            Setting(
                component=key.partition(".")[0],
                field=key.partition(".")[2],
                wanted=value,
                value=value,
                evidence=Evidence.ARGV,
                source="",
            )
            for key, value in settings.items()
        ),
        measurements=(),
        checks=(),
        audit=(),
        verdict=Verdict.PASSED,
        message="",
    )


def test_contenders_of_one_scheduler_are_compared_in_all() -> None:
    first = record("kai", {"binder.qps": "20", "scheduler.schedule-period": "1s", "etcd.x": "1"})
    second = record("kai", {"binder.qps": "5000", "scheduler.schedule-period": "1000ms"}, profile="unthrottled")
    assert differences([first, second]) == [
        Difference("profile", ("scale", "unthrottled")),
        Difference("binder.qps", ("20", "5000")),
        Difference("etcd.x", ("1", "-")),
    ]


def test_of_different_schedulers_common_parts_and_client_limits_are_compared() -> None:
    kai = record(
        "kai",
        {"binder.qps": "20", "scheduler.qps": "5000", "scheduler.burst": "100", "kube-apiserver.feature-gates": "A"},
    )
    kube = record(
        "kube-scheduler",
        {
            "kube-scheduler.clientConnection.qps": "5000",
            "kube-scheduler.clientConnection.burst": "100.0",
            "kube-scheduler.leaderElection.leaderElect": "false",
            "kube-apiserver.feature-gates": "B",
        },
    )
    assert differences([kai, kube]) == [
        Difference("kube-apiserver.feature-gates", ("A", "B")),
        Difference("scheduler.client qps", ("binder: 20; scheduler: 5000", "5000")),
    ]


def test_parameters_of_a_matrix_differ_too_and_equals_do_not() -> None:
    small, large = (record("kai", {"binder.qps": "20"}, parameters={"nodes": nodes}) for nodes in (5, 9))
    assert differences([small, large]) == [Difference("-p nodes", ("5", "9"))]
    assert differences([small, small]) == differences([small]) == differences([]) == []
