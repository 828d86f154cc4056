import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kubedyno.kit.errors import EngineError
from kubedyno.kube.resources import KAI_POD_GROUPS, KAI_QUEUES, Resource
from kubedyno.lab.effective import refuse_contradictions
from kubedyno.model.queues import Queue
from kubedyno.model.settings import Evidence, Setting
from kubedyno.model.workloads import Closeness, Group, Workload
from kubedyno.plane.component import Component, Probe, flag_values
from kubedyno.plane.ports import counted_ports
from kubedyno.plane.settings import with_flags
from kubedyno.plane.site import PROFILES, Site
from kubedyno.schedulers.kai import KAI

pytestmark = pytest.mark.unit


def site(profile: str = "scale", **more: Any) -> Site:
    return Site(folder=Path("/lab"), draw_port=counted_ports(10000), profile=PROFILES[profile], **more)


def components(profile: str = "scale", *, config: dict[str, Any] | None = None, **more: Any) -> dict[str, Component]:
    built = KAI.components(site(profile, **more), after=("kube-apiserver",), config=config or {})
    return {component.name: component for component in built}


def test_the_five_processes_come_after_the_server_each_with_ports_and_an_account_of_its_own() -> None:
    built = components()
    assert list(built) == ["scheduler", "binder", "podgrouper", "podgroupcontroller", "queuecontroller"]
    assert {component.after for component in built.values()} == {("kube-apiserver",)}
    ports = [port for component in built.values() for port in component.ports.values()]
    assert len(set(ports)) == len(ports)
    assert len({component.env["KUBECONFIG"] for component in built.values()}) == 5
    assert [name for name, component in built.items() if component.decides] == ["scheduler"]
    known = {f"/lab/kubeconfigs/{identity.name}.yaml" for identity in KAI.identities}
    assert {component.env["KUBECONFIG"] for component in built.values()} == known


def test_identities_are_the_service_accounts_of_a_cluster() -> None:
    scheduler = KAI.identities[0]
    assert scheduler.user == "system:serviceaccount:kai-scheduler:scheduler"
    assert scheduler.groups == ("system:serviceaccounts", "system:serviceaccounts:kai-scheduler")


@pytest.mark.parametrize(
    ("profile", "scheduler", "binder"),
    [
        ("production", {}, {}),
        (
            "unthrottled",
            {"qps": "5000", "burst": "10000", "update-pod-eviction-condition": "true"},
            {"qps": "5000", "burst": "10000"},
        ),
        (
            "scale",
            {
                "qps": "5000",
                "burst": "10000",
                "max-consolidation-preemptees": "0",
                "update-pod-eviction-condition": "true",
            },
            {"qps": "5000", "burst": "10000", "max-concurrent-reconciles": "100"},
        ),
    ],
)
def test_the_profile_decides_limits_and_tuning(profile: str, scheduler: dict[str, str], binder: dict[str, str]) -> None:
    places = {"scheduler-conf", "namespace", "listen-address", "plugin-server-port"}
    places |= {"metrics-bind-address", "health-probe-bind-address"}
    built = components(profile)
    for name, wanted in (("scheduler", scheduler), ("binder", binder)):
        flags = flag_values(built[name].args)
        assert {flag: value for flag, value in flags.items() if flag not in places} == wanted


def test_in_a_highly_available_lab_two_schedulers_elect_a_leader() -> None:
    built = components(ha="stacked")
    assert list(built)[:2] == ["scheduler-0", "scheduler-1"]
    for name in ("scheduler-0", "scheduler-1"):
        assert "--leader-elect=true" in built[name].args
        assert built[name].called == "scheduler"
        assert built[name].replicated
        probe = built[name].ready
        assert probe is not None
        assert probe.contains == ""
    assert not [arg for arg in components()["scheduler"].args if arg.startswith("--leader-elect")]


def test_the_configuration_can_be_changed_and_keeps_the_plugins_that_report() -> None:
    ours = yaml.safe_load(components()["scheduler"].files[0].text)
    assert {"name": "snapshot"} in ours["tiers"][0]["plugins"]
    assert {"name": "reflectjoborder"} in ours["tiers"][0]["plugins"]
    changed = yaml.safe_load(components(config={"actions": "allocate"})["scheduler"].files[0].text)
    assert changed == {**ours, "actions": "allocate"}


