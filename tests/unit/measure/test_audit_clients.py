"""Throttled clients: found by the limiter's own metric, by rates and by logs, with figures of real runs."""

from typing import Any

import pytest

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.audit import clients, logs, metrics, outcome
from kubedyno.measure.audit.clients import PROGRAMS, Limits, Watched, floor_s, throttling, work_of
from kubedyno.measure.audit.histories import Busy, History
from kubedyno.measure.records import Finding
from kubedyno.model.settings import Evidence, Setting

pytestmark = pytest.mark.unit

BINDER = """\
# HELP rest_client_requests_total Number of HTTP requests, partitioned by status code, method, and host.
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 28
rest_client_requests_total{code="200",host="127.0.0.1:1",method="PATCH"} 603
rest_client_requests_total{code="201",host="127.0.0.1:1",method="POST"} 368
rest_client_requests_total{code="429",host="127.0.0.1:1",method="POST"} 2
controller_runtime_reconcile_time_seconds_bucket{controller="bindrequest",le="0.005"} 1
controller_runtime_reconcile_time_seconds_sum{controller="bindrequest"} 196.5
controller_runtime_reconcile_time_seconds_count{controller="bindrequest"} 401
controller_runtime_reconcile_time_seconds_sum{controller="pod"} 0.1
controller_runtime_reconcile_time_seconds_count{controller="pod"} 2351
controller_runtime_active_workers{controller="bindrequest"} 3
controller_runtime_active_workers{controller="pod"} 1
workqueue_depth{controller="bindrequest",name="bindrequest",priority=""} 5
workqueue_queue_duration_seconds_sum{controller="bindrequest",name="bindrequest"} 190.8
workqueue_queue_duration_seconds_count{controller="bindrequest",name="bindrequest"} 401
go_goroutines 12
"""
SCHEDULER = """\
rest_client_rate_limiter_duration_seconds_bucket{host="h",verb="POST",le="0.005"} 10
rest_client_rate_limiter_duration_seconds_bucket{host="h",verb="POST",le="0.025"} 12
rest_client_rate_limiter_duration_seconds_bucket{host="h",verb="POST",le="+Inf"} 84
rest_client_rate_limiter_duration_seconds_sum{host="h",verb="POST"} 3e+01
rest_client_rate_limiter_duration_seconds_count{host="h",verb="POST"} 84
kai_task_bind_latency_milliseconds_sum 38453
kai_task_bind_latency_milliseconds_count 200
"""
SERVER = """\
apiserver_request_duration_seconds_sum{component="apiserver",dry_run="",group="",resource="pods",scope="resource",\
subresource="binding",verb="POST",version="v1"} 22.2
apiserver_request_duration_seconds_count{component="apiserver",dry_run="",group="",resource="pods",scope="resource",\
subresource="binding",verb="POST",version="v1"} 200
apiserver_request_duration_seconds_sum{resource="pods",subresource="",verb="PATCH",version="v1"} 51.7
apiserver_request_duration_seconds_sum{resource="pods",subresource="",verb="WATCH",version="v1"} 9999
"""


def test_figures_of_a_controller_are_read() -> None:
    assert metrics.figures(BINDER.encode()) == {
        "requests.GET": 28,
        "requests.PATCH": 603,
        "requests.POST": 370,
        "refused": 2,
        "work.took_s bindrequest": 196.5,
        "work.count bindrequest": 401,
        "work.took_s pod": 0.1,
        "work.count pod": 2351,
        "work.active": 4,
        "queue.depth": 5,
        "queue.wait_s bindrequest": 190.8,
        "queue.count bindrequest": 401,
    }


def test_figures_of_schedulers_are_read() -> None:
    assert metrics.figures(SCHEDULER.encode()) == {
        "limiter.count": 84,
        "limiter.wait_s": 30,
        "limiter.late": 72,
        "binds.took_s": pytest.approx(38.453),
        "binds.count": 200,
    }


