"""The admission plugins; texts and results are those of the real API server 1.36."""

import pytest
from small_cluster import (
    BASE,
    HEAVY,
    STRICT,
    Cluster,
    admitted,
    claim_spec,
    pod,
    scheduling,
    sized,
    storage_class,
    thing,
)

from kubedyno.kinds import admission
from kubedyno.kinds.admission import Denied, tolerations
from kubedyno.kit.randomness import stream
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CONFIG_MAPS,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    Resource,
    by_kind,
)
from kubedyno.kube.status import Cause

pytestmark = pytest.mark.unit


def test_a_pod_gets_account_token_tolerations_and_priority() -> None:
    made = admitted(pod())
    volume = made["spec"]["volumes"][0]["name"]
    assert volume.startswith("kube-api-access-")
    assert len(volume) == len("kube-api-access-") + 5
    assert made["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "resources": {},
                "volumeMounts": [
                    {"name": volume, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
                ],
            }
        ],
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "volumes": [
            {
                "name": volume,
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "path": "namespace",
                                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                    }
                                ]
                            }
                        },
                    ],
                    "defaultMode": 420,
                },
            }
        ],
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def test_admission_replaces_what_it_changes_below_spec() -> None:
    body = pod(tolerations=[{"key": "a", "operator": "Exists"}], volumes=[{"name": "v", "emptyDir": {}}])
    spec, copy = body["spec"], meta.copied(body["spec"])
    admitted(body)
    assert body["spec"] is not spec
    assert spec == copy


def test_a_pod_without_further_objects_costs_few_lookups() -> None:
    body, cluster = pod(), Cluster(*BASE)
    admission.admit_create(body, PODS, cluster, stream(7, "admission"), namespace="team")
    admission.validate_create(body, PODS, cluster)
    assert cluster.looked_up <= 6


DENIED: list[tuple[Object, list[Object], str]] = [
    (
        pod(serviceAccountName="none"),
        [],
        'pods "p" is forbidden: error looking up service account team/none: serviceaccount "none" not found',
    ),
    (
        {**pod(priorityClassName="none"), "metadata": {"generateName": "p-", "namespace": "team"}},
        [],
        'pods "p-" is forbidden: no PriorityClass with name none was found',
    ),
    (
        pod(serviceAccountName="strict", volumes=[{"name": "v", "secret": {"secretName": "other"}}]),
        [STRICT],
        (
            'pods "p" is forbidden: volume with secret.secretName="other" is not allowed '
            "because service account strict does not reference that secret"
        ),
    ),
    (
        pod(serviceAccountName="strict", imagePullSecrets=[{"name": "other"}]),
        [STRICT],
        (
            'pods "p" is forbidden: imagePullSecrets[0].name="other" is not allowed '
            "because service account strict does not reference that imagePullSecret"
        ),
    ),
    (
        pod(
            serviceAccountName="strict",
            initContainers=[{"name": "e", "envFrom": [{"secretRef": {"name": "other"}}]}],
        ),
        [STRICT],
        (
            'pods "p" is forbidden: init container e with envFrom referencing secret.secretName="other" is not allowed '
            "because service account strict does not reference that secret"
        ),
    ),
    (
        pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}, serviceAccountName="default"),
        [],
        'pods "p" is forbidden: a mirror pod may not reference service accounts',
    ),
    (
        pod(priority=7),
        [],
        (
            'pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; '
            "priority admission controller computed 0 from the given PriorityClass name"
        ),
    ),
    (
        pod(preemptionPolicy="Never"),
        [],
        (
            'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; '
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
        ),
    ),
    (
        pod(runtimeClassName="none"),
        [],
        'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found',
    ),
    (
        pod(runtimeClassName="heavy", nodeSelector={"runtime": "light"}),
        [HEAVY],
        (
            'pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = heavy; '
            "pod.spec.nodeSelector[runtime] = light"
        ),
    ),
    (
        pod(runtimeClassName="heavy", overhead={"cpu": "1"}),
        [HEAVY],
        "pods \"p\" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ),
    (
        pod(overhead={"cpu": "1"}),
        [],
        'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ),
    (
        scheduling("PriorityClass", "new", value=1, globalDefault=True),
        [scheduling("PriorityClass", "old", value=5, globalDefault=True)],
        (
            'priorityclasses.scheduling.k8s.io "new" is forbidden: '
            "PriorityClass old is already marked as default. Only one default can exist"
        ),
    ),
]


@pytest.mark.parametrize(("body", "more", "message"), DENIED, ids=lambda part: part if isinstance(part, str) else "")
def test_what_does_not_fit_is_forbidden(body: Object, more: list[Object], message: str) -> None:
    with pytest.raises(Denied) as denied:
        admitted(meta.copied(body), *more)
    assert (denied.value.status.code, denied.value.status.reason) == (403, "Forbidden")
    assert denied.value.status.message == message


def test_nothing_is_created_in_a_namespace_that_is_not_there_or_goes() -> None:
    with pytest.raises(Denied) as missing:
        admitted(thing("ConfigMap", "c", "nowhere"))
    assert (missing.value.status.code, missing.value.status.message) == (404, 'namespaces "nowhere" not found')
    with pytest.raises(Denied) as leaving:
        admitted(thing("ConfigMap", "c", "gone"))
    status = leaving.value.status
    told = "unable to create new content in namespace gone because it is being terminated"
    assert (status.code, status.message) == (403, f'configmaps "c" is forbidden: {told}')
    assert status.causes == (Cause("NamespaceTerminating", "namespace gone is being terminated", "metadata.namespace"),)


def test_what_is_in_a_namespace_that_goes_can_still_be_updated() -> None:
    body = thing("ConfigMap", "c", "gone")
    admission.admit_update(body, body, CONFIG_MAPS, Cluster(*BASE))


def test_three_namespaces_cannot_be_deleted() -> None:
    admission.admit_delete(NAMESPACES, "team")
    for name in ("default", "kube-system", "kube-public"):
        with pytest.raises(Denied) as denied:
            admission.admit_delete(NAMESPACES, name)
        assert denied.value.status.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_the_priority_classes_of_the_system_cannot_be_deleted() -> None:
    admission.admit_delete(PRIORITY_CLASSES, "polite")
    with pytest.raises(Denied) as denied:
        admission.admit_delete(PRIORITY_CLASSES, "system-node-critical")
    assert denied.value.status.message == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )


