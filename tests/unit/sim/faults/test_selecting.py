"""Which nodes a fault meets."""

import random

import pytest

from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.faults.selecting import Domain, Selection, level_key, select

pytestmark = pytest.mark.unit

ZONE = "topology.kubernetes.io/zone"
RACK = "cloud.provider.com/topology-rack"


def node(name: str, pool: str, zone: int, rack: int, **labels: str) -> Object:
    placed = {marks.POOL: pool, ZONE: f"zone-{zone}", RACK: f"zone-{zone}-rack-{rack}", **labels}
    return {"metadata": {"name": name, "labels": placed}}


# Two zones of two racks of three nodes; the last node of each rack is of the small pool.
NODES = [
    node(f"n-{zone}{rack}{place}", "small" if place == 2 else "big", zone, rack, place=str(place))
    for zone in range(2)
    for rack in range(2)
    for place in range(3)
]


def names(selection: Selection, seed: int = 0) -> list[str]:
    domains = select(NODES, selection, random.Random(seed))  # noqa: S311 - simulation
    return [name for domain in domains for name in domain.nodes]


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(names=("n-000", "n-112")), ["n-000", "n-112"]),
        (Selection(pools=("small",)), ["n-002", "n-012", "n-102", "n-112"]),
        (Selection(labels="place in (0,1)", within=("rack=zone-1-rack-0",)), ["n-100", "n-101"]),
        (Selection(within=("zone=zone-1",), pools=("small",)), ["n-102", "n-112"]),
        (Selection(within=(f"{RACK}=zone-0-rack-1",)), ["n-010", "n-011", "n-012"]),
        (Selection(everything=True), [node["metadata"]["name"] for node in NODES]),
    ],
)
def test_nodes_are_chosen_by_name_pool_label_and_place(selection: Selection, expected: list[str]) -> None:
    assert names(selection) == expected


def test_a_pool_may_be_a_node_pool() -> None:
    made = {"metadata": {"name": "base-0", "labels": {marks.NODE_POOL: "base"}}}
    chosen = select([*NODES, made], Selection(pools=("base",)), random.Random(0))  # noqa: S311 - simulation
    assert chosen == (Domain("base-0", ("base-0",)),)


def test_a_domain_fails_as_a_whole() -> None:
    chosen = select(NODES, Selection(names=("n-001",), by="rack"), random.Random(0))  # noqa: S311 - simulation
    assert chosen == (Domain("zone-0-rack-0", ("n-000", "n-001", "n-002")),)
    zones = select(NODES, Selection(pools=("big",), by="zone"), random.Random(0))  # noqa: S311 - simulation
    assert [(domain.name, len(domain.nodes)) for domain in zones] == [("zone-0", 6), ("zone-1", 6)]
    by_key = select(NODES, Selection(everything=True, by=RACK), random.Random(0))  # noqa: S311 - simulation
    assert len(by_key) == 4


def test_one_rack_of_a_pool_is_drawn_and_the_seed_decides_which() -> None:
    rack = Selection(pools=("big",), by="rack", number=1)
    drawn = {tuple(names(rack, seed)) for seed in range(20)}
    assert len(drawn) == 4
    assert all(len(nodes) == 3 for nodes in drawn)
    assert names(rack, 7) == names(rack, 7)


@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.25, 3), (0.5, 6), (1.0, 12)])
def test_a_share_is_rounded_and_never_nothing(share: float, count: int) -> None:
    assert len(names(Selection(everything=True, share=share))) == count


@pytest.mark.parametrize(
    ("selection", "sentence"),
    [
        (Selection(), "say which nodes: names, --pool, -l, --in rack=..., or --all"),
        (Selection(names=("n-0000",)), "there is no node 'n-0000': did you mean 'n-000'?"),
        (
            Selection(pools=("huge",)),
            "no node matches --pool huge: `kubectl get nodes --show-labels` shows what there is",
        ),
        (Selection(labels="place=9", within=("zone=zone-0",)), "no node matches -l place=9 --in zone=zone-0"),
        (Selection(labels="place in"), "label selector"),
        (
            Selection(within=("rack",)),
            "--in rack: write a level of the topology and its value, like rack=zone-0-rack-3",
        ),
        (Selection(within=("rock=a",)), "no node has a label for level 'rock': did you mean 'rack'?"),
        (
            Selection(everything=True, by="hall"),
            "no node has a label for level 'hall': known are: rack, zone",
        ),
        (Selection(everything=True, number=0), "--number 0: at least one must fail"),
        (Selection(names=("n-000",), number=2), "--number 2: n-000 has only 1 node"),
        (Selection(pools=("small",), number=5), "--number 5: --pool small has only 4 nodes"),
        (Selection(pools=("small",), by="zone", number=3), "--number 3: --pool small has only 2 domains by zone"),
        (Selection(everything=True, share=1.5), "--share 1.5: write more than 0 and at most 1, like 0.1"),
        (Selection(everything=True, share=0.5, number=1), "--number and --share: give one of them"),
    ],
)
def test_what_means_nothing_is_told(selection: Selection, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        names(selection)
    assert sentence in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


def test_a_cluster_without_nodes_says_so() -> None:
    with pytest.raises(UsageError, match="there is no node 'a': there are none"):
        select([], Selection(names=("a",)), random.Random(0))  # noqa: S311 - simulation


def test_a_node_outside_of_all_domains_is_told() -> None:
    lonely: Object = {"metadata": {"name": "lonely"}}
    with pytest.raises(UsageError, match=f"--by rack: node 'lonely' has no label {RACK}; select nodes that have it"):
        select([*NODES, lonely], Selection(everything=True, by="rack"), random.Random(0))  # noqa: S311 - simulation


def test_a_level_of_two_labels_must_be_named_in_full() -> None:
    twice = node("n", "p", 0, 0, **{"example.com/hall": "h", "example.org/hall": "h"})
    with pytest.raises(UsageError, match=r"any of the labels example.com/hall, example.org/hall: write the whole key"):
        level_key([twice], "hall")


def test_the_label_of_our_pools_comes_before_others_of_that_name() -> None:
    assert level_key([node("n", "p", 0, 0, **{"example.com/rack": "r"})], "rack") == RACK
