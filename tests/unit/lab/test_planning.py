"""Plans against golden files; KUBEDYNO_UPDATE_GOLDEN=1 rewrites them."""

import os
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubedyno.kit.errors import UsageError
from kubedyno.lab import planning
from kubedyno.lab.planning import LabPlan
from kubedyno.lab.spec import LabSpec, check
from kubedyno.plane.component import levels
from kubedyno.plane.ports import counted_ports
from kubedyno.sim.stages.sets import default_stages

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).parent / "golden"

SPECS = {
    "none": LabSpec(name="bare", engine="local"),
    "kube-scheduler": LabSpec(name="lab", engine="local", scheduler="kube-scheduler", nodes=10),
    "kai": LabSpec(name="lab", engine="local", scheduler="kai", nodes=10),
    "kai-production": LabSpec(name="lab", engine="local", scheduler="kai", profile="production"),
    "kube-scheduler-ha-stacked": LabSpec(name="lab", engine="local", scheduler="kube-scheduler", ha="stacked"),
    "kube-scheduler-ha-external": LabSpec(name="lab", engine="local", scheduler="kube-scheduler", ha="external"),
    "kube-scheduler-options": LabSpec(
        name="lab",
        engine="local",
        scheduler="kube-scheduler",
        profile="unthrottled",
        settings={
            "kube-scheduler": {"clientConnection.qps": "20", "parallelism": "32"},
            "kube-apiserver": {"max-requests-inflight": "400"},
            "kubelets": {"lease-seconds": "80"},
        },
        feature_gates={"GangScheduling": False, "DynamicResourceAllocation": True},
        runtime_config={"api/all": "true"},
        audit_log=True,
        scheduler_config={"profiles": [{"schedulerName": "default-scheduler"}]},
    ),
    "kueue": LabSpec(name="lab", engine="local", scheduler="kueue", nodes=10),
    "plugins": LabSpec(name="lab", engine="local", scheduler="plugins", nodes=10),
    "local-kwok": LabSpec(name="lab", engine="local", kubelet="kwok", heartbeats="80s"),
    "local-kubemark": LabSpec(name="lab", engine="local", scheduler="kube-scheduler", kubelet="kubemark", nodes=10),
    "local-without-kubelets": LabSpec(name="lab", engine="local", kubelet="none", heartbeats="off"),
    "embedded-none": LabSpec(name="bare", engine="embedded"),
    "embedded-reference": LabSpec(name="lab", engine="embedded", scheduler="reference", nodes=10),
    "embedded-kube-scheduler": LabSpec(name="lab", engine="embedded", scheduler="kube-scheduler", nodes=10),
    "embedded-kwok": LabSpec(name="lab", engine="embedded", scheduler="reference", kubelet="kwok"),
}


def planned(spec: LabSpec) -> LabPlan:
    return planning.plan(check(spec), folder=Path("/lab"), draw_port=counted_ports(10000))


def rendered(spec: LabSpec) -> str:
    """The plan, with the place of the package made the same on all machines."""
    package = str(resources.files("kubedyno"))
    return planning.render(planned(spec)).replace(package, "<kubedyno>")


