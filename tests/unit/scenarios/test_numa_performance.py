"""Latency and overload on the embedded engine with the reference scheduler, in virtual time and at tiny rates."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.trials import failed_checks, measured, played

from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.lab import lagging
from kubedyno.lab.lab import Lab
from kubedyno.lab.scenario import Scenario, scenario
from kubedyno.measure.bottleneck import Seen
from kubedyno.measure.knee import Effort, Goal
from kubedyno.measure.records import TrialRecord, Verdict
from kubedyno.scenarios import SCENARIOS, numa
from kubedyno.scenarios.numa import framework, loading, scales
from kubedyno.scenarios.numa.arriving import UNDECIDED, Arrivals, Numbers, Times
from kubedyno.scenarios.numa.loading import Taken
from kubedyno.scenarios.numa.scales import Cluster

pytestmark = pytest.mark.unit

EMBEDDED = "the API server is ours, not Kubernetes'"


def expect_good(record: TrialRecord) -> None:
    assert (record.message, record.violations, failed_checks(record)) == ("", (), [])
    assert record.verdict == Verdict.PASSED


def rows_of(record: TrialRecord) -> list[tuple[str, str, int, bool]]:
    """Case, scale, nodes and awareness of all points and knees."""
    points = [(one.case, one.scale, one.nodes, one.aware) for one in record.curves]
    return points + [(one.case, one.scale, one.nodes, one.aware) for one in record.knees]


@pytest.fixture
def few_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods cost the machine time, though no virtual one."""
    monkeypatch.setattr(loading, "_RUNGS", 2)


@pytest.mark.parametrize("aware", [True, False])
def test_scheduler_latency_has_a_point_for_each_rate(aware: bool) -> None:
    record = played(numa.scheduler_latency.scheduler_latency, rates="10,5", over_s=2, aware=aware)
    expect_good(record)
    assert [(one.rate, one.n, one.nodes, one.scale, one.aware, one.ha) for one in record.curves] == [
        (5.0, 10, 10, "toy", aware, False),
        (10.0, 20, 10, "toy", aware, False),
    ]
    for point in record.curves:
        assert (point.case, point.metric, point.errors) == ("scheduler latency", "creation to bound, s", {})
        assert point.p50 is not None
        assert point.p99 is not None
        assert 0 < point.p50.lower <= point.p50.value <= point.p99.value <= point.p99.upper
        assert EMBEDDED in point.note
        assert "time is virtual" in point.note
        assert ("unaware" in point.note) is not aware
    assert record.timed_s is not None


def test_a_rate_for_which_the_cluster_is_too_small_is_said_not_to_fit() -> None:
    record = played(numa.scheduler_latency.scheduler_latency, rates="5,1000", over_s=2, aware=False)
    expect_good(record)
    assert [(one.rate, one.n, one.note) for one in record.curves][1] == (
        1000.0,
        0,
        "did not fit: 10 nodes have room for a step of 495 pods/s at most",
    )


@pytest.mark.parametrize("name", ["numa/apiserver-latency", "numa/apiserver-overload"])
def test_an_api_server_of_ours_is_not_measured(name: str) -> None:
    record = played(SCENARIOS.get(name))
    assert record.verdict == Verdict.NOT_APPLICABLE
    assert record.message.endswith(f"{EMBEDDED}: use --engine local")


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("numa/scheduler-overload", "creation to bound, s"),
        ("numa/kubelet-overload", "bound to admitted or refused, s"),
    ],
)
@pytest.mark.usefixtures("few_rates")
def test_embedded_draws_curves_of_an_overload_case_and_finds_no_knee(name: str, metric: str) -> None:
    record = played(SCENARIOS.get(name), start=5, step_s=1, budget_s=20)
    expect_good(record)
    assert len(record.curves) > 1
    assert {one.metric for one in record.curves} == {metric}
    assert [(one.rate, one.steps) for one in record.knees] == [(None, 0)]
    assert record.knees[0].unfit == f"{EMBEDDED}: knees are looked for on --engine local"
    assert "the kubelets are simulated" in record.knees[0].note