def test_figures_of_the_api_server_are_read_by_what_was_asked_for() -> None:
    assert metrics.figures(SERVER.encode()) == {
        "served.took_s POST pods/binding": 22.2,
        "served.count POST pods/binding": 200,
        "served.took_s PATCH pods": 51.7,
    }


def test_an_answer_that_is_no_metrics_says_nothing() -> None:
    assert metrics.figures(b"<html>forbidden\xff</html>") == {}


def history(*samples: tuple[float, dict[str, float]]) -> History:
    made = History()
    for seconds, figures in samples:
        made.add(round(seconds * NS_PER_S), figures)
    return made


def test_a_counter_that_fell_was_started_anew() -> None:
    found = history((0, {"x": 5}), (1, {"x": 9}), (2, {"x": 2}), (3, {}), (4, {"x": 1}))
    assert found.gained("x") == 4 + 2 + 0 + 1
    assert found.gained("y") == 0


def test_a_part_of_the_time_has_the_samples_around_it() -> None:
    found = history((0, {"x": 0}), (1, {"x": 1}), (2, {"x": 3}), (3, {"x": 7}), (4, {"x": 15}))
    part = found.within(round(1.5 * NS_PER_S), round(2.5 * NS_PER_S))
    assert part.gained("x") == 7 - 1
    assert found.within(-1, 10 * NS_PER_S).gained("x") == 15


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], Busy(0.0)),
        ([(0, 0), (1, 0)], Busy(0.0)),
        ([(0, 0), (2, 1), (4, 1), (6, 0)], Busy(1 + 2 + 1)),
        ([(0, 1), (2, 0), (12, 0), (14, 1)], Busy(1 + 1, (1.0 + 10.0 + 1.0,))),
    ],
)
def test_a_component_is_busy_while_it_has_work(samples: list[tuple[float, float]], expected: Busy) -> None:
    found = history(*((seconds, {"work.active": active}) for seconds, active in samples)).busy()
    assert found.busy_s == expected.busy_s
    assert found.gaps_s == expected.gaps_s


def limits(qps: float, burst: float, *, declared: bool = True, field: str = "binder.qps") -> Limits:
    return Limits(field=field, qps=qps, burst=burst, declared=declared, source="/proc/7/cmdline")


def test_calls_take_as_long_as_the_limiter_makes_them() -> None:
    assert floor_s(800, limits(20, 100)) == 35.0
    assert floor_s(80, limits(20, 100)) == 0.0
    assert floor_s(800, limits(20, 100), gaps_s=(2.0, 3600.0)) == (800 - 100 - 40 - 100) / 20


def binder(busy_s: float, *, pods: int = 400, work_s: float = 1.0, **more: Any) -> Watched:
    """KAI's binder that was busy for so long with so many pods."""
    figures = {
        "requests.PATCH": 3.0 * pods,
        "work.count bindrequest": float(pods),
        "work.took_s bindrequest": pods * work_s,
        "queue.count bindrequest": float(pods),
        "queue.wait_s bindrequest": pods * 20.0,
    }
    server = {
        "served.count POST pods/binding": float(pods),
        "served.took_s POST pods/binding": pods * 0.02,
        "served.count PATCH pods": float(pods),
        "served.took_s PATCH pods": pods * 0.01,
    }
    return Watched(
        component="binder",
        program=PROGRAMS["kai-binder"],
        limits=more.pop("limits", limits(20, 100)),
        history=history((0, {"work.active": 1}), (busy_s, {**figures, "work.active": 1})),
        server=history((0, {}), (busy_s, server)),
        **more,
    )


