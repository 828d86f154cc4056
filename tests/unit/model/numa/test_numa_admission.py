"""Admission of pods one after another, as the managers of a real kubelet 1.36.3 decided it.

`admission_cases.json` was recorded from Kubernetes' own topology, CPU, memory and device managers wired together, with
random machines, configurations and pods. Nodes have a gibibyte reserved; distances are those of `Layout`.
"""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa import admission, bits
from kubedyno.model.numa.admission import Admitted, Node, Rejection, Scope, admit
from kubedyno.model.numa.cpus import StaticCpus
from kubedyno.model.numa.devices import Plugin
from kubedyno.model.numa.hints import Hint
from kubedyno.model.numa.machine import Layout, Machine
from kubedyno.model.numa.merging import Policy
from kubedyno.model.numa.options import CpuOptions, TopologyOptions
from kubedyno.model.numa.pods import Pod
from kubedyno.model.numa.zones import Amount, overlaps, zones

pytestmark = pytest.mark.unit

CASES = json.loads(Path(__file__).with_name("admission_cases.json").read_text())
GIB = 2**30


def _lowest(available: AbstractSet[str], must: AbstractSet[str], count: int) -> AbstractSet[str]:
    """What the plugin of the recording preferred."""
    return must | set(sorted(available - must)[: count - len(must)])


def _node(case: Mapping[str, Any]) -> Node:
    laid_out = Layout(**case["layout"]).machine()
    machine = Machine(
        cpus=laid_out.cpus,
        distances=laid_out.distances,
        memory={
            node: {"memory": size * GIB, "hugepages-1Gi": pages * GIB}
            for node, (size, pages) in enumerate(zip(case["gibibytes"], case["huge_pages"], strict=True))
        },
    )
    reserved = bits.parse(case["reserved_cpus"])
    cpus = None
    if case["cpu_options"] is not None:
        options = CpuOptions.parse(dict.fromkeys(case["cpu_options"], "true"), alpha=True)
        cpus = StaticCpus.reserving(machine, reserved.bit_count(), options, reserved)
    return Node(
        machine=machine,
        policy=Policy(case["policy"]),
        scope=Scope(case["scope"]),
        options=TopologyOptions.parse(case["options"]),
        cpus=cpus,
        reserved_memory={node: {"memory": GIB} for node in machine.memory} if case["counts_memory"] else None,
        plugins={
            resource: Plugin({device: bits.of(nodes) for device, nodes in devices.items()}, preference=_lowest)
            for resource, devices in case["plugins"].items()
        },
    )


def _pod(written: Mapping[str, Any]) -> Pod:
    def containers(kind: str) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "resources": {"requests": amounts, "limits": amounts},
                "restartPolicy": "Always" if name in written.get("sidecars", ()) else None,
            }
            for name, amounts in written.get(kind, {}).items()
        ]

    spec: dict[str, Any] = {"initContainers": containers("init"), "containers": containers("containers")}
    if "own" in written:
        spec["resources"] = {"requests": written["own"], "limits": written["own"]}
    return Pod.read({"metadata": {"uid": written["uid"]}, "spec": spec, "status": {"qosClass": written["qos"]}})


def _given(answer: Admitted) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, assignment in answer.containers.items():
        found[name] = {}
        if assignment.cpus:
            found[name]["cpus"] = bits.text(assignment.cpus)
        if assignment.memory:
            blocks = [[bits.members(block.nodes), block.resource, block.size] for block in assignment.memory]
            found[name]["memory"] = sorted(blocks)
        if assignment.devices:
            found[name]["devices"] = {resource: sorted(chosen) for resource, chosen in assignment.devices.items()}
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_pods_are_admitted_and_refused_as_the_kubelet_did(case: dict[str, Any]) -> None:
    node = _node(case)
    start = ledger = admission.empty(node)
    for step in case["steps"]:
        if "release" in step:
            ledger = admission.release(node, ledger, step["release"])
            continue
        answer = admit(node, ledger, _pod(step["admit"]))
        if isinstance(answer, Rejection):
            assert [answer.reason, answer.message] == step.get("refused")
            continue
        assert _given(answer) == step.get("given")
        ledger = answer.ledger
        assert not overlaps(ledger)
    for step in case["steps"]:
        if "admit" in step:
            ledger = admission.release(node, ledger, step["admit"]["uid"])
    assert ledger == start


