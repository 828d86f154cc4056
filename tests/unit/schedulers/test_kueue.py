import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.lab.effective import refuse_contradictions
from kubedyno.model.dialects import Surroundings
from kubedyno.model.queues import Queue, Share
from kubedyno.model.settings import Evidence
from kubedyno.model.workloads import PRIORITIES, Closeness, Group, Workload
from kubedyno.plane.component import Component, Probe, flag_values
from kubedyno.plane.ports import counted_ports
from kubedyno.plane.site import PROFILES, Site
from kubedyno.schedulers.kueue import KUEUE, readback

pytestmark = pytest.mark.unit

GPU = "nvidia.com/gpu"


def site(profile: str = "scale", folder: Path = Path("/lab"), **more: Any) -> Site:
    return Site(folder=folder, draw_port=counted_ports(10000), profile=PROFILES[profile], **more)


def components(
    profile: str = "scale", *, config: dict[str, Any] | None = None, **more: Any
) -> tuple[Component, Component]:
    placing, manager = KUEUE.components(site(profile, **more), after=("kube-apiserver",), config=config or {})
    return placing, manager


def configuration(manager: Component) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(manager.files[0].text)
    return document


class Unread:
    async def fetch(self, probe: Probe) -> bytes:
        raise AssertionError(f"{probe.url} has nothing to tell")


def written(*queues: Queue, **around: Any) -> dict[tuple[str, str], dict[str, Any]]:
    objects = KUEUE.dialect.queues(queues, Surroundings(**around))
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def quota(obj: dict[str, Any], resource: str = GPU) -> dict[str, str]:
    """Of one resource of a ClusterQueue or a Cohort."""
    [group] = obj["spec"]["resourceGroups"]
    [flavor] = group["flavors"]
    assert group["coveredResources"] == [one["name"] for one in flavor["resources"]]
    [found] = [one for one in flavor["resources"] if one["name"] == resource]
    return {key: value for key, value in found.items() if key != "name"}


def queue(name: str, amount: float = -1.0, *, parent: str | None = None, **share: float) -> Queue:
    return Queue(name=name, parent=parent, gpu=Share(quota=amount, **share))


def test_kube_scheduler_places_and_the_manager_decides() -> None:
    placing, manager = components()
    assert (placing.name, placing.decides) == ("kube-scheduler", False)
    assert (manager.name, manager.decides) == ("kueue", True)
    assert {placing.role, manager.role} == {"scheduler"}
    assert manager.after == ("kube-apiserver",)
    assert flag_values(manager.args) == {
        "config": "/lab/config/kueue.yaml",
        "kubeconfig": "/lab/kubeconfigs/kueue.yaml",
    }
    assert [identity.user for identity in KUEUE.identities] == [
        "system:kube-scheduler",
        "system:serviceaccount:kueue-system:kueue-controller-manager",
    ]


@pytest.mark.parametrize(
    ("profile", "limits"),
    [("production", {"qps": 50, "burst": 100}), ("scale", {"qps": 5000, "burst": 10000})],
)
def test_the_profile_decides_its_limits(profile: str, limits: dict[str, int]) -> None:
    assert configuration(components(profile)[1])["clientConnection"] == limits


def test_it_listens_on_loopback_ports_of_its_own() -> None:
    manager = components()[1]
    document = configuration(manager)
    assert document["health"]["healthProbeBindAddress"] == f"127.0.0.1:{manager.ports['health']}"
    assert document["metrics"]["bindAddress"] == f"127.0.0.1:{manager.ports['metrics']}"
    assert (document["webhook"]["host"], document["webhook"]["port"]) == ("127.0.0.1", manager.ports["webhook"])
    assert document["webhook"]["certDir"] == "/lab/pki/kueue"


def test_settings_lie_over_the_users_file_and_that_over_ours() -> None:
    manager = components(
        config={"clientConnection": {"qps": 1}, "manageJobsWithoutQueueName": True},
        settings={"kueue": {"clientConnection.qps": "7", "controller.groupKindConcurrency.Job.batch": "20"}},
    )[1]
    document = configuration(manager)
    assert document["clientConnection"] == {"qps": 7, "burst": 10000}
    assert document["manageJobsWithoutQueueName"] is True
    assert document["controller"]["groupKindConcurrency"]["Job.batch"] == 20
    assert document["controller"]["groupKindConcurrency"]["Workload.kueue.x-k8s.io"] == 5


