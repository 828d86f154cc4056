"""ReplicaSets and Deployments: victims, counts, sizes during a rollout, conditions."""

from typing import Any

import pytest

from kubedyno.controllers.replicas import progress, replicasets, rollout
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

NOW = "2026-01-01T00:10:00Z"
NOW_NS = parse_rfc3339_ns(NOW)


def pod(name: str, *, node: str = "n", ready: str | None = "2026-01-01T00:00:00Z", **metadata: Any) -> Object:
    conditions = [] if ready is None else [{"type": "Ready", "status": "True", "lastTransitionTime": ready}]
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {"a": "b"},
            "creationTimestamp": "2026-01-01T00:00:00Z",
            **metadata,
        },
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": conditions},
    }


def replica_set(name: str = "s", /, *, replicas: int = 1, age: int = 0, image: str = "i", **status: Any) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "uid": name,
            "generation": 1,
            "creationTimestamp": f"2026-01-01T00:00:{age:02}Z",
            "annotations": status.pop("annotations", {}),
        },
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"image": image}}},
        "status": {"observedGeneration": 1, **status},
    }


def names(objects: Any) -> list[str]:
    return [entry["metadata"]["name"] for entry in objects]


def test_missing_pods_are_created_and_five_hundred_at_once() -> None:
    assert replicasets.difference(replica_set(replicas=3), [pod("a")], []).create == 2
    assert replicasets.difference(replica_set(replicas=900), [], []).create == 500
    assert replicasets.difference(replica_set(replicas=1), [pod("a")], []) == replicasets.Difference()


def test_the_pod_that_is_missed_least_goes_first() -> None:
    cheap = {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}
    pods = [
        pod("old"),
        pod("fresh", ready="2026-01-01T00:05:00Z"),
        pod("crowded", node="full"),
        pod("cheap", **cheap),
        pod("not-ready", ready=None),
        pod("unbound", node="", ready=None),
    ]
    related = [*pods, pod("x", node="full"), pod("y", node="full"), pod("z", node="full"), pod("w", node="full")]
    gone = [names(replicasets.difference(replica_set(replicas=keep), pods, related).delete) for keep in (5, 1)]
    assert gone == [["unbound"], ["unbound", "not-ready", "cheap", "crowded", "fresh"]]


def test_the_status_of_a_set_counts_its_pods() -> None:
    pods = [
        pod("a"),
        pod("young", ready="2026-01-01T00:09:55Z"),
        pod("b", ready=None, labels={}),
        pod("going", deletionTimestamp=NOW),
    ]
    subject = replica_set(replicas=3)
    subject["spec"]["minReadySeconds"] = 10
    assert replicasets.status_of(subject, pods, None, now_ns=NOW_NS) == {
        "observedGeneration": 1,
        "replicas": 3,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 1,
    }


def test_a_set_tells_why_it_cannot_create_pods() -> None:
    status = replicasets.status_of(replica_set(replicas=1), [], "quota", now_ns=NOW_NS)
    assert status["conditions"] == [
        {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": NOW,
            "reason": "FailedCreate",
            "message": "quota",
        }
    ]
    again = replicasets.status_of({**replica_set(replicas=1), "status": status}, [], None, now_ns=NOW_NS)
    assert "conditions" not in again


def deployment(
    replicas: int = 10, /, *, surge: Any = "25%", unavailable: Any = "25%", status: Object | None = None, **spec: Any
) -> Object:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "uid": "d", "generation": 1, "annotations": {"note": "x"}},
        "spec": {
            "replicas": replicas,
            "strategy": rolling,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"image": "i"}},
            "progressDeadlineSeconds": 600,
            **spec,
        },
        "status": status or {},
    }


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "bounds"),
    [
        (10, "25%", "25%", (3, 2)),
        (10, 0, 0, (0, 1)),
        (3, 1, 5, (1, 3)),
        (0, "25%", "25%", (0, 0)),
        (1, "1%", "99%", (1, 0)),
    ],
)
def test_the_bounds_of_a_rollout(replicas: int, surge: Any, unavailable: Any, bounds: tuple[int, int]) -> None:
    subject = deployment(replicas, surge=surge, unavailable=unavailable)
    assert (rollout.max_surge(subject), rollout.max_unavailable(subject)) == bounds


@pytest.mark.parametrize(("old", "new", "size"), [(10, 0, 3), (13, 0, 0), (8, 3, 5), (0, 9, 10), (0, 0, 10)])
def test_the_new_set_grows_as_far_as_there_is_room(old: int, new: int, size: int) -> None:
    sets = [replica_set("old", replicas=old), replica_set("new", replicas=new)]
    assert rollout.new_size(deployment(), sets, new) == size


def test_old_sets_shrink_first_where_they_are_unhealthy() -> None:
    new = replica_set("new", replicas=3, availableReplicas=0)
    healthy = replica_set("healthy", replicas=8, availableReplicas=8, age=1)
    sick = replica_set("sick", replicas=2, availableReplicas=0, age=2)
    # 13 pods, 8 must be available, 3 new ones are not: 2 can go, and those are the sick ones.
    assert [
        (entry["metadata"]["name"], size) for entry, size in rollout.shrunk(deployment(), [sick, healthy], new)
    ] == [("sick", 0)]
    ready = replica_set("new", replicas=3, availableReplicas=3)
    old = replica_set("old", replicas=10, availableReplicas=10)
    assert [size for _, size in rollout.shrunk(deployment(), [old], ready)] == [5]
    assert rollout.shrunk(deployment(), [], ready) == []