def _gpu_node(policy: Policy, scope: Scope = Scope.CONTAINER) -> Node:
    """Two NUMA nodes with four cores of two threads, 16 GiB and two GPUs each; CPU 0 and a GiB each are reserved."""
    machine = Layout(sockets=2, cores_per_cache=4, threads_per_core=2, memory_per_node={"memory": 16 * GIB}).machine()
    return Node(
        machine=machine,
        policy=policy,
        scope=scope,
        cpus=StaticCpus.reserving(machine, 1, CpuOptions()),
        reserved_memory={0: {"memory": GIB}, 1: {"memory": GIB}},
        plugins={"nvidia.com/gpu": Plugin({f"gpu-{number}": 1 << number // 2 for number in range(4)})},
    )


def _workers(uid: str, *gpus: int, cpu: str = "2", qos: str = "Guaranteed") -> Pod:
    amounts = [{"cpu": cpu, "memory": "2Gi", "nvidia.com/gpu": str(count)} for count in gpus]
    return _pod({"uid": uid, "qos": qos, "containers": {f"c{index}": asked for index, asked in enumerate(amounts)}})


def test_a_pod_across_sockets_is_refused_by_single_numa_node_in_pod_scope_only() -> None:
    pod = _workers("p", 2, 2)
    by_container = admit(node := _gpu_node(Policy.SINGLE_NUMA_NODE), admission.empty(node), pod)
    assert isinstance(by_container, Admitted)
    assert [assignment.affinity for assignment in by_container.containers.values()] == [Hint(1, True), Hint(2, True)]  # noqa: FBT003
    by_pod = admit(node := _gpu_node(Policy.SINGLE_NUMA_NODE, Scope.POD), admission.empty(node), pod)
    assert by_pod == Rejection("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


@pytest.mark.parametrize(("policy", "admitted"), [(Policy.BEST_EFFORT, True), (Policy.RESTRICTED, False)])
def test_best_effort_admits_what_restricted_refuses(policy: Policy, *, admitted: bool) -> None:
    node = _gpu_node(policy)
    # Two GPUs would fit one NUMA node, but one of each node's two is broken.
    broken = Plugin(node.plugins["nvidia.com/gpu"].devices, frozenset({"gpu-0", "gpu-3"}))
    node = msgspec.structs.replace(node, plugins={"nvidia.com/gpu": broken})
    answer = admit(node, admission.empty(node), _workers("p", 2))
    assert isinstance(answer, Admitted) == admitted


def test_burstable_pods_are_aligned_for_devices_and_hold_no_cpus() -> None:
    node = _gpu_node(Policy.SINGLE_NUMA_NODE)
    answer = admit(node, admission.empty(node), _workers("p", 2, cpu="64", qos="Burstable"))
    assert isinstance(answer, Admitted)
    assert answer.containers["c0"].cpus is None
    assert answer.containers["c0"].memory == ()
    assert answer.containers["c0"].devices == {"nvidia.com/gpu": frozenset({"gpu-0", "gpu-1"})}


def test_zones_tell_what_is_left_on_each_numa_node() -> None:
    node = _gpu_node(Policy.SINGLE_NUMA_NODE)
    answer = admit(node, admission.empty(node), _workers("p", 1))
    assert isinstance(answer, Admitted)
    assert zones(node, answer.ledger) == {
        0: {
            "cpu": Amount(8, 7, 5),
            "memory": Amount(16 * GIB, 15 * GIB, 13 * GIB),
            "nvidia.com/gpu": Amount(2, 2, 1),
        },
        1: {
            "cpu": Amount(8, 8, 8),
            "memory": Amount(16 * GIB, 15 * GIB, 15 * GIB),
            "nvidia.com/gpu": Amount(2, 2, 2),
        },
    }


def test_a_pod_known_to_the_ledger_is_given_what_it_had() -> None:
    node = _gpu_node(Policy.SINGLE_NUMA_NODE)
    first = admit(node, admission.empty(node), _workers("p", 1))
    assert isinstance(first, Admitted)
    assert admit(node, first.ledger, _workers("p", 1)) == first


def test_releasing_a_pod_that_is_not_there_changes_nothing() -> None:
    node = _gpu_node(Policy.RESTRICTED)
    ledger = admission.empty(node)
    assert admission.release(node, ledger, "nobody") == ledger


def test_what_two_pods_hold_at_once_is_told() -> None:
    node = _gpu_node(Policy.NONE)
    first = admit(node, admission.empty(node), _workers("a", 1))
    second = admit(node, admission.empty(node), _workers("b", 1))
    assert isinstance(first, Admitted)
    assert isinstance(second, Admitted)
    both = admission.Ledger(
        cpus=type(first.ledger.cpus)(0, {**first.ledger.cpus.assigned, **second.ledger.cpus.assigned}),
        memory=first.ledger.memory,
        devices=type(first.ledger.devices)({**first.ledger.devices.assigned, **second.ledger.devices.assigned}),
    )
    assert overlaps(both) == [
        "cpu 1 is held by pods a and b",
        "cpu 9 is held by pods a and b",
        "nvidia.com/gpu gpu-0 is held by pods a and b",
    ]


def test_configurations_that_a_kubelet_would_not_start_with_are_refused() -> None:
    many = Layout(sockets=3, nodes_per_socket=3).machine()
    with pytest.raises(UsageError, match="unsupported on machines with more than 8 NUMA Nodes"):
        Node(machine=many, policy=Policy.RESTRICTED)
    Node(machine=many, policy=Policy.NONE)
    Node(machine=many, policy=Policy.RESTRICTED, options=TopologyOptions(most_nodes=9))
    with pytest.raises(UsageError, match="error getting NUMA distances from cadvisor"):
        Node(
            machine=Machine(cpus=many.cpus),
            policy=Policy.BEST_EFFORT,
            options=TopologyOptions(prefer_closest=True, most_nodes=9),
        )
    two = Layout(sockets=2).machine()
    with pytest.raises(UsageError, match="is incompatible with CPUManager align-by-socket policy option"):
        Node(machine=two, policy=Policy.SINGLE_NUMA_NODE, cpus=StaticCpus(two, 0, CpuOptions(by_socket=True)))
