"""What the server makes of status, generation and other fields that are its own; as the real API server 1.36 does."""

from typing import Any

import pytest

from kubedyno.kinds import strategies
from kubedyno.kinds.strategies import User
from kubedyno.kinds.strategies.table import STRATEGIES
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    API_SERVICES,
    BUILT_IN,
    CRDS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    Resource,
    by_kind,
)

pytestmark = pytest.mark.unit

NOW = "2026-01-02T03:04:05Z"
BEFORE = "2026-01-01T00:00:00Z"
REQUESTS = by_kind("certificates.k8s.io/v1", "CertificateSigningRequest")
TAINT_RULES = by_kind("resource.k8s.io/v1beta2", "DeviceTaintRule")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def created(resource: Resource, **fields: Any) -> Object:
    metadata = {"name": "x", "uid": "u", **fields.pop("metadata", {})}
    obj: Object = {"metadata": metadata, **fields}
    strategies.prepare_create(obj, resource, now=NOW, user=User("someone", ("team",)))
    return obj


def updated(resource: Resource, old: Object, *, subresource: str = "", **fields: Any) -> Object:
    new: Object = {**old, **fields, "metadata": {**old["metadata"], **fields.pop("metadata", {})}}
    before = meta.copied(old)
    strategies.prepare_update(new, old, resource, now=NOW, subresource=subresource)
    assert old == before
    return new


def test_every_kind_that_is_stored_has_a_strategy() -> None:
    unstored = {"bindings", "componentstatuses"}
    assert [
        resource.full_name
        for resource in BUILT_IN
        if (resource.group, resource.plural) not in STRATEGIES
        and resource.plural not in unstored
        and not resource.plural.endswith("reviews")
    ] == []


GENERATIONS = {
    "1": "pods replicationcontrollers podtemplates deployments replicasets statefulsets daemonsets jobs cronjobs "
    "poddisruptionbudgets priorityclasses resourceslices deviceclasses devicetaintrules customresourcedefinitions "
    "validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicies "
    "validatingadmissionpolicybindings mutatingadmissionpolicies mutatingadmissionpolicybindings endpointslices "
    "networkpolicies ingresses ingressclasses flowschemas prioritylevelconfigurations",
    "7": "nodes namespaces services serviceaccounts configmaps secrets events endpoints persistentvolumes "
    "persistentvolumeclaims resourcequotas limitranges controllerrevisions horizontalpodautoscalers "
    "certificatesigningrequests leases workloads podgroups resourceclaims resourceclaimtemplates storageclasses "
    "volumeattachments volumeattributesclasses csidrivers csinodes csistoragecapacities roles rolebindings "
    "clusterroles clusterrolebindings apiservices ipaddresses servicecidrs runtimeclasses",
}


def test_a_new_object_starts_at_generation_one_or_keeps_what_was_sent() -> None:
    found: dict[str, set[str]] = {"1": set(), "7": set()}
    for resource in BUILT_IN:
        if (resource.group, resource.plural) in STRATEGIES:
            obj = created(resource, metadata={"generation": 7}, spec={"versions": []})
            found[str(obj["metadata"]["generation"])].add(resource.plural)
    assert found == {generation: set(kinds.split()) for generation, kinds in GENERATIONS.items()}


