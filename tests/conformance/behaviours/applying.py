"""Server-side apply: who owns what, conflicts, and what disappears with its owner."""

from typing import Any

from tests.conformance.api import Answer, Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import config_map, container, deployment, of, pod, service, with_meta

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CONFIG_MAPS, PODS

YAML = "application/apply-patch+yaml"
BARE = of("v1", "ConfigMap", "map")


def managers(answer: Answer) -> list[tuple[str, str]]:
    return sorted((entry["manager"], entry["operation"]) for entry in answer.meta.get("managedFields", ()))


def applied_pod(*containers: Object, **spec: Any) -> Object:
    return pod(containers=list(containers) or [container()], **spec)


@behaviour
async def apply_creates(api: Api) -> None:
    answer = await api.apply(config_map(a="1"))
    assert answer.code == 201
    assert managers(answer) == [("alice", "Apply")]


@behaviour
async def apply_again_changes_nothing(api: Api) -> None:
    made = await api.apply(config_map(a="1"))
    answer = await api.apply(config_map(a="1"))
    assert (answer.code, answer.version) == (200, made.version)


@behaviour
async def apply_changes_what_it_owns(api: Api) -> None:
    await api.apply(config_map(a="1"))
    answer = await api.apply(config_map(a="2"))
    assert answer["data"] == {"a": "2"}


@behaviour
async def what_is_left_out_is_removed(api: Api) -> None:
    await api.apply(config_map(a="1", b="2"))
    answer = await api.apply(config_map(b="2"))
    assert answer["data"] == {"b": "2"}


@behaviour
async def what_others_own_too_is_kept(api: Api) -> None:
    await api.apply(config_map(a="1", b="2"))
    await api.apply(config_map(a="1"), "bob")
    answer = await api.apply(config_map(b="2"))
    assert answer["data"] == {"a": "1", "b": "2"}


@behaviour
async def two_who_want_different_values_conflict(api: Api) -> None:
    await api.apply(config_map(a="1"))
    answer = await api.apply(config_map(a="2"), "bob")
    assert (answer.code, answer.reason) == (409, "Conflict")
    assert answer.causes == [".data.a"]


@behaviour
async def two_who_want_the_same_value_share_it(api: Api) -> None:
    await api.apply(config_map(a="1"))
    answer = await api.apply(config_map(a="1"), "bob")
    assert managers(answer) == [("alice", "Apply"), ("bob", "Apply")]


@behaviour
async def force_takes_the_field(api: Api) -> None:
    await api.apply(config_map(a="1", b="1"))
    answer = await api.apply(config_map(a="2"), "bob", force="true")
    assert answer["data"] == {"a": "2", "b": "1"}


@behaviour
async def an_update_conflicts_with_nobody_and_apply_with_the_update(api: Api) -> None:
    await api.apply(config_map(a="1"))
    await api.merge(CONFIG_MAPS, "map", {"data": {"a": "2"}}, fieldManager="bob")
    answer = await api.apply(config_map(a="3"))
    assert answer.code == 409


@behaviour
async def many_conflicts_are_told_by_manager(api: Api) -> None:
    await api.apply(config_map(a="1", b="1"))
    await api.apply(config_map(c="1"), "bob")
    answer = await api.apply(config_map(a="2", b="2", c="2"), "carol")
    assert len(answer.causes) == 3


@behaviour
async def apply_needs_a_manager(api: Api) -> None:
    answer = await api.send("PATCH", api.path(CONFIG_MAPS, "map"), config_map(), content_type=YAML)
    assert answer.code == 422


@behaviour
async def apply_needs_kind_and_version(api: Api) -> None:
    path = api.path(CONFIG_MAPS, "map")
    body = {"metadata": {"name": "map"}}
    answer = await api.send("PATCH", path, body, content_type=YAML, fieldManager="alice")
    assert answer.code == 400


@behaviour
async def apply_takes_no_other_kind(api: Api) -> None:
    path = api.path(CONFIG_MAPS, "map")
    answer = await api.send("PATCH", path, of("v1", "Secret", "map"), content_type=YAML, fieldManager="alice")
    assert answer.code == 400


@behaviour
async def apply_takes_no_managed_fields(api: Api) -> None:
    made = await api.apply(config_map(a="1"))
    answer = await api.apply(with_meta(config_map(a="1"), managedFields=made.meta["managedFields"]))
    assert answer.code == 400


@behaviour
async def apply_of_another_name_is_refused(api: Api) -> None:
    path = api.path(CONFIG_MAPS, "map")
    answer = await api.send("PATCH", path, config_map("other"), content_type=YAML, fieldManager="alice")
    assert answer.code == 400


@behaviour
async def apply_takes_yaml(api: Api) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata:\n  a: '1'\n"
    answer = await api.send("PATCH", api.path(CONFIG_MAPS, "map"), body, content_type=YAML, fieldManager="alice")
    assert answer["data"] == {"a": "1"}