@pytest.mark.parametrize(
    ("name", "watched", "is_found"),
    [
        ("20 a second, ten workers", binder(33.7, work_s=0.835), True),
        ("20 a second, fifty workers", binder(33.5, work_s=3.9), True),
        ("no limit to speak of", binder(18.4, work_s=0.18, limits=limits(5000, 10000)), False),
        ("the program's default, which was not what it waited for", binder(17.1, limits=limits(50, 300)), False),
        ("20 a second on a machine that is slower than that", binder(80.0), False),
    ],
)
def test_a_binder_left_at_20_qps_is_called_out_by_name(name: str, watched: Watched, is_found: bool) -> None:
    """The runs of 400 pods that were made with KAI, whose binder printed nothing in any of them."""
    finding = throttling(watched)
    assert (finding is not None) == is_found, name
    if finding is not None:
        assert (finding.name, finding.component, finding.declared) == ("limited by binder.qps", "binder", True)
        assert "800 calls took 33." in finding.evidence
        assert "of which the limiter alone explains 35.0 s" in finding.evidence
        assert "of which the API server needed 0.030 s" in finding.evidence
        assert "no line in its log says so; /proc/7/cmdline says 20 a second and a burst of 100" in finding.evidence


def test_a_limit_that_nobody_asked_for_is_not_declared() -> None:
    finding = throttling(binder(33.7, limits=limits(20, 100, declared=False)))
    assert finding is not None
    assert not finding.declared


def test_what_was_bound_outside_of_the_part_that_counts_is_not_counted() -> None:
    work = work_of(binder(33.7, part=0.5))
    assert work is not None
    assert work.calls == 400


def kai_scheduler(took_s: float, *, served_s: float, qps: float = 20, burst: float = 20) -> Watched:
    """KAI's scheduler that bound 200 pods one after another."""
    return Watched(
        component="scheduler",
        program=PROGRAMS["kai-scheduler"],
        limits=limits(qps, burst, field="scheduler.qps"),
        history=history((0, {}), (took_s, {"binds.count": 200, "binds.took_s": took_s})),
        server=history(
            (0, {}),
            (took_s, {"served.count POST bindrequests": 200, "served.took_s POST bindrequests": 200 * served_s}),
        ),
    )


@pytest.mark.parametrize(
    ("name", "watched", "is_found"),
    [
        ("the limiter explains it all", kai_scheduler(8.8, served_s=0.005), True),
        ("at its rate, and the API server was idle", kai_scheduler(12.0, served_s=0.005), True),
        ("the API server was slow", kai_scheduler(14.0, served_s=0.06), False),
        ("a slow machine", kai_scheduler(40.0, served_s=0.01, qps=5000, burst=10000), False),
    ],
)
def test_a_kai_scheduler_is_judged_by_the_time_of_its_binds(name: str, watched: Watched, is_found: bool) -> None:
    assert (throttling(watched) is not None) == is_found, name


def kube_scheduler(late: float, wait_s: float, *, count: float = 100, logged: int = 0) -> Watched:
    figures = {"limiter.count": count, "limiter.late": late, "limiter.wait_s": wait_s}
    return Watched(
        component="kube-scheduler",
        program=PROGRAMS["kube-scheduler"],
        limits=limits(10, 10, field="kube-scheduler.clientConnection.qps"),
        history=history((0, {}), (5, figures)),
        server=History(),
        logged=logged,
    )


@pytest.mark.parametrize(
    ("watched", "evidence"),
    [
        (kube_scheduler(80, 31.0), "80 of 100 requests waited for the client's own limiter, 31.0 s in all"),
        (kube_scheduler(5, 2.0), None),
        (kube_scheduler(80, 0.5), None),
        (kube_scheduler(0, 0), None),
        (kube_scheduler(0, 0, logged=1), "requests waited for the client's own limiter: a line in its log says so"),
        (kube_scheduler(0, 0, logged=3), "requests waited for the client's own limiter: 3 lines in its log say so"),
    ],
)
def test_a_limiter_that_is_measured_or_logged_is_believed(watched: Watched, evidence: str | None) -> None:
    finding = throttling(watched)
    assert (None if finding is None else finding.evidence.partition(";")[0]) == evidence


