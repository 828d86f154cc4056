"""Bindings: how a scheduler places a pod."""

from typing import Any

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import pod

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS


def to(node: str, name: str = "pod", **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


@behaviour
async def a_binding_places_the_pod(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "binding", to("here"))
    assert (answer.code, answer["status"]) == (201, "Success")
    bound = await api.get(PODS, "pod")
    assert bound["spec"]["nodeName"] == "here"
    assert [(item["type"], item["status"]) for item in bound["status"]["conditions"]] == [("PodScheduled", "True")]


@behaviour
async def a_pod_is_bound_once(api: Api) -> None:
    await api.create(pod())
    await api.post(PODS, "pod", "binding", to("here"))
    answer = await api.post(PODS, "pod", "binding", to("there"))
    assert (answer.code, answer.reason) == (409, "Conflict")


@behaviour
async def a_pod_that_was_created_on_a_node_cannot_be_bound(api: Api) -> None:
    await api.create(pod(nodeName="here"))
    answer = await api.post(PODS, "pod", "binding", to("here"))
    assert answer.code == 409


@behaviour
async def a_gated_pod_cannot_be_bound(api: Api) -> None:
    await api.create(pod(schedulingGates=[{"name": "example.com/wait"}]))
    answer = await api.post(PODS, "pod", "binding", to("here"))
    assert answer.code == 409


@behaviour
async def what_is_not_there_cannot_be_bound(api: Api) -> None:
    answer = await api.post(PODS, "pod", "binding", to("here"))
    assert answer.code == 404


@behaviour
async def a_pod_that_is_being_deleted_cannot_be_bound(api: Api) -> None:
    body = pod()
    body["metadata"]["finalizers"] = ["example.com/stay"]
    await api.create(body)
    await api.delete(PODS, "pod")
    answer = await api.post(PODS, "pod", "binding", to("here"))
    assert answer.code == 409


@behaviour
async def a_binding_needs_a_target(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "binding", to(""))
    assert (answer.code, answer.message) == (500, "target.name: Required value")


@behaviour
async def a_target_is_a_node(api: Api) -> None:
    await api.create(pod())
    body = to("here")
    body["target"]["kind"] = "Pod"
    answer = await api.post(PODS, "pod", "binding", body)
    assert answer.code == 500


@behaviour
async def the_name_of_a_binding_is_that_of_the_pod(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "binding", to("here", "other"))
    assert answer.code == 400


@behaviour
async def annotations_and_labels_of_a_binding_go_to_the_pod(api: Api) -> None:
    await api.create(pod())
    await api.post(PODS, "pod", "binding", to("here", annotations={"example.com/by": "me"}, labels={"a": "1"}))
    bound = await api.get(PODS, "pod")
    assert bound.meta["annotations"] == {"example.com/by": "me"}


@behaviour
async def a_binding_for_another_uid_conflicts(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "binding", to("here", uid="11111111-1111-4111-8111-111111111111"))
    assert answer.code == 409


@behaviour
async def a_binding_for_an_old_version_conflicts(api: Api) -> None:
    made = await api.create(pod())
    await api.merge(PODS, "pod", {"metadata": {"labels": {"a": "1"}}})
    answer = await api.post(PODS, "pod", "binding", to("here", resourceVersion=made.version))
    assert answer.code == 409


@behaviour
async def a_dry_binding_places_nothing(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "binding", to("here"), dryRun="All")
    assert answer.code == 201
    assert "nodeName" not in (await api.get(PODS, "pod"))["spec"]


@behaviour
async def the_old_collection_of_bindings_works(api: Api) -> None:
    await api.create(pod())
    answer = await api.send("POST", f"/api/v1/namespaces/{api.namespace}/bindings", to("here"))
    assert answer.code == 201
    assert (await api.get(PODS, "pod"))["spec"]["nodeName"] == "here"


@behaviour
async def bindings_cannot_be_read(api: Api) -> None:
    await api.create(pod())
    one = await api.get(PODS, "pod", "binding")
    assert one.code == 405
    all_of_them = await api.send("GET", f"/api/v1/namespaces/{api.namespace}/bindings")
    assert all_of_them.code == 405


@behaviour
async def a_bound_pod_keeps_the_time_of_its_condition(api: Api) -> None:
    await api.create(pod())
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    await api.strategic(PODS, "pod", {"status": {"conditions": [condition]}}, "status")
    await api.post(PODS, "pod", "binding", to("here"))
    bound = await api.get(PODS, "pod")
    assert bound["status"]["conditions"][0]["status"] == "True"


@behaviour
async def a_binding_of_the_wrong_kind_is_refused(api: Api) -> None:
    await api.create(pod())
    answer = await api.post(PODS, "pod", "binding", pod())
    assert answer.code == 400


@behaviour
async def a_bound_pod_counts_no_generation(api: Api) -> None:
    made = await api.create(pod())
    await api.post(PODS, "pod", "binding", to("here"))
    bound = await api.get(PODS, "pod")
    assert bound.meta["generation"] == made.meta["generation"]


@behaviour
async def a_nomination_ends_with_a_binding(api: Api) -> None:
    await api.create(pod())
    await api.merge(PODS, "pod", {"status": {"nominatedNodeName": "there"}}, "status")
    await api.post(PODS, "pod", "binding", to("here"))
    bound = await api.get(PODS, "pod")
    assert "nominatedNodeName" not in bound["status"]
