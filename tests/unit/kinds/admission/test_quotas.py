"""Quotas: what is charged, and the words of refusal, which are those of the real API server 1.36."""

from typing import Any

import pytest
from small_cluster import BASE, Cluster, charged, claim_spec, pod, quota, sized, storage_class, thing

from kubedyno.kinds import admission
from kubedyno.kinds.admission import Denied
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PERSISTENT_VOLUME_CLAIMS, for_object

pytestmark = pytest.mark.unit

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def test_the_quota_is_charged_with_what_the_pod_asks_for() -> None:
    hard = {"pods": "5", "requests.cpu": "4", "limits.memory": "4Gi", "requests.nvidia.com/gpu": "8", "secrets": "1"}
    used = {"pods": "1", "requests.cpu": "1500m", "limits.memory": "0", "requests.nvidia.com/gpu": "2", "secrets": "1"}
    body = sized({"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "4"}, {"memory": "1Gi", "nvidia.com/gpu": "4"})
    before = quota(hard, used)
    after = charged(body, before)
    assert [each["status"]["used"] for each in after] == [
        {"pods": "2", "requests.cpu": "2", "limits.memory": "1Gi", "requests.nvidia.com/gpu": "6", "secrets": "1"}
    ]
    assert before["status"]["used"] == used


EXCEEDED: list[tuple[Object, Object, str]] = [
    (
        sized({"cpu": "3"}, {"memory": "5Gi"}),
        {"requests.cpu": "2", "limits.memory": "4Gi"},
        ("requested: limits.memory=5Gi,requests.cpu=3, used: limits.memory=0,requests.cpu=0, "
        "limited: limits.memory=4Gi,requests.cpu=2"),
    ),
    (
        sized({"nvidia.com/gpu": "8"}),
        {"requests.nvidia.com/gpu": "4"},
        "requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=4",
    ),
    (
        sized({"cpu": "1900m"}, runtimeClassName="heavy", overhead={"cpu": "250m", "memory": "64Mi"}),
        {"cpu": "2"},
        "requested: cpu=2150m, used: cpu=0, limited: cpu=2",
    ),
    (
        sized({"cpu": "1"}, initContainers=[{"name": "e", "resources": {"requests": {"cpu": "2500m"}}}]),
        {"requests.cpu": "2"},
        "requested: requests.cpu=2500m, used: requests.cpu=0, limited: requests.cpu=2",
    ),
    (
        sized(
            {"cpu": "1"},
            initContainers=[
                {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "900m"}}},
                {"name": "e", "resources": {"requests": {"cpu": "1200m"}}},
            ],
        ),
        {"requests.cpu": "2"},
        "requested: requests.cpu=2100m, used: requests.cpu=0, limited: requests.cpu=2",
    ),
    (
        pod(resources={"requests": {"cpu": "4"}}),
        {"requests.cpu": "2"},
        "requested: requests.cpu=4, used: requests.cpu=0, limited: requests.cpu=2",
    ),
    (
        thing("Job", "j", "team", api_version="batch/v1", spec={}),
        {"count/jobs.batch": "0"},
        "requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: count/jobs.batch=0",
    ),
    (
        thing("Service", "s", "team", spec={"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}),
        {"services.nodeports": "1"},
        "requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1",
    ),
    (
        thing("PersistentVolumeClaim", "c", "team", spec=claim_spec("6Gi", storageClassName="k")),
        {"requests.storage": "5Gi", "k.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
        "requested: requests.storage=6Gi, used: requests.storage=0, limited: requests.storage=5Gi",
    ),
    (
        thing(
            "ResourceClaim", "c", "team", api_version="resource.k8s.io/v1",
            spec={"devices": {"requests": [{"exactly": {"deviceClassName": "big", "allocationMode": "All"}}]}},
        ),
        {"big.deviceclass.resource.k8s.io/devices": "3"},
        ("requested: big.deviceclass.resource.k8s.io/devices=32, used: big.deviceclass.resource.k8s.io/devices=0, "
        "limited: big.deviceclass.resource.k8s.io/devices=3"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "hard", "told"), EXCEEDED, ids=lambda part: part if isinstance(part, str) else "")
def test_more_than_the_quota_has_left_is_forbidden(body: Object, hard: Object, told: str) -> None:
    with pytest.raises(Denied) as denied:
        charged(body, quota(hard))
    what = f'{for_object(body).full_name} "{body["metadata"]["name"]}"'
    assert denied.value.status.message == f"{what} is forbidden: exceeded quota: q, {told}"


def test_a_quota_on_processor_or_memory_wants_every_container_to_tell() -> None:
    body = pod(containers=[{"name": "d"}, {"name": "c"}])
    with pytest.raises(Denied) as denied:
        charged(body, quota({"requests.cpu": "1", "limits.memory": "1"}))
    told = "must specify limits.memory for: c,d; requests.cpu for: c,d"
    assert denied.value.status.message == f'pods "p" is forbidden: failed quota: q: {told}'


def test_a_quota_not_yet_counted_lets_nothing_in() -> None:
    with pytest.raises(Denied) as denied:
        charged(pod(), quota({"pods": "5", "count/pods": "5"}, {}))
    told = "status unknown for quota: q, resources: count/pods,pods"
    assert denied.value.status.message == f'pods "p" is forbidden: {told}'


def high(**spec: Any) -> Object:
    return pod(priorityClassName="high", **spec)


def selecting(operator: str, *values: str) -> Object:
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": list(values)}
    return {"scopeSelector": {"matchExpressions": [expression]}}


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        ({"scopes": ["BestEffort"]}, pod(), sized({"cpu": "1"})),
        ({"scopes": ["NotBestEffort"]}, sized({"cpu": "1"}), pod()),
        ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=0), pod()),
        ({"scopes": ["NotTerminating"]}, pod(), pod(activeDeadlineSeconds=5)),
        ({"scopes": ["PriorityClass"]}, high(), pod()),
        (selecting("In", "high"), high(), pod(priorityClassName="low")),
        (selecting("NotIn", "low"), high(), pod(priorityClassName="low")),
        (selecting("DoesNotExist"), pod(), high()),
        (
            {"scopes": ["CrossNamespacePodAffinity"]},
            pod(affinity={"podAffinity": {REQUIRED: [{"namespaceSelector": {}}]}}),
            pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}),
        ),
    ],
)
def test_a_quota_counts_what_is_in_its_scopes(scope: Object, inside: Object, outside: Object) -> None:
    limited = quota({"pods": "5"}, **scope)
    assert [each["status"]["used"] for each in charged(inside, limited)] == [{"pods": "1"}]
    assert charged(outside, limited) == []


def test_an_update_is_charged_for_what_is_more() -> None:
    old = thing("PersistentVolumeClaim", "c", "team", spec=claim_spec("1Gi"), status={"phase": "Bound"})
    new = {**old, "spec": claim_spec("3Gi", storageClassName="k")}
    old["spec"]["storageClassName"] = "k"
    kind = storage_class("k", "2026-01-01T00:00:00Z", default=True)
    cluster = Cluster(*BASE, kind, quota({"requests.storage": "5Gi"}, {"requests.storage": "1Gi"}))
    after = admission.validate_update(new, old, PERSISTENT_VOLUME_CLAIMS, cluster)
    assert [each["status"]["used"] for each in after] == [{"requests.storage": "3Gi"}]
    assert admission.validate_update(old, new, PERSISTENT_VOLUME_CLAIMS, cluster) == []