def test_the_server_calls_it_for_conversions_and_for_the_kinds_that_are_here() -> None:
    webhooks = components()[1].webhooks
    assert webhooks is not None
    mutating, validating = webhooks.configurations()
    assert mutating["metadata"]["name"] == "kueue-mutating-webhook-configuration"
    paths = [hook["clientConfig"]["url"].partition(f":{webhooks.port}")[2] for hook in mutating["webhooks"]]
    assert paths == [
        "/mutate-batch-v1-job",
        "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
        "/mutate-kueue-x-k8s-io-v1beta2-resourceflavor",
        "/mutate-kueue-x-k8s-io-v1beta2-workload",
    ]
    assert [hook["name"] for hook in validating["webhooks"]] == [
        f"v{kind}.kb.io" for kind in ("job", "clusterqueue", "cohort", "resourceflavor", "workload")
    ]
    policies = {hook["name"]: hook["failurePolicy"] for hook in (*mutating["webhooks"], *validating["webhooks"])}
    assert {name for name, policy in policies.items() if policy == "Ignore"} == {"mjob.kb.io", "vjob.kb.io"}
    assert "workloads.kueue.x-k8s.io" in webhooks.converts


def test_base_objects_come_before_those_that_need_them() -> None:
    objects = KUEUE.base_objects()
    kinds = [one["kind"] for one in objects]
    assert kinds.index("Namespace") < kinds.index("ResourceFlavor") < kinds.index("ClusterQueue")
    classes = {one["metadata"]["name"]: one["value"] for one in objects if one["kind"] == "WorkloadPriorityClass"}
    assert classes == PRIORITIES
    assert [one["metadata"]["name"] for one in objects if one["kind"] == "LocalQueue"] == ["default"]


def test_who_deserves_everything_has_plenty_where_nobody_counted_and_lends_nothing_of_it() -> None:
    found = written(queue("all"))
    assert quota(found["ClusterQueue", "all"]) == {"nominalQuota": "1000000", "lendingLimit": "0"}
    assert quota(found["Cohort", "kubedyno"]) == {"nominalQuota": "0"}
    assert quota(written(queue("all", limit=4))["ClusterQueue", "all"]) == {
        "nominalQuota": "4",
        "borrowingLimit": "0",
    }


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ({}, {"nominalQuota": "8"}),
        ({"limit": 12.0}, {"nominalQuota": "8", "borrowingLimit": "4"}),
        ({"limit": 8.0}, {"nominalQuota": "8", "borrowingLimit": "0"}),
        ({"limit": 4.0}, {"nominalQuota": "4", "borrowingLimit": "0"}),
        ({"limit": 0.0}, {"nominalQuota": "0", "borrowingLimit": "0"}),
    ],
)
def test_quota_is_nominal_and_the_limit_is_what_may_be_borrowed(
    share: dict[str, float], expected: dict[str, str]
) -> None:
    assert quota(written(queue("team", 8, **share))["ClusterQueue", "team"]) == expected


@pytest.mark.parametrize(
    ("queues", "nominal", "rest"),
    [
        ((queue("a", 8), queue("b", 16)), {"a": "8", "b": "16"}, "40"),
        ((queue("a", 80),), {"a": "80"}, "0"),
        ((queue("a"),), {"a": "64"}, "0"),
        ((queue("a", 8), queue("b")), {"a": "8", "b": "56"}, "0"),
        ((queue("a"), queue("b"), queue("c")), {"a": "22", "b": "21", "c": "21"}, "0"),
        ((queue("a", over_quota_weight=3), queue("b", over_quota_weight=1)), {"a": "48", "b": "16"}, "0"),
        ((queue("a", over_quota_weight=0), queue("b", over_quota_weight=0)), {"a": "32", "b": "32"}, "0"),
    ],
)
def test_all_gpus_are_the_quota_of_somebody_and_none_that_of_two(
    queues: tuple[Queue, ...], nominal: dict[str, str], rest: str
) -> None:
    found = written(*queues, gpus=64)
    assert {name: quota(found["ClusterQueue", name])["nominalQuota"] for name in nominal} == nominal
    assert quota(found["Cohort", "kubedyno"]) == {"nominalQuota": rest}
    assert {found["ClusterQueue", name]["spec"]["cohort"] for name in nominal} == {"kubedyno"}


