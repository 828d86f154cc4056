"""Workloads and pod groups: what belongs together when it is scheduled."""

from typing import Any

from tests.conformance.api import Api
from tests.conformance.behaviour import behaviour
from tests.conformance.objects import edited, of, pod, priority_class

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import POD_GROUPS, WORKLOADS

VERSION = "scheduling.k8s.io/v1alpha2"
GANG: Object = {"gang": {"minCount": 2}}


def workload(name: str = "workload", *templates: Object, **spec: Any) -> Object:
    some = list(templates) or [{"name": "workers", "schedulingPolicy": GANG}]
    return of(VERSION, "Workload", name, spec={"podGroupTemplates": some, **spec})


def pod_group(name: str = "group", **spec: Any) -> Object:
    return of(VERSION, "PodGroup", name, spec={"schedulingPolicy": GANG, **spec})


def made_from(workload_name: str, template: str = "workers") -> Object:
    return {"workload": {"workloadName": workload_name, "podGroupTemplateName": template}}


@behaviour
async def a_workload_is_stored(api: Api) -> None:
    reference = {"apiGroup": "batch", "kind": "Job", "name": "job"}
    answer = await api.create(workload(controllerRef=reference))
    assert answer.code == 201
    assert answer["spec"]["controllerRef"] == reference


@behaviour
async def a_workload_needs_templates(api: Api) -> None:
    answer = await api.create(of(VERSION, "Workload", "workload", spec={"podGroupTemplates": []}))
    assert answer.causes == ["spec.podGroupTemplates"]


@behaviour
async def templates_have_names_of_their_own(api: Api) -> None:
    one = {"name": "same", "schedulingPolicy": GANG}
    answer = await api.create(workload("workload", one, one))
    assert answer.code == 422


@behaviour
async def a_policy_is_one_of_two(api: Api) -> None:
    neither = await api.create(pod_group(schedulingPolicy={}))
    assert neither.code == 422
    both = await api.create(pod_group(schedulingPolicy={"basic": {}, **GANG}))
    assert both.code == 422


@behaviour
async def a_gang_has_at_least_one(api: Api) -> None:
    answer = await api.create(pod_group(schedulingPolicy={"gang": {"minCount": 0}}))
    assert answer.code == 422


@behaviour
async def the_templates_of_a_workload_cannot_change(api: Api) -> None:
    made = await api.create(workload())
    other = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 5}}}
    answer = await api.replace(edited(made.body, "spec/podGroupTemplates", [other]))
    assert answer.code == 422


@behaviour
async def a_pod_group_is_stored(api: Api) -> None:
    answer = await api.create(pod_group())
    assert answer.code == 201
    assert answer["spec"]["schedulingPolicy"] == GANG


@behaviour
async def a_pod_group_needs_the_workload_it_names(api: Api) -> None:
    answer = await api.create(pod_group(podGroupTemplateRef=made_from("none")))
    assert answer.code == 403


@behaviour
async def a_pod_group_is_made_from_a_workload(api: Api) -> None:
    await api.create(workload())
    body = pod_group(podGroupTemplateRef=made_from("workload"))
    await api.admitted(body)
    answer = await api.create(body)
    assert answer.code == 201


@behaviour
async def a_pod_group_cannot_change(api: Api) -> None:
    await api.create(pod_group())
    answer = await api.merge(POD_GROUPS, "group", {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}})
    assert answer.code == 422


@behaviour
async def the_status_of_a_pod_group_is_apart(api: Api) -> None:
    await api.create({**pod_group(), "status": {"conditions": []}})
    condition = {
        "type": "PodGroupScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
        "lastTransitionTime": "2021-01-01T00:00:00Z",
    }
    patch = {"spec": {"schedulingPolicy": {"basic": {}}}, "status": {"conditions": [condition]}}
    answer = await api.merge(POD_GROUPS, "group", patch, "status")
    assert answer["status"]["conditions"][0]["reason"] == "Unschedulable"
    assert answer["spec"]["schedulingPolicy"] == GANG


@behaviour
async def a_pod_group_names_a_class_of_priority(api: Api) -> None:
    await api.create(priority_class(api.own("high"), 1000))
    await api.admitted(pod_group(priorityClassName=api.own("high")))
    answer = await api.create(pod_group(priorityClassName=api.own("high")))
    assert answer.code == 201


@behaviour
async def a_pod_names_its_group(api: Api) -> None:
    await api.create(pod_group())
    answer = await api.create(pod(schedulingGroup={"podGroupName": "group"}))
    assert answer["spec"]["schedulingGroup"] == {"podGroupName": "group"}


@behaviour
async def the_group_of_a_pod_cannot_change(api: Api) -> None:
    made = await api.create(pod(schedulingGroup={"podGroupName": "group"}))
    answer = await api.replace(edited(made.body, "spec/schedulingGroup/podGroupName", "other"))
    assert answer.code == 422


@behaviour
async def workloads_are_listed(api: Api) -> None:
    for name in "ba":
        await api.create(workload(name))
    assert (await api.list(WORKLOADS)).names == ["a", "b"]
