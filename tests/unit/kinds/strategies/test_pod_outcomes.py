"""Quality of service, binding, deletion and warnings of pods, as the real API server 1.36 tells them."""

from typing import Any

import pytest

from kubedyno.kinds import strategies
from kubedyno.kinds.strategies.binding import bound, check_binding
from kubedyno.kinds.strategies.deletion import collection_finalizers, grace_period_s, is_graceful
from kubedyno.kinds.strategies.qos import qos_class
from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CORE_EVENTS, DEPLOYMENTS, JOBS, PODS, REPLICA_SETS, Resource

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
BOTH = {"cpu": "1", "memory": "1Gi"}


def resources(requests: Object | None = None, limits: Object | None = None) -> Object:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{}]}, "BestEffort"),
        ({"containers": [resources({"nvidia.com/gpu": "1"})]}, "BestEffort"),
        ({"containers": [resources({"cpu": "0"}, {"cpu": "0", "memory": "0"})]}, "BestEffort"),
        ({"containers": [resources({"cpu": "1"})]}, "Burstable"),
        ({"containers": [resources(BOTH, BOTH)]}, "Guaranteed"),
        ({"containers": [resources({"cpu": "1000m", "memory": "1024Mi"}, BOTH)]}, "Guaranteed"),
        ({"containers": [resources(BOTH, BOTH), {}]}, "Burstable"),
        ({"containers": [resources(BOTH, BOTH)], "initContainers": [{}]}, "Burstable"),
        ({"containers": [resources({"cpu": "1"}, {"cpu": "1"})]}, "Burstable"),
        ({"containers": [resources({**BOTH, "cpu": "500m"}, BOTH)]}, "Burstable"),
        ({"containers": [resources(BOTH, BOTH)], "resources": {"requests": {"cpu": "1"}}}, "Burstable"),
        ({"containers": [{}], "resources": {"requests": BOTH, "limits": BOTH}}, "Guaranteed"),
        ({"containers": [{}], "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}, "Burstable"),
    ],
)
def test_the_class_depends_on_what_is_asked_for_and_limited(spec: Object, expected: str) -> None:
    assert qos_class({"spec": spec}) == expected


def pod(*, metadata: Object | None = None, status: Object | None = None, **spec: Any) -> Object:
    base = {"name": "p", "namespace": "team", "uid": "u", "resourceVersion": "5"}
    return {"metadata": {**base, **(metadata or {})}, "spec": spec, "status": status or {}}


