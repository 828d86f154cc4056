"""Namespaces, nodes, leases, volumes, services, service accounts and roles."""

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import edited, lease, namespace, node, of, service, volume_claim, with_meta

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CLUSTER_ROLES,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    ROLES,
    SERVICES,
    STORAGE_CLASSES,
)


def volume(name: str, **spec: object) -> Object:
    return of(
        "v1",
        "PersistentVolume",
        name,
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "no-claims",
            "hostPath": {"path": "/x"},
            **spec,
        },
    )


def storage_class(name: str, **fields: object) -> Object:
    return of("storage.k8s.io/v1", "StorageClass", name, provisioner="example.com/none", **fields)


def role(name: str, kind: str = "Role") -> Object:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    return of("rbac.authorization.k8s.io/v1", kind, name, rules=rules)


@behaviour
async def a_namespace_gets_its_label_phase_and_finalizer(api: Api) -> None:
    answer = await api.create(namespace(api.own("new")))
    assert answer.meta["labels"] == {"kubernetes.io/metadata.name": api.own("new")}
    assert (answer["spec"], answer["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})


@behaviour
async def the_label_of_a_namespace_comes_back(api: Api) -> None:
    answer = await api.merge(NAMESPACES, api.namespace, {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}})
    assert answer.code == 200
    assert answer.meta["labels"]["kubernetes.io/metadata.name"] == api.namespace


@behaviour
async def some_namespaces_are_there_and_stay(api: Api) -> None:
    for name in ("default", "kube-system", "kube-public"):
        answer = await api.delete(NAMESPACES, name, dryRun="All")
        assert answer.code == 403


@behaviour
async def a_deleted_namespace_is_terminating(api: Api) -> None:
    name = api.own("ending")
    await api.create(namespace(name), recorded=False)
    stay = with_meta(of("v1", "ConfigMap", "stay"), finalizers=["example.com/stay"])
    await api.create(stay, namespace=name, recorded=False)
    answer = await api.delete(NAMESPACES, name)
    assert answer["status"]["phase"] == "Terminating"


@behaviour
async def a_namespace_may_be_deleted_again(api: Api) -> None:
    name = api.own("ending")
    await api.create(namespace(name), recorded=False)
    stay = with_meta(of("v1", "ConfigMap", "stay"), finalizers=["example.com/stay"])
    await api.create(stay, namespace=name, recorded=False)
    await api.delete(NAMESPACES, name)
    answer = await api.delete(NAMESPACES, name, recorded=False)
    api.note("phase", answer["status"]["phase"])
    assert answer.code == 200


@behaviour
async def namespaces_do_not_go_as_a_collection(api: Api) -> None:
    answer = await api.send("DELETE", "/api/v1/namespaces", labelSelector=f"of={api.namespace}")
    assert answer.code == 405


@behaviour
async def a_namespace_is_finalized_by_its_endpoint(api: Api) -> None:
    name = api.own("ending")
    made = await api.create(namespace(name), recorded=False)
    body = edited(made.body, "spec/finalizers", ["kubernetes", "example.com/mine"])
    answer = await api.send(
        "PUT", api.path(NAMESPACES, name, "finalize"), edited(body, "metadata/resourceVersion", None)
    )
    assert answer["spec"]["finalizers"] == ["kubernetes", "example.com/mine"]
    await api.send("PUT", api.path(NAMESPACES, name, "finalize"), made.body, recorded=False)


@behaviour
async def the_finalizers_of_a_namespace_are_out_of_reach_elsewhere(api: Api) -> None:
    answer = await api.merge(NAMESPACES, api.namespace, {"spec": {"finalizers": ["example.com/mine"]}})
    assert answer["spec"]["finalizers"] == ["kubernetes"]


@behaviour
async def a_node_starts_with_a_taint(api: Api) -> None:
    answer = await api.create(node(api.own("node")), dryRun="All")
    assert answer["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


@behaviour
async def a_node_may_be_created_with_its_status(api: Api) -> None:
    status = {"capacity": {"cpu": "8", "nvidia.com/gpu": "8"}, "allocatable": {"cpu": "7500m"}}
    answer = await api.create({**node(api.own("node")), "status": status}, dryRun="All")
    assert answer["status"]["capacity"] == {"cpu": "8", "nvidia.com/gpu": "8"}


@behaviour
async def what_can_be_allocated_is_what_there_is_unless_said(api: Api) -> None:
    answer = await api.create({**node(api.own("node")), "status": {"capacity": {"cpu": "8"}}}, dryRun="All")
    assert answer["status"]["allocatable"] == {"cpu": "8"}


@behaviour
async def taints_of_a_node_are_checked(api: Api) -> None:
    bad = [{"key": "a", "effect": "Never"}, {"key": "not good", "effect": "NoSchedule"}]
    answer = await api.create(node(api.own("node"), taints=bad), dryRun="All")
    assert answer.code == 422


@behaviour
async def taints_of_a_node_are_unique(api: Api) -> None:
    same = {"key": "a", "effect": "NoSchedule"}
    answer = await api.create(node(api.own("node"), taints=[same, {**same, "value": "x"}]), dryRun="All")
    assert answer.code == 422


@behaviour(controlled=True)
async def a_node_is_cordoned(api: Api) -> None:
    name = api.own("node")
    await api.create(node(name), recorded=False)
    answer = await api.strategic(NODES, name, {"spec": {"unschedulable": True}}, recorded=False)
    assert answer["spec"]["unschedulable"] is True
    api.note("unschedulable", answer["spec"]["unschedulable"])


@behaviour(controlled=True)
async def the_provider_of_a_node_cannot_change(api: Api) -> None:
    name = api.own("node")
    await api.create(node(name, providerID="example://one"), recorded=False)
    answer = await api.merge(NODES, name, {"spec": {"providerID": "example://two"}})
    assert answer.code == 422


@behaviour(controlled=True)
async def conditions_of_a_node_merge_by_type(api: Api) -> None:
    name = api.own("node")
    await api.create(node(name), recorded=False)
    for state in ("False", "True"):
        condition = {"type": "example.com/Fine", "status": state, "reason": "Tested", "message": ""}
        answer = await api.strategic(NODES, name, {"status": {"conditions": [condition]}}, "status", recorded=False)
    mine = [item for item in answer["status"]["conditions"] if item["type"] == "example.com/Fine"]
    assert [item["status"] for item in mine] == ["True"]
    api.note("mine", mine)


@behaviour
async def a_capacity_is_not_negative(api: Api) -> None:
    answer = await api.create({**node(api.own("node")), "status": {"capacity": {"cpu": "-1"}}}, dryRun="All")
    assert answer.code == 422


@behaviour
async def a_lease_keeps_microseconds(api: Api) -> None:
    answer = await api.create(
        lease(holderIdentity="me", leaseDurationSeconds=40, renewTime="2021-01-01T00:00:00.123456Z")
    )
    assert answer["spec"]["renewTime"] == "2021-01-01T00:00:00.123456Z"


@behaviour
async def the_times_of_a_lease_need_their_digits(api: Api) -> None:
    answer = await api.create(lease(renewTime="2021-01-01T00:00:00Z"))
    assert answer.code == 400


@behaviour
async def a_lease_is_checked(api: Api) -> None:
    answer = await api.create(lease(leaseDurationSeconds=0, leaseTransitions=-1))
    assert answer.code == 422


@behaviour
async def a_lease_is_stolen_by_a_conflict_lost(api: Api) -> None:
    made = await api.create(lease(holderIdentity="me"))
    await api.replace(edited(made.body, "spec/holderIdentity", "you"))
    answer = await api.replace(edited(made.body, "spec/holderIdentity", "me"))
    assert answer.code == 409
    assert (await api.get(LEASES, "lease"))["spec"]["holderIdentity"] == "you"


@behaviour
async def a_claim_of_a_volume_is_pending(api: Api) -> None:
    answer = await api.create(volume_claim(volumeName="none"), dryRun="All")
    assert (answer["status"], answer["spec"]["volumeMode"]) == ({"phase": "Pending"}, "Filesystem")
    assert answer.meta["finalizers"] == ["kubernetes.io/pvc-protection"]


@behaviour
async def a_claim_of_a_volume_is_checked(api: Api) -> None:
    answer = await api.create(volume_claim(accessModes=[], resources={}))
    assert answer.code == 422


@behaviour
async def a_claim_of_a_volume_is_fixed(api: Api) -> None:
    await api.create(volume_claim(), recorded=False)
    answer = await api.merge(
        PERSISTENT_VOLUME_CLAIMS, "volume", {"spec": {"accessModes": ["ReadOnlyMany"]}}, recorded=False
    )
    assert answer.causes == ["spec"]
    api.note("fields", answer.causes)


@behaviour
async def a_claim_of_a_volume_does_not_grow_unbound(api: Api) -> None:
    await api.create(volume_claim(), recorded=False)
    patch = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    answer = await api.merge(PERSISTENT_VOLUME_CLAIMS, "volume", patch, recorded=False)
    api.note("refusal", [answer.code, answer.causes, answer.message.partition("\n")[0]])
    assert answer.causes == ["spec"]


@behaviour
async def a_volume_is_pending(api: Api) -> None:
    answer = await api.create(volume(api.own("volume")), dryRun="All")
    assert answer["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


@behaviour(differs="empty-or-absent")
async def a_volume_needs_a_size_and_a_source(api: Api) -> None:
    body = volume(api.own("volume"), capacity={}, hostPath=None)
    answer = await api.create(body)
    assert answer.code == 422


@behaviour
async def the_source_of_a_volume_cannot_change(api: Api) -> None:
    name = api.own("volume")
    await api.create(volume(name), recorded=False)
    answer = await api.merge(PERSISTENT_VOLUMES, name, {"spec": {"hostPath": {"path": "/y"}}}, recorded=False)
    assert answer.causes == ["spec.persistentvolumesource"]
    api.note("fields", answer.causes)


@behaviour
async def a_class_of_storage_gets_its_defaults(api: Api) -> None:
    answer = await api.create(storage_class(api.own("class")))
    assert (answer["reclaimPolicy"], answer["volumeBindingMode"]) == ("Delete", "Immediate")


@behaviour
async def a_class_of_storage_is_fixed(api: Api) -> None:
    await api.create(storage_class(api.own("class")))
    answer = await api.merge(STORAGE_CLASSES, api.own("class"), {"provisioner": "example.com/other"})
    assert answer.code == 422


@behaviour
async def a_service_gets_an_address(api: Api) -> None:
    answer = await api.create(service())
    assert answer["spec"]["clusterIP"].startswith("10.96.")
    assert answer["spec"]["ports"][0]["targetPort"] == 80


@behaviour
async def a_service_without_a_head_gets_none(api: Api) -> None:
    answer = await api.create(service(clusterIP="None"))
    assert answer["spec"]["clusterIPs"] == ["None"]


@behaviour
async def a_service_on_all_nodes_gets_a_port(api: Api) -> None:
    answer = await api.create(service(type="NodePort"))
    assert 30000 <= answer["spec"]["ports"][0]["nodePort"] <= 32767


@behaviour
async def a_service_elsewhere_has_a_name(api: Api) -> None:
    answer = await api.create(service(type="ExternalName", selector=None, ports=None))
    assert answer.code == 422
    good = await api.create(service(type="ExternalName", externalName="example.com", ports=None))
    assert "clusterIP" not in good["spec"]


@behaviour
async def ports_of_a_service_need_names_and_differ(api: Api) -> None:
    answer = await api.create(service(ports=[{"port": 80}, {"port": 80}]))
    assert answer.code == 422


@behaviour
async def an_address_outside_of_the_range_is_refused(api: Api) -> None:
    answer = await api.create(service(clusterIP="192.0.2.1"))
    assert answer.code == 422


@behaviour
async def a_service_becomes_another_type(api: Api) -> None:
    await api.create(service())
    answer = await api.merge(SERVICES, "service", {"spec": {"type": "NodePort"}})
    assert answer["spec"]["type"] == "NodePort"


@behaviour(differs="tokens")
async def a_token_of_a_service_account_is_issued(api: Api) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{api.namespace}/serviceaccounts/default/token"
    answer = await api.send("POST", path, body, recorded=False)
    assert answer.code == 201
    api.note("keys", [sorted(answer.body), sorted(answer["status"])])


@behaviour
async def roles_are_stored(api: Api) -> None:
    answer = await api.create(role("reader"))
    assert answer.code == 201
    assert (await api.get(ROLES, "reader"))["rules"] == answer["rules"]


@behaviour
async def rules_need_verbs(api: Api) -> None:
    answer = await api.create({**role("reader"), "rules": [{"apiGroups": [""], "resources": ["pods"]}]})
    assert answer.code == 422


@behaviour
async def roles_of_the_cluster_may_have_colons(api: Api) -> None:
    name = f"{api.namespace}:reader"
    answer = await api.create(role(name, "ClusterRole"))
    assert answer.code == 201
    assert (await api.get(CLUSTER_ROLES, name)).code == 200


@behaviour
async def a_binding_to_a_role_is_fixed(api: Api) -> None:
    subjects = [{"kind": "ServiceAccount", "name": "default", "namespace": api.namespace}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    body = of("rbac.authorization.k8s.io/v1", "RoleBinding", "binding", subjects=subjects, roleRef=reference)
    made = await api.create(body)
    assert made.code == 201
    answer = await api.replace(edited(made.body, "roleRef/name", "other"))
    assert answer.causes == ["roleRef"]


@behaviour
async def users_of_a_binding_get_their_group(api: Api) -> None:
    body = of(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "binding",
        subjects=[{"kind": "User", "name": "alice"}],
        roleRef={"kind": "ClusterRole", "name": "view", "apiGroup": "rbac.authorization.k8s.io"},
    )
    answer = await api.create(body)
    assert answer["subjects"][0]["apiGroup"] == "rbac.authorization.k8s.io"


@behaviour
async def an_administrator_may_do_anything(api: Api) -> None:
    spec = {"resourceAttributes": {"namespace": api.namespace, "verb": "delete", "resource": "pods"}}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    answer = await api.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
    assert answer["status"]["allowed"] is True
