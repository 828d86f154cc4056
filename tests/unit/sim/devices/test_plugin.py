from collections.abc import Iterable
from typing import Any

import pytest

from kubedyno.sim.devices import plugin
from kubedyno.sim.devices.inventory import Inventory, Mig, Sharing
from kubedyno.sim.devices.plugin import Resources

pytestmark = pytest.mark.unit

GPU = "nvidia.com/gpu"
CASES = [
    pytest.param(Inventory(model="H100", count=8), {GPU: 8}, {GPU: 6}, id="whole"),
    pytest.param(Inventory(model="T4", count=4, sharing=Sharing(replicas=4)), {GPU: 16}, {GPU: 8}, id="time-slicing"),
    pytest.param(
        Inventory(model="H100", count=4, mig=Mig(strategy="single", layout={"1g.10gb": 7})),
        {GPU: 28},
        {GPU: 14},
        id="single",
    ),
    pytest.param(
        Inventory(model="H100", count=4, mig=Mig(layout={"1g.10gb": 3, "3g.40gb": 1})),
        {"nvidia.com/mig-1g.10gb": 12, "nvidia.com/mig-3g.40gb": 4},
        {"nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-3g.40gb": 2},
        id="mixed",
    ),
    pytest.param(
        Inventory(model="H100", count=4, mig=Mig(layout={"1g.10gb": 7}, whole=1)),
        {GPU: 1, "nvidia.com/mig-1g.10gb": 21},
        {GPU: 0, "nvidia.com/mig-1g.10gb": 14},
        id="mixed with whole ones",
    ),
    pytest.param(
        Inventory(model="H100", count=4, mig=Mig(strategy="single", layout={"1g.10gb": 3, "3g.40gb": 1})),
        {},
        {},
        id="single with several kinds",
    ),
    pytest.param(Inventory(model="H100", count=8, show=("dra",)), {}, {}, id="dra alone"),
    pytest.param(Inventory(model="H100", count=0), {}, {}, id="none"),
]


def amounts(counts: dict[str, int]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(count)) for name, count in counts.items()))


@pytest.mark.parametrize(("inventory", "all_there", "two_lost"), CASES)
def test_lost_gpus_lower_allocatable_and_never_capacity(
    inventory: Inventory, all_there: dict[str, int], two_lost: dict[str, int]
) -> None:
    assert plugin.node_resources(inventory) == Resources(amounts(all_there), amounts(all_there))
    assert plugin.node_resources(inventory, [0, 2]) == Resources(amounts(all_there), amounts(two_lost))


def test_a_gpu_that_the_node_does_not_have_cannot_be_lost() -> None:
    inventory = Inventory(model="H100", count=8)
    assert plugin.node_resources(inventory, [8, 99]) == plugin.node_resources(inventory)


@pytest.mark.parametrize(
    ("lost", "left"),
    [((), "8"), ((0, 3), "6"), ((8, 99), "8"), (range(8), "0")],
)
def test_gpus_that_are_a_number_only_can_be_lost_as_well(lost: Iterable[int], left: str) -> None:
    now = Resources(((GPU, "8"), ("nvidia.com/mig-1g.10gb", "7")), ((GPU, "5"), ("nvidia.com/mig-1g.10gb", "6")))
    wanted = plugin.plain_resources(now, lost)
    assert wanted.capacity == now.capacity
    assert wanted.allocatable == ((GPU, left), ("nvidia.com/mig-1g.10gb", "6"))
    assert plugin.plain_resources(Resources(), lost) == Resources()


def test_only_the_resources_of_the_device_plugin_are_looked_at() -> None:
    status: dict[str, Any] = {
        "capacity": {"cpu": "8", GPU: "8", "nvidia.com/mig-1g.10gb": "7", "rdma/hca": "8", "nvidia.com/other": "1"},
        "allocatable": {"cpu": "8", GPU: "7"},
    }
    assert plugin.shown({"status": status}) == Resources(((GPU, "8"), ("nvidia.com/mig-1g.10gb", "7")), ((GPU, "7"),))
    assert plugin.shown({}) == Resources()


def test_a_patch_takes_away_what_is_no_longer_there() -> None:
    now = Resources(((GPU, "8"),), ((GPU, "8"),))
    wanted = Resources((("nvidia.com/mig-1g.10gb", "7"),), (("nvidia.com/mig-1g.10gb", "7"),))
    changed = {GPU: None, "nvidia.com/mig-1g.10gb": "7"}
    assert plugin.status_patch(now, wanted) == {"status": {"capacity": changed, "allocatable": changed}}
    assert plugin.status_patch(now, now) is None
