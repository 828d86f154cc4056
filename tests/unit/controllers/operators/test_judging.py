"""What follows from the state of a PyTorchJob and its pods."""

from typing import Any

import pytest

from kubedyno.controllers.operators import judging, replicas
from kubedyno.controllers.operators.judging import Judgement
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

BEGAN = "2026-01-01T00:00:00Z"
NOW = "2026-01-01T00:01:00Z"
NOW_NS = parse_rfc3339_ns(NOW)


def job(
    *,
    master: bool = False,
    workers: int = 2,
    restart: str = "OnFailure",
    status: Object | None = None,
    elastic: bool = False,
    **policy: Any,
) -> Object:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    members = {"Worker": {"replicas": workers, "restartPolicy": restart, "template": template}}
    if master:
        members["Master"] = {"replicas": 1, "restartPolicy": restart, "template": template}
    spec: Object = {"pytorchReplicaSpecs": members, "runPolicy": policy}
    if elastic:
        spec["elasticPolicy"] = {"minReplicas": 1}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": spec,
        **({"status": status} if status else {}),
    }


def pod(
    type_: str, index: int, phase: str, *, leaving: bool = False, code: int | None = None, restarts: int = 0
) -> Object:
    state = {} if code is None else {"terminated": {"exitCode": code}}
    return {
        "metadata": {
            "name": f"j-{type_}-{index}",
            "uid": f"{type_}-{index}",
            "labels": {replicas.REPLICA_TYPE: type_, replicas.REPLICA_INDEX: str(index)},
            **({"deletionTimestamp": NOW} if leaving else {}),
        },
        "spec": {},
        "status": {
            "phase": phase,
            "containerStatuses": [{"name": "pytorch", "state": state, "restartCount": restarts}],
        },
    }


def workers(*phases: str) -> list[Object]:
    return [pod("worker", index, phase) for index, phase in enumerate(phases)]


def judge(of: Object, pods: list[Object]) -> Judgement:
    return judging.judge(of, pods, now_ns=NOW_NS)


def holding(found: Judgement) -> list[str]:
    return [one["type"] for one in found.status["conditions"] if one["status"] == "True"]


def names(objects: list[Object]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]


def counted(found: Judgement, type_: str = "Worker") -> dict[str, int]:
    return {key: number for key, number in found.status["replicaStatuses"][type_].items() if key != "selector"}


