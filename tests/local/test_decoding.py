"""What the real API server says of objects that it cannot read, and ours beside it."""

from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.kube import decoding
from kubedyno.kube.resources import for_object
from kubedyno.lab.starting import RunningLab

pytestmark = pytest.mark.local


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def container(**more: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "a", "image": "i", **more}])


def job(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}


def secret(data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": data}}


def created(time: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": time}}


def renewed(time: Any) -> dict[str, Any]:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
    return {**lease, "spec": {"renewTime": time}}


QUANTITIES = [
    *(
        "1mm",
        "1m1",
        "1e",
        "1ki",
        "1Kim",
        "0x1",
        "1_0",
        "1,5",
        "NaN",
        "1nu",
        "--1",
        "1eE",
        "1e3k",
        "1e1.5",
        "1.2.3",
        "1\n",
    ),
    *("1.2.3", "1\n", True, {}, []),
]
TIMES = [
    *("yesterday", "", "2026-01-01", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T25:00:00Z"),
    *("2026-01-01T00:00:00Zx", "2026-1-1T00:00:00Z", "2026-01-01 00:00:00Z", 5, True, {}),
]
BYTES = [*("!", "a", "aaa", "a===", "====", "aGk=x", "a-_b", " aGk=", "aaaaa", "aa=a"), 5, True, {}]


WRONG = [
    *(container(resources={"limits": {"cpu": quantity}}) for quantity in QUANTITIES),
    *map(created, TIMES),
    *map(renewed, ["x", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", 5]),
    *map(secret, BYTES),
    pod(priority="x", containers=[{"resources": {"limits": {"cpu": "1x"}}}]),
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"targetPort": True}]}},
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"targetPort": 1.5}]}},
    pod(foo=1),
    pod(containers="x"),
    pod(containers=[{"name": 1}]),
    pod(containers=["x"]),
    pod(containers={"name": "a"}),
    pod(priority="1"),
    pod(priority=1.5),
    pod(priority=99999999999),
    pod(priority=[1]),
    pod(hostNetwork="true"),
    pod(hostNetwork=1),
    pod(nodeSelector=["a"]),
    pod(nodeSelector={"a": 1}),
    pod(nodeSelector={"a": {}}),
    pod(securityContext=[1]),
    pod(activeDeadlineSeconds="5"),
    pod(tolerations=[{"key": 5}], schedulerName={}),
    pod(affinity={"nodeAffinty": {}}, nodName="n"),
    pod(schedulingGroup={"podGroup": "x"}),
    container(env=[{"name": "a", "valuex": "b"}], imag="x"),
    container(ports=[{"containerPort": "80"}]),
    container(resources={"limits": {"cpu": "1x"}}),
    container(resources={"limits": {"cpu": [1]}}),
    container(resources={"limits": ["cpu"]}),
    container(resources={"claims": [{"namex": "x"}]}),
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a": 1}}, "spec": {}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 5}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": "x"},
    {"apiVersion": "v1", "kind": "Pod", "spec": []},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"namex": "p"}, "spce": {}, "status": {"phas": 1}},
    job(parallelism="3"),
    job(template={"spec": {"containers": [{"Name": "a"}]}}, completions=2.5),
    job(podFailurePolicy={"rules": [{"onExitCodes": {"values": ["1"]}}]}),
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "many"}}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"kee": "a"}]}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": 1}},
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "dat": {}},
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "d", "pool": {"name": "p", "generation": "1"}, "devices": [{"name": "g", "basic": {}}]},
    },
    {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": "4"}}},
    },
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"leaseDurationSeconds": True},
    },
]


@pytest.mark.parametrize("document", WRONG, ids=str)
async def test_an_object_that_cannot_be_read_is_refused_in_the_same_words(
    shared_lab: RunningLab, document: dict[str, Any]
) -> None:
    resource = for_object(document)
    with pytest.raises(ApiError) as refused:
        await shared_lab.client.create(
            resource,
            document,
            namespace="default" if resource.namespaced else None,
            field_validation="Strict",
            dry_run=True,
        )
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    reading = decoding.read(document, document["apiVersion"], document["kind"])
    assert reading is not None
    unknown = ", ".join(f'unknown field "{field}"' for field in reading.unknown)
    said = reading.error or f"strict decoding error: {unknown}"
    version = document["apiVersion"].rpartition("/")[2]
    kind = document["kind"]
    assert refused.value.message == f'{kind} in version "{version}" cannot be handled as a {kind}: {said}'
