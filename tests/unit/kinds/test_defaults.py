"""Defaults; the expected values are those of the real API server."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kinds import defaults
from kubedyno.kinds.defaults.images import pull_policy
from kubedyno.kube.normalizing import normalized

pytestmark = pytest.mark.unit

Body = dict[str, Any]

# Rows of an API version, a kind, what is given, and what is made of some of its fields.
CASES = json.loads(Path(__file__).with_name("defaults_cases.json").read_text())


def filled(api_version: str, kind: str, **fields: Any) -> Body:
    body = {"apiVersion": api_version, "kind": kind, **fields}
    made = normalized(body, api_version, kind)
    defaults.apply(made, api_version, kind)
    return made


def pod(**spec: Any) -> Body:
    spec_made: Body = filled("v1", "Pod", spec=spec)["spec"]
    return spec_made


def container(**fields: Any) -> Body:
    made: Body = pod(containers=[{"name": "c", "image": "img:1", **fields}])["containers"][0]
    return made


def volume(**fields: Any) -> Body:
    made: Body = pod(volumes=[{"name": "v", **fields}])["volumes"][0]
    return made


CONTAINER = {
    "name": "c",
    "image": "img:1",
    "imagePullPolicy": "IfNotPresent",
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
POD_SPEC = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}


def test_a_pod_that_says_little() -> None:
    assert filled("v1", "Pod", spec={"containers": [{"name": "c", "image": "img:1"}]}) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {**POD_SPEC, "containers": [CONTAINER], "enableServiceLinks": True},
        "status": {},
    }


def test_a_template_has_a_pods_defaults_but_not_those_of_pods_alone() -> None:
    limited = {
        "name": "c",
        "image": "img:1",
        "resources": {"limits": {"cpu": "1000m"}},
        "ports": [{"containerPort": 80}],
    }
    spec = filled("apps/v1", "Deployment", spec={"template": {"spec": {"containers": [limited], "hostNetwork": True}}})
    assert spec["spec"] == {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "selector": None,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        "template": {
            "metadata": {},
            "spec": {
                **POD_SPEC,
                "hostNetwork": True,
                "containers": [
                    {
                        **CONTAINER,
                        "resources": {"limits": {"cpu": "1"}},
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    }
                ],
            },
        },
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("img", "Always"),
        ("img:latest", "Always"),
        ("h.example.com:5000/a/b", "Always"),
        ("[::1]:5000/img", "Always"),
        ("img:1", "IfNotPresent"),
        (f"img@sha256:{'a' * 64}", "IfNotPresent"),
        ("", "IfNotPresent"),
        (f"img:latest@sha256:{'a' * 64}", "Always"),
        ("a/Img", "IfNotPresent"),
        ("a b", "IfNotPresent"),
    ],
)
def test_images_are_always_pulled_when_they_are_the_latest(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}),
        (
            {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
            {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
        ),
        ({"requests": {"cpu": "100u"}}, {"requests": {"cpu": "1m"}}),
        ({"requests": {"cpu": "1.0005"}}, {"requests": {"cpu": "1001m"}}),
        ({"requests": {"cpu": "1.125"}}, {"requests": {"cpu": "1.125"}}),
    ],
)
def test_requests_follow_limits_and_are_rounded_up_to_thousandths(given: Body, expected: Body) -> None:
    assert container(resources=given)["resources"] == expected


@pytest.mark.parametrize(
    ("of_pod", "of_containers", "of_init", "expected"),
    [
        ({"limits": {"cpu": "2"}}, [{}], [], {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}),
        (
            {"limits": {"cpu": "4"}},
            [{"requests": {"cpu": "500m"}}, {"limits": {"cpu": "1"}}],
            [],
            {"limits": {"cpu": "4"}, "requests": {"cpu": "1500m"}},
        ),
        (
            {"limits": {"cpu": "8"}},
            [{"requests": {"cpu": "1"}}],
            [("Always", {"requests": {"cpu": "500m"}}), (None, {"requests": {"cpu": "2"}})],
            {"limits": {"cpu": "8"}, "requests": {"cpu": "2500m"}},
        ),
        ({"requests": {"cpu": "1"}}, [{}], [], {"requests": {"cpu": "1"}}),
        (
            {"requests": {"memory": "1Gi"}},
            [{"limits": {"hugepages-2Mi": "4Mi"}}],
            [],
            {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}},
        ),
        ({}, [{"requests": {"cpu": "1"}}], [], {}),
    ],
)
def test_a_pod_as_a_whole_asks_for_what_its_containers_do(
    of_pod: Body, of_containers: list[Body], of_init: list[tuple[str | None, Body]], expected: Body
) -> None:
    made = pod(
        resources=of_pod,
        containers=[{"name": f"c{index}", "resources": each} for index, each in enumerate(of_containers)],
        initContainers=[
            {"name": f"i{index}", "restartPolicy": policy, "resources": each}
            for index, (policy, each) in enumerate(of_init)
        ],
    )
    assert made["resources"] == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"httpGet": {"port": 80}}, {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}}),
        ({"grpc": {"port": 1}}, {"grpc": {"port": 1, "service": ""}}),
        ({"periodSeconds": 3, "timeoutSeconds": 0}, {"periodSeconds": 3}),
    ],
)
def test_probes(given: Body, expected: Body) -> None:
    usual = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    assert container(readinessProbe=given)["readinessProbe"] == {**usual, **expected}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"sizeLimit": "1024Ki"}}, {"emptyDir": {"sizeLimit": "1Mi"}}),
        ({"hostPath": {"path": "/a"}}, {"hostPath": {"path": "/a", "type": ""}}),
        ({"secret": {"defaultMode": 0}}, {"secret": {"defaultMode": 0}}),
        ({"configMap": {"name": "c"}}, {"configMap": {"name": "c", "defaultMode": 420}}),
        ({"image": {"reference": "img"}}, {"image": {"reference": "img", "pullPolicy": "Always"}}),
        (
            {"rbd": {"monitors": ["a"], "image": "i"}},
            {"rbd": {"monitors": ["a"], "image": "i", "keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"}},
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {
                "projected": {
                    "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                    "defaultMode": 420,
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {"metadata": {}, "spec": {"resources": {}, "volumeMode": "Filesystem"}}
                }
            },
        ),
    ],
)
def test_volumes(given: Body, expected: Body) -> None:
    assert volume(**given) == {"name": "v", **expected}


def test_ports_of_a_pod_on_the_hosts_network_are_the_hosts() -> None:
    made = pod(hostNetwork=True, containers=[{"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 5}]}])
    assert [port["hostPort"] for port in made["containers"][0]["ports"]] == [80, 5]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"serviceAccount": "a"}, ("a", "a")),
        ({"serviceAccountName": "b", "serviceAccount": "a"}, ("b", "b")),
        ({}, (None, None)),
    ],
)
def test_the_old_name_of_the_service_account_is_an_alias(given: Body, expected: tuple[str | None, str | None]) -> None:
    made = pod(**given)
    assert (made.get("serviceAccountName"), made.get("serviceAccount")) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"podIP": "1.1.1.1"}, {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}]}),
        (
            {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]},
            {"podIP": "1.1.1.1", "podIPs": [{"ip": "1.1.1.1"}, {"ip": "::1"}]},
        ),
        ({"podIP": "2.2.2.2", "podIPs": [{"ip": "1.1.1.1"}]}, {"podIP": "2.2.2.2", "podIPs": [{"ip": "2.2.2.2"}]}),
    ],
)
def test_the_first_address_of_a_pod_is_kept_in_step_with_all(given: Body, expected: Body) -> None:
    assert filled("v1", "Pod", status=given)["status"] == expected


def test_a_negative_grace_period_is_one_second_and_old_annotations_are_forgotten() -> None:
    made = filled(
        "v1",
        "Pod",
        metadata={"annotations": {"pod.beta.kubernetes.io/init-containers": "[]"}},
        spec={"terminationGracePeriodSeconds": -5},
    )
    assert (made["spec"]["terminationGracePeriodSeconds"], made["metadata"]) == (1, {})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"ports": [{"port": 80}]},
            {
                "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
                "sessionAffinity": "None",
                "type": "ClusterIP",
                "internalTrafficPolicy": "Cluster",
            },
        ),
        (
            {"type": "LoadBalancer", "sessionAffinity": "ClientIP"},
            {
                "type": "LoadBalancer",
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
                "externalTrafficPolicy": "Cluster",
                "internalTrafficPolicy": "Cluster",
                "allocateLoadBalancerNodePorts": True,
            },
        ),
        ({"type": "ExternalName", "sessionAffinityConfig": {}}, {"type": "ExternalName", "sessionAffinity": "None"}),
        (
            {"externalIPs": ["1.2.3.4"]},
            {
                "externalIPs": ["1.2.3.4"],
                "sessionAffinity": "None",
                "type": "ClusterIP",
                "externalTrafficPolicy": "Cluster",
                "internalTrafficPolicy": "Cluster",
            },
        ),
    ],
)
def test_services(given: Body, expected: Body) -> None:
    assert filled("v1", "Service", spec=given)["spec"] == expected


def test_a_balancers_addresses_say_how_they_are_reached() -> None:
    ingress = [{"ip": "1.2.3.4"}, {"hostname": "h"}]
    made = filled("v1", "Service", spec={"type": "LoadBalancer"}, status={"loadBalancer": {"ingress": ingress}})
    assert made["status"]["loadBalancer"]["ingress"] == [{"ip": "1.2.3.4", "ipMode": "VIP"}, {"hostname": "h"}]


@pytest.mark.parametrize(("api_version", "kind", "given", "expected"), CASES)
def test_other_kinds(api_version: str, kind: str, given: Body, expected: Body) -> None:
    made = filled(api_version, kind, **given)
    assert {name: made[name] for name in expected} == expected


def test_webhooks() -> None:
    made = filled(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        webhooks=[{"name": "a", "clientConfig": {"service": {"namespace": "n", "name": "s"}}, "timeoutSeconds": 1}],
    )
    assert made["webhooks"] == [
        {
            "name": "a",
            "admissionReviewVersions": None,
            "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 443}},
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "reinvocationPolicy": "Never",
            "sideEffects": None,
            "timeoutSeconds": 1,
        }
    ]


def test_the_names_of_a_definition_follow_its_kind() -> None:
    made = filled(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"names": {"kind": "Toy", "plural": "toys"}}
    )
    assert made["spec"]["names"] == {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"}
    assert made["spec"]["conversion"] == {"strategy": "None"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"completions": 1, "parallelism": 1, "backoffLimit": 6, "podReplacementPolicy": "TerminatingOrFailed"}),
        ({"parallelism": 2}, {"parallelism": 2, "backoffLimit": 6, "podReplacementPolicy": "TerminatingOrFailed"}),
        (
            {"completions": 2, "backoffLimitPerIndex": 1},
            {
                "completions": 2,
                "parallelism": 1,
                "backoffLimit": 2147483647,
                "backoffLimitPerIndex": 1,
                "podReplacementPolicy": "TerminatingOrFailed",
            },
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "A"}]}]}},
            {
                "completions": 1,
                "parallelism": 1,
                "backoffLimit": 6,
                "podReplacementPolicy": "Failed",
                "podFailurePolicy": {
                    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "A", "status": "True"}]}]
                },
            },
        ),
    ],
)
def test_jobs(given: Body, expected: Body) -> None:
    made = filled("batch/v1", "Job", spec=given)["spec"]
    del made["template"]
    assert made == {**expected, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False}


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("Deployment", {"type": "Recreate"}, {"type": "Recreate"}),
        (
            "Deployment",
            {"rollingUpdate": {"maxSurge": 0}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
        ),
        ("DaemonSet", {}, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
        (
            "DaemonSet",
            {"type": "OnDelete", "rollingUpdate": {}},
            {"type": "OnDelete", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
        ),
        ("StatefulSet", {}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}),
        ("StatefulSet", {"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
    ],
)
def test_strategies_of_workloads(kind: str, given: Body, expected: Body) -> None:
    name = "strategy" if kind == "Deployment" else "updateStrategy"
    assert filled("apps/v1", kind, spec={name: given})["spec"][name] == expected


def test_a_stateful_sets_claims_are_whole_objects() -> None:
    made = filled("apps/v1", "StatefulSet", spec={"volumeClaimTemplates": [{"metadata": {"name": "d"}}]})["spec"]
    assert made["volumeClaimTemplates"] == [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "d"},
            "spec": {"resources": {}, "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        }
    ]
    assert made["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}


def test_what_scaling_does_is_filled_up_rule_by_rule() -> None:
    behavior = {"scaleUp": {"selectPolicy": "Min"}}
    made = filled("autoscaling/v2", "HorizontalPodAutoscaler", spec={"behavior": behavior})["spec"]["behavior"]
    assert made == {
        "scaleUp": {
            "selectPolicy": "Min",
            "stabilizationWindowSeconds": 0,
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
        "scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]},
    }


def test_a_nodes_capacity_can_be_allocated_unless_it_says_otherwise() -> None:
    assert filled("v1", "Node", status={"capacity": {"cpu": "4"}})["status"]["allocatable"] == {"cpu": "4"}
    given = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}
    assert filled("v1", "Node", status=given)["status"]["allocatable"] == {"cpu": "3"}


def test_defaults_are_not_shared_between_objects() -> None:
    first = filled("storage.k8s.io/v1", "CSIDriver")
    first["spec"]["volumeLifecycleModes"].append("Ephemeral")
    assert filled("storage.k8s.io/v1", "CSIDriver")["spec"]["volumeLifecycleModes"] == ["Persistent"]


def test_setting_defaults_again_changes_nothing() -> None:
    for made in (
        filled("v1", "Pod", spec={"containers": [{"resources": {"limits": {"cpu": "1"}}}], "volumes": [{"name": "v"}]}),
        filled("apps/v1", "StatefulSet", spec={"volumeClaimTemplates": [{}]}),
        filled("v1", "Service", spec={"ports": [{"port": 1}]}),
    ):
        again = copy.deepcopy(made)
        defaults.apply(again, made["apiVersion"], made["kind"])
        assert again == made


def test_taints_of_devices_are_stamped() -> None:
    now = "2026-01-02T03:04:05Z"
    devices = [
        {"name": "a", "taints": [{"key": "k"}, {"key": "l", "timeAdded": "2025-01-01T00:00:00Z"}]},
        {"name": "b"},
    ]
    made = filled("resource.k8s.io/v1", "ResourceSlice", spec={"devices": devices})
    defaults.stamp(made, "resource.k8s.io/v1", "ResourceSlice", now)
    assert [taint["timeAdded"] for taint in made["spec"]["devices"][0]["taints"]] == [now, "2025-01-01T00:00:00Z"]
    rule = filled("resource.k8s.io/v1beta2", "DeviceTaintRule", spec={"taint": {"key": "k"}})
    defaults.stamp(rule, "resource.k8s.io/v1beta2", "DeviceTaintRule", now)
    assert rule["spec"]["taint"]["timeAdded"] == now
    other = filled("v1", "ConfigMap")
    defaults.stamp(other, "v1", "ConfigMap", now)
    assert other == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}


def test_kinds_of_somebody_elses_are_left_alone() -> None:
    body = {"apiVersion": "example.com/v1", "kind": "Toy", "spec": {}}
    defaults.apply(body, "example.com/v1", "Toy")
    assert body == {"apiVersion": "example.com/v1", "kind": "Toy", "spec": {}}