def test_a_new_job_gets_all_its_pods() -> None:
    found = judge(job(master=True), [])
    assert names(found.create) == ["j-master-0", "j-worker-0", "j-worker-1"]
    assert holding(found) == ["Created"]
    assert found.status["startTime"] == NOW
    assert found.status["replicaStatuses"]["Worker"] == {
        "selector": "training.kubeflow.org/job-name=j,training.kubeflow.org/operator-name=pytorchjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    }
    created = found.status["conditions"][0]
    assert created == {
        "type": "Created",
        "status": "True",
        "reason": "PyTorchJobCreated",
        "message": "PyTorchJob j is created.",
        "lastUpdateTime": NOW,
        "lastTransitionTime": NOW,
    }


@pytest.mark.parametrize(
    ("of", "pods", "conditions", "counts"),
    [
        (job(), workers("Pending", "Pending"), ["Created"], {}),
        (job(), workers("Running", "Pending"), ["Created", "Running"], {"active": 1}),
        (job(), workers("Succeeded", "Running"), ["Created", "Running"], {"active": 1, "succeeded": 1}),
        (job(), workers("Succeeded", "Succeeded"), ["Created", "Succeeded"], {"succeeded": 2}),
        (job(elastic=True), workers("Succeeded", "Running"), ["Created", "Succeeded"], {"active": 1, "succeeded": 1}),
        (job(restart="Never"), workers("Failed", "Running"), ["Created", "Failed"], {"active": 1, "failed": 1}),
        (job(), workers("Failed", "Running"), ["Created", "Restarting"], {"active": 1, "failed": 1}),
        (job(master=True), [pod("master", 0, "Running"), *workers("Pending", "Pending")], ["Created", "Running"], {}),
        (
            job(master=True),
            [pod("master", 0, "Pending"), *workers("Running", "Running")],
            ["Created"],
            {"active": 2},
        ),
        (
            job(master=True),
            [pod("master", 0, "Succeeded"), *workers("Running", "Running")],
            ["Created", "Succeeded"],
            {"active": 2},
        ),
    ],
)
def test_pods_make_the_jobs_conditions(
    of: Object, pods: list[Object], conditions: list[str], counts: dict[str, int]
) -> None:
    found = judge(of, pods)
    assert holding(found) == conditions
    assert counted(found) == counts
    assert found.create == []
    assert ("completionTime" in found.status) == bool({"Succeeded", "Failed"} & set(conditions))


def test_what_is_judged_again_is_the_same() -> None:
    for pods in (workers("Running", "Failed"), workers("Running", "Running"), workers("Succeeded", "Succeeded")):
        once = judge(job(), pods)
        again = judge(job(status=once.status), [one for one in pods if one not in once.delete])
        twice = judge(job(status=once.status), pods)
        assert twice.status == once.status
        assert twice.events == []
        assert len(again.create) == len(once.delete)


def test_a_pod_that_is_gone_is_made_again() -> None:
    running = judge(job(), workers("Running", "Running"))
    found = judge(job(status=running.status), workers("Running"))
    assert names(found.create) == ["j-worker-1"]
    assert holding(found) == ["Created", "Running"]


def test_a_pod_that_is_taken_away_counts_as_failed_and_keeps_its_place() -> None:
    pods = [pod("worker", 0, "Running"), pod("worker", 1, "Running", leaving=True)]
    found = judge(job(), pods)
    assert (found.create, found.delete) == ([], [])
    assert counted(found) == {"active": 1, "failed": 1}
    assert holding(found) == ["Created", "Restarting"]
    assert holding(judge(job(restart="Never"), pods)) == ["Created", "Failed"]


def test_a_failed_pod_is_deleted_to_be_made_again() -> None:
    found = judge(job(), workers("Running", "Failed"))
    assert names(found.delete) == ["j-worker-1"]
    assert found.events == [
        ("Warning", "PyTorchJobRestarting", "job j is restarting because Worker replica(s) failed.")
    ]
    leaving = [pod("worker", 0, "Running"), pod("worker", 1, "Failed", leaving=True)]
    assert judge(job(), leaving).delete == []


@pytest.mark.parametrize(("code", "conditions"), [(1, ["Created", "Failed"]), (137, ["Created", "Restarting"])])
def test_exit_codes_tell_whether_a_restart_can_help(code: int, conditions: list[str]) -> None:
    pods = [pod("worker", 0, "Running"), pod("worker", 1, "Failed", code=code)]
    assert holding(judge(job(restart="ExitCode"), pods)) == conditions


def test_fewer_replicas_take_the_last_ones_away() -> None:
    found = judge(job(workers=1), workers("Running", "Running"))
    assert names(found.delete) == ["j-worker-1"]


@pytest.mark.parametrize(
    ("limit", "pods", "is_over"),
    [
        (3, [pod("worker", 0, "Running", restarts=2)], False),
        (3, [pod("worker", 0, "Running", restarts=3)], True),
        (0, [pod("worker", 0, "Running")], False),
        (0, [pod("worker", 0, "Running", restarts=1)], True),
        (0, [pod("worker", 0, "Failed")], True),
        (1, [pod("worker", 0, "Failed")], False),
    ],
)
def test_too_many_restarts_end_a_job(limit: int, pods: list[Object], is_over: bool) -> None:
    found = judge(job(backoffLimit=limit, workers=1), pods)
    assert ("Failed" in holding(found)) == is_over
    if is_over:
        assert names(found.delete) == ["j-worker-0"]
        assert found.status["conditions"][-1]["message"] == (
            "Job j has failed because it has reached the specified backoff limit"
        )


def test_a_job_may_not_be_active_for_longer_than_it_says() -> None:
    status = {"startTime": BEGAN}
    found = judge(job(status=status, activeDeadlineSeconds=90), workers("Running", "Running"))
    assert found.again_s == 30
    late = judge(job(status=status, activeDeadlineSeconds=60), workers("Running", "Running"))
    assert holding(late) == ["Created", "Failed"]
    assert names(late.delete) == ["j-worker-0", "j-worker-1"]


def test_a_suspended_job_has_no_pods_until_it_goes_on() -> None:
    status = judge(job(), workers("Running", "Running")).status
    held = judge(job(status=status, suspend=True), workers("Running", "Running"))
    assert names(held.delete) == ["j-worker-0", "j-worker-1"]
    assert holding(held) == ["Created", "Suspended"]
    assert counted(held) == {}
    on = judge(job(status={**held.status, "startTime": BEGAN}), [])
    assert (len(on.create), holding(on), on.status["startTime"]) == (2, ["Created"], NOW)
    assert on.status["conditions"][-1]["reason"] == "PyTorchJobResumed"


def finished(**policy: Any) -> Object:
    status = judge(job(), workers("Succeeded", "Succeeded")).status
    return job(status={**status, "completionTime": BEGAN}, **policy)


@pytest.mark.parametrize(
    ("policy", "gone"),
    [
        (None, []),
        ("None", []),
        ("Running", ["j-worker-1"]),
        ("All", ["j-worker-0", "j-worker-1"]),
    ],
)
def test_what_a_finished_job_leaves_behind(policy: str | None, gone: list[str]) -> None:
    found = judge(finished(cleanPodPolicy=policy), workers("Succeeded", "Running"))
    assert names(found.delete) == gone
    assert found.create == []


def test_who_still_works_when_the_master_is_done_has_succeeded() -> None:
    status = judge(job(master=True), [pod("master", 0, "Succeeded"), *workers("Running", "Running")]).status
    found = judge(job(master=True, status=status), [])
    assert counted(found) == {"succeeded": 2}
    assert found.create == [], "nothing is made for a job that is over"


@pytest.mark.parametrize(("ttl", "again_s", "is_expired"), [(None, None, False), (90, 30.0, False), (60, None, True)])
def test_a_finished_job_goes_after_its_time(ttl: int | None, again_s: float | None, is_expired: bool) -> None:
    found = judge(finished(ttlSecondsAfterFinished=ttl), [])
    assert (found.again_s, found.is_expired) == (again_s, is_expired)
