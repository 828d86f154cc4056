"""The sizes of the catalogue: KAI's own at 500 nodes, and ones that make sense at others."""

import pytest

from kubedyno.scenarios import sizes
from kubedyno.scenarios.kai import mixing
from kubedyno.scenarios.stability import fairness

pytestmark = pytest.mark.unit

CLUSTERS = (2, 3, 4, 5, 8, 10, 16, 20, 33, 50, 100, 333, 500, 512, 1000, 5000, 50_000)


def test_at_500_nodes_the_sizes_are_those_of_kai() -> None:
    assert sizes.all_gpus(500) == 4000
    assert sizes.share_of_gpus(500, 0.1) == 400
    assert sizes.one_too_many(500) == sizes.OneTooMany(workers=10, gpus=80, quota=3921)
    assert sizes.one_on_each_node(500) == sizes.Gangs(count=50, workers=10, gpus=5)
    assert sizes.after_moving(500) == sizes.Gangs(count=41, workers=10, gpus=6)
    burst = sizes.burst(500)
    assert (burst.sizes, burst.per_size) == ((1, 2, 4, 8, 16, 32, 64, 128, 256), 90)
    assert (burst.gangs, burst.pods) == (810, 45_990)
    assert 500 * (sizes.HALVES_PER_NODE + sizes.WHOLES_PER_NODE) == 7000


def test_at_50_nodes_they_are_a_tenth_where_they_grow_with_the_cluster() -> None:
    assert sizes.all_gpus(50) == 400
    assert sizes.share_of_gpus(50, 0.1) == 40
    assert sizes.one_too_many(50) == sizes.OneTooMany(workers=10, gpus=80, quota=321)
    assert sizes.one_on_each_node(50) == sizes.Gangs(count=5, workers=10, gpus=5)
    assert sizes.after_moving(50) == sizes.Gangs(count=4, workers=10, gpus=6)
    assert (sizes.burst(50).sizes, sizes.burst(50).pods) == ((1, 2, 4, 8, 16, 32), 9 * 63)


@pytest.mark.parametrize(
    ("nodes", "tree", "size"),
    [
        (512, (4, 8, 8), 512),
        (500, (4, 8, 8), 512),
        (1000, (5, 10, 10), 1000),
        (100, (2, 5, 5), 100),
        (50, (1, 5, 5), 50),
        (16, (2, 2, 2), 16),
        (10, (1, 2, 2), 8),
        (2, (1, 1, 1), 2),
    ],
)
def test_a_tree_has_the_proportions_of_kais_and_nearly_the_size(
    nodes: int, tree: tuple[int, int, int], size: int
) -> None:
    found = sizes.tree_near(nodes)
    assert ((found.zones, found.blocks, found.racks), found.nodes) == (tree, size)


@pytest.mark.parametrize("nodes", CLUSTERS)
def test_a_tree_that_needs_zones_has_them(nodes: int) -> None:
    tree = sizes.tree_near(nodes, fewest_zones=2)
    assert tree.zones >= 2
    assert tree.nodes <= max(4, nodes * 1.5)
    assert tree.nodes == tree.zones * tree.nodes_per_zone
    assert tree.nodes_per_zone == tree.blocks * tree.nodes_per_block


@pytest.mark.parametrize("nodes", CLUSTERS)
def test_what_must_fit_fits_and_what_must_not_does_not(nodes: int) -> None:
    gpus = sizes.all_gpus(nodes)
    refused = sizes.one_too_many(nodes)
    assert gpus - refused.quota == refused.gpus - 1
    spread = sizes.one_on_each_node(nodes)
    assert spread.pods <= nodes
    assert spread.gpus * 2 > sizes.GPUS_PER_NODE
    moved = sizes.after_moving(nodes)
    assert moved.count >= 1
    assert moved.gpus > sizes.FREED_PER_NODE
    # The gangs' nodes keep what is left of them, the others take as many jobs as they can: all jobs have a place.
    kept = sizes.GPUS_PER_NODE - sizes.FREED_PER_NODE
    room = moved.pods * (sizes.GPUS_PER_NODE - moved.gpus) + (nodes - moved.pods) * sizes.GPUS_PER_NODE
    assert room >= kept * nodes
    burst = sizes.burst(nodes)
    assert max(burst.sizes) <= nodes
    assert burst.per_size >= 1
    assert sizes.HALVES_PER_NODE * 0.5 + sizes.WHOLES_PER_NODE == sizes.GPUS_PER_NODE


def test_a_burst_can_be_told_how_many_gangs_of_each_size_it_has() -> None:
    assert sizes.burst(500, per_size=1).pods == 511


@pytest.mark.parametrize("nodes", CLUSTERS)
@pytest.mark.parametrize("teams", [mixing.teams, fairness.teams])
def test_teams_want_more_than_there_is_and_no_quota_is_more_than_its_parents(nodes: int, teams: object) -> None:
    planned = teams(nodes)  # type: ignore[operator] # one of the two above
    gpus = sizes.all_gpus(nodes)
    assert sum(team.wants for team in planned) > gpus
    for parent in {team.parent for team in planned}:
        above = next((team.quota for team in planned if team.name == parent), gpus)
        assert sum(team.quota for team in planned if team.parent == parent) <= above