FRESH: dict[str, Any] = {
    "v1 Pod": {"phase": "Pending", "qosClass": "BestEffort"},
    "v1 Namespace": {"phase": "Active"},
    "v1 Service": {"loadBalancer": {}},
    "v1 PersistentVolume": {"phase": "Pending", "lastPhaseTransitionTime": NOW},
    "v1 PersistentVolumeClaim": {"phase": "Pending"},
    "v1 ReplicationController": {"replicas": 0},
    "v1 ResourceQuota": {},
    "apps/v1 Deployment": {},
    "apps/v1 ReplicaSet": {"replicas": 0},
    "apps/v1 StatefulSet": {"replicas": 0, "availableReplicas": 0},
    "apps/v1 DaemonSet": {
        "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
    },
    "batch/v1 Job": {},
    "batch/v1 CronJob": {},
    "autoscaling/v2 HorizontalPodAutoscaler": {"desiredReplicas": 0, "currentMetrics": None},
    "policy/v1 PodDisruptionBudget": {
        "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
    },
    "resource.k8s.io/v1 ResourceClaim": {},
    "storage.k8s.io/v1 VolumeAttachment": {"attached": False},
    "networking.k8s.io/v1 Ingress": {"loadBalancer": {}},
    "apiextensions.k8s.io/v1 CustomResourceDefinition": {
        "conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"],
    },
    "apiregistration.k8s.io/v1 APIService": {
        "conditions": [
            {
                "type": "Available", "status": "True", "lastTransitionTime": NOW, "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]
    },
    "v1 Node": {"phase": "Running"},
    "coordination.k8s.io/v1 Lease": {"phase": "Running"},
}  # fmt: skip


@pytest.mark.parametrize("kind", FRESH)
def test_a_new_object_has_the_status_that_the_server_gives(kind: str) -> None:
    resource = by_kind(*kind.split())
    spec = {"versions": [{"name": "v1", "storage": True}]}
    assert created(resource, spec=spec, status={"phase": "Running"})["status"] == FRESH[kind]


def test_an_update_keeps_status_and_what_no_update_changes() -> None:
    stamps = {"creationTimestamp": BEFORE, "deletionTimestamp": BEFORE, "deletionGracePeriodSeconds": 30}
    old: Object = {
        "metadata": {"name": "x", "uid": "u", "generation": 3, **stamps}, "spec": {"a": 1}, "status": {"replicas": 1},
    }  # fmt: skip
    new: Object = {"metadata": {"name": "x", "generation": 9, "creationTimestamp": NOW}, "spec": {"a": 1}, "status": {}}
    strategies.prepare_update(new, old, DEPLOYMENTS, now=NOW)
    assert new == old


@pytest.mark.parametrize(
    ("api_version", "kind", "change", "bumped"),
    [
        ("v1", "Pod", {"spec": {"a": 2}}, True),
        ("v1", "Pod", {"metadata": {"labels": {"a": "b"}}}, False),
        ("v1", "ConfigMap", {"data": {"a": "b"}}, False),
        ("v1", "PodTemplate", {"template": {"spec": {}}}, True),
        ("apps/v1", "Deployment", {"metadata": {"annotations": {"a": "b"}}}, True),
        ("apps/v1", "Deployment", {"metadata": {"labels": {"a": "b"}}}, False),
        ("apps/v1", "ReplicaSet", {"metadata": {"annotations": {"a": "b"}}}, False),
        ("apps/v1", "ReplicaSet", {"spec": {"a": 2}}, True),
        ("scheduling.k8s.io/v1", "PriorityClass", {"description": "d"}, False),
        ("storage.k8s.io/v1", "CSIDriver", {"spec": {"a": 2}}, True),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", {"webhooks": [{}]}, True),
        ("discovery.k8s.io/v1", "EndpointSlice", {"metadata": {"labels": {"a": "b"}}}, True),
        ("discovery.k8s.io/v1", "EndpointSlice", {"metadata": {"annotations": {"a": "b"}}}, False),
        ("discovery.k8s.io/v1", "EndpointSlice", {"endpoints": [{}]}, True),
        ("resource.k8s.io/v1", "ResourceClaim", {"spec": {"a": 2}}, False),
    ],
)
def test_some_changes_count_the_generation(api_version: str, kind: str, change: Object, *, bumped: bool) -> None:
    old: Object = {"metadata": {"name": "x", "uid": "u", "generation": 3}, "spec": {"a": 1}}
    new = updated(by_kind(api_version, kind), old, **change)
    assert new["metadata"]["generation"] == (4 if bumped else 3)


CHANGED = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["f"], "ownerReferences": [{"uid": "o"}]}


