"""What objects show. `states.jsonl` holds states that were recorded on labs with real schedulers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers import shows

pytestmark = pytest.mark.unit

_LINES = Path(__file__).with_name("states.jsonl").read_text().splitlines()
STATES: dict[str, Object] = {line["name"]: line["object"] for line in map(json.loads, _LINES)}


def test_every_recorded_state_is_looked_at() -> None:
    assert {name for name, _, _ in RECORDED} == set(STATES)


def seen(found: Any) -> set[tuple[str, str, str]]:
    """Phases with the clock of their stamps."""
    return {(shown.phase, shown.stamp[11:], shown.detail) for shown in found}


RECORDED: list[tuple[str, Callable[[Object], list[Shown]], set[tuple[str, str, str]]]] = [
    ("kube: a pod that was just created", shows.pod, {("created", "19:10:06Z", "")}),
    ("kube: a bound pod", shows.pod, {("created", "19:10:06Z", ""), ("scheduled", "19:10:06Z", "")}),
    (
        "kube: a running pod",
        shows.pod,
        {
            ("created", "19:10:06Z", ""),
            ("scheduled", "19:10:06Z", ""),
            ("running", "19:10:06Z", ""),
            ("ready", "19:10:06Z", ""),
        },
    ),
    (
        "kube: a pod that has succeeded",
        shows.pod,
        {
            ("created", "19:10:06Z", ""),
            ("scheduled", "19:10:06Z", ""),
            ("running", "19:10:06Z", ""),
            ("succeeded", "19:10:08Z", ""),
        },
    ),
    (
        "kube: a pod that has failed",
        shows.pod,
        {
            ("created", "19:10:06Z", ""),
            ("scheduled", "19:10:06Z", ""),
            ("running", "19:10:06Z", ""),
            ("failed", "19:10:07Z", ""),
        },
    ),
    ("kube: a gated pod", shows.pod, {("created", "19:10:06Z", ""), ("queued", "19:10:06Z", "SchedulingGated")}),
    (
        "kube: a pod of a gang that does not fit",
        shows.pod,
        {
            ("created", "19:10:06Z", ""),
            ("queued", "19:10:06Z", "Unschedulable"),
            ("unschedulable", "19:10:06Z", "Unschedulable"),
        },
    ),
    (
        "kube: a pod that waits for its victims",
        shows.pod,
        {
            ("created", "19:10:18Z", ""),
            ("queued", "19:10:18Z", "Unschedulable"),
            ("unschedulable", "19:10:18Z", "Unschedulable"),
            ("nominated", "", "default-0"),
        },
    ),
    (
        "kube: a preempted pod",
        shows.pod,
        {
            ("created", "19:10:06Z", ""),
            ("scheduled", "19:10:06Z", ""),
            ("running", "19:10:06Z", ""),
            ("ready", "19:10:06Z", ""),
            ("evicted", "19:10:18Z", "preemption by default-scheduler"),
        },
    ),
    (
        "kube: a pod evicted through the API",
        shows.pod,
        {
            ("created", "19:10:06Z", ""),
            ("scheduled", "19:10:06Z", ""),
            ("running", "19:10:06Z", ""),
            ("ready", "19:10:06Z", ""),
            ("evicted", "19:10:23Z", "eviction API"),
        },
    ),
    ("kube: a job that was just created", shows.job, {("created", "19:10:06Z", "")}),
    (
        "kube: a completed job",
        shows.job,
        {("created", "19:10:06Z", ""), ("completed", "19:10:09Z", "CompletionsReached")},
    ),
    (
        "kube: a failed job",
        shows.job,
        {("created", "19:10:06Z", ""), ("failed", "19:10:08Z", "BackoffLimitExceeded")},
    ),
    ("kube: a gang", shows.native_pod_group, {("created", "19:10:06Z", "2")}),
    (
        "kube: a gang that does not fit",
        shows.native_pod_group,
        {
            ("created", "19:10:06Z", "3"),
            ("queued", "19:10:06Z", "Unschedulable"),
            ("unschedulable", "19:10:06Z", "Unschedulable"),
        },
    ),
    ("kube: a volume claim", shows.volume_claim, {("created", "19:10:06Z", "")}),
    ("kube: a bound volume claim", shows.volume_claim, {("created", "19:10:06Z", ""), ("bound", "", "pv-0")}),
    ("kube: a device claim", shows.resource_claim, {("created", "19:10:06Z", "")}),
    (
        "kube: an allocated device claim",
        shows.resource_claim,
        {("created", "19:10:06Z", ""), ("allocated", "19:10:06Z", ""), ("reserved", "", "dra-0")},
    ),
    (
        "kube: a preemption",
        shows.eviction,
        {("evicted", "19:10:18.035731Z", "preemption by pod c61faaea-f4ec-404d-a839-e1cf93984c32")},
    ),
    ("kai: a group of a job", shows.kai_pod_group, {("created", "19:11:57Z", "1")}),
    ("kai: a group of a training job", shows.kai_pod_group, {("created", "19:11:57Z", "2")}),
    (
        "kai: a group that does not fit",
        shows.kai_pod_group,
        {
            ("created", "19:12:19Z", "3"),
            ("queued", "19:12:20Z", "PodSchedulingErrors"),
            ("unschedulable", "19:12:20Z", "PodSchedulingErrors"),
        },
    ),
    ("kai: a decision", shows.bind_request, {("created", "19:11:57Z", "default-0")}),
    (
        "kai: a running pod",
        shows.pod,
        {
            ("created", "19:11:57Z", ""),
            ("scheduled", "19:11:59Z", ""),
            ("running", "19:11:59Z", ""),
            ("ready", "19:11:59Z", ""),
        },
    ),
    (
        "kai: a pod that does not fit",
        shows.pod,
        {
            ("created", "19:12:19Z", ""),
            ("queued", "19:12:20Z", "Unschedulable"),
            ("unschedulable", "19:12:20Z", "Unschedulable"),
        },
    ),
    (
        "kai: a pod whose GPUs are reclaimed",
        shows.pod,
        {
            ("created", "22:53:09Z", ""),
            ("scheduled", "22:53:12Z", ""),
            ("running", "22:53:12Z", ""),
            ("ready", "22:53:12Z", ""),
            ("evicted", "22:53:13Z", "reclaim by default/owned"),
        },
    ),
    ("kai: an eviction", shows.eviction, {("evicted", "19:12:14.904439Z", "reclaim by default/b0")}),
]


@pytest.mark.parametrize(("name", "function", "expected"), RECORDED, ids=[name for name, _, _ in RECORDED])
def test_a_recorded_state_shows(
    name: str, function: Callable[[Object], list[Shown]], expected: set[tuple[str, str, str]]
) -> None:
    assert seen(function(STATES[name])) == expected


def test_no_phase_shows_twice_in_one_state() -> None:
    for name, function, _ in RECORDED:
        phases = [shown.phase for shown in function(STATES[name])]
        assert len(phases) == len(set(phases)), name


@pytest.mark.parametrize(
    ("name", "function", "kind", "subject"),
    [
        ("kai: a group of a job", shows.first_owner, "Job", "train-0"),
        ("kai: a group of a training job", shows.first_owner, "PyTorchJob", "dist-0"),
        ("kai: a decision", shows.first_owner, "Pod", "train-0-5j4kv"),
    ],
)
def test_kais_objects_speak_of_their_first_owner_which_is_no_controller(
    name: str, function: Callable[[Object], str], kind: str, subject: str
) -> None:
    [reference] = STATES[name]["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["name"]) == (kind, subject)
    assert function(STATES[name]) == reference["uid"]


@pytest.mark.parametrize(("name", "kind"), [("kube: a preemption", "Pod"), ("kai: an eviction", "PodGroup")])
def test_events_speak_of_their_subject(name: str, kind: str) -> None:
    subject = STATES[name]["involvedObject"]
    assert (shows.subject(STATES[name]), subject["kind"]) == (subject["uid"], kind)


def condition(kind: str, status: str = "True", **more: str) -> Object:
    return {"type": kind, "status": status, "lastTransitionTime": "2026-01-01T00:00:09Z", **more}


def made(status: Object | None = None, **more: Any) -> Object:
    obj: Object = {"metadata": {"creationTimestamp": "2026-01-01T00:00:01Z", "name": "x"}, "spec": {}, **more}
    return obj if status is None else {**obj, "status": status}


def container(state: Object, restarts: int = 0) -> Object:
    return {"state": state, "restartCount": restarts}


def started(second: int) -> Object:
    return {"running": {"startedAt": f"2026-01-01T00:00:0{second}Z"}}


def ended(first: int, last: int) -> Object:
    return {
        "terminated": {"startedAt": f"2026-01-01T00:00:0{first}Z", "finishedAt": f"2026-01-01T00:00:0{last}Z"},
    }


@pytest.mark.parametrize(
    ("status", "phase", "clock"),
    [
        ({"phase": "Running", "containerStatuses": [container(started(3)), container(started(5))]}, "running", "05Z"),
        ({"phase": "Running", "containerStatuses": [container(started(3), restarts=1)]}, "running", ""),
        ({"phase": "Running"}, "running", ""),
        ({"phase": "Succeeded", "containerStatuses": [container(ended(3, 6))]}, "running", "03Z"),
        (
            {"phase": "Succeeded", "containerStatuses": [container(ended(3, 6)), container(ended(4, 8))]},
            "succeeded",
            "08Z",
        ),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "failed", ""),
        ({"phase": "Failed", "reason": "OutOfcpu"}, "running", None),
    ],
)
def test_a_pod_runs_since_its_last_container_and_until_its_last(status: Object, phase: str, clock: str | None) -> None:
    found = {shown.phase: shown.stamp[17:] for shown in shows.pod(made(status))}
    assert found.get(phase) == clock


@pytest.mark.parametrize(
    ("reason", "message", "expected"),
    [
        (
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a pod",
            "preemption by default-scheduler",
        ),
        ("PreemptionByScheduler", "", "preemption by the scheduler"),
        (
            "PreemptionByScheduler",
            "Pod ns/a-0 was preempted by higher priority workload ns/urgent.v2",
            "preempt by ns/urgent.v2",
        ),
        ("PreemptionByScheduler", "Pod ns/a-0 was preempted by workload ns/b.c.\nq uses <GPU: 8>", "reclaim by ns/b.c"),
        ("PreemptionByScheduler", "Pod ns/a-0 was preempted by workload ns/b.", "reclaim by ns/b"),
        (
            "PreemptionByScheduler",
            "Pod ns/a-0 was preempted and rescheduled due to bin packing (resource consolidation) procedure",
            "consolidation by KAI",
        ),
        (
            "PreemptionByScheduler",
            "Workload doesn't meet the minimum required number of pods (3), evicting remaining pod: ns/a-0",
            "stalegangeviction by KAI",
        ),
        ("DeletionByTaintManager", "", "taint manager"),
        ("TerminationByKubelet", "The node was low on resource: memory", "kubelet"),
        ("DeletionByPodGC", "", "pod garbage collector"),
        ("SomethingNew", "", "SomethingNew"),
    ],
)
def test_an_evicted_pod_tells_by_whom(reason: str, message: str, expected: str) -> None:
    told = condition("DisruptionTarget", reason=reason, message=message)
    assert Shown("evicted", "2026-01-01T00:00:09Z", expected) in shows.pod(made({"conditions": [told]}))


@pytest.mark.parametrize(
    "told",
    [
        condition("DisruptionTarget", "False", reason="PreemptionByScheduler"),
        condition("Ready", "False"),
        condition("PodScheduled", "False", reason="BindingError"),
        condition("PodReadyToStartContainers"),
    ],
)
def test_conditions_that_are_false_or_of_others_show_nothing(told: Object) -> None:
    assert [shown.phase for shown in shows.pod(made({"conditions": [told]}))] == ["created"]


def test_a_pod_with_a_node_is_scheduled_even_if_nobody_says_when() -> None:
    assert Shown("scheduled") in shows.pod(made(spec={"nodeName": "n"}))


@pytest.mark.parametrize(
    ("function", "status", "expected"),
    [
        (
            shows.kueue_workload,
            {"conditions": [condition("QuotaReserved", "False", reason="Pending")]},
            {("queued", "Pending"), ("unschedulable", "Pending")},
        ),
        (shows.kueue_workload, {"conditions": [condition("QuotaReserved"), condition("Admitted")]}, {("admitted", "")}),
        (
            shows.kueue_workload,
            {"conditions": [condition("Evicted", reason="Preempted"), condition("Admitted", "False")]},
            {("evicted", "Preempted by Kueue")},
        ),
        (
            shows.kueue_workload,
            {"conditions": [condition("Finished", reason="Succeeded")]},
            {("completed", "Succeeded")},
        ),
        (shows.kueue_workload, {"conditions": [condition("Finished", reason="Failed")]}, {("failed", "Failed")}),
        (
            shows.job_set,
            {"conditions": [condition("Completed", reason="AllJobsCompleted")]},
            {("completed", "AllJobsCompleted")},
        ),
        (shows.job_set, {"conditions": [condition("Failed", reason="FailedJobs")]}, {("failed", "FailedJobs")}),
        (shows.pytorch_job, {"conditions": [condition("Created"), condition("Running")]}, {("running", "")}),
        (
            shows.pytorch_job,
            {"conditions": [condition("Running", "False"), condition("Succeeded")]},
            {("completed", "")},
        ),
        (shows.pytorch_job, {"conditions": [condition("Failed")]}, {("failed", "")}),
        (shows.runai_workload, {"phase": "Running", "conditions": [condition("Running")]}, {("running", "")}),
        (shows.runai_workload, {"phase": "Completed", "conditions": [condition("Completed")]}, {("completed", "")}),
        (shows.runai_workload, {"phase": "Running"}, {("running", "")}),
        (shows.runai_workload, {"phase": "Pending"}, set()),
        (
            shows.native_pod_group,
            {"conditions": [condition("DisruptionTarget", reason="PreemptionByScheduler")]},
            {("evicted", "PreemptionByScheduler")},
        ),
        (
            shows.kai_pod_group,
            {"schedulingConditions": [condition("UnschedulableOnNodePool", reason="Unschedulable")]},
            {("queued", "Unschedulable"), ("unschedulable", "Unschedulable")},
        ),
        (
            shows.native_pod_group,
            {"conditions": [condition("PodGroupScheduled", "False", reason="SchedulerError")]},
            {("queued", "SchedulerError")},
        ),
        (shows.kai_pod_group, {"schedulingConditions": [condition("UnschedulableOnNodePool", "False")]}, set()),
    ],
)
def test_conditions_show_phases_with_their_time(
    function: Callable[[Object], list[Shown]], status: Object, expected: set[tuple[str, str]]
) -> None:
    first, *others = function(made(status))
    assert (first.phase, first.stamp) == ("created", "2026-01-01T00:00:01Z")
    assert {(shown.phase, shown.detail) for shown in others} == expected
    dated = "conditions" in status or "schedulingConditions" in status
    assert {shown.stamp for shown in others} <= {"2026-01-01T00:00:09Z" if dated else ""}


def event(reason: str, **more: Any) -> Object:
    name = more.pop("name", "p.18e84dbf2787b3b0")
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-11-15T19:12:15Z", **more.pop("metadata", {})},
        "reason": reason,
        **more,
    }


def test_an_event_of_any_other_reason_shows_nothing() -> None:
    assert shows.eviction(event("Scheduled")) == []


@pytest.mark.parametrize(
    ("fields", "stamp"),
    [
        ({"eventTime": "2026-11-15T19:12:14.000001Z"}, "2026-11-15T19:12:14.000001Z"),
        ({"firstTimestamp": "2026-11-15T19:12:14Z"}, "2026-11-15T19:12:14.904439Z"),
        ({"firstTimestamp": "2026-11-15T19:12:13Z"}, "2026-11-15T19:12:13Z"),
        ({"firstTimestamp": "2026-11-15T19:12:14Z", "name": "somebody.else"}, "2026-11-15T19:12:14Z"),
        ({"firstTimestamp": None, "eventTime": None}, "2026-11-15T19:12:15Z"),
    ],
)
def test_an_event_is_dated_as_exactly_as_it_can_be(fields: Object, stamp: str) -> None:
    [shown] = shows.eviction(event("Evict", **fields))
    assert shown.stamp == stamp


@pytest.mark.parametrize(
    ("obj", "detail"),
    [
        (
            event("Evict", metadata={"annotations": {"evictor-action-type": "stalegangeviction"}}),
            "stalegangeviction by KAI",
        ),
        (event("Evict", message="(combined from similar events): ..."), "eviction by KAI"),
        (event("Preempted", related={"namespace": "a", "name": "b"}), "preemption by a/b"),
        (event("Preempted", message="Preempted by podgroup 12-34 on node n"), "preemption by podgroup 12-34"),
        (event("Preempted", reportingComponent="mine"), "preemption by mine"),
    ],
)
def test_an_eviction_tells_by_whom_as_far_as_it_says(obj: Object, detail: str) -> None:
    [shown] = shows.eviction(obj)
    assert shown.detail == detail


@pytest.mark.parametrize(
    "function",
    [
        shows.pod,
        shows.job,
        shows.native_pod_group,
        shows.kai_pod_group,
        shows.bind_request,
        shows.resource_claim,
        shows.volume_claim,
        shows.kueue_workload,
        shows.job_set,
        shows.pytorch_job,
        shows.runai_workload,
    ],
)
@pytest.mark.parametrize("status", [None, {}, {"conditions": None, "containerStatuses": None, "phase": None}])
def test_an_object_that_nobody_has_touched_yet_was_created(
    function: Callable[[Object], list[Shown]], status: Object | None
) -> None:
    assert [shown.phase for shown in function(made(status))] == ["created"]
