"""Claims, budgets, quotas and volumes: who may have how much of what."""

from typing import Any

import pytest

from kubedyno.controllers import claims, disruption, quotas
from kubedyno.controllers.volumes import matching, protection
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, PODS

pytestmark = pytest.mark.unit

NOW = "2026-01-01T00:10:00Z"
NOW_NS = parse_rfc3339_ns(NOW)

ENTRY = {"name": "gpu", "resourceClaimTemplateName": "t"}


def pod(
    name: str = "p",
    /,
    *,
    phase: str = "Pending",
    statuses: list[Object] | None = None,
    ready: bool = False,
    **more: Any,
) -> Object:
    status: Object = {"phase": phase}
    if statuses is not None:
        status["resourceClaimStatuses"] = statuses
    if ready:
        status["conditions"] = [{"type": "Ready", "status": "True"}]
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"resourceClaims": [ENTRY], **more}, "status": status}


def test_which_claims_must_be_made() -> None:
    known = {"made": {}}
    told = [{"name": "gpu", "resourceClaimName": "made"}]
    assert claims.missing(pod(), known.get) == [ENTRY]
    assert claims.missing(pod(statuses=told), known.get) == []
    assert claims.missing(pod(statuses=told), {}.get) == [ENTRY]
    assert claims.missing(pod(statuses=[{"name": "gpu"}]), known.get) == []
    assert claims.missing(pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "given"}]), known.get) == []


def test_a_claim_is_made_from_its_template() -> None:
    template = {"spec": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "spec": {"devices": {}}}}
    assert claims.body(pod(), ENTRY, template) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": "p-gpu-",
            "namespace": "n",
            "labels": {"a": "b"},
            "annotations": {"c": "d", "resource.kubernetes.io/pod-claim-name": "gpu"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}],
        },
        "spec": {"devices": {}},
    }
    long = claims.body(pod("p" * 50), {**ENTRY, "name": "c" * 50}, template)
    assert long["metadata"]["generateName"] == f"{'p' * 27}-{'c' * 27}"


def claim(*reserved: str, finalizer: bool = True, **metadata: Any) -> Object:
    status: Object = {"allocation": {}}
    if reserved:
        status["reservedFor"] = [{"resource": "pods", "name": name, "uid": name} for name in reserved]
    return {"metadata": {"finalizers": [claims.FINALIZER] if finalizer else [], **metadata}, "status": status}


@pytest.mark.parametrize(
    ("subject", "gone", "outcome"),
    [
        (claim("a", "b"), {"b"}, (["a"], True, False)),
        (claim("a"), set(), (["a"], True, False)),
        (claim("a"), {"a"}, ([], False, True)),
        (claim("a", finalizer=False), {"a"}, ([], True, False)),
        (claim(), set(), ([], True, False)),
        (claim(deletionTimestamp="t"), set(), ([], False, True)),
    ],
)
def test_what_is_taken_back(subject: Object, gone: set[str], outcome: tuple[list[str], bool, bool]) -> None:
    found = claims.released(subject, lambda entry: entry["name"] in gone)
    reserved = [entry["name"] for entry in found.status.get("reservedFor", [])]
    assert (reserved, "allocation" in found.status, found.drops_finalizer) == outcome


def owned(name: str, owner: str, **more: Any) -> Object:
    return pod(name, metadata={"ownerReferences": [{"kind": "ReplicaSet", "uid": owner, "controller": True}]}, **more)


def budget(status: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"generation": 3}, "spec": spec, "status": status or {}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (3, 2)),
        ({"minAvailable": "50%"}, (5, 3)),
        ({"maxUnavailable": 2}, (5, 3)),
        ({"maxUnavailable": "50%"}, (5, 2)),
        ({"maxUnavailable": 9}, (5, 0)),
        ({}, (3, 0)),
    ],
)
def test_how_many_pods_a_budget_expects(spec: Object, expected: tuple[int, int]) -> None:
    pods = [owned("a", "s"), owned("b", "s"), owned("c", "s")]
    found = disruption.expected(budget(**spec), pods, {"s": 5})
    assert (found.pods, found.healthy) == expected


