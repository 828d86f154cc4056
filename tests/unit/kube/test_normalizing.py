"""Objects as the API server gives them back, before defaults; the expected values are those of the real one."""

import copy
from typing import Any

import pytest

from kubedyno.kube.normalizing import normalized

pytestmark = pytest.mark.unit


def body_of(kind: str, **fields: Any) -> dict[str, Any]:
    api_version = {
        "Deployment": "apps/v1",
        "Role": "rbac.authorization.k8s.io/v1",
        "Lease": "coordination.k8s.io/v1",
        "CustomResourceDefinition": "apiextensions.k8s.io/v1",
        "ControllerRevision": "apps/v1",
        "PodDisruptionBudget": "policy/v1",
        "CertificateSigningRequest": "certificates.k8s.io/v1",
    }.get(kind, "v1")
    return {"apiVersion": api_version, "kind": kind, **fields}


def made_of(kind: str, **fields: Any) -> dict[str, Any]:
    """The normalised object without what every object has."""
    body = body_of(kind, **fields)
    made = normalized(body, body["apiVersion"], kind)
    return {name: value for name, value in made.items() if name not in {"apiVersion", "kind"}}


def container_of(**fields: Any) -> dict[str, Any]:
    made = made_of("Pod", spec={"containers": [{"name": "c", **fields}]})["spec"]["containers"][0]
    return {name: value for name, value in made.items() if name != "name"}


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("Pod", {}, {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        ("Pod", {"spec": None, "unknown": 1}, {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        ("ConfigMap", {"data": {}, "immutable": False}, {"metadata": {}, "immutable": False}),
        ("ConfigMap", {"data": {"a": "", "b": None}}, {"metadata": {}, "data": {"a": "", "b": ""}}),
        ("Secret", {"data": {"a": "eA=\n=", "b": None}}, {"metadata": {}, "data": {"a": "eA==", "b": ""}}),
        ("Role", {"rules": []}, {"metadata": {}, "rules": None}),
        ("Role", {"rules": [None]}, {"metadata": {}, "rules": [{"verbs": None}]}),
        ("ControllerRevision", {}, {"metadata": {}, "data": None, "revision": 0}),
        (
            "ControllerRevision",
            {"data": {"a": None, "b": []}},
            {"metadata": {}, "data": {"a": None, "b": []}, "revision": 0},
        ),
        (
            "Deployment",
            {},
            {
                "metadata": {},
                "spec": {"selector": None, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": None}}},
                "status": {},
            },
        ),
        (
            "Deployment",
            {"spec": {"replicas": 0, "paused": False, "selector": {"matchLabels": {}}}},
            {
                "metadata": {},
                "spec": {
                    "replicas": 0,
                    "selector": {},
                    "strategy": {},
                    "template": {"metadata": {}, "spec": {"containers": None}},
                },
                "status": {},
            },
        ),
        (
            "Lease",
            {"spec": {"renewTime": "2026-01-02T03:04:05.600000+01:00", "leaseTransitions": 0}},
            {"metadata": {}, "spec": {"renewTime": "2026-01-02T02:04:05.600000Z", "leaseTransitions": 0}},
        ),
        (
            "PodDisruptionBudget",
            {"status": {"disruptedPods": {"p": "2026-01-02T03:04:05.9Z", "q": None}}},
            {
                "metadata": {},
                "spec": {},
                "status": {
                    "disruptedPods": {"p": "2026-01-02T03:04:05Z", "q": None},
                    "currentHealthy": 0,
                    "desiredHealthy": 0,
                    "disruptionsAllowed": 0,
                    "expectedPods": 0,
                },
            },
        ),
        (
            "CertificateSigningRequest",
            {"spec": {"request": "", "extra": {"a": ["b"], "c": None}}},
            {
                "metadata": {},
                "spec": {"request": "", "signerName": "", "extra": {"a": ["b"], "c": []}},
                "status": {},
            },
        ),
    ],
    ids=str,
)
def test_an_object_is_printed_as_its_go_struct(kind: str, fields: dict[str, Any], expected: dict[str, Any]) -> None:
    assert made_of(kind, **fields) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"resources": {}}),
        ({"image": "", "args": [], "stdin": False, "tty": True}, {"resources": {}, "tty": True}),
        ({"args": ["", None]}, {"resources": {}, "args": ["", ""]}),
        (
            {"securityContext": {"runAsUser": 0, "privileged": False, "capabilities": {}}},
            {"resources": {}, "securityContext": {"runAsUser": 0, "privileged": False, "capabilities": {}}},
        ),
        ({"livenessProbe": {"httpGet": {}}}, {"resources": {}, "livenessProbe": {"httpGet": {"port": 0}}}),
        ({"ports": [{}]}, {"resources": {}, "ports": [{"containerPort": 0}]}),
        ({"env": [{"name": "A", "value": ""}]}, {"resources": {}, "env": [{"name": "A"}]}),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]},
            {
                "resources": {},
                "env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}],
            },
        ),
        ({"restartPolicy": ""}, {"resources": {}, "restartPolicy": ""}),
    ],
    ids=str,
)
def test_zeros_are_kept_where_the_struct_can_tell_them_from_nothing(
    fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert container_of(**fields) == expected


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.5", "500m"),
        (0.5, "500m"),
        (2, "2"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1e3"),
        ("1000", "1k"),
        ("100u", "100u"),
        ("1.5", "1500m"),
        ("0.125", "125m"),
        (" 1 ", "1"),
        (0, "0"),
        # taken for canonical by Kubernetes
        ("1.125", "1.125"),
        ("1.500", "1.500"),
        ("+5", "+5"),
        ("007", "007"),
        ("01Ki", "01Ki"),
        ("-1", "-1"),
        # not to be read: somebody else refuses it
        ("1mm", "1mm"),
    ],
)
def test_quantities_are_printed_as_kubernetes_prints_them(written: str | float, printed: str) -> None:
    assert container_of(resources={"limits": {"cpu": written}}) == {"resources": {"limits": {"cpu": printed}}}


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05.999Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"),
        ("yesterday", "yesterday"),
    ],
)
def test_times_are_printed_in_utc_and_whole_seconds(written: str, printed: str) -> None:
    assert made_of("ConfigMap", metadata={"creationTimestamp": written}) == {"metadata": {"creationTimestamp": printed}}