def test_base_objects_are_namespaces_rights_priorities_and_queues_in_order() -> None:
    objects = KAI.base_objects()
    assert [(item["kind"], item["metadata"]["name"]) for item in objects] == [
        ("Namespace", "kai-scheduler"),
        ("Namespace", "kai-resource-reservation"),
        ("Namespace", "kai-scale-adjust"),
        ("ServiceAccount", "kai-resource-reservation"),
        ("ClusterRoleBinding", "kai-scheduler"),
        ("PriorityClass", "train"),
        ("PriorityClass", "build-preemptible"),
        ("PriorityClass", "build"),
        ("PriorityClass", "inference"),
        ("Queue", "default-parent-queue"),
        ("Queue", "default-queue"),
    ]
    assert objects[4]["subjects"][0]["name"] == "system:serviceaccounts:kai-scheduler"
    assert "parentQueue" not in objects[-2]["spec"]
    assert objects[-1]["spec"]["parentQueue"] == "default-parent-queue"


def test_queues_are_leaves_without_quota_below_the_root() -> None:
    (queue,) = KAI.dialect.queues((Queue(name="mine"),))
    unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    assert queue == {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "mine"},
        "spec": {
            "priority": 100,
            "resources": {"gpu": unlimited, "cpu": unlimited, "memory": unlimited},
            "parentQueue": "default-parent-queue",
        },
    }


@pytest.mark.parametrize(("queue", "expected"), [(None, "default-queue"), ("mine", "mine")])
def test_a_workload_is_a_pod_group_and_pods_that_name_it(queue: str | None, expected: str) -> None:
    workload = Workload(name="w", namespace="ns", queue=queue, pods=2, labels={"team": "a"})
    group, *pods = KAI.dialect.objects(workload)
    assert group["kind"] == "PodGroup"
    assert group["metadata"] == {
        "name": "w",
        "namespace": "ns",
        "labels": {"kubedyno/workload": "w", "team": "a", "kai.scheduler/queue": expected},
    }
    assert group["spec"] == {"minMember": 2, "queue": expected, "priorityClassName": "train"}
    for index, pod in enumerate(pods):
        assert pod["metadata"]["name"] == f"w-{index}"
        assert pod["metadata"]["annotations"] == {"pod-group-name": "w"}
        assert pod["metadata"]["labels"]["kai.scheduler/queue"] == expected
        assert pod["spec"]["schedulerName"] == "kai-scheduler"


def test_a_group_says_all_that_a_gang_was_meant_to_be() -> None:
    shape = Workload(
        name="w",
        pods=4,
        least=2,
        priority="build",
        preemptible=True,
        closeness=Closeness(topology="t", required="zone", preferred="rack"),
    )
    group, *pods = KAI.dialect.objects(shape)
    assert group["spec"] == {
        "minMember": 2,
        "queue": "default-queue",
        "priorityClassName": "build",
        "preemptibility": "preemptible",
        "topologyConstraint": {
            "topology": "t",
            "requiredTopologyLevel": "zone",
            "preferredTopologyLevel": "rack",
        },
    }
    assert len(pods) == 4


def test_groups_are_sub_groups_that_their_pods_name() -> None:
    groups = (
        Group(name="prefill", pods=2, gpus=4, closeness=Closeness(topology="t", required="rack")),
        Group(name="decode", pods=3, least=1, gpus=0),
    )
    group, *pods = KAI.dialect.objects(Workload(name="w", groups=groups, preemptible=False))
    assert group["spec"]["minMember"] == 3
    assert group["spec"]["preemptibility"] == "non-preemptible"
    assert group["spec"]["subGroups"] == [
        {"name": "prefill", "minMember": 2, "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack"}},
        {"name": "decode", "minMember": 1},
    ]
    names = [pod["metadata"]["name"] for pod in pods]
    assert names == ["w-prefill-0", "w-prefill-1", "w-decode-0", "w-decode-1", "w-decode-2"]
    assert [pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] for pod in pods] == ["prefill"] * 2 + [
        "decode"
    ] * 3
    requests = [pod["spec"]["containers"][0]["resources"]["requests"].get("nvidia.com/gpu") for pod in pods]
    assert requests == ["4", "4", None, None, None]


