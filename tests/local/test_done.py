"""From one command to a gang placed by a real scheduler, with plain kubectl, and nothing left behind."""

import psutil
import pytest

from .conftest import User, component_pids, component_ports, listens, processes_below, wait_gone

pytestmark = pytest.mark.local

KAI_GANG = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: gang, namespace: default, labels: {kai.scheduler/queue: default-queue}}
spec: {minMember: 4, queue: default-queue, priorityClassName: train}
"""
NATIVE_GANG = """
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: %(group)s, namespace: default}
spec: {schedulingPolicy: {gang: {minCount: %(count)d}}}
"""
POD = """
---
apiVersion: v1
kind: Pod
metadata: {name: %(name)s, namespace: default, labels: {gang: %(group)s}, annotations: {%(annotations)s}}
spec:
  schedulerName: %(scheduler)s
  %(extra)s
  containers:
  - {name: main, image: simulated, resources: {limits: {cpu: 1, nvidia.com/gpu: 8}}}
"""


def pods(group: str, count: int, *, scheduler: str, annotations: str = "", extra: str = "") -> str:
    return "".join(
        POD
        % {
            "name": f"{group}-{index}",
            "group": group,
            "scheduler": scheduler,
            "annotations": annotations,
            "extra": extra,
        }
        for index in range(count)
    )


def assert_all_loopback(pids: list[int]) -> None:
    for pid in pids:
        listening = [c for c in psutil.Process(pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
        for connection in listening:
            assert connection.laddr.ip in {"127.0.0.1", "::1"}, (psutil.Process(pid).cmdline()[0], connection)


def assert_down_leaves_nothing(user: User) -> None:
    status = user.status()
    pids, ports = component_pids(status), component_ports(status)
    assert all(listens(port) for port in ports)
    user.run("down")
    assert wait_gone([*pids, status["owner_pid"]]) == []
    assert not [port for port in ports if listens(port)]
    assert processes_below(user.home) == []
    assert user.run("status").stdout == "there is no lab: `kubedyno up` makes one\n"


def test_kai_places_a_gang_on_fifty_nodes(user: User) -> None:
    kubeconfig = user.up("--engine", "local", "--scheduler", "kai", "--kubelet", "kwok", "--nodes", "50")
    nodes = user.kubectl(kubeconfig, "get", "nodes", "--no-headers").splitlines()
    assert len(nodes) == 50
    assert all(line.split()[1] == "Ready" for line in nodes)

    gang = KAI_GANG + pods("gang", 4, scheduler="kai-scheduler", annotations="pod-group-name: gang")
    user.kubectl(kubeconfig, "apply", "-f", "-", stdin=gang)
    user.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod", "-l", "gang=gang", "--timeout=60s")
    events = user.kubectl(kubeconfig, "get", "events", "-o", "jsonpath={.items[*].source.component}")
    assert "binder" in events or "kai-scheduler" in events
    assert_all_loopback(component_pids(user.status()))
    assert_down_leaves_nothing(user)


def test_kube_scheduler_places_a_native_gang_on_fifty_nodes(user: User) -> None:
    kubeconfig = user.up("--engine", "local", "--scheduler", "kube-scheduler", "--kubelet", "kwok", "--nodes", "50")
    assert len(user.kubectl(kubeconfig, "get", "nodes", "--no-headers").splitlines()) == 50

    gang = NATIVE_GANG % {"group": "gang", "count": 4} + pods(
        "gang", 4, scheduler="default-scheduler", extra="schedulingGroup: {podGroupName: gang}"
    )
    user.kubectl(kubeconfig, "apply", "-f", "-", stdin=gang)
    user.kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod", "-l", "gang=gang", "--timeout=60s")

    # 47 whole-node pods do not fit beside the four: not one of them may be bound.
    greedy = NATIVE_GANG % {"group": "greedy", "count": 47} + pods(
        "greedy", 47, scheduler="default-scheduler", extra="schedulingGroup: {podGroupName: greedy}"
    )
    user.kubectl(kubeconfig, "apply", "-f", "-", stdin=greedy)
    user.kubectl(kubeconfig, "wait", "--for=condition=PodGroupScheduled=False", "podgroups.scheduling.k8s.io/greedy")
    bound = user.kubectl(kubeconfig, "get", "pods", "-l", "gang=greedy", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert bound == ""
    assert_all_loopback(component_pids(user.status()))
    assert_down_leaves_nothing(user)