def test_a_class_gives_its_priority_and_policy() -> None:
    polite = scheduling("PriorityClass", "polite", value=-5, preemptionPolicy="Never")
    made = admitted(pod(priorityClassName="polite"), polite)
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (-5, "Never")


def test_the_default_class_is_the_least_of_those_marked() -> None:
    classes = [scheduling("PriorityClass", f"c{value}", value=value, globalDefault=True) for value in (9, 3, 5)]
    made = admitted(pod(), *classes)
    assert (made["spec"]["priorityClassName"], made["spec"]["priority"]) == ("c3", 3)


def test_an_update_that_leaves_priority_out_keeps_it() -> None:
    old = pod(priority=5, preemptionPolicy="Never")
    new = pod()
    admission.admit_update(new, old, PODS, Cluster(*BASE))
    assert (new["spec"]["priority"], new["spec"]["preemptionPolicy"]) == (5, "Never")
    assert [entry["key"] for entry in new["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([{"operator": "Exists"}], []),
        ([{"operator": "Exists", "effect": "NoExecute"}], []),
        ([{"operator": "Exists", "effect": "NoSchedule"}], ["not-ready", "unreachable"]),
        ([{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}], ["unreachable"]),
    ],
)
def test_tolerations_of_lost_nodes_are_added_where_missing(given: list[Object], added: list[str]) -> None:
    made = admitted(pod(tolerations=given))["spec"]["tolerations"]
    assert made == given + [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for name in added
    ]


def test_merged_tolerations_leave_out_what_another_covers() -> None:
    narrow = {"key": "a", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 5}
    wide = {"key": "a", "operator": "Exists"}
    short = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
    other = {"key": "b", "operator": "Exists"}
    assert tolerations.merged([narrow, other], [wide]) == [other, wide]
    assert tolerations.merged([narrow], [short]) == [narrow, short]
    assert tolerations.merged([narrow], [narrow]) == [narrow]


def test_a_runtime_class_adds_overhead_and_where_it_runs() -> None:
    spec = admitted(pod(runtimeClassName="heavy", nodeSelector={"a": "b"}), HEAVY)["spec"]
    assert spec["overhead"] == {"cpu": "250m", "memory": "64Mi"}
    assert spec["nodeSelector"] == {"a": "b", "runtime": "heavy"}
    assert spec["tolerations"][-1] == {"key": "heavy", "operator": "Exists"}