@pytest.mark.parametrize("name", SPECS)
def test_the_plan_is_the_golden_one(name: str) -> None:
    file = GOLDEN / f"{name}.yaml"
    text = rendered(SPECS[name])
    if os.environ.get("KUBEDYNO_UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text()


def test_every_golden_file_has_its_spec() -> None:
    assert {file.stem for file in GOLDEN.iterdir()} == set(SPECS)


@pytest.mark.parametrize("name", SPECS)
def test_a_plan_can_be_started(name: str) -> None:
    plan = planned(SPECS[name])
    assert len({component.name for component in plan.components}) == len(plan.components)
    assert sum(len(level) for level in levels(plan.components)) == len(plan.components)
    ports = [port for component in plan.components for port in component.ports.values()]
    ports += [plan.control_plane.balancer.port] if plan.control_plane.balancer else []
    assert len(set(ports)) == len(ports)
    identities = {identity.name for identity in plan.identities}
    assert len(identities) == len(plan.identities)
    for text in (text for component in plan.components for text in (*component.args, *component.env.values())):
        if "/kubeconfigs/" in text:
            assert text.rpartition("/")[2].removesuffix(".yaml") in identities


@pytest.mark.parametrize("name", SPECS)
def test_no_key_is_shown(name: str) -> None:
    assert "PRIVATE" not in rendered(SPECS[name])
    document = yaml.safe_load(rendered(SPECS[name]))
    assert document["lab"] == SPECS[name].name
    assert document["engine"] == SPECS[name].engine


def args(plan: LabPlan, name: str) -> list[str]:
    return [arg for component in plan.components if component.name == name for arg in component.args]


def test_flags_of_the_user_replace_ours() -> None:
    plan = planned(SPECS["kube-scheduler-options"])
    server = args(plan, "kube-apiserver")
    assert [arg for arg in server if arg.startswith("--max-requests-inflight")] == ["--max-requests-inflight=400"]
    assert (
        "--feature-gates=DynamicResourceAllocation=true,GangScheduling=false,GenericWorkload=true,"
        "TopologyAwareWorkloadScheduling=true,WorkloadAwarePreemption=true"
    ) in server
    assert "--runtime-config=api/all=true,resource.k8s.io/v1beta2=true,scheduling.k8s.io/v1alpha2=true" in server
    # What goes into a file does not become a flag.
    assert not [arg for arg in args(plan, "kube-scheduler") if "clientConnection" in arg]


def test_replicas_are_set_together() -> None:
    spec = LabSpec(name="lab", engine="local", ha="stacked", settings={"etcd": {"snapshot-count": "5"}})
    plan = planned(spec)
    for index in range(3):
        assert "--snapshot-count=5" in args(plan, f"etcd-{index}")


def test_stacked_servers_use_their_own_store_and_others_use_all() -> None:
    def stores(spec: LabSpec) -> list[int]:
        plan = planned(spec)
        servers = [component for component in plan.components if component.program == "kube-apiserver"]
        return [
            len(arg.partition("=")[2].split(","))
            for server in servers
            for arg in server.args
            if arg.startswith("--etcd-servers=")
        ]

    assert stores(SPECS["kube-scheduler-ha-stacked"]) == [1, 1, 1]
    assert stores(SPECS["kube-scheduler-ha-external"]) == [3, 3, 3]


@pytest.mark.parametrize(
    ("kubelet", "component", "flag"), [("kwok", "kwok", "--config"), ("builtin", "kubelets", "--stages")]
)
def test_own_stages_replace_the_default_ones(kubelet: str, component: str, flag: str) -> None:
    stage = default_stages()[0]
    plan = planned(LabSpec(name="lab", engine="local", kubelet=kubelet, stages=(str(stage),)))
    assert [arg for arg in args(plan, component) if arg.startswith(f"{flag}=")] == [f"{flag}={stage}"]


@pytest.mark.parametrize("engine", ["embedded", "local"])
def test_stages_that_cannot_be_read_are_told_before_anything_starts(engine: str, tmp_path: Path) -> None:
    stage = tmp_path / "stage.yaml"
    stage.write_text("kind: Stage\n")
    with pytest.raises(UsageError, match=r"stage\.yaml"):
        planned(LabSpec(name="lab", engine=engine, stages=(str(stage),)))


def test_hollow_nodes_are_started_when_there_are_nodes_and_need_their_program_and_an_identity() -> None:
    plan = planned(SPECS["local-kubemark"])
    assert plan.kubelet_components == ()
    assert [activity.name for activity in plan.activities] == ["devices", "hollow-nodes"]
    assert plan.programs[-1] == "kubemark"
    assert [identity.name for identity in plan.kubelet_identities] == ["hollow-nodes"]
    assert plan.kubelet_identities[0] in plan.identities


def test_leases_and_the_patience_of_the_controllers_are_stretched_together() -> None:
    plan = planned(SPECS["local-kwok"])
    assert "--node-lease-duration-seconds=80" in args(plan, "kwok")
    assert "--node-monitor-grace-period=100s" in args(plan, "kube-controller-manager")
    without = planned(LabSpec(name="lab", engine="local", heartbeats="off"))
    assert "--lease-seconds=0" in args(without, "kubelets")
    assert "--node-monitor-grace-period=864000s" in args(without, "kube-controller-manager")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"etdc": {"a": "1"}}, "--set etdc....: this lab has no component 'etdc'; did you mean 'etcd'?"),
        (
            {"binder": {"qps": "1"}},
            (
                "--set binder....: this lab has no component 'binder'; "
                "known are: etcd, kube-apiserver, kube-controller-manager, kubelets"
            ),
        ),
    ],
)
def test_a_component_that_is_not_there_cannot_be_set(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        planned(LabSpec(name="lab", engine="local", settings=settings))
    assert str(caught.value) == sentence