def test_a_budget_allows_what_is_healthy_beyond_its_wish() -> None:
    pods = [
        owned("a", "s", ready=True),
        owned("b", "s", ready=True),
        owned("evicted", "s", ready=True),
        owned("late", "s", ready=True),
        owned("c", "s"),
        pod("going", ready=True, metadata={"deletionTimestamp": NOW}),
    ]
    disrupted = {"evicted": "2026-01-01T00:09:00Z", "late": "2026-01-01T00:07:59Z", "gone": "2026-01-01T00:09:59Z"}
    status = disruption.status_of(budget({"disruptedPods": disrupted}), pods, disruption.Expected(5, 2), now_ns=NOW_NS)
    assert status == {
        "observedGeneration": 3,
        "disruptionsAllowed": 1,
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 5,
        "disruptedPods": {"evicted": "2026-01-01T00:09:00Z"},
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "True",
                "lastTransitionTime": NOW,
                "reason": "SufficientPods",
                "message": "",
                "observedGeneration": 3,
            }
        ],
    }
    none = disruption.status_of(budget(), pods, disruption.Expected(0, 0), now_ns=NOW_NS)
    assert none["disruptionsAllowed"] == 0


def spending(name: str, cpu: str, **more: Any) -> Object:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    return pod(name, containers=containers, **more)


def quota(*scopes: str, **hard: str) -> Object:
    return {"spec": {"hard": {name.replace("_", "."): amount for name, amount in hard.items()}, "scopes": list(scopes)}}


def test_a_quota_counts_what_is_in_use() -> None:
    objects = {
        PODS: [spending("a", "500m"), spending("b", "1"), spending("done", "4", phase="Succeeded")],
        CONFIG_MAPS: [{"metadata": {}}, {"metadata": {}}],
    }
    assert quotas.counted(quota(pods="9", requests_cpu="9", configmaps="9", secrets="9"), objects) == {
        "pods": "2",
        "requests.cpu": "1500m",
        "configmaps": "2",
        "secrets": "0",
    }


@pytest.mark.parametrize(
    ("scopes", "count"),
    [
        (("BestEffort",), "1"),
        (("NotBestEffort",), "2"),
        (("Terminating",), "1"),
        (("NotTerminating", "NotBestEffort"), "1"),
        (("PriorityClass",), "1"),
    ],
)
def test_a_quota_with_scopes_counts_only_those(scopes: tuple[str, ...], count: str) -> None:
    pods = [
        pod("best", containers=[{"name": "main"}]),
        spending("plain", "1", priorityClassName="high"),
        spending("limited", "1", activeDeadlineSeconds=5),
    ]
    assert quotas.counted(quota(*scopes, pods="9"), {PODS: pods}) == {"pods": count}


def volume(name: str, size: str, **spec: Any) -> Object:
    base = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "c"}
    return {"metadata": {"name": name, "labels": {"name": name}}, "spec": {**base, **spec}}


def volume_claim(size: str = "2Gi", **spec: Any) -> Object:
    base = {"storageClassName": "c", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {
        "metadata": {"name": "claim", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {**base, **spec},
    }


RESERVED = {"namespace": "n", "name": "claim"}


@pytest.mark.parametrize(
    ("subject", "volumes", "name"),
    [
        (volume_claim(), [volume("big", "9Gi"), volume("fits", "2Gi"), volume("small", "1Gi")], "fits"),
        (volume_claim("3Gi"), [volume("big", "9Gi"), volume("fits", "2Gi")], "big"),
        (volume_claim(), [volume("small", "1Gi")], None),
        (volume_claim(), [volume("other", "9Gi", storageClassName="d")], None),
        (volume_claim(accessModes=["ReadWriteMany"]), [volume("once", "9Gi")], None),
        (volume_claim(), [volume("taken", "9Gi", claimRef={"namespace": "n", "name": "x", "uid": "y"})], None),
        (volume_claim(), [volume("fits", "2Gi"), volume("reserved", "9Gi", claimRef=RESERVED)], "reserved"),
        (volume_claim(volumeName="big"), [volume("fits", "2Gi"), volume("big", "9Gi")], "big"),
        (volume_claim(selector={"matchLabels": {"name": "big"}}), [volume("fits", "2Gi"), volume("big", "9Gi")], "big"),
    ],
)
def test_which_volume_a_claim_gets(subject: Object, volumes: list[Object], name: str | None) -> None:
    found = matching.find(subject, volumes)
    assert (found["metadata"]["name"] if found else None) == name


def test_a_claim_is_in_use_while_a_pod_on_a_node_mounts_it() -> None:
    assert protection.is_claim_free([])
    assert protection.is_claim_free([pod(), pod(phase="Failed", nodeName="x")])
    assert not protection.is_claim_free([pod(nodeName="x")])
