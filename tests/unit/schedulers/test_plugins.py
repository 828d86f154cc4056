from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kubedyno.kit.errors import EngineError
from kubedyno.lab.effective import refuse_contradictions
from kubedyno.model.queues import Queue
from kubedyno.model.settings import Setting
from kubedyno.model.workloads import Workload
from kubedyno.plane.component import Component, Probe
from kubedyno.plane.ports import counted_ports
from kubedyno.plane.site import PROFILES, Site
from kubedyno.schedulers.plugins import PLUGINS

pytestmark = pytest.mark.unit

PERIOD = "profiles.0.pluginConfig.1.args.cacheResyncPeriodSeconds"


def site(profile: str = "scale", **more: Any) -> Site:
    return Site(folder=Path("/lab"), draw_port=counted_ports(10000), profile=PROFILES[profile], **more)


def component(profile: str = "scale", **more: Any) -> Component:
    [built] = PLUGINS.components(site(profile, **more), after=("kube-apiserver",), config={})
    return built


def in_go(document: Any) -> Any:
    """As a 1.34 reports its configuration: fields by their names in Go, and more plugins than were configured."""
    if isinstance(document, dict):
        return {key[0].upper() + key[1:]: in_go(value) for key, value in document.items()}
    if isinstance(document, list):
        extra = [{"Name": "DefaultPreemption", "Args": {}}] if document and "args" in document[0] else []
        return [*extra, *map(in_go, document)]
    return document


async def read_back(built: Component, *, change: dict[str, Any] | None = None, **more: Any) -> dict[str, Setting]:
    reported = in_go(yaml.safe_load(built.files[0].text)) | (change or {})
    asked: list[Probe] = []

    class Reader:
        async def fetch(self, probe: Probe) -> bytes:
            asked.append(probe)
            return msgspec.json.encode({"componentconfig": reported})

    found = await PLUGINS.read_back((built,), Reader(), site(**more))
    assert [probe.url for probe in asked] == ["https://127.0.0.1:10000/configz"]
    return {one.field: one for one in found}


def test_it_is_a_kube_scheduler_with_a_profile_of_its_own() -> None:
    built = component()
    assert (built.name, built.program, built.decides) == ("plugins", "scheduler-plugins", True)
    [profile] = yaml.safe_load(built.files[0].text)["profiles"]
    assert profile["schedulerName"] == PLUGINS.dialect.scheduler_name == "scheduler-plugins"
    assert [one["name"] for one in profile["plugins"]["multiPoint"]["enabled"]] == [
        "Coscheduling",
        "NodeResourceTopologyMatch",
    ]
    assert profile["plugins"]["queueSort"]["disabled"] == [{"name": "*"}]


def test_settings_reach_the_arguments_of_its_plugins() -> None:
    built = component(settings={"plugins": {PERIOD: "5", "clientConnection.qps": "20"}})
    document = yaml.safe_load(built.files[0].text)
    assert document["profiles"][0]["pluginConfig"][1]["args"] == {"cacheResyncPeriodSeconds": 5}
    assert document["clientConnection"]["qps"] == 20


async def test_what_was_written_is_found_in_what_an_older_program_reports() -> None:
    settings = {"plugins": {PERIOD: "5"}}
    found = await read_back(component(settings=settings), settings=settings)
    assert (found["clientConnection.qps"].wanted, found["clientConnection.qps"].value) == ("5000", "5000")
    assert found[PERIOD].value == "5"
    assert found["profiles.0.pluginConfig.0.args.permitWaitingTimeSeconds"].value == "10"
    refuse_contradictions(found.values())


async def test_a_setting_that_did_not_arrive_is_an_error() -> None:
    found = await read_back(component(), change={"ClientConnection": {"QPS": 50, "Burst": 10000}})
    with pytest.raises(EngineError, match=r"plugins.clientConnection.qps was set to 5000, but .* says 50;"):
        refuse_contradictions(found.values())


def test_it_may_read_the_kinds_of_its_plugins() -> None:
    objects = PLUGINS.base_objects()
    [role] = [one for one in objects if one["kind"] == "ClusterRole"]
    assert {resource for rule in role["rules"] for resource in rule["resources"]} == {
        "podgroups",
        "podgroups/status",
        "noderesourcetopologies",
    }
    [binding] = [one for one in objects if one["kind"] == "ClusterRoleBinding"]
    assert binding["subjects"][0]["name"] == PLUGINS.identities[0].user


def test_a_gang_is_a_pod_group_whose_pods_name_it_in_a_label() -> None:
    group, *pods = PLUGINS.dialect.objects(Workload(name="w", pods=3, least=2, labels={"run": "7"}))
    assert (group["apiVersion"], group["kind"]) == ("scheduling.x-k8s.io/v1alpha1", "PodGroup")
    assert group["spec"] == {"minMember": 2}
    assert group["metadata"]["labels"] == {"kubedyno/workload": "w", "run": "7"}
    assert [pod["metadata"]["name"] for pod in pods] == ["w-0", "w-1", "w-2"]
    assert {pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in pods} == {"w"}
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"scheduler-plugins"}


@pytest.mark.parametrize(("as_job", "kind"), [(True, "Job"), (False, "Pod")])
def test_one_pod_is_a_job_where_it_is_to_be_replaced(as_job: bool, kind: str) -> None:
    assert [one["kind"] for one in PLUGINS.dialect.objects(Workload(name="w", as_job=as_job))] == [kind]


def test_claims_come_before_the_pods() -> None:
    kinds = [one["kind"] for one in PLUGINS.dialect.objects(Workload(name="w", pods=2, claims=1))]
    assert kinds == ["ResourceClaimTemplate", "PodGroup", "Pod", "Pod"]


def test_it_knows_no_queues() -> None:
    assert PLUGINS.dialect.queues((Queue(name="a"),)) == []
    assert {"quotas", "reclaim"} <= set(PLUGINS.lacks)
