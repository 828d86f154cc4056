"""What is true of zones and pods, by hand."""

from typing import Any

import pytest

from kubedyno.kube.codec import Object
from kubedyno.model.numa.zones import Amount
from kubedyno.scenarios.numa import truth

pytestmark = pytest.mark.unit

GIB = 1 << 30


def zone(cpu: int, memory: int = 4 * GIB, *, allocatable: int = 16) -> dict[str, Amount]:
    return {"cpu": Amount(16, allocatable, cpu), "memory": Amount(8 * GIB, 8 * GIB, memory)}


def report(*zones: dict[str, str], names: tuple[str, ...] = ("node-0", "node-1"), type_: str = "Node") -> Object:
    return {
        "zones": [
            {
                "name": name,
                "type": type_,
                "resources": [{"name": resource, "available": amount} for resource, amount in told.items()],
            }
            for name, told in zip(names, zones, strict=False)
        ]
    }


def pod(phase: str, *, node: str = "", reason: str = "", message: str = "", **spec: Any) -> Object:
    conditions = [{"type": "PodScheduled", "status": "False", "message": message}] if message else []
    return {
        "metadata": {"name": f"{phase}-{reason or message}"[:20].lower()},
        "spec": {"containers": [], **({"nodeName": node} if node else {}), **spec},
        "status": {"phase": phase, **({"reason": reason} if reason else {}), "conditions": conditions},
    }


def container(cpu: str, **more: Any) -> Object:
    return {"name": "main", "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}, **more}


def test_pods_are_counted_by_where_they_have_come_to() -> None:
    found = truth.ends(
        [
            pod("Running", node="n"),
            pod("Failed", node="n", reason="TopologyAffinityError"),
            pod("Failed", node="n", reason="OutOfcpu"),
            pod("Pending", message="0/2 nodes are available: 2 cannot align container. preemption: 0/2"),
            pod("Pending", message="0/2 nodes are available: 1 Insufficient cpu, 1 invalid node topology data."),
        ]
    )
    assert (len(found.running), found.unaligned, found.pending) == (1, 1, 2)
    assert found.waits_for(truth.CANNOT_ALIGN) == found.waits_for(truth.INVALID) == 1
    assert found.told == (
        "1 running, 1 waiting (cannot align container), 1 waiting (invalid node topology data, Insufficient cpu), "
        "1 refused (OutOfcpu), 1 refused (TopologyAffinityError)"
    )
    assert truth.ends([]).told == "no pods"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (pod("Pending"), "pod pending- waits, and it was not said why"),
        (pod("Pending", node="n"), "pod pending- is Pending"),
        (pod("Failed", node="n", reason="Evicted"), "pod failed-evicted is Failed (Evicted)"),
        (pod("Succeeded", node="n"), "pod succeeded- is Succeeded"),
    ],
)
def test_a_pod_that_does_not_say_where_it_stands_is_named(made: Object, told: str) -> None:
    assert truth.unsound([made]) == [told]


def test_a_report_is_held_against_the_ledger_zone_by_zone() -> None:
    zones = {0: zone(4), 1: zone(16)}
    true = {"cpu": "4", "memory": "4Gi"}, {"cpu": "16", "memory": "4Gi"}
    assert truth.drifts("n", zones, report(*true)) == []
    assert truth.drifts("n", zones, report(*reversed(true))) == [
        "n: zone node-0: cpu: 16 are reported, 4 are available (+12)",
        "n: zone node-1: cpu: 4 are reported, 16 are available (-12)",
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, ["n: there is no report"]),
        (report(), ["n: zone node-0 is not reported"]),
        (report({"cpu": "4", "memory": "4Gi"}, type_="Socket"), ["n: zone node-0 is not reported"]),
        (report({"cpu": "4"}), ["n: zone node-0: memory is not reported, 4294967296 are available"]),
        (
            report({"cpu": "4", "memory": "4Gi"}, {}),
            ["n: there is no zone node-1"],
        ),
        (
            report({"cpu": "four", "memory": "4Gi"}),
            ["n: zone node-0: cpu: -1 are reported, 4 are available (-5)"],
        ),
    ],
)
def test_what_is_missing_or_too_much_in_a_report_is_named(said: Object | None, told: list[str]) -> None:
    assert truth.drifts("n", {0: zone(4)}, said) == told


def test_a_node_without_zones_needs_no_report() -> None:
    assert truth.drifts("n", {}, None) == []


def test_amounts_below_nothing_and_above_all_are_named() -> None:
    assert truth.negatives("n", {0: zone(0), 1: zone(14, allocatable=14)}) == []
    assert truth.negatives("n", {0: zone(-1), 1: zone(15, allocatable=14)}) == [
        "n: zone 0: -1 of 16 cpu are available",
        "n: zone 1: 15 of 14 cpu are available",
    ]


@pytest.mark.parametrize(
    ("containers", "fits"),
    [
        ([{"cpu": 16}], True),
        ([{"cpu": 17}], False),
        ([{"cpu": 4}, {"cpu": 16}], True),
        ([{"cpu": 12}, {"cpu": 4}, {"cpu": 4}], True),
        ([{"cpu": 10}, {"cpu": 10}], False),
        ([{"cpu": 4, "memory": 5 * GIB}], False),
        ([{"nvidia.com/gpu": 1}], False),
        ([], True),
    ],
)
def test_the_oracle_tries_all_ways(containers: list[dict[str, int]], fits: bool) -> None:
    assert truth.has_room({0: zone(4), 1: zone(16)}, *containers) is fits


def test_a_pod_that_was_refused_beside_a_zone_with_room_is_named() -> None:
    side = container("10", restartPolicy="Always")
    first = container("12")
    refused = [
        pod("Failed", node="a", reason="TopologyAffinityError", containers=[container("10")]),
        pod("Failed", node="b", reason="TopologyAffinityError", containers=[container("10")]),
        pod("Failed", node="a", reason="OutOfcpu", containers=[container("1")]),
        pod("Failed", node="c", reason="TopologyAffinityError", containers=[container("1")]),
    ]
    zones = {"a": {0: zone(4), 1: zone(16)}, "b": {0: zone(4), 1: zone(6)}}
    assert truth.misrefused(refused, zones) == ["pod failed-topologyaffin was refused by a, which has room for it"]
    both = pod("Failed", node="a", reason="TopologyAffinityError", initContainers=[side, first], containers=[side])
    assert truth.needs_of(both) == [{"cpu": 10, "memory": GIB}] * 2
    assert truth.misrefused([both], zones) == []


def test_a_part_of_a_cpu_needs_no_zone() -> None:
    assert truth.needs_of(pod("Running", containers=[container("7500m")])) == [{"memory": GIB}]