def to_node(**metadata: Any) -> Object:
    return {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": "n"}}


def test_a_pod_is_bound_with_labels_and_annotations_of_the_binding() -> None:
    before = pod(
        metadata={"labels": {"a": "b", "c": "d"}},
        status={"phase": "Pending", "nominatedNodeName": "m", "conditions": [{"type": "Ready", "status": "False"}]},
    )
    unchanged = meta.copied(before)
    after = bound(before, to_node(labels={"c": "e"}, annotations={"f": "g"}), NOW)
    assert after["spec"] == {"nodeName": "n"}
    assert after["metadata"] == {
        **before["metadata"],
        "labels": {"a": "b", "c": "e"},
        "annotations": {"f": "g"},
    }
    assert after["status"] == {
        "phase": "Pending",
        "conditions": [
            {"type": "Ready", "status": "False"},
            {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW},
        ],
    }
    assert before == unchanged


def test_a_condition_that_was_false_takes_the_time_of_the_binding() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": "before"}
    after = bound(pod(status={"conditions": [condition]}), to_node(), NOW)
    assert after["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
    ]


STORAGE = "StorageError: invalid object, Code: 4, Key: /registry/pods/team/p, ResourceVersion: 0"


@pytest.mark.parametrize(
    ("before", "sent", "message"),
    [
        (
            pod(nodeName="m"),
            to_node(),
            'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "m"',
        ),
        (
            pod(metadata={"deletionTimestamp": NOW}),
            to_node(),
            'Operation cannot be fulfilled on pods/binding "p": pod p is being deleted, cannot be assigned to a host',
        ),
        (
            pod(schedulingGates=[{"name": "g"}]),
            to_node(),
            'Operation cannot be fulfilled on pods/binding "p": pod p has non-empty .spec.schedulingGates',
        ),
        (
            pod(),
            to_node(uid="v"),
            (
                f'Operation cannot be fulfilled on pods "p": {STORAGE}, AdditionalErrorMsg: '
                "Precondition failed: UID in precondition: v, UID in object meta: u"
            ),
        ),
        (
            pod(),
            to_node(resourceVersion="4"),
            (
                f'Operation cannot be fulfilled on pods "p": {STORAGE}, AdditionalErrorMsg: '
                "Precondition failed: ResourceVersion in precondition: 4, ResourceVersion in object meta: 5"
            ),
        ),
    ],
)
def test_a_pod_that_cannot_be_bound_is_a_conflict(before: Object, sent: Object, message: str) -> None:
    with pytest.raises(Refused) as refused:
        bound(before, sent, NOW)
    status = refused.value.status
    assert (status.code, status.reason, status.message) == (409, "Conflict", message)


@pytest.mark.parametrize(
    ("sent", "code", "message"),
    [
        ({**to_node(), "metadata": {"name": "q"}}, 400, "name in URL does not match name in Binding object"),
        ({**to_node(), "target": {"kind": "Node"}}, 500, "target.name: Required value"),
        (
            {**to_node(), "target": {"kind": "Pod"}},
            500,
            '[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
        ),
    ],
)
def test_a_binding_says_what_it_binds_to_which_node(sent: Object, code: int, message: str) -> None:
    with pytest.raises(Refused) as refused:
        check_binding(sent, "p")
    assert (refused.value.status.code, refused.value.status.message) == (code, message)


def test_a_good_binding_passes() -> None:
    check_binding(to_node(), "p")


@pytest.mark.parametrize(
    ("judged", "options", "seconds"),
    [
        (pod(nodeName="n", terminationGracePeriodSeconds=30), {}, 30),
        (pod(nodeName="n", terminationGracePeriodSeconds=30), {"gracePeriodSeconds": 5}, 5),
        (pod(nodeName="n", terminationGracePeriodSeconds=30), {"gracePeriodSeconds": 0}, 0),
        (pod(nodeName="n", terminationGracePeriodSeconds=-3), {}, 1),
        (pod(terminationGracePeriodSeconds=30), {}, 0),
        (pod(nodeName="n", terminationGracePeriodSeconds=30), {"gracePeriodSeconds": -1}, 1),
        (pod(nodeName="n", terminationGracePeriodSeconds=30, status={"phase": "Failed"}), {}, 0),
    ],
)  # fmt: skip
def test_a_pod_on_a_node_is_given_time_to_end(judged: Object, options: Object, seconds: int) -> None:
    assert grace_period_s(judged, options) == seconds


def test_only_pods_are_given_time() -> None:
    assert is_graceful(PODS)
    assert not is_graceful(JOBS)


@pytest.mark.parametrize(
    ("resource", "before", "options", "after"),
    [
        (REPLICA_SETS, [], {}, []),
        (REPLICA_SETS, ["a"], {"propagationPolicy": "Foreground"}, ["a", "foregroundDeletion"]),
        (REPLICA_SETS, ["a"], {"propagationPolicy": "Orphan"}, ["a", "orphan"]),
        (REPLICA_SETS, ["orphan", "a"], {}, ["orphan", "a"]),
        (REPLICA_SETS, ["orphan", "a"], {"propagationPolicy": "Background"}, ["a"]),
        (REPLICA_SETS, ["foregroundDeletion"], {"orphanDependents": True}, ["orphan"]),
        (REPLICA_SETS, ["foregroundDeletion"], {"orphanDependents": False}, []),
        (JOBS, [], {}, ["orphan"]),
        (JOBS, [], {"propagationPolicy": "Background"}, []),
        (CORE_EVENTS, [], {"propagationPolicy": "Orphan"}, []),
    ],
)
def test_what_becomes_of_dependents_is_a_finalizer(
    resource: Resource, before: list[str], options: Object, after: list[str]
) -> None:
    assert collection_finalizers({"metadata": {"name": "x", "finalizers": before}}, resource, options) == after


def container(**fields: Any) -> Object:
    return {"containers": [{"name": "c", **fields}]}


DOTS = "which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
WARNINGS: list[tuple[str, Object, list[str]]] = [
    ("p", {"containers": [{}]}, []),
    ("p.q", {}, [f"metadata.name: this is used in the Pod's hostname, {DOTS}"]),
    (
        "p",
        container(ports=[{"containerPort": 80}, {"containerPort": 80}]),
        ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
    ),
    (
        "p",
        container(env=[{"name": "A", "value": "a"}, {"name": "A", "value": "b"}, {"name": "A", "value": "$(A)c"}]),
        ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
    ),
    (
        "p",
        container(resources={"requests": {"memory": "100m"}}),
        [
            (
                'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, '
                "must be an integer"
            ),
        ],
    ),
    (
        "p",
        {"nodeSelector": {"beta.kubernetes.io/arch": "x"}},
        ['spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead'],
    ),
    (
        "p",
        {"terminationGracePeriodSeconds": -1},
        [
            "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
        ],
    ),
]


@pytest.mark.parametrize(("name", "spec", "told"), WARNINGS, ids=lambda part: str(part)[:60])
def test_a_new_pod_earns_its_warnings(name: str, spec: Object, told: list[str]) -> None:
    assert strategies.warnings_on_create({"metadata": {"name": name}, "spec": spec}, PODS) == told


def test_a_template_earns_the_warnings_of_its_pods() -> None:
    spec = {"template": {"spec": {"terminationGracePeriodSeconds": -1}}}
    told = "must be >= 0; negative values are invalid and will be treated as 1"
    warning = f"spec.template.spec.terminationGracePeriodSeconds: {told}"
    old = {"metadata": {"name": "d", "generation": 1}, "spec": {}}
    new = {"metadata": {"name": "d", "generation": 2}, "spec": spec}
    assert strategies.warnings_on_create(new, DEPLOYMENTS) == [warning]
    assert strategies.warnings_on_update(new, old, DEPLOYMENTS) == [warning]
    assert strategies.warnings_on_update(new, new, DEPLOYMENTS) == []
    assert strategies.warnings_on_update(new, old, PODS) == []