def test_pull_secrets_of_the_account_are_taken_over_unless_the_pod_has_its_own() -> None:
    account = thing(
        "ServiceAccount", "puller", "team", imagePullSecrets=[{"name": "s"}], automountServiceAccountToken=False
    )
    made = admitted(pod(serviceAccountName="puller"), account)
    assert made["spec"]["imagePullSecrets"] == [{"name": "s"}]
    assert "volumes" not in made["spec"]
    made = admitted(pod(serviceAccountName="puller", imagePullSecrets=[{"name": "t"}]), account)
    assert made["spec"]["imagePullSecrets"] == [{"name": "t"}]


def test_containers_get_the_defaults_of_the_namespace() -> None:
    limits = {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}}
    made = admitted(
        pod(containers=[{"name": "c", "resources": {"limits": {"cpu": "300m"}, "requests": {"cpu": "300m"}}}]),
        thing("LimitRange", "l", "team", spec={"limits": [limits]}),
    )
    assert made["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "300m", "memory": "1Gi"},
        "requests": {"cpu": "300m"},
    }
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: memory limit for container c"
    }


BOUNDS = thing("LimitRange", "l", "team", spec={"limits": [
    {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"}},
    {"type": "Pod", "max": {"memory": "1Gi"}},
    {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}},
]})  # fmt: skip


@pytest.mark.parametrize(
    ("requests", "limits", "told"),
    [
        (
            {"cpu": "50m"},
            {"cpu": "1", "memory": "1Gi"},
            (
                "[minimum cpu usage per Container is 100m, but request is 50m, "
                "cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000]"
            ),
        ),
        ({"cpu": "1"}, {"cpu": "3", "memory": "1Gi"}, "maximum cpu usage per Container is 2, but limit is 3"),
        (
            {"cpu": "100m"},
            {"cpu": "500m", "memory": "1Gi"},
            "cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000",
        ),
        ({"cpu": "1"}, {"cpu": "1", "memory": "2Gi"}, "maximum memory usage per Pod is 1Gi, but limit is 2Gi"),
        ({"cpu": "1"}, {"cpu": "1"}, "maximum memory usage per Pod is 1Gi.  No limit is specified"),
    ],
)
def test_a_pod_beyond_the_bounds_of_its_namespace_is_forbidden(requests: Object, limits: Object, told: str) -> None:
    with pytest.raises(Denied) as denied:
        admitted(sized(requests, limits), BOUNDS)
    assert denied.value.status.message == f'pods "p" is forbidden: {told}'


@pytest.mark.parametrize(
    ("storage", "told"),
    [
        ("512Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi"),
        ("11Gi", "maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 11Gi"),
    ],
)
def test_a_claim_beyond_the_bounds_of_its_namespace_is_forbidden(storage: str, told: str) -> None:
    with pytest.raises(Denied) as denied:
        admitted(thing("PersistentVolumeClaim", "c", "team", spec=claim_spec(storage)), BOUNDS)
    assert denied.value.status.message == f'persistentvolumeclaims "c" is forbidden: {told}'


def test_a_claim_gets_the_newest_default_class_and_is_protected() -> None:
    classes = [
        storage_class("old", "2026-01-01T00:00:00Z", default=True),
        storage_class("b", "2026-01-02T00:00:00Z", default=True),
        storage_class("a", "2026-01-02T00:00:00Z", default=True),
        storage_class("newest", "2026-01-03T00:00:00Z", default=False),
    ]
    made = admitted(thing("PersistentVolumeClaim", "c", "team", spec=claim_spec("1Gi")), *classes)
    assert made["spec"]["storageClassName"] == "a"
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert made["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("phase", "name", "told"),
    [
        ("Bound", "growing", None),
        ("Pending", "growing", "Only bound persistent volume claims can be expanded"),
        (
            "Bound",
            "rigid",
            (
                "only dynamically provisioned pvc can be resized and "
                "the storageclass that provisions the pvc must support resize"
            ),
        ),
    ],
)
def test_only_bound_claims_of_a_class_that_allows_it_grow(phase: str, name: str, told: str | None) -> None:
    old = thing(
        "PersistentVolumeClaim", "c", "team",
        spec=claim_spec("1Gi", storageClassName=name), status={"phase": phase},
    )  # fmt: skip
    new = {**old, "spec": claim_spec("2Gi", storageClassName=name)}
    cluster = Cluster(
        *BASE,
        storage_class("growing", "2026-01-01T00:00:00Z", default=True),
        storage_class("rigid", "2026-01-01T00:00:00Z", default=False),
    )
    if told is None:
        assert admission.validate_update(new, old, PERSISTENT_VOLUME_CLAIMS, cluster) == []
        return
    with pytest.raises(Denied) as denied:
        admission.validate_update(new, old, PERSISTENT_VOLUME_CLAIMS, cluster)
    assert denied.value.status.message == f'persistentvolumeclaims "c" is forbidden: {told}'


