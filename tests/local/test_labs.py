"""Labs that stay: what their components are told, how they live side by side, how they end."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from kubedyno.client.informer import Informer
from kubedyno.kube import codec
from kubedyno.kube.resources import PODS

from .conftest import (
    User,
    component_pids,
    component_ports,
    interrupt_when,
    lab_in_process,
    listens,
    processes_below,
    wait_for,
    wait_gone,
)

pytestmark = pytest.mark.local

POD_GROUP = ("scheduling.run.ai/v2alpha2", "PodGroup")

BARE_POD = """
apiVersion: v1
kind: Pod
metadata: {name: hello}
spec:
  schedulerName: kai-scheduler
  containers: [{name: main, image: simulated, resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def setting(status: dict, component: str, field: str) -> dict:
    return next(s for s in status["settings"] if s["component"] == component and s["field"] == field)


def test_options_reach_the_components_and_are_read_back(user: User) -> None:
    kubeconfig = user.up(
        "--engine=local",
        "--scheduler=kube-scheduler",
        "--profile=production",
        "--audit-log",
        "--feature-gates=SchedulerPopFromBackoffQ=false",
        "--runtime-config=resource.k8s.io/v1alpha3=true",
        "--set=kube-scheduler.clientConnection.qps=33",
        "--set=etcd.snapshot-count=5000",
        "--set=kube-apiserver.event-ttl=5m",
    )
    status = user.status()
    qps = setting(status, "kube-scheduler", "clientConnection.qps")
    assert (qps["wanted"], qps["value"], qps["evidence"]) == ("33", "33", "reported")
    assert setting(status, "etcd", "snapshot-count")["value"] == "5000"
    assert setting(status, "etcd", "snapshot-count")["evidence"] == "argv"
    assert setting(status, "kube-apiserver", "event-ttl")["value"] == "5m"
    assert not [s for s in status["settings"] if s["field"] == "unsafe-no-fsync"]
    gates = setting(status, "kube-controller-manager", "feature-gates")["value"]
    assert "SchedulerPopFromBackoffQ=false" in gates
    assert "GangScheduling=true" in gates

    versions = user.kubectl(kubeconfig, "api-versions").split()
    assert {"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"} <= set(versions)
    assert "scheduling.k8s.io/v1alpha2" in versions

    lab = Path(kubeconfig).parent.parent
    assert [path for path in lab.rglob("*.key") if path.stat().st_mode & 0o077] == []
    assert (lab / "control.sock").stat().st_mode & 0o777 == 0o600
    assert Path(kubeconfig).stat().st_mode & 0o777 == 0o600
    audit = (lab / "logs" / "kube-apiserver-audit.jsonl").read_text().splitlines()
    assert msgspec.json.decode(audit[0])["kind"] == "Event"

    done = user.run("up", code=2)
    assert done.stderr == (
        "kubedyno: lab default is running already: end it with `kubedyno down --name default`, "
        "or choose another --name\n"
    )


def test_two_kai_labs_side_by_side(user: User) -> None:
    settings = ("--set=binder.max-concurrent-reconciles=7", "--set=scheduler.schedule-period=500ms")
    kai = ("--engine", "local", "--scheduler", "kai", "--nodes", "2")
    kubeconfigs = [
        user.up("--name", "one", *kai, *settings),
        user.up("--name", "two", *kai),
    ]
    statuses = [user.status(name) for name in ("one", "two")]
    concurrency = [setting(status, "binder", "max-concurrent-reconciles") for status in statuses]
    assert [(found["value"], found["evidence"]) for found in concurrency] == [("7", "reported"), ("100", "reported")]
    assert setting(statuses[0], "scheduler", "schedule-period")["value"] == "0.5s"
    assert setting(statuses[0], "scheduler", "max-consolidation-preemptees")["value"] == "0"
    assert setting(statuses[0], "binder", "qps")["evidence"] == "argv"
    assert not set(component_ports(statuses[0])) & set(component_ports(statuses[1]))
    for kubeconfig in kubeconfigs:
        user.kubectl(kubeconfig, "apply", "-f", "-", stdin=BARE_POD)
    for kubeconfig in kubeconfigs:
        user.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod/hello", "--timeout=60s")
    assert "there are several labs (one, two): choose one with --name" in user.run("down", code=2).stderr
    user.run("down", "--name", "one")
    assert wait_gone(component_pids(statuses[0])) == []
    assert user.kubectl(kubeconfigs[1], "get", "--raw", "/readyz") == "ok"


async def test_pausing_kai_stops_the_scheduler_and_not_the_binder(tmp_path: Path) -> None:
    async with lab_in_process(tmp_path / "lab", scheduler="kai", nodes=1) as lab:
        pod = codec.read_yaml(BARE_POD, source="the test")[0]
        async with Informer(lab.client, PODS, namespace="default") as pods:
            async with lab.scheduler.paused():
                running = set(lab.supervisor.processes)
                assert "scheduler" not in running
                assert {"binder", "podgrouper"} <= running
                await lab.client.create(PODS, pod, namespace="default")
                # Its group is there, so everything but the decision has been made.
                async with Informer(lab.client, await lab.client.resource(*POD_GROUP), namespace="default") as groups:
                    await groups.wait_until(lambda found: len(found.items) == 1, timeout_s=30, what="the pod's group")
                assert not pods.get(("default", "hello"))["spec"].get("nodeName")
            resumed = lab.scheduler.resumed
            assert resumed is not None
            assert resumed.answered_at_ns > resumed.resumed_at_ns
            await pods.wait_until(
                lambda found: bool(found.get(("default", "hello"))["spec"].get("nodeName")),
                timeout_s=30,
                what="the pod to be bound",
            )


def test_nothing_outlives_an_owner_that_is_killed(user: User) -> None:
    user.up("--engine", "local", "--scheduler", "none")
    status = user.status()
    os.kill(status["owner_pid"], signal.SIGKILL)
    assert wait_gone([status["owner_pid"], *component_pids(status)]) == []
    assert user.status()["state"] == "dead"
    assert user.run("down").stdout == "lab default was not running; its folder is removed\n"
    assert user.run("status").stdout == "there is no lab: `kubedyno up` makes one\n"


def test_an_api_server_that_dies_ends_the_lab_with_its_story(user: User) -> None:
    user.up("--engine", "local", "--scheduler", "none")
    status = user.status()
    server = next(c for c in status["components"] if c["name"] == "kube-apiserver")
    os.kill(server["pid"], signal.SIGKILL)
    assert wait_gone([status["owner_pid"], *component_pids(status)], timeout_s=30) == []
    after = user.status()
    assert after["state"] == "failed"
    assert after["message"].startswith("kube-apiserver was killed by SIGKILL after ")
    assert "Log: " in after["message"]
    assert not [port for port in component_ports(status) if listens(port)]
    user.run("down")


def test_ctrl_c_while_a_lab_starts_leaves_nothing(user: User) -> None:
    labs = user.home / "state" / "kubedyno" / "labs"
    up = user.start("up", "--engine", "local", "--scheduler", "kube-scheduler", "--nodes", "5")
    _, errors = interrupt_when(up, (labs / "default" / "logs" / "kube-apiserver.log").exists)
    assert up.returncode == 130
    assert errors == "kubedyno: interrupted; everything that was started is stopped\n"
    wait_for(lambda: processes_below(user.home) == [])
    assert not (labs / "default").exists()


@pytest.mark.parametrize("kind", ["stacked", "external"])
def test_a_highly_available_lab_survives_the_loss_of_servers(user: User, kind: str) -> None:
    kubeconfig = user.up("--engine", "local", "--ha", kind, "--scheduler", "kube-scheduler", "--nodes", "2")
    status = user.status()
    by_name = {component["name"]: component for component in status["components"]}
    assert {f"kube-apiserver-{index}" for index in range(3)} <= by_name.keys()
    assert {f"etcd-{index}" for index in range(3)} <= by_name.keys()
    assert {"kube-scheduler-0", "kube-scheduler-1"} <= by_name.keys()
    holder = user.kubectl(
        kubeconfig, "get", "lease", "kube-scheduler", "-n", "kube-system", "-o", "jsonpath={.spec.holderIdentity}"
    )
    assert holder

    os.kill(by_name["kube-apiserver-0"]["pid"], signal.SIGKILL)
    if kind == "external":
        os.kill(by_name["etcd-1"]["pid"], signal.SIGKILL)
    pod = BARE_POD.replace("schedulerName: kai-scheduler", "schedulerName: default-scheduler")
    user.kubectl(kubeconfig, "apply", "-f", "-", stdin=pod)
    user.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod/hello", "--timeout=60s")

    after = user.status()
    assert after["state"] == "ready"
    assert "kube-apiserver-0 was killed by SIGKILL" in after["message"]
    assert "kube-apiserver-0" not in {component["name"] for component in after["components"]}
    user.run("down")
    assert wait_gone(component_pids(status)) == []


@pytest.mark.parametrize("kubelet", ["builtin", "kwok"])
def test_stages_from_a_users_file_replace_ours(user: User, kubelet: str) -> None:
    stages = user.home / "stages.yaml"
    ours = Path(__file__).parents[2] / "src" / "kubedyno" / "sim" / "stages" / "sets"
    pod_stages = (ours / "pod.yaml").read_text().replace("phase: Running", 'phase: Running\nmessage: "my stage"')
    stages.write_text(
        (ours / "node.yaml").read_text() + "---\n" + pod_stages.replace("\nmessage:", "\n          message:")
    )
    lab = ("--engine=local", "--scheduler=kube-scheduler", "--nodes=1", f"--kubelet={kubelet}")
    kubeconfig = user.up(*lab, f"--stages={stages}")
    pod = BARE_POD.replace("schedulerName: kai-scheduler", "schedulerName: default-scheduler")
    user.kubectl(kubeconfig, "apply", "-f", "-", stdin=pod)
    user.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod/hello", "--timeout=60s")
    said = user.kubectl(kubeconfig, "get", "pod", "hello", "-o", "jsonpath={.status.message}")
    assert said == "my stage"