def test_a_creation_time_of_null_is_nothing() -> None:
    assert made_of("ConfigMap", metadata={"name": "a", "creationTimestamp": None, "labels": {}}) == {
        "metadata": {"name": "a"}
    }


def test_event_times_that_are_not_given_are_null() -> None:
    made = made_of("Event")
    assert {name: made[name] for name in ("eventTime", "firstTimestamp", "lastTimestamp")} == {
        "eventTime": None,
        "firstTimestamp": None,
        "lastTimestamp": None,
    }


def test_json_schemas_are_read_where_they_are_one_of_several_things() -> None:
    schema = {
        "type": "object",
        "required": [],
        "properties": {
            "a": {"type": "array", "items": {"type": "string", "minLength": 0, "unknown": 1}},
            "b": {"additionalProperties": {"title": "", "maximum": 2.0}, "default": {"x": None}},
            "c": {"additionalProperties": True, "items": [{"nullable": False}]},
        },
    }
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    made = made_of("CustomResourceDefinition", spec={"versions": [version]}, status={"conditions": []})
    assert made["spec"]["versions"][0] == {
        "name": "v1",
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "a": {"type": "array", "items": {"type": "string", "minLength": 0}},
                    "b": {"additionalProperties": {"maximum": 2}, "default": {"x": None}},
                    "c": {"additionalProperties": True, "items": [{}]},
                },
            }
        },
        "served": False,
        "storage": False,
    }
    # These are stored as JSON, which remembers an empty list.
    assert made["status"]["conditions"] == []


def test_what_is_given_is_not_changed_nor_shared() -> None:
    body = body_of("Pod", metadata={"labels": {"a": "b"}}, spec={"containers": [{"name": "c", "args": ["x"]}]})
    before = copy.deepcopy(body)
    made = normalized(body, "v1", "Pod")
    made["metadata"]["labels"]["c"] = "d"
    made["spec"]["containers"][0]["args"].append("y")
    assert body == before


def test_kinds_of_somebody_elses_come_back_as_they_are() -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Toy", "spec": {"a": None, "b": []}}
    assert normalized(body, "example.com/v1", "Toy") is body