@pytest.mark.usefixtures("few_rates")
def test_a_sweep_runs_all_cases_and_grows_the_cluster() -> None:
    record = played(
        numa.sweep.sweep, scales="small,toy", pod_rates="5", step_s=1, budget_s=400, request_rates="5", patience_s=5
    )
    expect_good(record)
    assert set(rows_of(record)) == {
        (case.name, scale, scales.NODES[scale], aware)
        for case in framework.CASES
        for scale in ("toy", "small")
        for aware in (False, True)
    }
    missing = [one for one in record.curves if not one.n]
    assert {(one.case, one.note) for one in missing} == {("API server latency", f"not applicable: {EMBEDDED}")}
    assert measured(record).keys() >= {"time to 100 nodes from 10", "time until 100 exporters had written"}
    # A search begins where the latency case has shown that the limits are kept.
    assert {one.rate for one in record.curves if one.case == framework.SCHEDULER_OVERLOAD.name} == {5.0, 10.0}


@pytest.mark.usefixtures("few_rates")
def test_a_sweep_says_what_did_not_fit_and_keeps_its_budget() -> None:
    record = played(numa.sweep.sweep, scales="toy,huge", pod_rates="5,10", step_s=1, budget_s=40, patience_s=5)
    expect_good(record)
    assert record.timed_s is not None
    assert record.timed_s < 50
    assert {row for row in rows_of(record) if row[1] == "huge"} == {
        (case.name, "huge", 5000, aware) for case in framework.CASES for aware in (False, True)
    }
    said = [one.note for one in record.curves if one.scale == "huge"]
    assert any(one.startswith("did not fit: 4990 nodes more and a case take about ") for one in said)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"scales": "toy,smalls"}, "-p scales=toy,smalls: did you mean 'small'?"),
        ({"scales": ","}, "-p scales=,: name at least one of toy, small, medium, large, huge"),
        ({"pod_rates": "5,x"}, "-p pod_rates=5,x: write numbers with commas between, like 5,20,80"),
        ({"request_rates": "0,5"}, "-p request_rates=0,5: rates are above 0"),
    ],
)
def test_what_a_sweep_cannot_read_is_refused_in_a_sentence(parameters: dict[str, Any], said: str) -> None:
    record = played(numa.sweep.sweep, **parameters)
    assert record.verdict == Verdict.ERROR
    assert said in record.message
    assert record.curves == ()


def test_an_unknown_scale_is_refused_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="-p scale=tiny: scenario numa/scheduler-latency: "):
        numa.scheduler_latency.scheduler_latency.with_defaults({"scale": "tiny"})


class Pretended:
    """A component that answers in time up to a rate, and is slower and refuses beyond."""

    case = framework.API_SERVER_OVERLOAD
    most = 1000.0

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.tried: list[float] = []

    async def at(self, rate: float) -> Taken:
        self.tried.append(rate)
        await asyncio.sleep(0)
        bad = rate > self.limit
        return Taken(
            rate=rate,
            samples={"GET, s": (2.0 if bad else 0.1,) * 10, "WATCH, s": (9.0,)},
            aside=frozenset({"WATCH, s"}),
            requests=100,
            errors={"429": 30} if bad else {},
            first_error="too many requests" if bad else "",
            recovery_s=3.0 if bad else 0.0,
            duration_s=5.0,
            seen=Seen(duration_s=5.0, cores=2, busy=0.99, cpu_s={"kube-apiserver": 8.0, "etcd": 1.0}),
        )


def searched(load: Pretended, **effort: Any) -> TrialRecord:
    """A search for the knee of a load that is pretended, on a lab that says it is no embedded one."""

    @scenario("test/knee", tags=("numa", "overload"))
    async def knee(lab: Lab) -> None:
        """Look for a knee."""
        lab.spec = None
        cluster = Cluster(scale="toy", names=("a",), note="pretended")
        await loading.search(lab, cluster, load, start=10.0, goal=Goal(slo_s=1.0), effort=Effort(**effort))

    return played(knee)


def test_a_knee_is_found_confirmed_and_blamed_on_who_gave_way() -> None:
    load = Pretended(limit=70.0)
    record = searched(load, precision=0.15)
    expect_good(record)
    (knee,) = record.knees
    assert knee.rate is not None
    assert knee.rate <= 70 < (knee.upper or 0)
    assert (knee.confirmed, knee.broke, knee.unfit, knee.unit) == (True, ("latency", "errors"), "", "requests/s")
    assert (knee.component, knee.first_error, list(knee.errors)) == ("kube-apiserver", "too many requests", ["429"])
    assert knee.evidence.startswith(f"at {knee.upper:.4g}/s: ")
    assert (knee.recovery_s, knee.note, knee.steps) == (3.0, "pretended", len(load.tried))
    assert {one.rate for one in record.curves} == set(load.tried)


