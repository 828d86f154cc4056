"""The Static memory policy, held to the cases of Kubernetes 1.36.3's own tests of its memory manager."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.model.numa import bits, memory
from kubedyno.model.numa.hints import NOWHERE, Hint, Hints
from kubedyno.model.numa.machine import Machine
from kubedyno.model.numa.memory import Bank, Block, Cell, MemoryLedger
from kubedyno.model.numa.pods import Pod
from kubedyno.model.numa.refusals import Refused

pytestmark = pytest.mark.unit

CASES = json.loads(Path(__file__).with_name("memory_cases.json").read_text())
GIB = 2**30


def _ledger(case: Mapping[str, Any], when: str = "") -> MemoryLedger:
    cells = {
        int(node): Cell(
            {resource: Bank(*amounts) for resource, amounts in cell["banks"].items()},
            bits.of(cell["group"]),
            cell["blocks"],
        )
        for node, cell in case["cells" + when].items()
    }
    assigned = {
        uid: {
            name: [Block(bits.of(nodes), resource, size) for nodes, resource, size in blocks]
            for name, blocks in containers.items()
        }
        for uid, containers in case["assigned" + when].items()
    }
    return MemoryLedger(cells, assigned)


def _assert_alike(found: MemoryLedger, expected: MemoryLedger) -> None:
    """Equal blocks and groups; of what is free, each group's sum counts, as in the kubelet's own comparison."""

    def essence(ledger: MemoryLedger) -> Any:
        cells = {
            node: (
                cell.blocks,
                cell.group,
                {
                    resource: sum(ledger.cells[one].banks[resource].free for one in bits.members(cell.group))
                    for resource in cell.banks
                },
            )
            for node, cell in ledger.cells.items()
        }
        assigned = {
            uid: {name: sorted(blocks, key=str) for name, blocks in containers.items()}
            for uid, containers in ledger.assigned.items()
            if containers
        }
        return cells, assigned

    assert essence(found) == essence(expected)


@pytest.mark.parametrize("case", CASES["allocations"], ids=lambda case: case["name"])
def test_memory_is_charged_where_the_kubelet_charges_it(case: dict[str, Any]) -> None:
    ledger, pod = _ledger(case), Pod.read(case["pod"])
    nodes, preferred = case["affinity"]
    affinity = Hint(None if nodes is None else bits.of(nodes), preferred)
    # The table writes groups of nodes as binary numbers.
    reusable: memory.Reusable = {
        (int(group, 2), resource): size
        for group, amounts in case.get("reusable", {}).get(pod.uid, {}).items()
        for resource, size in amounts.items()
    }
    fault = ""
    try:
        for container in pod.containers:
            ledger, reusable = memory.allocate(ledger, pod, container, affinity, reusable)
    except Refused as refused:
        fault = refused.message
    if "fault" in case:
        assert fault == f"Allocate failed due to {case['fault']}, which is unexpected"
    else:
        assert not fault
        _assert_alike(ledger, _ledger(case, "_after"))


@pytest.mark.parametrize("case", CASES["releases"], ids=lambda case: case["name"])
def test_memory_of_a_container_that_ended_is_free_again(case: dict[str, Any]) -> None:
    _assert_alike(memory.release(_ledger(case), "pod1", "container1"), _ledger(case, "_after"))


@pytest.mark.parametrize("case", CASES["hints"], ids=lambda case: case["name"])
def test_memory_hints_are_those_of_the_kubelet(case: dict[str, Any]) -> None:
    ledger, pod = _ledger(case), Pod.read(case["pod"])
    found: Hints | None
    if case["scope"] == "pod":
        found = memory.pod_hints(ledger, pod, {})
    else:
        found = memory.hints(ledger, pod, pod.containers[0], {})
    expected = case["hints"]
    if expected is not None:
        expected = {
            resource: [Hint(bits.of(nodes), preferred) for nodes, preferred in offer]
            for resource, offer in expected.items()
        }
    assert found == expected


@pytest.mark.parametrize("case", CASES["requests"], ids=lambda case: case["name"])
def test_a_pod_needs_what_its_containers_need_at_a_time(case: dict[str, Any]) -> None:
    assert memory.pod_requests(Pod.read(case["pod"])) == case["bytes"]


def _pod(uid: str, *sizes: str, init: tuple[str, ...] = ()) -> Pod:
    def container(name: str, size: str) -> dict[str, Any]:
        return {"name": name, "resources": {"requests": {"cpu": "1", "memory": size}}}

    return Pod.read(
        {
            "metadata": {"uid": uid},
            "spec": {
                "initContainers": [container(f"i{index}", size) for index, size in enumerate(init)],
                "containers": [container(f"c{index}", size) for index, size in enumerate(sizes)],
            },
            "status": {"qosClass": "Guaranteed"},
        }
    )


def _two_nodes() -> MemoryLedger:
    machine = Machine(cpus={}, memory={node: {"memory": 8 * GIB, "hugepages-1Gi": 2 * GIB} for node in (0, 1)})
    return memory.empty(machine, {0: {"memory": GIB}, 1: {"memory": GIB}})


def test_huge_pages_and_reservations_are_not_allocatable_memory() -> None:
    assert _two_nodes().cells[0].banks == {
        "memory": Bank(5 * GIB, 5 * GIB),
        "hugepages-1Gi": Bank(2 * GIB, 2 * GIB),
    }


def test_the_static_policy_needs_reserved_memory() -> None:
    with pytest.raises(UsageError, match="you should specify the system reserved memory"):
        memory.empty(Machine(cpus={}, memory={0: {"memory": GIB}}), {0: {}})


def test_nodes_of_one_group_serve_no_container_alone() -> None:
    both, alone = _pod("both", "8Gi"), _pod("alone", "1Gi")
    ledger, _ = memory.allocate(_two_nodes(), both, both.containers[0], NOWHERE, {})
    assert [cell.group for cell in ledger.cells.values()] == [3, 3]
    assert [cell.banks["memory"].free for cell in ledger.cells.values()] == [0, 2 * GIB]
    assert memory.hints(ledger, alone, alone.containers[0], {}) == {"memory": [Hint(3, preferred=False)]}


def test_what_an_init_container_leaves_is_charged_once_and_refunded_once() -> None:
    pod = _pod("pod", "2Gi", "1Gi", init=("3Gi",))
    ledger = _two_nodes()
    reusable: memory.Reusable = {}
    for container in pod.containers:
        ledger, reusable = memory.allocate(ledger, pod, container, Hint(1, preferred=True), reusable)
    assert ledger.cells[0].banks["memory"].charged == 3 * GIB
    assert memory.release(ledger, "pod") == _two_nodes()


def test_a_request_of_a_part_of_a_byte_is_refused() -> None:
    pod = _pod("pod", "1500m")
    assert memory.hints(_two_nodes(), pod, pod.containers[0], {}) is None
    with pytest.raises(Refused, match="failed to represent quantity as int64"):
        memory.allocate(_two_nodes(), pod, pod.containers[0], NOWHERE, {})