@pytest.mark.parametrize(
    ("api_version", "kind", "kept"),
    [
        ("v1", "Pod", {"ownerReferences"}),
        ("v1", "Node", set()),
        ("apps/v1", "Deployment", {"labels"}),
        ("apps/v1", "ReplicaSet", set()),
        ("resource.k8s.io/v1", "ResourceClaim", set(CHANGED)),
        ("scheduling.k8s.io/v1alpha2", "PodGroup", set(CHANGED)),
        ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", set(CHANGED)),
        ("apiregistration.k8s.io/v1", "APIService", set(CHANGED)),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", set()),
    ],
)
def test_an_update_of_status_keeps_the_spec_and_some_metadata(api_version: str, kind: str, kept: set[str]) -> None:
    old: Object = {"metadata": {"name": "x", "uid": "u", "generation": 3}, "spec": {"a": 1}, "status": {"b": 1}}
    new: Object = {"metadata": {**old["metadata"], **CHANGED, "generation": 9}, "spec": {"a": 2}, "status": {"b": 2}}
    strategies.prepare_status_update(new, old, by_kind(api_version, kind), now=NOW)
    assert (new["spec"], new["status"]) == ({"a": 1}, {"b": 2})
    assert new["metadata"]["generation"] == 3
    assert {field for field in CHANGED if field not in new["metadata"]} == kept


@pytest.mark.parametrize(
    ("api_version", "kind", "subresource", "paths"),
    [
        ("v1", "ConfigMap", "", set()),
        ("v1", "Pod", "", {"status"}),
        ("v1", "Pod", "status", {"spec", "metadata.ownerReferences", "metadata.deletionTimestamp"}),
        ("apps/v1", "Deployment", "status", {"spec", "metadata.labels"}),
        ("apps/v1", "ReplicaSet", "status", {"spec"}),
        ("resource.k8s.io/v1", "ResourceClaim", "status", {"spec", "metadata"}),
        ("apiregistration.k8s.io/v1", "APIService", "status", {"spec", "metadata"}),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", "", {"spec", "status"}),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", "status", {"spec", "status.conditions"}),
        ("certificates.k8s.io/v1", "CertificateSigningRequest", "approval", {"spec", "status.certificate"}),
    ],
)
def test_nobody_owns_what_an_endpoint_does_not_write(
    api_version: str, kind: str, subresource: str, paths: set[str]
) -> None:
    unwritten = strategies.unwritten_fields(by_kind(api_version, kind), subresource)
    assert {".".join(path) for path in unwritten} == paths


def test_fields_of_features_that_are_off_are_dropped() -> None:
    device = {"name": "d", "attributes": {"a": {"ints": [1]}, "b": {"int": 1}}, "nodeAllocatableResourceMappings": {}}
    spec = {"devices": [device, {"name": "e"}]}
    before = meta.copied(spec)
    made = created(RESOURCE_SLICES, spec=spec)["spec"]
    assert made == {"devices": [{"name": "d", "attributes": {"a": {}, "b": {"int": 1}}}, {"name": "e"}]}
    assert spec == before
    assert created(LEASES, spec={"holderIdentity": "a", "strategy": "OldestEmulationVersion"})["spec"] == {
        "holderIdentity": "a"
    }
    assert created(POD_GROUPS, spec={"resourceClaims": [{}]})["spec"] == {}


def test_a_put_creates_some_kinds_and_needs_a_version_for_others() -> None:
    known = [resource for resource in BUILT_IN if (resource.group, resource.plural) in STRATEGIES]
    creating = {resource.full_name for resource in known if strategies.allows_create_on_update(resource)}
    assert creating == {
        "services", "events", "endpoints", "limitranges", "leases.coordination.k8s.io", "events.events.k8s.io",
        "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
        "runtimeclasses.node.k8s.io",
    }  # fmt: skip
    conditional = {resource.plural for resource in known if not strategies.allows_unconditional_update(resource)}
    assert conditional == {
        "leases", "poddisruptionbudgets", "volumeattachments", "csidrivers", "csinodes", "csistoragecapacities",
        "customresourcedefinitions", "apiservices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations",
        "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings", "runtimeclasses",
    }  # fmt: skip