def test_other_controllers_are_judged_by_the_method_they_use_most() -> None:
    made = history(
        (0, {"queue.depth": 1}),
        (10, {"queue.depth": 1, "requests.PATCH": 220.0, "requests.POST": 100.0, "requests.GET": 9000.0}),
    )
    watched = Watched(
        component="podgrouper",
        program=PROGRAMS["kai-podgrouper"],
        limits=limits(20, 20, field="podgrouper.qps"),
        history=made,
        server=History(),
    )
    finding = throttling(watched)
    assert finding is not None
    assert finding.evidence.startswith("220 calls took 10.0 s, of which the limiter alone explains 10.0 s")


def test_kueue_is_judged_by_what_the_api_server_took_for_its_kinds() -> None:
    """A run of 15 Jobs at 2 requests a second; it counts no requests itself."""
    taken = {"POST workloads": 15, "APPLY workloads/status": 15, "PATCH jobs": 15, "PUT jobs/status": 43}
    taken |= {"PUT clusterqueues/status": 7, "PUT localqueues/status": 7, "POST events": 65}
    work = {"work.active": 2.0, "work.count job": 58.0, "work.took_s job": 151.6}
    watched = Watched(
        component="kueue",
        program=PROGRAMS["kueue"],
        limits=limits(2, 4, field="kueue.clientConnection.qps"),
        history=history((0, {"work.active": 1}), (32.7, work)),
        server=history((0, {}), (33, {f"served.count {asked}": float(count) for asked, count in taken.items()})),
    )
    finding = throttling(watched)
    assert finding is not None
    assert finding.name == "limited by kueue.clientConnection.qps"
    assert finding.evidence.startswith("59 calls took 32.7 s, of which the limiter alone explains 27.5 s")
    assert "a job was 0.00 s in the queue and 2.61 s in work" in finding.evidence


def test_lines_tell_what_was_seen_and_nothing_of_the_idle() -> None:
    told = {line.name: line.value for line in clients.lines(binder(33.7, work_s=0.8, logged=2))}
    assert told == {
        "binder: working time that the client's limiter explains": pytest.approx(35 / 33.7),
        "binder: work on a bindrequest, mean": pytest.approx(0.8),
        "binder: wait of a bindrequest in the work queue, mean": pytest.approx(20.0),
        "binder: log lines of client-side throttling": 2.0,
    }
    idle = Watched(
        component="binder",
        program=PROGRAMS["kai-binder"],
        limits=limits(20, 100),
        history=History(),
        server=History(),
    )
    assert clients.lines(idle) == []
    assert throttling(idle) is None


def test_lines_of_a_log_that_tell_of_throttling_are_counted() -> None:
    log = (
        b"I1115 request.go:752] Waited for 1.1s due to client-side throttling, not priority and fairness, request: "
        b"POST:https://127.0.0.1:1/api/v1/namespaces/default/pods/p/binding\n"
        b'I1115 "Waited before sending request" delay="1.2s" reason="client-side throttling, not priority and '
        b'fairness" verb="PATCH"\n'
        b"I1115 Waited for 1.0s due to client-side throttling, request: GET:https://127.0.0.1:1/apis/x?timeout=32s\n"
        b"I1115 Waited for 3 pods\n\xff\n"
    )
    assert logs.throttled(log) == 2
    assert logs.throttled(b"") == 0


def test_a_setting_that_was_seen_at_work_is_marked_so() -> None:
    def setting(component: str, field: str, evidence: Evidence) -> Setting:
        return Setting(component=component, field=field, wanted="20", value="20", evidence=evidence, source="x")

    before = (
        setting("binder", "qps", Evidence.ARGV),
        setting("binder", "burst", Evidence.ARGV),
        setting("scheduler", "qps", Evidence.ARGV),
    )
    finding = Finding(name="limited by binder.qps", component="binder", declared=True, evidence="")
    after = outcome.marked(before, [finding], {"binder": "qps", "scheduler": "qps"})
    assert [one.evidence for one in after] == [Evidence.BEHAVED, Evidence.ARGV, Evidence.ARGV]
