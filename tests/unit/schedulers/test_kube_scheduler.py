from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.lab.effective import refuse_contradictions
from kubedyno.model.features import missing
from kubedyno.model.queues import Queue
from kubedyno.model.settings import Evidence, Setting
from kubedyno.model.workloads import PRIORITIES, Closeness, Group, Workload
from kubedyno.plane.component import Probe
from kubedyno.plane.ports import counted_ports
from kubedyno.plane.site import PROFILES, Site
from kubedyno.schedulers.kube import KUBE_SCHEDULER

pytestmark = pytest.mark.unit


def site(profile: str = "scale", **more: Any) -> Site:
    return Site(folder=Path("/lab"), draw_port=counted_ports(10000), profile=PROFILES[profile], **more)


def test_the_configuration_of_the_profile() -> None:
    assert KUBE_SCHEDULER.configuration(site(), {}) == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": "/lab/kubeconfigs/kube-scheduler.yaml", "qps": 5000, "burst": 10000},
        "leaderElection": {"leaderElect": False},
    }


def test_production_leaves_the_client_limits_alone() -> None:
    connection = KUBE_SCHEDULER.configuration(site("production"), {})["clientConnection"]
    assert connection == {"kubeconfig": "/lab/kubeconfigs/kube-scheduler.yaml"}


def test_the_file_goes_over_ours_and_set_goes_over_both() -> None:
    file = {
        "clientConnection": {"qps": 1, "burst": 2},
        "parallelism": 8,
        "profiles": [{"schedulerName": "default-scheduler"}],
    }
    given = site(
        settings={
            "kube-scheduler": {
                "clientConnection.qps": "20",
                "profiles.0.percentageOfNodesToScore": "100",
                "leaderElection.leaderElect": "true",
                "leaderElection.leaseDuration": "30s",
            },
            "etcd": {"clientConnection.burst": "3"},
        }
    )
    document = KUBE_SCHEDULER.configuration(given, file)
    assert document["clientConnection"] == {
        "kubeconfig": "/lab/kubeconfigs/kube-scheduler.yaml",
        "qps": 20,
        "burst": 2,
    }
    assert document["parallelism"] == 8
    assert document["profiles"] == [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": 100}]
    assert document["leaderElection"] == {"leaderElect": True, "leaseDuration": "30s"}
    assert file["profiles"] == [{"schedulerName": "default-scheduler"}]


def test_one_process_reads_the_configuration_that_was_written() -> None:
    (component,) = KUBE_SCHEDULER.components(site(), after=("kube-apiserver",), config={"parallelism": 8})
    (file,) = component.files
    assert f"--config={file.path}" in component.args
    assert yaml.safe_load(file.text) == KUBE_SCHEDULER.configuration(site(), {"parallelism": 8})
    assert component.decides
    assert component.configured_by_file
    assert component.after == ("kube-apiserver",)


def test_in_a_highly_available_lab_two_elect_a_leader() -> None:
    components = KUBE_SCHEDULER.components(site(ha="stacked"), after=(), config={})
    assert [component.name for component in components] == ["kube-scheduler-0", "kube-scheduler-1"]
    assert len({component.ports["secure"] for component in components}) == 2
    for component in components:
        assert component.replicated
        assert yaml.safe_load(component.files[0].text)["leaderElection"] == {"leaderElect": True}


def test_gates_and_api_of_gangs_go_together() -> None:
    assert KUBE_SCHEDULER.feature_gates["GenericWorkload"]
    assert KUBE_SCHEDULER.feature_gates["GangScheduling"]
    assert KUBE_SCHEDULER.runtime_config == {"scheduling.k8s.io/v1alpha2": "true"}


def test_a_single_pod_is_just_a_pod() -> None:
    (pod,) = KUBE_SCHEDULER.dialect.objects(Workload(name="w", namespace="ns", gpus=2, labels={"team": "a"}))
    assert pod["kind"] == "Pod"
    assert pod["metadata"] == {
        "name": "w-0",
        "namespace": "ns",
        "labels": {"kubedyno/workload": "w", "team": "a"},
    }
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert "schedulingGroup" not in pod["spec"]
    resources = pod["spec"]["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"}


def test_a_pod_without_gpus_asks_for_none() -> None:
    (pod,) = KUBE_SCHEDULER.dialect.objects(Workload(name="w", gpus=0))
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1Gi"}


def test_a_gang_is_a_native_pod_group_before_its_pods() -> None:
    group, *pods = KUBE_SCHEDULER.dialect.objects(Workload(name="g", namespace="ns", pods=3))
    assert group == {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns", "labels": {"kubedyno/workload": "g"}},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 3}},
            "disruptionMode": "PodGroup",
            "priorityClassName": "train",
        },
    }
    assert [pod["metadata"]["name"] for pod in pods] == ["g-0", "g-1", "g-2"]
    assert [pod["spec"]["schedulingGroup"] for pod in pods] == [{"podGroupName": "g"}] * 3


def test_it_knows_no_queues() -> None:
    assert KUBE_SCHEDULER.dialect.queues((Queue(name="a"), Queue(name="b"))) == []
    assert KUBE_SCHEDULER.definitions() == []


def test_the_priorities_that_workloads_name_are_there() -> None:
    objects = KUBE_SCHEDULER.base_objects()
    assert {made["metadata"]["name"]: made["value"] for made in objects} == PRIORITIES
    assert {(made["apiVersion"], made["kind"]) for made in objects} == {("scheduling.k8s.io/v1", "PriorityClass")}