def test_kinds_that_are_not_built_in_are_left_alone() -> None:
    custom = Resource("a.example.com", "v1", "Thing", "things", namespaced=True)
    assert created(custom, status={"a": 1})["status"] == {"a": 1}
    assert not strategies.allows_create_on_update(custom)
    assert not strategies.allows_unconditional_update(custom)


def test_a_gated_pod_says_so() -> None:
    assert created(PODS, spec={"schedulingGates": [{"name": "g"}]})["status"] == {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": None,
                "lastTransitionTime": NOW,
            }
        ],
        "qosClass": "BestEffort",
    }


def test_the_labels_that_selectors_name_become_requirements() -> None:
    selector = {"matchLabels": {"a": "b"}}
    term = {"labelSelector": selector, "matchLabelKeys": ["hash", "absent"], "mismatchLabelKeys": ["team"]}
    spec = {
        "topologySpreadConstraints": [{"labelSelector": selector, "matchLabelKeys": ["hash"]}, {"matchLabelKeys": []}],
        "affinity": {"podAffinity": {REQUIRED: [term]}, "podAntiAffinity": {PREFERRED: [{"podAffinityTerm": term}]}},
    }
    before = meta.copied(spec)
    made = created(PODS, metadata={"labels": {"hash": "1", "team": "t"}}, spec=spec)["spec"]
    same = {"key": "hash", "operator": "In", "values": ["1"]}
    other = {"key": "team", "operator": "NotIn", "values": ["t"]}
    constraints, affinity = made["topologySpreadConstraints"], made["affinity"]
    assert constraints[0]["labelSelector"] == {**selector, "matchExpressions": [same]}
    assert "labelSelector" not in constraints[1]
    for narrowed in (
        affinity["podAffinity"][REQUIRED][0],
        affinity["podAntiAffinity"][PREFERRED][0]["podAffinityTerm"],
    ):
        assert narrowed["labelSelector"] == {**selector, "matchExpressions": [same, other]}
    assert spec == before


def test_a_status_of_a_pod_keeps_its_class_and_what_was_observed() -> None:
    conditions = [{"type": "A", "status": "True", "observedGeneration": 2}, {"type": "B", "status": "True"}]
    old: Object = {
        "metadata": {"name": "x", "uid": "u"},
        "spec": {},
        "status": {"qosClass": "Burstable", "observedGeneration": 2, "conditions": conditions},
    }
    sent = [{"type": "B", "status": "False"}, {"type": "A", "status": "False"}]
    new = updated(PODS, old, subresource="status", status={"phase": "Running", "conditions": sent})
    assert new["status"] == {
        "phase": "Running",
        "qosClass": "Burstable",
        "observedGeneration": 2,
        "conditions": [sent[0], {**sent[1], "observedGeneration": 2}],
    }


def test_ephemeral_containers_come_alone() -> None:
    old: Object = {"metadata": {"name": "x", "uid": "u", "generation": 1}, "spec": {"a": 1}, "status": {"phase": "P"}}
    spec = {"a": 2, "ephemeralContainers": [{"name": "d"}]}
    new = updated(PODS, old, subresource="ephemeralcontainers", metadata=CHANGED, spec=spec, status={})
    assert new == {
        "metadata": {"name": "x", "uid": "u", "generation": 2},
        "spec": {"a": 1, "ephemeralContainers": [{"name": "d"}]},
        "status": {"phase": "P"},
    }


def test_a_resize_changes_resources_only() -> None:
    old: Object = {
        "metadata": {"name": "x", "uid": "u", "generation": 1},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    bigger = {"requests": {"cpu": "2"}}
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "j", "resources": bigger}]}
    new = updated(PODS, old, subresource="resize", spec=spec)
    assert new["spec"] == {"containers": [{"name": "c", "image": "i", "resources": bigger}]}
    assert new["metadata"]["generation"] == 2
    renamed = {"containers": [{"name": "d", "image": "j"}]}
    assert updated(PODS, old, subresource="resize", spec=renamed)["spec"] == renamed