def sized(name: str, replicas: int, desired: int, most: int, age: int = 0) -> Object:
    remembered = {rollout.DESIRED: str(desired), rollout.MOST: str(most)}
    return replica_set(name, replicas=replicas, age=age, annotations=remembered)


def test_scaling_in_the_midst_of_a_rollout_is_proportional() -> None:
    old, new = sized("old", 8, 10, 13), sized("new", 5, 10, 13, age=5)
    grown = rollout.resized(deployment(20), new, [old])
    assert {entry["metadata"]["name"]: size for entry, size in grown} == {"old": 15, "new": 10}
    shrunk = rollout.resized(deployment(5), new, [old])
    assert {entry["metadata"]["name"]: size for entry, size in shrunk} == {"old": 4, "new": 3}
    gone = rollout.resized(deployment(0), new, [old])
    assert {entry["metadata"]["name"]: size for entry, size in gone} == {"old": 0, "new": 0}


def test_a_single_set_is_scaled_as_a_whole() -> None:
    only = sized("only", 3, 3, 4)
    assert rollout.is_scaled(deployment(5), [only])
    assert rollout.resized(deployment(5), only, []) == [(only, 5)]
    assert rollout.resized(deployment(3), only, []) == []


def test_the_set_of_a_template_is_found_whatever_its_hash() -> None:
    older, newer, other = replica_set("a", age=1), replica_set("b", age=2), replica_set("c", image="j")
    newer["spec"]["template"]["metadata"]["labels"][rollout.HASH_LABEL] = "h"
    assert rollout.find_new(deployment(), [newer, other, older]) is older
    assert rollout.find_new(deployment(), [newer, other]) is newer
    assert rollout.find_new(deployment(), [other]) is None


def test_a_new_set_is_numbered_and_named() -> None:
    old = replica_set("old", replicas=10, annotations={rollout.REVISION: "4"})
    made = rollout.new_set(deployment(), [old], {"uid": "d"})
    hashed = made["spec"]["selector"]["matchLabels"][rollout.HASH_LABEL]
    assert made["metadata"]["name"] == f"d-{hashed}"
    assert (
        made["metadata"]["labels"]
        == made["spec"]["template"]["metadata"]["labels"]
        == {"a": "b", rollout.HASH_LABEL: hashed}
    )
    assert made["spec"]["replicas"] == 3
    assert made["metadata"]["annotations"] == {
        "note": "x",
        rollout.REVISION: "5",
        rollout.DESIRED: "10",
        rollout.MOST: "13",
    }
    assert rollout.template_hash(deployment()) != rollout.template_hash(deployment(status={"collisionCount": 1}))


def test_a_set_that_is_new_again_remembers_its_revisions() -> None:
    back = replica_set("back", annotations={rollout.REVISION: "3", rollout.HISTORY: "1"})
    assert rollout.annotations_of(deployment(), back, 7) == {"note": "x", rollout.REVISION: "7", rollout.HISTORY: "1,3"}


def test_old_empty_sets_beyond_the_history_expire() -> None:
    sets = [replica_set(str(number), replicas=0, annotations={rollout.REVISION: str(number)}) for number in (3, 1, 2)]
    in_use = replica_set("0", replicas=0, annotations={rollout.REVISION: "0"})
    in_use["status"]["replicas"] = 1
    assert names(rollout.expired(deployment(revisionHistoryLimit=1), [*sets, in_use])) == ["1", "2"]


def progressing(**more: Any) -> Object:
    return {
        "type": "Progressing",
        "status": "True",
        "lastTransitionTime": "t0",
        "lastUpdateTime": "2026-01-01T00:05:00Z",
        **more,
    }


def standing(**more: Any) -> Object:
    return {"conditions": [progressing(reason="X", **more)], "updatedReplicas": 1, "replicas": 1}


@pytest.mark.parametrize(
    ("before", "counts", "reason"),
    [
        ({}, {}, None),
        ({"conditions": [progressing(reason="NewReplicaSetCreated")]}, {"replicas": 1}, "ReplicaSetUpdated"),
        (standing(), {"replicas": 1}, "X"),
        (standing(lastUpdateTime="2026-01-01T00:00:00Z"), {"replicas": 1}, "X"),
        (standing(lastUpdateTime="2025-12-31T23:59:59Z"), {"replicas": 1}, "ProgressDeadlineExceeded"),
        (
            {"conditions": [progressing(reason="X")]},
            {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2},
            "NewReplicaSetAvailable",
        ),
    ],
)
def test_how_a_rollout_goes(before: Object, counts: Object, reason: str | None) -> None:
    new = replica_set("new", replicas=2)
    new["status"].update(counts)
    status = progress.rollout_status(deployment(2, status=before), [new], new, now_ns=NOW_NS)
    found = [entry for entry in status.get("conditions", []) if entry["type"] == "Progressing"]
    assert [entry["reason"] for entry in found] == ([reason] if reason else [])


def test_a_deployment_is_available_with_few_enough_missing() -> None:
    for available, told in ((8, "MinimumReplicasAvailable"), (7, "MinimumReplicasUnavailable")):
        new = replica_set("new", replicas=10, availableReplicas=available)
        new["status"]["replicas"] = 10
        status = progress.status_of(deployment(), [new], new, now_ns=NOW_NS)
        assert [entry["reason"] for entry in status["conditions"]] == [told]
        assert (status["updatedReplicas"], status["unavailableReplicas"]) == (10, 10 - available)