def test_a_queue_that_others_are_below_is_a_cohort_and_has_no_quota_as_a_queue() -> None:
    found = written(
        queue("org", 32, limit=40), queue("left", 8, parent="org"), queue("right", 4, parent="org"), gpus=64
    )
    org = found["Cohort", "org"]
    assert org["spec"]["parentName"] == "kubedyno"
    assert quota(org) == {"nominalQuota": "20", "borrowingLimit": "8"}
    assert quota(found["ClusterQueue", "org"]) == {"nominalQuota": "0", "borrowingLimit": "0"}
    assert found["ClusterQueue", "left"]["spec"]["cohort"] == "org"
    assert quota(found["Cohort", "kubedyno"]) == {"nominalQuota": "32"}


def test_who_deserves_everything_gets_the_rest_of_what_is_above_it() -> None:
    found = written(
        queue("org", 32), queue("left", 8, parent="org"), queue("right", parent="org"), queue("other"), gpus=64
    )
    nominal = {name: quota(found["ClusterQueue", name])["nominalQuota"] for name in ("left", "right", "other")}
    assert nominal == {"left": "8", "right": "24", "other": "32"}
    assert quota(found["Cohort", "org"]) == {"nominalQuota": "0"}


def test_cpu_and_memory_have_units_of_their_own() -> None:
    mine = Queue(name="mine", cpu=Share(quota=1500), memory=Share(quota=64, limit=100))
    found = written(mine)["ClusterQueue", "mine"]
    assert quota(found, "cpu") == {"nominalQuota": "1500m"}
    assert quota(found, "memory") == {"nominalQuota": "64M", "borrowingLimit": "36M"}


def test_weights_are_those_of_fair_sharing_and_reclaim_is_on() -> None:
    spec = written(queue("team", 8, over_quota_weight=2.5))["ClusterQueue", "team"]["spec"]
    assert spec["fairSharing"] == {"weight": "2.5"}
    assert spec["preemption"] == {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}


def test_local_queues_are_where_the_workloads_are() -> None:
    found = written(queue("team"), namespace="trial-1")
    assert found["LocalQueue", "team"]["metadata"]["namespace"] == "trial-1"
    assert found["LocalQueue", "team"]["spec"] == {"clusterQueue": "team"}