@behaviour
async def apply_of_broken_yaml_is_refused(api: Api) -> None:
    answer = await api.send("PATCH", api.path(CONFIG_MAPS, "map"), b"a: [", content_type=YAML, fieldManager="alice")
    assert answer.code == 400


@behaviour
async def apply_with_unknown_fields_is_refused(api: Api) -> None:
    answer = await api.apply({**config_map(a="1"), "colour": "red"})
    assert answer.code == 500


@behaviour
async def apply_with_an_old_version_conflicts(api: Api) -> None:
    made = await api.apply(config_map(a="1"))
    await api.merge(CONFIG_MAPS, "map", {"data": {"b": "2"}})
    answer = await api.apply(with_meta(config_map(a="3"), resourceVersion=made.version))
    assert answer.code == 409


@behaviour
async def apply_with_a_version_creates_all_the_same(api: Api) -> None:
    answer = await api.apply(with_meta(config_map(a="3"), resourceVersion="5"))
    assert answer.code == 201


@behaviour
async def apply_with_a_uid_creates_nothing(api: Api) -> None:
    answer = await api.apply(with_meta(config_map(a="3"), uid="11111111-1111-4111-8111-111111111111"))
    assert answer.code == 409


@behaviour
async def a_dry_apply_is_not_stored(api: Api) -> None:
    answer = await api.apply(config_map(a="1"), dryRun="All")
    assert answer.code == 201
    assert (await api.get(CONFIG_MAPS, "map")).code == 404


@behaviour
async def items_of_a_list_have_owners_of_their_own(api: Api) -> None:
    await api.apply(applied_pod(container("a"), container("b")))
    answer = await api.apply(applied_pod(container("a")), "bob", force="true")
    assert [item["name"] for item in answer["spec"]["containers"]] == ["a", "b"]


@behaviour
async def defaults_belong_to_nobody(api: Api) -> None:
    answer = await api.apply(applied_pod())
    fields = str(answer.meta["managedFields"])
    assert "dnsPolicy" not in fields


@behaviour
async def two_items_of_one_key_are_refused(api: Api) -> None:
    answer = await api.apply(applied_pod(container("a"), container("a")))
    assert answer.code == 500


@behaviour
async def an_item_without_its_key_is_refused(api: Api) -> None:
    answer = await api.apply(applied_pod({"image": "i"}))
    assert answer.code == 422


@behaviour
async def values_of_the_wrong_type_are_refused(api: Api) -> None:
    answer = await api.apply(of("v1", "ConfigMap", "map", data={"a": 1}))
    assert answer.code == 500


@behaviour
async def an_empty_map_is_owned_and_conflicts_too(api: Api) -> None:
    await api.apply(config_map())
    answer = await api.apply(config_map(), "bob")
    assert (answer.code, answer.causes) == (409, [".data"])


@behaviour
async def labels_are_owned_one_by_one(api: Api) -> None:
    await api.apply(with_meta(BARE, labels={"a": "1"}))
    answer = await api.apply(with_meta(BARE, labels={"b": "2"}), "bob")
    assert answer.meta["labels"] == {"a": "1", "b": "2"}
    again = await api.apply(with_meta(BARE, labels={"c": "3"}), "bob")
    assert again.meta["labels"] == {"a": "1", "c": "3"}