def test_a_namespace_has_a_finalizer_and_a_label_with_its_name() -> None:
    made = created(NAMESPACES, spec={"finalizers": ["a.example.com/b"]})
    assert made["spec"] == {"finalizers": ["a.example.com/b", "kubernetes"]}
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    kept = updated(NAMESPACES, made, spec={"finalizers": []}, metadata={"labels": {}})
    assert kept["spec"] == made["spec"]
    assert kept["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert updated(NAMESPACES, made, subresource="finalize", spec={"finalizers": []})["spec"] == {"finalizers": []}


def test_a_job_selects_its_pods_by_its_uid() -> None:
    spec = {"template": {"metadata": {"labels": {"app": "a"}}, "spec": {}}}
    before = meta.copied(spec)
    made = created(JOBS, spec=spec)["spec"]
    assert made["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert made["template"]["metadata"]["labels"] == {
        "app": "a",
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "x",
        "controller-uid": "u",
        "job-name": "x",
    }
    assert spec == before


def test_a_job_without_labels_has_those_of_its_template() -> None:
    made = created(JOBS, spec={"template": {}})
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
    own = created(JOBS, metadata={"labels": {"a": "b"}}, spec={"template": {}})
    assert own["metadata"]["labels"] == {"a": "b"}


def test_a_job_with_a_selector_of_its_own_is_left_alone() -> None:
    spec = {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}, "template": {}}
    assert created(JOBS, spec=spec)["spec"] == spec


def test_a_daemon_set_counts_its_templates() -> None:
    counter = "deprecated.daemonset.template.generation"
    made = created(DAEMON_SETS, spec={"template": {"a": 1}})
    assert made["metadata"]["annotations"] == {counter: "1"}
    same = updated(DAEMON_SETS, made, metadata={"annotations": {counter: "7"}}, spec={"template": {"a": 1}, "b": 2})
    assert (same["metadata"]["annotations"], same["metadata"]["generation"]) == ({counter: "1"}, 2)
    other = updated(DAEMON_SETS, made, spec={"template": {"a": 2}})
    assert (other["metadata"]["annotations"], other["metadata"]["generation"]) == ({counter: "2"}, 2)


@pytest.mark.parametrize(
    ("sent", "since"),
    [
        ({"phase": "Bound"}, BEFORE),
        ({"phase": "Failed"}, NOW),
        ({"phase": "Failed", "lastPhaseTransitionTime": BEFORE}, NOW),
        ({"phase": "Failed", "lastPhaseTransitionTime": "2026-01-01T11:11:11Z"}, "2026-01-01T11:11:11Z"),
    ],
)
def test_the_phase_of_a_volume_is_stamped_when_it_changes(sent: Object, since: str) -> None:
    old: Object = {
        "metadata": {"name": "x", "uid": "u"}, "spec": {},
        "status": {"phase": "Bound", "lastPhaseTransitionTime": BEFORE},
    }  # fmt: skip
    new = updated(PERSISTENT_VOLUMES, old, subresource="status", status=sent)
    assert new["status"]["lastPhaseTransitionTime"] == since


CLAIM_SOURCE = {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "c"}
THING_SOURCE = {"apiGroup": "a.example.com", "kind": "Thing", "name": "t"}


@pytest.mark.parametrize(
    ("sent", "made"),
    [
        ({"dataSource": CLAIM_SOURCE}, {"dataSource": CLAIM_SOURCE, "dataSourceRef": CLAIM_SOURCE}),
        ({"dataSource": THING_SOURCE}, {}),
        ({"dataSourceRef": THING_SOURCE}, {"dataSource": THING_SOURCE, "dataSourceRef": THING_SOURCE}),
        ({"dataSourceRef": {**THING_SOURCE, "namespace": "n"}}, {"dataSourceRef": {**THING_SOURCE, "namespace": "n"}}),
    ],
)
def test_both_names_of_a_data_source_say_the_same(sent: Object, made: Object) -> None:
    assert created(PERSISTENT_VOLUME_CLAIMS, spec=sent)["spec"] == made


