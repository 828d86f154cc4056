"""How few domains a gang could be in."""

from itertools import combinations
from random import Random

import pytest

from kubedyno.model.domains import fewest_domains, places_by_domain, spanned

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("places", "pods", "expected"),
    [
        ({"r0": 4, "r1": 4}, 4, 1),
        ({"r0": 3, "r1": 3}, 4, 2),
        ({"r0": 1, "r1": 1, "r2": 5}, 6, 2),
        ({"r0": 1, "r1": 1}, 3, None),
        ({"r0": 1}, 0, 0),
        ({}, 1, None),
        ({"r0": -3, "r1": 2}, 2, 1),
    ],
)
def test_the_fewest_domains(places: dict[str, int], pods: int, expected: int | None) -> None:
    assert fewest_domains(places, pods) == expected


def test_no_fewer_domains_can_hold_a_gang() -> None:
    rng = Random(4)  # noqa: S311 - simulation
    for _ in range(300):
        places = {f"r{i}": rng.randint(0, 5) for i in range(rng.randint(1, 6))}
        pods = rng.randint(1, 12)
        enough = [
            count
            for count in range(1, len(places) + 1)
            if any(sum(chosen) >= pods for chosen in combinations(places.values(), count))
        ]
        assert fewest_domains(places, pods) == (min(enough) if enough else None)


def test_places_are_counted_node_by_node() -> None:
    racks = {"n0": "r0", "n1": "r0", "n2": "r1"}
    assert places_by_domain({"n0": 8, "n1": 3, "n2": 7, "n3": 8}, racks, 4) == {"r0": 2, "r1": 1}


def test_spanned_domains_are_counted_by_pods() -> None:
    assert spanned(["n0", "n1", "n0", "nowhere"], {"n0": "r0", "n1": "r1"}) == {"r0": 2, "r1": 1}