def test_a_new_node_is_tainted_once() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert admitted(thing("Node", "n"))["spec"] == {"taints": [taint]}
    assert admitted(thing("Node", "n", spec={"taints": [taint]}))["spec"] == {"taints": [taint]}
    other = {**taint, "effect": "NoExecute"}
    assert admitted(thing("Node", "n", spec={"taints": [other]}))["spec"] == {"taints": [other, taint]}


def test_pods_and_bindings_take_over_zone_and_region_of_the_node() -> None:
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r", "other": "o"}
    node = thing("Node", "n", metadata={"labels": labels})
    copied = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
    assert admitted(pod(nodeName="n", metadata={"labels": {"a": "b"}}), node)["metadata"]["labels"] == {
        "a": "b",
        **copied,
    }
    binding = thing("Binding", "p", "team", target={"kind": "Node", "name": "n"})
    admission.admit_subresource_create(binding, PODS, "binding", Cluster(*BASE, node), namespace="team", name="p")
    assert binding["metadata"]["labels"] == copied


def test_a_pod_group_needs_the_template_that_it_is_made_from() -> None:
    def group(template: str) -> Object:
        reference = {"workload": {"workloadName": "w", "podGroupTemplateName": template}}
        spec = {"podGroupTemplateRef": reference, "priorityClassName": "high"}
        return thing("PodGroup", "g", "team", api_version=POD_GROUPS.api_version, spec=spec)

    high = scheduling("PriorityClass", "high", value=10)
    workload = thing(
        "Workload", "w", "team", api_version=POD_GROUPS.api_version, spec={"podGroupTemplates": [{"name": "t"}]}
    )
    made = admitted(group("t"), high, workload)
    assert made["spec"]["priority"] == 10
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    for more, told in (
        ([high], 'Workload "w" not found'),
        ([high, workload], 'PodGroupTemplate "u" not found in Workload "w"'),
    ):
        with pytest.raises(Denied) as denied:
            admitted(group("u"), *more)
        assert denied.value.status.message == f'podgroups.scheduling.k8s.io "g" is forbidden: PodGroup rejected: {told}'


def test_a_pod_grows_only_within_its_node() -> None:
    node = thing("Node", "n", status={"allocatable": {"cpu": "2", "memory": "1Gi"}})
    old = sized({"cpu": "1"}, nodeName="n")
    new = sized({"cpu": "3", "memory": "2Gi"}, nodeName="n")
    new["metadata"]["generation"] = 2
    with pytest.raises(Denied) as denied:
        admission.validate_update(new, old, PODS, Cluster(*BASE, node), subresource="resize")
    assert denied.value.status.message == (
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: '
        "cpu, requested: 3000, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824"
    )
    assert denied.value.status.causes == (Cause("NodeCapacity"),)


@pytest.mark.parametrize(
    ("resource", "finalizer"),
    [
        (by_kind("v1", "PersistentVolume"), "kubernetes.io/pv-protection"),
        (by_kind("storage.k8s.io/v1", "VolumeAttributesClass"), "kubernetes.io/vac-protection"),
    ],
)
def test_storage_is_protected_while_in_use(resource: Resource, finalizer: str) -> None:
    body = thing(resource.kind, "x", api_version=resource.api_version, metadata={"finalizers": ["a"]})
    assert admitted(body)["metadata"]["finalizers"] == ["a", finalizer]


def test_an_ingress_gets_the_default_class_unless_it_names_one() -> None:
    marks = {"ingressclass.kubernetes.io/is-default-class": "true"}
    front = thing("IngressClass", "front", api_version="networking.k8s.io/v1", metadata={"annotations": marks})

    def ingress(annotations: Object) -> Object:
        return thing(
            "Ingress", "i", "team", api_version="networking.k8s.io/v1", metadata={"annotations": annotations}, spec={}
        )

    assert admitted(ingress({}), front)["spec"] == {"ingressClassName": "front"}
    assert admitted(ingress({"kubernetes.io/ingress.class": "x"}), front)["spec"] == {}