def test_a_search_that_has_no_time_left_says_so() -> None:
    record = searched(Pretended(limit=70.0), time_s=12.0, step_s=5.0)
    assert record.knees[0].unfit.startswith("did not fit: 10 of 12 s were used")
    assert not record.knees[0].confirmed


def test_a_component_that_never_keeps_its_limits_fails_the_trial() -> None:
    record = searched(Pretended(limit=0.1))
    assert record.knees[0].rate is None
    assert record.verdict == Verdict.FAILED
    assert failed_checks(record) == ["API server overload at toy, aware: a rate keeps the limits, or time was short"]


def test_a_search_for_which_time_was_short_fails_nothing() -> None:
    record = searched(Pretended(limit=0.1), time_s=12.0, step_s=5.0)
    (knee,) = record.knees
    assert (knee.rate, knee.unfit.startswith("did not fit: ")) == (None, True)
    assert record.verdict == Verdict.PASSED


def test_pods_that_nobody_decides_on_in_time_are_failures_and_are_removed() -> None:
    left: list[int] = []

    @scenario("test/paused", tags=("numa",))
    async def paused(lab: Lab) -> None:
        """Pods come while the scheduler is away."""
        cluster = await scales.begin(lab, "toy", aware=False)
        await lab.scheduler.pause()
        load = Arrivals(
            lab, cluster, framework.SCHEDULER_OVERLOAD, Times(over_s=1.0, patience_s=3.0), numbers=Numbers()
        )
        taken = await load.at(5.0)
        assert (taken.errors, taken.requests, taken.p99_s) == ({UNDECIDED: 5}, 5, None)
        assert taken.first_error == "a pod was not decided on within 3 s"
        assert taken.recovery_s is None
        left.append(lab.standing.waiting)

    expect_good(played(paused))
    assert left == [0]


def test_an_overload_is_not_called_invalid_for_what_it_does_to_the_instrument() -> None:
    for one in numa.PERFORMANCE:
        assert ("overload" in one.tags) == (one.name.endswith("-overload") or one.name == "numa/sweep")
    lines = searched(Pretended(limit=70.0)).audit
    assert lines
    assert {line.name for line in lines if line.limit is not None} == {lagging.CONTESTED}


@pytest.mark.parametrize("one", numa.PERFORMANCE, ids=lambda one: one.name)
def test_it_says_what_it_shows_and_what_its_parameters_are(one: Scenario) -> None:
    assert one.description.endswith(".")
    assert all(parameter.doc for parameter in one.parameters)
    assert SCENARIOS.get(one.name) is one


def test_without_awareness_the_plugin_is_not_loaded() -> None:
    given = {"scale": "toy", "cache": "passthrough"}
    aware = scales.settings({**given, "aware": True})["plugins"]
    unaware = scales.settings({**given, "aware": False})["plugins"]
    assert unaware.items() - aware.items() == {("plugins.profiles.0.plugins.multiPoint.enabled.1.name", "NodeName")}


def test_each_case_says_what_stands_for_its_frameworks_and_what_that_cannot_show() -> None:
    assert [case.number for case in framework.CASES] == [1, 2, 3, 4, 5]
    for case in framework.CASES:
        assert set(case.stands_for) == set(case.frameworks)
        assert case.cannot_show
        assert msgspec.json.encode(case)


def test_a_search_cannot_begin_with_nothing() -> None:
    record = played(numa.scheduler_overload.scheduler_overload, start=0, step_s=1, aware=False)
    assert record.verdict == Verdict.ERROR
    assert record.message == "scheduler overload: a rate of 0/s: write more than 0"


def test_exporters_that_do_not_get_through_are_a_row_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stuck(lab: Lab, cluster: Cluster) -> Cluster:
        raise EngineError("exporters of 10 nodes did not write their objects within 120 s")

    monkeypatch.setattr(loading, "_RUNGS", 1)
    monkeypatch.setattr(scales, "made_aware", stuck)
    record = played(numa.sweep.sweep, scales="toy", pod_rates="5", step_s=1, budget_s=200, patience_s=5)
    expect_good(record)
    aware = [one.note for one in record.curves if one.aware] + [one.unfit for one in record.knees if one.aware]
    told = "did not fit: exporters of 10 nodes did not write their objects within 120 s"
    assert set(aware) == {told, f"not applicable: {EMBEDDED}"}
