"""Decisions about Jobs: indexes, policies, backoff, verdicts, pods to create and delete, counting."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.controllers.jobs import backoff, indexes, judging, podwork, policies, tracking
from kubedyno.controllers.jobs.backoff import Failures
from kubedyno.controllers.jobs.ledger import TRACKING, Ledger, opened
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

NOW = "2026-01-01T00:10:00Z"
NOW_NS = parse_rfc3339_ns(NOW)


@pytest.mark.parametrize(
    ("text", "completions", "found"),
    [
        ("", 5, []),
        (None, 5, []),
        ("0", 5, [0]),
        ("0,2-4", 5, [0, 2, 3, 4]),
        ("1-9", 4, [1, 2, 3]),
        ("7", 5, []),
        ("x,1", 5, [1]),
        ("1-x,2", 5, [2]),
    ],
)
def test_indexes_are_read(text: str | None, completions: int, found: list[int]) -> None:
    assert sorted(indexes.parse(text, completions)) == found


@pytest.mark.parametrize(
    ("given_indexes", "text"),
    [([], ""), ([3], "3"), ([0, 1], "0,1"), ([0, 1, 2], "0-2"), ([0, 2, 3, 5, 6, 7], "0,2,3,5-7")],
)
def test_indexes_are_written_as_kubernetes_writes_them(given_indexes: list[int], text: str) -> None:
    assert indexes.text(given_indexes) == text


@given(st.sets(st.integers(0, 60)))
def test_written_indexes_are_read_back(chosen: set[int]) -> None:
    assert indexes.parse(indexes.text(chosen), 61) == chosen


def pod(name: str = "p", phase: str = "Pending", /, *, index: int | None = None, **more: Any) -> Object:
    metadata: Object = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": [TRACKING],
    }
    if index is not None:
        metadata["annotations"] = {indexes.COMPLETION_INDEX: str(index)}
    metadata.update(more.pop("metadata", {}))
    return {"metadata": metadata, "spec": more.pop("spec", {}), "status": {"phase": phase, **more}}


def exited(code: int, at: str = "2026-01-01T00:00:00Z", name: str = "main") -> list[Object]:
    return [{"name": name, "state": {"terminated": {"exitCode": code, "finishedAt": at}}}]


def ledger(
    pods: list[Object], /, *, status: Object | None = None, failures: Failures | None = None, **spec: Any
) -> Ledger:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]},
    }
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "job-uid"},
        "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template, **spec},
        "status": status or {},
    }
    return opened(job, pods, released=frozenset(), failures=failures or Failures(), now_ns=NOW_NS)


def judged(pods: list[Object], /, **more: Any) -> Ledger:
    found = ledger(pods, **more)
    judging.judge(found)
    return found


RULES = {
    "rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In", "values": [42]}},
        {"action": "FailIndex", "onExitCodes": {"operator": "NotIn", "values": [1, 2]}},
        {"action": "Count", "onExitCodes": {"operator": "In", "values": [2]}},
    ]
}


@pytest.mark.parametrize(
    ("failed", "ruling"),
    [
        (pod("p", "Failed", containerStatuses=exited(42)), (True, "FailJob")),
        (pod("p", "Failed", containerStatuses=exited(42, name="other")), (True, "FailIndex")),
        (pod("p", "Failed", containerStatuses=exited(1)), (True, None)),
        (pod("p", "Failed", containerStatuses=exited(2)), (True, "Count")),
        (pod("p", "Failed", containerStatuses=exited(0)), (True, None)),
        (pod("p", "Failed", initContainerStatuses=exited(7, name="init")), (True, "FailIndex")),
        (pod("p", "Failed", conditions=[{"type": "DisruptionTarget", "status": "True"}]), (False, "Ignore")),
        (pod("p", "Failed", conditions=[{"type": "DisruptionTarget", "status": "False"}]), (True, None)),
    ],
)
def test_the_first_fitting_rule_rules(failed: Object, ruling: tuple[bool, str | None]) -> None:
    found = policies.ruling(RULES, failed)
    assert (found.counts, found.action) == ruling


def test_a_failed_job_says_which_rule_it_was() -> None:
    failed = pod("p", "Failed", containerStatuses=exited(42))
    assert policies.ruling(RULES, failed).message == (
        "Container main for pod n/p failed with exit code 42 matching FailJob rule at index 1"
    )
    by_condition = {"rules": [{"action": "FailJob", "onPodConditions": [{"type": "Bad", "status": "True"}]}]}
    failed = pod("p", "Failed", conditions=[{"type": "Bad", "status": "True"}])
    assert policies.ruling(by_condition, failed).message == "Pod n/p has condition Bad matching FailJob rule at index 0"


@pytest.mark.parametrize(
    ("rule", "succeeded", "met"),
    [
        ({"succeededIndexes": "1-2"}, {1}, False),
        ({"succeededIndexes": "1-2"}, {1, 2}, True),
        ({"succeededIndexes": "1-2", "succeededCount": 1}, {2}, True),
        ({"succeededIndexes": "1-2", "succeededCount": 1}, {0, 3}, False),
        ({"succeededCount": 2}, {0, 3}, True),
        ({"succeededCount": 3}, {0, 3}, False),
    ],
)
def test_a_success_policy_is_met(rule: Object, succeeded: set[int], *, met: bool) -> None:
    assert policies.success_message({"rules": [rule]}, 4, succeeded) == ("Matched rules at index 0" if met else None)


@pytest.mark.parametrize(("count", "wait_s"), [(0, 0), (1, 10), (2, 20), (4, 80), (7, 600), (50, 600)])
def test_backoff_doubles(count: int, wait_s: float) -> None:
    assert backoff.remaining_s(Failures(count, NOW_NS), NOW_NS) == wait_s
    assert backoff.remaining_s(Failures(count, NOW_NS - 700 * NS_PER_S), NOW_NS) == 0


def test_a_success_starts_the_count_of_failures_anew() -> None:
    def ended(at: str) -> Object:
        return pod("p", "Failed", containerStatuses=exited(1, at))

    before = Failures(3, 5)
    early, late = "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"
    assert backoff.updated(before, [], []) == before
    assert backoff.updated(before, [], [ended(late), ended(early)]) == Failures(5, parse_rfc3339_ns(late))
    assert backoff.updated(before, [ended(early)], []) == Failures()
    assert backoff.updated(before, [ended(early)], [ended(late)]) == Failures(1, parse_rfc3339_ns(late))
    assert backoff.updated(before, [ended(late)], [ended(early)]) == Failures()


@pytest.mark.parametrize(
    ("ended", "at"),
    [
        (pod("p", "Failed", containerStatuses=exited(1, "2026-01-01T00:00:09Z")), "2026-01-01T00:00:09Z"),
        (
            pod(
                "p",
                "Failed",
                conditions=[{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:08Z"}],
            ),
            "2026-01-01T00:00:08Z",
        ),
        (
            pod("p", metadata={"deletionTimestamp": "2026-01-01T00:00:40Z", "deletionGracePeriodSeconds": 30}),
            "2026-01-01T00:00:10Z",
        ),
        (pod("p", "Failed"), "2026-01-01T00:00:00Z"),
    ],
)
def test_when_a_pod_finished(ended: Object, at: str) -> None:
    assert backoff.finished_ns(ended) == parse_rfc3339_ns(at)


FAILED = pod("f", "Failed", containerStatuses=exited(1))
TERMINATING = pod("t", "Running", metadata={"deletionTimestamp": NOW})


def on_exit(action: str) -> dict[str, Any]:
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [1]}}
    return {"podFailurePolicy": {"rules": [rule]}}


def decided(type_: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": type_, "status": "True", "reason": "Old"}]}}


@pytest.mark.parametrize(
    ("pods", "more", "reason"),
    [
        ([FAILED], {"backoffLimit": 0}, "BackoffLimitExceeded"),
        ([FAILED], {"backoffLimit": 1}, None),
        ([FAILED], {"backoffLimit": 1, "status": {"failed": 1}}, "BackoffLimitExceeded"),
        ([TERMINATING], {"backoffLimit": 0}, "BackoffLimitExceeded"),
        ([TERMINATING], {"backoffLimit": 0, "podReplacementPolicy": "Failed"}, None),
        ([], {"activeDeadlineSeconds": 60, "status": {"startTime": "2026-01-01T00:09:00Z"}}, "DeadlineExceeded"),
        ([], {"activeDeadlineSeconds": 61, "status": {"startTime": "2026-01-01T00:09:00Z"}}, None),
        ([], {"activeDeadlineSeconds": 1, "suspend": True, "status": {"startTime": "2026-01-01T00:00:00Z"}}, None),
        ([FAILED], on_exit("FailJob"), "PodFailurePolicy"),
        ([FAILED], {"backoffLimit": 0, **on_exit("Ignore")}, None),
        ([], decided("FailureTarget"), "Old"),
        ([FAILED], {"backoffLimit": 0, **decided("SuccessCriteriaMet")}, "Old"),
    ],
)
def test_why_a_job_is_over(pods: list[Object], more: dict[str, Any], reason: str | None) -> None:
    verdict = judged(pods, **more).verdict
    assert (verdict.reason if verdict is not None else None) == reason


def test_restarts_count_against_the_limit_where_the_kubelet_restarts() -> None:
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main"}]}}
    restarted = pod("p", "Running", containerStatuses=[{"name": "main", "restartCount": 2}])
    assert judged([restarted], template=template, backoffLimit=3).verdict is None
    verdict = judged([restarted], template=template, backoffLimit=2).verdict
    assert verdict is not None
    assert verdict.reason == "BackoffLimitExceeded"


def test_a_deadline_is_looked_at_again() -> None:
    found = judged([], activeDeadlineSeconds=70, status={"startTime": "2026-01-01T00:09:00Z"})
    assert found.requeue_s == 10


PER_INDEX = {"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 1}


def failed_at(index: int, before: int) -> Object:
    found = pod(f"f{index}-{before}", "Failed", index=index, containerStatuses=exited(1))
    found["metadata"]["annotations"][indexes.FAILURE_COUNT] = str(before)
    return found


def test_an_index_that_failed_too_often_is_given_up() -> None:
    found = judged([failed_at(0, 1), failed_at(1, 0)], **PER_INDEX)
    assert found.failed_indexes == {0}
    assert list(found.delayed) == [1]
    assert found.verdict is None
    done = [failed_at(0, 1), pod("a", "Succeeded", index=1), pod("b", "Succeeded", index=2)]
    verdict = judged(done, **PER_INDEX).verdict
    assert verdict is not None
    assert (verdict.reason, verdict.message) == ("FailedIndexes", "Job has failed indexes")
    verdict = judged([failed_at(0, 1)], **PER_INDEX, maxFailedIndexes=0).verdict
    assert verdict is not None
    assert verdict.reason == "MaxFailedIndexesExceeded"


def wanted(pods: list[Object], /, **more: Any) -> podwork.PodWork:
    return podwork.wanted(judged(pods, **more))


@pytest.mark.parametrize(
    ("pods", "more", "count"),
    [
        ([], {"parallelism": 3, "completions": 5}, 3),
        ([], {"parallelism": 3, "completions": 2}, 2),
        ([pod("a"), pod("b", "Succeeded")], {"parallelism": 3, "completions": 3}, 1),
        ([], {"parallelism": 3, "completions": None}, 3),
        ([pod("a", "Succeeded")], {"parallelism": 3, "completions": None}, 0),
        ([], {"parallelism": 1000, "completions": 1000}, 500),
        ([TERMINATING], {"podReplacementPolicy": "Failed"}, 0),
    ],
)
def test_how_many_pods_are_created(pods: list[Object], more: dict[str, Any], count: int) -> None:
    assert len(wanted(pods, **more).create) == count


def test_a_replacement_waits_for_the_backoff() -> None:
    failed = pod("f", "Failed", containerStatuses=exited(1, "2026-01-01T00:09:56Z"))
    assert wanted([failed]) == podwork.PodWork(wait_s=6)
    per_index = pod("f", "Failed", index=0, containerStatuses=exited(1, "2026-01-01T00:09:56Z"))
    assert wanted([per_index], **{**PER_INDEX, "completions": 1}) == podwork.PodWork(wait_s=6)
    assert [meta_index(body) for body in wanted([per_index], **PER_INDEX).create] == ["1", "2"]


def meta_index(body: Object) -> str:
    return str(body["metadata"]["annotations"][indexes.COMPLETION_INDEX])


def test_an_indexed_pod_knows_its_index() -> None:
    (body,) = wanted([pod("a", index=0), pod("b", "Succeeded", index=1)], **{**PER_INDEX, "completions": 3}).create
    name = "batch.kubernetes.io/job-completion-index"
    assert body == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "j-2-",
            "namespace": "n",
            "labels": {"a": "b", name: "2"},
            "annotations": {name: "2", "batch.kubernetes.io/job-index-failure-count": "0"},
            "finalizers": [TRACKING],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "j",
                    "uid": "job-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "restartPolicy": "Never",
            "hostname": "j-2",
            "containers": [
                {
                    "name": "main",
                    "env": [
                        {
                            "name": "JOB_COMPLETION_INDEX",
                            "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{name}']"}},
                        }
                    ],
                }
            ],
        },
    }


def test_a_successor_carries_the_failures_of_its_index() -> None:
    ignoring = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}
    (body,) = wanted([failed_at(0, 0)], **{**PER_INDEX, "completions": 1}).create
    assert body["metadata"]["annotations"][indexes.FAILURE_COUNT] == "1"
    (body,) = wanted([failed_at(0, 0)], **{**PER_INDEX, "completions": 1}, podFailurePolicy=ignoring).create
    assert body["metadata"]["annotations"][indexes.FAILURE_COUNT] == "0"
    assert body["metadata"]["annotations"][indexes.IGNORED_FAILURE_COUNT] == "1"


def test_the_least_missed_pods_are_deleted() -> None:
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    bound = {"nodeName": "x"}
    pods = [
        pod("ready", "Running", spec=bound, conditions=ready),
        pod("running", "Running", spec=bound),
        pod("starting", "Pending", spec=bound),
        pod("unbound", "Pending"),
    ]
    order = [
        [entry["metadata"]["name"] for entry in wanted(pods, parallelism=keep, completions=9).delete] for keep in (3, 1)
    ]
    assert order == [["unbound"], ["unbound", "starting", "running"]]
    everyone = wanted(pods, parallelism=4, completions=4, suspend=True).delete
    assert len(everyone) == 4


def test_a_second_pod_of_an_index_is_deleted() -> None:
    pods = [pod("a", index=0), pod("b", index=0), pod("c", index=7), pod("d")]
    gone = [entry["metadata"]["name"] for entry in wanted(pods, **PER_INDEX).delete]
    assert gone == ["c", "d", "a"]


def tracked(pods: list[Object], /, **more: Any) -> tuple[Ledger, list[str], bool]:
    found = judged(pods, **more)
    judging.judge_completion(found, managed=True)
    release, is_full = tracking.track(found)
    return found, [entry["metadata"]["uid"] for entry in release], is_full


def test_a_pod_is_listed_before_it_is_released_and_counted_after() -> None:
    pods = [pod("a", "Succeeded"), pod("b", "Running"), FAILED]
    found, release, _ = tracked(pods, completions=3, parallelism=3)
    assert release == ["uid-a", "uid-f"]
    assert found.uncounted == {"succeeded": ["uid-a"], "failed": ["uid-f"]}
    assert "succeeded" not in found.status
    assert tracking.count_released(found, ["uid-b", "uid-f"])
    assert (found.status["succeeded"], found.uncounted) == (1, {"failed": ["uid-f"]})
    assert not tracking.finish(found)
    assert tracking.count_released(found, ["uid-b"])
    assert (found.status["failed"], found.uncounted) == (1, {})


def test_a_pod_that_is_listed_already_is_not_counted_twice() -> None:
    status = {"uncountedTerminatedPods": {"succeeded": ["uid-a", "uid-gone"]}, "succeeded": 4}
    found, release, _ = tracked([pod("a", "Succeeded")], completions=9, status=status)
    assert release == ["uid-a"]
    # The finalizer of the other one is gone: it has become a count.
    assert (found.status["succeeded"], found.uncounted) == (5, {"succeeded": ["uid-a"]})
    assert found.succeeded == 6


def test_the_status_lists_five_hundred_pods_at_most() -> None:
    pods = [pod(f"p{number}", "Succeeded") for number in range(600)]
    found, release, is_full = tracked(pods, completions=600, parallelism=600)
    assert (len(release), len(found.uncounted["succeeded"]), is_full) == (500, 500, True)


def test_a_complete_job_ends_with_its_conditions_and_time() -> None:
    found, _, _ = tracked([pod("a", "Succeeded")])
    tracking.count_released(found, [])
    assert tracking.finish(found)
    stamps = {"lastProbeTime": NOW, "lastTransitionTime": NOW}
    told = {"status": "True", "reason": "CompletionsReached", "message": "Reached expected number of succeeded pods"}
    assert found.status == {
        "startTime": NOW,
        "completionTime": NOW,
        "succeeded": 1,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
        "conditions": [{"type": "SuccessCriteriaMet", **told, **stamps}, {"type": "Complete", **told, **stamps}],
    }
    assert found.events == [("Normal", "Completed", "Job completed")]


def test_a_job_is_not_finished_while_a_pod_terminates() -> None:
    found, _, _ = tracked([FAILED, TERMINATING], backoffLimit=0)
    tracking.count_released(found, [])
    assert not tracking.finish(found)
    assert [entry["type"] for entry in found.status["conditions"]] == ["FailureTarget"]


def test_a_failing_job_counts_the_pods_that_it_takes_down() -> None:
    found, release, _ = tracked([FAILED, pod("r", "Running")], backoffLimit=0, parallelism=2, completions=2)
    assert release == ["uid-f", "uid-r"]
    assert found.uncounted == {"failed": ["uid-f", "uid-r"]}


def test_suspending_is_told_once_and_resuming_starts_the_clock_anew() -> None:
    found, _, _ = tracked([], suspend=True, status={"startTime": "2026-01-01T00:00:00Z"})
    assert "startTime" not in found.status
    assert found.events == [("Normal", "Suspended", "Job suspended")]
    again, _, _ = tracked([], suspend=True, status=found.status)
    assert again.events == []
    resumed, _, _ = tracked([], suspend=False, status=found.status)
    assert resumed.status["startTime"] == NOW
    assert resumed.status["conditions"][0]["status"] == "False"
    assert resumed.events == [("Normal", "Resumed", "Job resumed")]