def test_an_elastic_gang_has_its_least_number_and_a_required_level_is_a_constraint() -> None:
    shape = Workload(name="g", pods=5, least=2, priority="build", closeness=Closeness(topology="t", required="rack"))
    group, *pods = KUBE_SCHEDULER.dialect.objects(shape)
    assert group["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "disruptionMode": "PodGroup",
        "priorityClassName": "build",
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
    }
    assert len(pods) == 5
    assert {pod["spec"]["priorityClassName"] for pod in pods} == {"build"}


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        (
            Workload(name="g", pods=2, closeness=Closeness(topology="t", preferred="rack")),
            "workload g prefers a topology level, but PodGroups of scheduling.k8s.io can only require one",
        ),
        (
            Workload(name="g", groups=(Group(name="a", pods=1), Group(name="b", pods=1))),
            "workload g has groups, which PodGroups of scheduling.k8s.io do not have",
        ),
        (
            Workload(name="f", fraction=0.5),
            (
                "workload f asks for 0.5 of a GPU, for which dialect kube has no words; "
                "ask for whole GPUs, or use kai or reference"
            ),
        ),
    ],
)
def test_what_it_has_no_words_for_is_refused_and_not_left_out(shape: Workload, sentence: str) -> None:
    assert missing(shape.features(), KUBE_SCHEDULER.lacks)
    with pytest.raises(UsageError) as caught:
        KUBE_SCHEDULER.dialect.objects(shape)
    assert str(caught.value) == sentence


class CannedReader:
    """A reader that always has the same answer."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.asked: list[Probe] = []

    async def fetch(self, probe: Probe) -> bytes:
        self.asked.append(probe)
        return self.answer


async def read_back(given: Site, config: dict[str, Any], reported: object) -> tuple[CannedReader, list[Setting]]:
    reader = CannedReader(msgspec.json.encode(reported))
    found = await KUBE_SCHEDULER.read_back(KUBE_SCHEDULER.components(given, after=(), config=config), reader, given)
    return reader, found


REPORTED = {
    "clientConnection": {"kubeconfig": "/lab/kubeconfigs/kube-scheduler.yaml", "qps": 5000, "burst": 10000},
    "leaderElection": {"leaderElect": False, "leaseDuration": "1m0s"},
    "parallelism": 16,
    "profiles": [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": 50}],
}


async def test_what_was_written_is_read_from_configz_as_the_admin() -> None:
    reader, found = await read_back(site(), {}, {"componentconfig": REPORTED})
    (probe,) = reader.asked
    assert probe == Probe(url="https://127.0.0.1:10000/configz", identity="admin", self_signed=True)
    assert {setting.field: (setting.wanted, setting.value) for setting in found} == {
        "clientConnection.burst": ("10000", "10000"),
        "clientConnection.kubeconfig": ("/lab/kubeconfigs/kube-scheduler.yaml",) * 2,
        "clientConnection.qps": ("5000", "5000"),
        "leaderElection.leaderElect": ("false", "false"),
    }
    assert {setting.evidence for setting in found} == {Evidence.REPORTED}
    assert {setting.source for setting in found} == {probe.url}
    refuse_contradictions(found)


async def test_paths_into_lists_are_read_back_when_they_were_set() -> None:
    given = site(settings={"kube-scheduler": {"profiles.0.percentageOfNodesToScore": "50"}})
    config = {"profiles": [{"schedulerName": "default-scheduler"}]}
    _, found = await read_back(given, config, {"componentconfig": REPORTED})
    assert ("profiles.0.percentageOfNodesToScore", "50", "50") in [
        (setting.field, setting.wanted, setting.value) for setting in found
    ]
    refuse_contradictions(found)


async def test_a_setting_that_did_not_arrive_is_told() -> None:
    _, found = await read_back(site(), {"parallelism": 8}, {"componentconfig": REPORTED})
    with pytest.raises(EngineError) as caught:
        refuse_contradictions(found)
    assert str(caught.value) == (
        "a setting did not arrive: kube-scheduler.parallelism was set to 8, but https://127.0.0.1:10000/configz "
        "says 16; check the program that --bin-dir or the PATH gives"
    )


async def test_a_field_that_is_not_reported_is_told() -> None:
    given = site(settings={"kube-scheduler": {"nonsense.field": "1"}})
    _, found = await read_back(given, {}, {"componentconfig": REPORTED})
    with pytest.raises(EngineError, match=r"kube-scheduler\.nonsense\.field was set to 1, but .* says null;"):
        refuse_contradictions(found)


async def test_a_duration_written_otherwise_is_no_contradiction() -> None:
    given = site(settings={"kube-scheduler": {"leaderElection.leaseDuration": "60s"}})
    _, found = await read_back(given, {}, {"componentconfig": REPORTED})
    assert ("60s", "1m0s") in [(setting.wanted, setting.value) for setting in found]
    refuse_contradictions(found)


async def test_what_is_no_kube_scheduler_is_told() -> None:
    with pytest.raises(EngineError) as caught:
        await read_back(site(), {}, {"kubeletconfig": {}})
    assert str(caught.value) == (
        "kube-scheduler reports no configuration at https://127.0.0.1:10000/configz; is it a kube-scheduler?"
    )