def test_a_certificate_request_is_of_who_sent_it() -> None:
    made = created(REQUESTS, spec={"request": "r", "username": "other", "uid": "o", "extra": {"a": ["b"]}})
    assert made["spec"] == {"request": "r", "username": "someone", "groups": ["team"]}
    changed = updated(REQUESTS, made, spec={"request": "s"}, status={"certificate": "c"})
    assert (changed["spec"], changed["status"]) == (made["spec"], {})


def test_an_approval_is_stamped_and_changes_nothing_else() -> None:
    old: Object = {"metadata": {"name": "x", "uid": "u"}, "spec": {"a": 1}, "status": {"certificate": "c"}}
    sent = {"certificate": "d", "conditions": [{"type": "Approved", "status": "True"}]}
    new = updated(REQUESTS, old, subresource="approval", spec={"a": 2}, status=sent)
    stamped = {"type": "Approved", "status": "True", "lastUpdateTime": NOW, "lastTransitionTime": NOW}
    assert (new["spec"], new["status"]) == ({"a": 1}, {"certificate": "c", "conditions": [stamped]})
    signed = updated(
        REQUESTS, new, subresource="status", status={"conditions": [{"type": "Approved", "status": "False"}]}
    )
    assert signed["status"]["conditions"] == [stamped]


def test_a_claim_forgets_the_devices_that_it_no_longer_has() -> None:
    def device(name: str) -> Object:
        return {"driver": "d", "pool": "p", "device": name}

    old: Object = {
        "metadata": {"name": "x", "uid": "u"}, "spec": {},
        "status": {"allocation": {"devices": {"results": [device("a"), device("b")]}}},
    }  # fmt: skip
    sent = {"allocation": {"devices": {"results": [device("b")]}}, "devices": [device("a"), device("b")]}
    assert updated(RESOURCE_CLAIMS, old, subresource="status", status=sent)["status"]["devices"] == [device("b")]
    freed = updated(RESOURCE_CLAIMS, old, subresource="status", status={"devices": [device("a")]})
    assert freed["status"] == {}


def test_a_taint_with_another_effect_is_added_now() -> None:
    old: Object = {
        "metadata": {"name": "x", "uid": "u", "generation": 1},
        "spec": {"taint": {"effect": "NoSchedule", "timeAdded": BEFORE}},
    }
    new = updated(TAINT_RULES, old, spec={"taint": {"effect": "NoExecute", "timeAdded": BEFORE}})
    assert new["spec"]["taint"] == {"effect": "NoExecute", "timeAdded": NOW}
    assert new["metadata"]["generation"] == 2


def test_the_versions_that_objects_were_stored_in_are_remembered() -> None:
    made = created(CRDS, spec={"versions": [{"name": "v1", "storage": True}]})
    versions = [{"name": "v1"}, {"name": "v2", "storage": True}]
    assert updated(CRDS, made, spec={"versions": versions})["status"]["storedVersions"] == ["v1", "v2"]


def test_an_api_service_behind_a_service_is_not_known_to_be_available() -> None:
    assert created(API_SERVICES, spec={"service": {"name": "s"}})["status"] == {}


def test_secrets_of_an_account_are_names_only() -> None:
    made = created(SERVICE_ACCOUNTS, secrets=[{"name": "s", "kind": "Secret"}])
    assert made["secrets"] == [{"name": "s"}]


def test_a_node_loses_what_a_removed_feature_left() -> None:
    made = created(NODES, spec={"configSource": {}, "podCIDR": "c"}, status={"config": {}, "phase": "Running"})
    assert (made["spec"], made["status"]) == ({"podCIDR": "c"}, {"phase": "Running"})


def test_a_lease_is_as_it_was_sent() -> None:
    assert created(LEASES, spec={"holderIdentity": "a"}) == {
        "metadata": {"name": "x", "uid": "u"},
        "spec": {"holderIdentity": "a"},
    }