@behaviour
async def the_status_is_applied_by_its_endpoint(api: Api) -> None:
    await api.apply(applied_pod())
    status = of("v1", "Pod", "pod", status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
    answer = await api.apply(status, "kubelet", "status")
    assert answer["status"]["phase"] == "Running"
    assert [entry.get("subresource") for entry in answer.meta["managedFields"] if entry["manager"] == "kubelet"] == [
        "status"
    ]


@behaviour
async def the_status_is_not_applied_elsewhere(api: Api) -> None:
    answer = await api.apply({**applied_pod(), "status": {"phase": "Running"}})
    assert answer["status"]["phase"] == "Pending"
    assert "f:status" not in str(answer.meta["managedFields"])


@behaviour
async def a_status_cannot_be_applied_to_what_is_not_there(api: Api) -> None:
    answer = await api.apply(of("v1", "Pod", "pod", status={"phase": "Running"}), "kubelet", "status")
    assert answer.code == 404


@behaviour
async def an_owner_that_lets_go_of_all_leaves_the_list(api: Api) -> None:
    await api.apply(config_map(a="1"))
    await api.apply(config_map(b="1"), "bob")
    answer = await api.apply(BARE, "bob")
    assert managers(answer) == [("alice", "Apply")]
    assert answer["data"] == {"a": "1"}


@behaviour
async def an_update_that_removes_a_field_takes_it_from_its_owner(api: Api) -> None:
    await api.apply(config_map(a="1", b="2"))
    answer = await api.merge(CONFIG_MAPS, "map", {"data": {"a": None}}, fieldManager="bob")
    assert "f:a" not in str(answer.meta["managedFields"])


@behaviour
async def an_update_may_hand_over_to_apply(api: Api) -> None:
    await api.create(config_map(a="1", b="2"), fieldManager="alice")
    answer = await api.apply(config_map(a="1"))
    assert managers(answer) == [("alice", "Apply"), ("alice", "Update")]
    again = await api.apply(config_map())
    assert again["data"] == {"a": "1", "b": "2"}


@behaviour
async def null_gives_a_default_back(api: Api) -> None:
    await api.apply(applied_pod(terminationGracePeriodSeconds=30))
    answer = await api.apply(applied_pod(terminationGracePeriodSeconds=None))
    assert answer["spec"]["terminationGracePeriodSeconds"] == 30


@behaviour
async def sets_are_owned_by_value(api: Api) -> None:
    await api.apply(with_meta(BARE, finalizers=["example.com/a"]))
    answer = await api.apply(with_meta(BARE, finalizers=["example.com/b"]), "bob")
    assert answer.meta["finalizers"] == ["example.com/a", "example.com/b"]
    fewer = await api.apply(BARE)
    assert fewer.meta["finalizers"] == ["example.com/b"]


@behaviour(controlled=True)
async def atomic_lists_are_owned_as_a_whole(api: Api) -> None:
    body = deployment(selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    await api.apply(body)
    answer = await api.apply(deployment(selector={"matchLabels": {"app": "a"}}), "bob")
    assert answer.code == 409


@behaviour
async def ports_are_keyed_by_port_and_protocol(api: Api) -> None:
    await api.apply(service(ports=[{"name": "a", "port": 80, "protocol": "TCP"}]))
    more = service(ports=[{"name": "b", "port": 80, "protocol": "UDP"}])
    answer = await api.apply(more, "bob")
    assert [(port["port"], port["protocol"]) for port in answer["spec"]["ports"]] == [(80, "TCP"), (80, "UDP")]


@behaviour
async def ports_get_their_protocol_before_they_are_compared(api: Api) -> None:
    await api.apply(service(ports=[{"port": 80}]))
    answer = await api.apply(service(ports=[{"port": 80, "protocol": "TCP"}]), "bob")
    assert len(answer["spec"]["ports"]) == 1


@behaviour
async def an_invalid_result_is_refused(api: Api) -> None:
    answer = await api.apply(applied_pod(restartPolicy="Sometimes"))
    assert answer.code == 422


@behaviour
async def an_immutable_field_stays_although_forced(api: Api) -> None:
    await api.apply(applied_pod(schedulerName="nobody"))
    answer = await api.apply(applied_pod(schedulerName="other"), "bob", force="true")
    assert answer.code == 422


@behaviour
async def apply_to_a_namespace_that_is_not_there(api: Api) -> None:
    path = api.path(CONFIG_MAPS, "map", namespace=api.own("none"))
    answer = await api.send("PATCH", path, config_map(a="1"), content_type=YAML, fieldManager="alice")
    assert answer.code == 404


@behaviour
async def a_renamed_manager_owns_apart(api: Api) -> None:
    await api.apply(config_map(a="1"))
    answer = await api.apply(config_map(a="1", b="2"), "alice-2")
    assert len(answer.meta["managedFields"]) == 2


@behaviour
async def a_pod_is_applied_and_its_image_changed_by_another(api: Api) -> None:
    await api.apply(applied_pod())
    await api.strategic(PODS, "pod", {"spec": {"containers": [{"name": "main", "image": "i:2"}]}}, fieldManager="bob")
    answer = await api.apply(applied_pod())
    assert answer.code == 409
    assert answer.causes == ['.spec.containers[name="main"].image']


@behaviour
async def a_conflict_with_a_status_names_the_subresource(api: Api) -> None:
    await api.apply(applied_pod())
    one = of("v1", "Pod", "pod", status={"phase": "Running"})
    await api.apply(one, "kubelet", "status")
    answer = await api.apply(of("v1", "Pod", "pod", status={"phase": "Failed"}), "other", "status")
    assert answer.code == 409


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@behaviour
async def kubectl_takes_over_what_it_applied_by_itself(api: Api) -> None:
    before = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"},"data":{"a":"1","b":"1"}}\n'
    made = with_meta(config_map(a="1", b="1"), annotations={LAST_APPLIED: before})
    await api.create(made, fieldManager="kubectl-client-side-apply")
    refused = await api.apply(config_map(a="2", b="1"), "somebody")
    assert refused.code == 409
    taken = await api.apply(config_map(a="2", b="1"), "kubectl")
    assert '"a":"2"' in taken["metadata"]["annotations"][LAST_APPLIED]


@behaviour
async def kubectl_conflicts_over_what_others_changed_since(api: Api) -> None:
    before = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"},"data":{"a":"1","b":"1"}}\n'
    await api.create(with_meta(config_map(a="1", b="1"), annotations={LAST_APPLIED: before}), fieldManager="first")
    await api.merge(CONFIG_MAPS, "map", {"data": {"b": "x"}}, fieldManager="other")
    refused = await api.apply(config_map(a="2", b="1"), "kubectl")
    assert refused.code == 409