def test_a_job_says_for_its_pod_what_a_group_would() -> None:
    shape = Workload(
        name="w",
        namespace="ns",
        queue="q",
        as_job=True,
        priority="build",
        preemptible=True,
        closeness=Closeness(topology="t", required="rack"),
        labels={"kubedyno/run": "r"},
    )
    (job,) = KAI.dialect.objects(shape)
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    said = {"kai.scheduler/queue": "q", "kai.scheduler/preemptibility": "preemptible"}
    labels = {"kubedyno/workload": "w", "kubedyno/run": "r", **said}
    assert job["metadata"] == {
        "name": "w",
        "namespace": "ns",
        "labels": labels,
        "annotations": {
            "kai.scheduler/topology": "t",
            "kai.scheduler/topology-required-placement": "rack",
        },
    }
    template = job["spec"]["template"]
    assert template["metadata"] == {"labels": labels}
    assert template["spec"]["priorityClassName"] == "build"
    assert "parallelism" not in job["spec"]


def test_a_part_of_a_gpu_is_an_annotation_and_each_pod_has_a_place_to_learn_its_gpu() -> None:
    _, *pods = KAI.dialect.objects(Workload(name="w", pods=2, fraction=0.25))
    for index, pod in enumerate(pods):
        assert pod["metadata"]["annotations"] == {
            "gpu-fraction": "0.25",
            "runai/shared-gpu-configmap": f"w-{index}",
            "pod-group-name": "w",
        }
        assert "nvidia.com/gpu" not in pod["spec"]["containers"][0]["resources"]["requests"]


def test_all_that_it_lacks_has_a_reason() -> None:
    assert set(KAI.lacks) == {"numa"}
    assert all(KAI.lacks.values())


def definition(resource: Resource, spec: dict[str, Any], *, served: bool = True) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": resource.version, "served": served, "storage": True, "schema": schema}
    return {"metadata": {"name": resource.full_name}, "spec": {"versions": [version]}}


def fields(*names: str, **below: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {**{name: {"type": "string"} for name in names}, **below}}


GROUPS_SPEC = fields(
    "minMember",
    subGroups={"type": "array", "items": fields("name", "minMember")},
    topologyConstraint=fields("topology", "requiredTopologyLevel", "preferredTopologyLevel"),
)
QUEUES = definition(KAI_QUEUES, fields(resources=fields(gpu=fields("quota"))))
TOPOLOGIES: dict[str, Any] = {"metadata": {"name": "topologies.kai.scheduler"}}


def without(spec: dict[str, Any], name: str) -> dict[str, Any]:
    return {**spec, "properties": {key: value for key, value in spec["properties"].items() if key != name}}


@pytest.mark.parametrize(
    ("definitions", "expected"),
    [
        ([definition(KAI_POD_GROUPS, GROUPS_SPEC), QUEUES, TOPOLOGIES], {}),
        ([definition(KAI_POD_GROUPS, {"x-kubernetes-preserve-unknown-fields": True}), QUEUES, TOPOLOGIES], {}),
        (
            [definition(KAI_POD_GROUPS, without(GROUPS_SPEC, "subGroups")), QUEUES, TOPOLOGIES],
            {"sub-groups": "PodGroup scheduling.run.ai/v2alpha2 has no field spec.subGroups.minMember here"},
        ),
        (
            [definition(KAI_POD_GROUPS, GROUPS_SPEC), QUEUES],
            dict.fromkeys(
                ("required-topology", "preferred-topology"),
                "neither of topologies.kueue.x-k8s.io and topologies.kai.scheduler is installed here",
            ),
        ),
        (
            [definition(KAI_POD_GROUPS, GROUPS_SPEC), TOPOLOGIES],
            dict.fromkeys(("quotas", "reclaim"), "queues.scheduling.run.ai is not installed here"),
        ),
        (
            [definition(KAI_POD_GROUPS, GROUPS_SPEC), definition(KAI_QUEUES, {}, served=False), TOPOLOGIES],
            dict.fromkeys(
                ("quotas", "reclaim"), "Queue scheduling.run.ai/v2 has no field spec.resources.gpu.quota here"
            ),
        ),
    ],
)
def test_what_a_release_has_no_field_for_is_told(definitions: list[Any], expected: dict[str, str]) -> None:
    assert KAI.lacks_with(definitions) == {**expected, **KAI.lacks}


