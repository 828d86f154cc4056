"""Smaller tables of Kubernetes 1.36.3's own tests of its managers, written out."""

from typing import Any

import pytest

from kubedyno.model.numa import bits
from kubedyno.model.numa.devices import Plugin
from kubedyno.model.numa.hints import Hint
from kubedyno.model.numa.memory import Bank, Cell, MemoryLedger, splits_groups
from kubedyno.model.numa.merging import Merger, Policy
from kubedyno.model.numa.pods import Pod, exclusive_cpus

pytestmark = pytest.mark.unit

FLAT = [[10] * 4] * 4
TWO_PAIRS = [[10, 11, 12, 12], [11, 10, 12, 12], [12, 12, 10, 11], [12, 12, 11, 10]]


@pytest.mark.parametrize(
    ("distances", "fitter", "other"),
    [
        pytest.param(FLAT, [0], [0, 2], id="fewer nodes"),
        pytest.param(FLAT, [0, 1], [0, 2], id="lower numbers"),
        pytest.param(FLAT, [0, 2], [0, 3], id="lower numbers, too"),
        pytest.param(TWO_PAIRS, [0, 1], [0, 3], id="closer"),
        pytest.param(TWO_PAIRS, [2, 3], [0, 3], id="closer, though of higher numbers"),
    ],
)
def test_the_closest_nodes_are_the_fittest(distances: list[list[int]], fitter: list[int], other: list[int]) -> None:
    merger = Merger(Policy.RESTRICTED, bits.of(range(4)), distances, prefer_closest=True)
    assert merger.fitness(bits.of(fitter)) < merger.fitness(bits.of(other))


@pytest.mark.parametrize(
    ("nodes", "mean"),
    [([0], 10), ([0, 1], 10.5), ([0, 2], 11), ([0, 2, 3], 100 / 9), ([], 0)],
)
def test_the_distance_of_nodes_is_that_of_all_pairs(nodes: list[int], mean: float) -> None:
    merger = Merger(Policy.RESTRICTED, bits.of(range(4)), TWO_PAIRS, prefer_closest=True)
    # Sets of one size are compared, so the sum serves as well as the mean.
    assert merger.fitness(bits.of(nodes))[1] == pytest.approx(mean * len(nodes) ** 2)


def _cpus(*written: str) -> list[dict[str, Any]]:
    return [
        {
            "name": f"c{number}-{text}",
            "resources": {"requests": {"cpu": text.rstrip("s")}, "limits": {"cpu": text.rstrip("s")}},
            "restartPolicy": "Always" if text.endswith("s") else None,
        }
        for number, text in enumerate(written)
    ]


@pytest.mark.parametrize(
    ("inits", "apps", "count"),
    [
        (["0"], ["0"], 0),
        (["2"], ["2"], 2),
        (["5"], ["5"], 5),
        (["2"], ["5"], 5),
        (["5"], ["2"], 5),
        (["2", "4"], ["2", "4"], 6),
        (["1s"], ["1"], 2),
        (["5", "1s", "2s", "3s"], ["1"], 7),
        (["5", "1s", "2s", "5", "3s"], ["1"], 8),
        (["10s", "200"], ["100"], 210),
    ],
)
def test_a_pod_needs_the_exclusive_cpus_of_its_busiest_moment(inits: list[str], apps: list[str], count: int) -> None:
    spec = {"initContainers": _cpus(*inits), "containers": _cpus(*apps)}
    pod = Pod.read({"metadata": {"uid": "u"}, "spec": spec, "status": {"qosClass": "Guaranteed"}})
    assert pod.longest_need(lambda container: {"cpu": exclusive_cpus(pod, container)})["cpu"] == count


@pytest.mark.parametrize(
    ("cells", "nodes", "violates"),
    [
        ({0: (1, [0, 1]), 1: (1, [0, 1]), 2: (1, [2]), 3: (0, [3])}, [1, 2], True),
        ({0: (0, [0, 1]), 1: (1, [1])}, [0, 1], True),
        ({0: (0, [0]), 1: (0, [1])}, [0, 1], False),
    ],
    ids=["another group", "used alone", "unused"],
)
def test_memory_of_several_nodes_comes_from_one_group(
    cells: dict[int, tuple[int, list[int]]], nodes: list[int], *, violates: bool
) -> None:
    ledger = MemoryLedger(
        {node: Cell({"memory": Bank(1, 1)}, bits.of(group), blocks) for node, (blocks, group) in cells.items()}
    )
    assert splits_groups(ledger, bits.of(nodes)) is violates


@pytest.mark.parametrize(
    ("nodes", "devices", "free", "count", "expected"),
    [
        ([0, 1], {"a": 0}, ("a", ""), 1, [([0], True)]),
        (range(34), {"a": 0, "b": 1}, ("ab", ""), 1, [([0], True), ([1], True), ([0, 1], False)]),
        ([0, 1], {"a": 0, "b": 1}, ("ab", ""), 1, [([0], True), ([1], True), ([0, 1], False)]),
        (range(4), {"a": 0}, ("", "a"), 1, [([0], True)]),
        (range(4), {"a": 0, "b": 1}, ("b", "a"), 2, [([0, 1], True)]),
        ([0, 3, 5, 7], {"a": 3, "b": 5}, ("ab", ""), 2, [([3, 5], True)]),
        ([0, 4], {"a": 4, "b": None}, ("ab", ""), 1, [([4], True)]),
        ([0, 1], {"a": 0, "b": 99}, ("ab", ""), 1, [([0], True)]),
    ],
)
def test_only_nodes_with_devices_are_hinted_at(
    nodes: Any, devices: dict[str, int | None], free: tuple[str, str], count: int, expected: list[Any]
) -> None:
    available, reusable = free
    plugin = Plugin({device: 0 if node is None else 1 << node for device, node in devices.items()})
    hints = plugin.hints(bits.of(nodes), set(available), set(reusable), count)
    assert hints == [Hint(bits.of(members), preferred) for members, preferred in expected]


@pytest.mark.parametrize("policy", [Policy.BEST_EFFORT, Policy.RESTRICTED])
@pytest.mark.parametrize(("nodes", "place"), [([0, 1], 0), ([0, 1], 1), ([3, 7], 7)])
def test_hints_of_devices_merge_with_those_of_cpus_and_memory(policy: Policy, nodes: list[int], place: int) -> None:
    machine = bits.of(nodes)
    others = [Hint(1 << place, preferred=True), Hint(machine, preferred=False)]
    gpu = Plugin({"gpu0": 1 << place}).hints(machine, {"gpu0"}, set(), 1)
    merged = Merger(policy, machine).merge([{"gpu": gpu}, {"cpu": others}, {"memory": others}])
    assert merged == (Hint(1 << place, preferred=True), True)