def test_a_topology_makes_a_flavor_of_its_own() -> None:
    flavor = written(queue("team"), topology="racks")["ResourceFlavor", "default-flavor-racks"]
    assert flavor["spec"] == {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": "racks"}
    assert "spec" not in written(queue("team"))["ResourceFlavor", "default-flavor"]


def test_what_queues_have_in_common_has_a_name_of_its_own_where_others_have_the_same() -> None:
    found = written(queue("org"), queue("left", parent="org"), topology="racks", suffix="run-1")
    assert ("ResourceFlavor", "default-flavor-racks-run-1") in found
    assert ("Cohort", "kubedyno-run-1") in found
    assert found["Cohort", "org"]["spec"]["parentName"] == "kubedyno-run-1"
    assert found["ClusterQueue", "org"]["spec"]["cohort"] == "kubedyno-run-1"


def test_a_gang_is_a_suspended_indexed_job_whose_priority_is_kueues_alone() -> None:
    [job] = KUEUE.dialect.objects(Workload(name="w", queue="team", pods=4, priority="build", labels={"run": "7"}))
    assert job["metadata"]["labels"] == {
        "kubedyno/workload": "w",
        "run": "7",
        "kueue.x-k8s.io/queue-name": "team",
        "kueue.x-k8s.io/priority-class": "build",
    }
    spec = job["spec"]
    assert (spec["suspend"], spec["completionMode"], spec["completions"], spec["parallelism"]) == (
        True,
        "Indexed",
        4,
        4,
    )
    assert "priorityClassName" not in spec["template"]["spec"]
    assert spec["template"]["metadata"]["labels"] == {"kubedyno/workload": "w", "run": "7"}


@pytest.mark.parametrize(
    ("closeness", "expected"),
    [
        (None, {}),
        (Closeness(topology="t", required="rack"), {"kueue.x-k8s.io/podset-required-topology": "rack"}),
        (Closeness(topology="t", preferred="rack"), {"kueue.x-k8s.io/podset-preferred-topology": "rack"}),
        (
            Closeness(topology="t", required="zone", preferred="rack"),
            {"kueue.x-k8s.io/podset-required-topology": "zone"},
        ),
    ],
)
def test_closeness_is_an_annotation_of_the_pods(closeness: Closeness | None, expected: dict[str, str]) -> None:
    [job] = KUEUE.dialect.objects(Workload(name="w", pods=2, closeness=closeness))
    assert job["spec"]["template"]["metadata"].get("annotations", {}) == expected


@pytest.mark.parametrize(
    ("workload", "sentence"),
    [
        (
            Workload(name="w", pods=4, least=2),
            (
                "workload w may start with fewer pods and grow, for which dialect kueue has no words; "
                "leave `least` out, or use kai or reference"
            ),
        ),
        (
            Workload(name="w", groups=(Group(name="a", pods=1), Group(name="b", pods=1))),
            "workload w has groups, which cannot be made from one template; use a dialect that writes pods",
        ),
        (
            Workload(name="w", fraction=0.5),
            (
                "workload w asks for 0.5 of a GPU, for which dialect kueue has no words; "
                "ask for whole GPUs, or use kai or reference"
            ),
        ),
    ],
)
def test_what_it_lacks_is_refused_rather_than_left_out(workload: Workload, sentence: str) -> None:
    assert set(workload.features()) & set(KUEUE.lacks)
    with pytest.raises(UsageError) as refused:
        KUEUE.dialect.objects(workload)
    assert str(refused.value) == sentence


def log(folder: Path, *configurations: dict[str, Any]) -> None:
    lines = ["plain words", '{"level":"info","msg":"Initializing"}']
    for one in configurations:
        told = {"level": "info", "msg": "Successfully loaded configuration", "config": yaml.safe_dump(one)}
        lines.append(json.dumps(told))
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "kueue.log").write_text("\n".join(lines) + "\n")


def test_its_settings_are_what_the_last_start_says_that_it_loaded(tmp_path: Path) -> None:
    manager = components(folder=tmp_path)[1]
    loaded = configuration(manager)
    log(tmp_path, {}, loaded)
    found = {one.field: one for one in readback.reported(manager, site(folder=tmp_path))}
    assert "health.healthProbeBindAddress" not in found
    qps = found["clientConnection.qps"]
    assert (qps.component, qps.wanted, qps.value) == ("kueue", "5000", "5000")
    assert (qps.evidence, qps.source) == (Evidence.REPORTED, f"{tmp_path}/logs/kueue.log")
    assert found["controller.groupKindConcurrency.Workload.kueue.x-k8s.io"].value == "5"
    refuse_contradictions(found.values())


def test_a_setting_that_did_not_arrive_is_an_error(tmp_path: Path) -> None:
    manager = components(folder=tmp_path)[1]
    log(tmp_path, {**configuration(manager), "clientConnection": {"qps": 20, "burst": 10000}})
    with pytest.raises(EngineError, match=r"kueue.clientConnection.qps was set to 5000, but .*kueue.log says 20;"):
        refuse_contradictions(readback.reported(manager, site(folder=tmp_path)))


async def test_a_program_that_tells_no_configuration_is_no_kueue(tmp_path: Path) -> None:
    manager = components(folder=tmp_path)[1]
    log(tmp_path)
    with pytest.raises(EngineError, match="does not tell which configuration was loaded; is its program a Kueue"):
        await KUEUE.read_back((manager,), Unread(), site(folder=tmp_path))