class CannedReader:
    """A reader with answers by the end of the URL's path."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = {"get-snapshot": snapshot(), "metrics": METRICS, **answers}
        self.asked: list[str] = []

    async def fetch(self, probe: Probe) -> bytes:
        self.asked.append(probe.url)
        return self.answers[probe.url.rpartition("/")[2]]


METRICS = b"""\
# HELP controller_runtime_max_concurrent_reconciles Maximum number of concurrent reconciles per controller
# TYPE controller_runtime_max_concurrent_reconciles gauge
controller_runtime_max_concurrent_reconciles{controller="bindrequest"} 100
controller_runtime_active_workers{controller="bindrequest"} 0
"""

PARAMETERS = {
    "schedulePeriod": 1_000_000_000,
    "useSchedulingSignatures": True,
    "fullHierarchyFairness": True,
    "allowConsolidatingReclaim": True,
}
ACTIONS = "allocate, consolidation, reclaim, preempt, stalegangeviction"


def snapshot(parameters: dict[str, Any] | None = None, actions: str = ACTIONS) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        document = {"config": {"actions": actions}, "schedulerParams": {**PARAMETERS, **(parameters or {})}}
        archive.writestr("snapshot.json", msgspec.json.encode(document))
    return packed.getvalue()


async def settings(built: dict[str, Component], reader: CannedReader) -> list[Setting]:
    return await KAI.read_back(built.values(), reader, site())


async def test_scheduler_and_controllers_report_their_settings() -> None:
    reader = CannedReader()
    found = await settings(components(), reader)
    assert reader.asked == [
        "http://127.0.0.1:10001/get-snapshot",
        "http://127.0.0.1:10002/metrics",
        "http://127.0.0.1:10004/metrics",
    ]
    assert {(setting.component, setting.field): (setting.wanted, setting.value) for setting in found} == {
        ("scheduler", "max-consolidation-preemptees"): ("0", "0"),
        ("scheduler", "schedule-period"): (None, "1s"),
        ("scheduler", "use-scheduling-signatures"): (None, "true"),
        ("scheduler", "full-hierarchy-fairness"): (None, "true"),
        ("scheduler", "detailed-fit-errors"): (None, "false"),
        ("scheduler", "allow-consolidating-reclaim"): (None, "true"),
        ("scheduler", "actions"): (ACTIONS, ACTIONS),
        ("binder", "max-concurrent-reconciles"): ("100", "100"),
        ("podgrouper", "max-concurrent-reconciles"): (None, "100"),
    }
    assert {setting.evidence for setting in found} == {Evidence.REPORTED}
    refuse_contradictions(found)


async def test_standby_replicas_are_not_asked() -> None:
    reader = CannedReader()
    found = await settings(components(ha="stacked"), reader)
    assert {setting.component for setting in found} == {"binder", "podgrouper"}


@pytest.mark.parametrize(
    ("written", "nanoseconds"), [("500ms", 500_000_000), ("1m", 60_000_000_000), ("2s", 2 * 10**9)]
)
async def test_a_duration_written_otherwise_is_no_contradiction(written: str, nanoseconds: int) -> None:
    built = components()
    built["scheduler"] = with_flags(built["scheduler"], {"schedule-period": written})
    reader = CannedReader(**{"get-snapshot": snapshot({"schedulePeriod": nanoseconds})})
    refuse_contradictions(await settings(built, reader))


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (
            {"get-snapshot": snapshot({"maxNumberConsolidationPreemptees": 16})},
            "scheduler.max-consolidation-preemptees was set to 0, but http://127.0.0.1:10001/get-snapshot says 16",
        ),
        (
            {"get-snapshot": snapshot(actions="allocate")},
            f"scheduler.actions was set to {ACTIONS}, but http://127.0.0.1:10001/get-snapshot says allocate",
        ),
        (
            {"metrics": METRICS.replace(b" 100", b" 1")},
            "binder.max-concurrent-reconciles was set to 100, but http://127.0.0.1:10002/metrics says 1",
        ),
    ],
)
async def test_a_setting_that_did_not_arrive_is_told(answers: dict[str, bytes], sentence: str) -> None:
    found = await settings(components(), CannedReader(**answers))
    with pytest.raises(EngineError) as caught:
        refuse_contradictions(found)
    assert str(caught.value) == (
        f"a setting did not arrive: {sentence}; check the program that --bin-dir or the PATH gives"
    )


@pytest.mark.parametrize("answer", [b"", b"not a zip", b'{"snapshot": 1}'])
async def test_what_is_no_snapshot_is_told(answer: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        await settings(components(), CannedReader(**{"get-snapshot": answer}))
    assert str(caught.value) == (
        "scheduler: http://127.0.0.1:10001/get-snapshot did not answer with a snapshot: File is not a zip file"
    )
