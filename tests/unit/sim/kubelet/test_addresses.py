"""Addresses of pods."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from kubedyno.sim.kubelet.addresses import AddressRange, spare
from kubedyno.sim.kubelet.fleet import Fleet, NodeEntry, PodEntry
from kubedyno.sim.kubelet.sharding import shard_of

pytestmark = pytest.mark.unit


def of(cidr: str) -> AddressRange:
    found = AddressRange.of(cidr)
    assert found is not None
    return found


def test_a_range_gives_each_address_once_but_for_network_gateway_and_broadcast() -> None:
    addresses = of("10.1.2.0/28")
    assert [addresses.take() for _ in range(14)] == [f"10.1.2.{last}" for last in range(2, 15)] + [None]


def test_an_address_that_is_free_again_is_given_out_when_the_others_are_taken() -> None:
    addresses = of("10.1.2.0/29")
    first = [addresses.take() for _ in range(2)]
    addresses.give_back("10.1.2.2")
    assert first == ["10.1.2.2", "10.1.2.3"]
    assert [addresses.take() for _ in range(4)] == ["10.1.2.4", "10.1.2.5", "10.1.2.6", "10.1.2.2"]


def test_an_address_that_somebody_has_is_not_given_out() -> None:
    addresses = of("10.1.2.0/29")
    addresses.note("10.1.2.3")
    for foreign in ("10.9.9.9", "fd00::1", "", "10.1.2.0", "10.1.2.7"):
        addresses.note(foreign)
        addresses.give_back(foreign)
    assert [addresses.take() for _ in range(5)] == ["10.1.2.2", "10.1.2.4", "10.1.2.5", "10.1.2.6", None]


@pytest.mark.parametrize("cidr", ["", "no range", "10.0.0.0/31", "10.0.0.1/32", "fd00::/64", "10.0.0.0/99"])
def test_what_is_no_range_of_some_size_gives_none(cidr: str) -> None:
    assert AddressRange.of(cidr) is None


def test_parts_of_the_spare_range_have_no_address_in_common() -> None:
    benchmarks = ip_network("198.18.0.0/15")
    given = [address for part in range(3) for address in _all(spare(part, 3), 50)]
    assert len(set(given)) == len(given) == 150
    assert all(ip_address(address) in benchmarks for address in given)
    last = spare(2, 3)
    last._next = last._count - 1
    assert ip_address(last.take() or "") in benchmarks


def _all(addresses: AddressRange, count: int) -> list[str]:
    return [addresses.take() or "" for _ in range(count)]


class Yard:
    """A fleet with one node, and pods on it."""

    def __init__(self, cidr: str | None, fleet: Fleet | None = None, name: str = "n") -> None:
        self.fleet = fleet or Fleet()
        spec = {"podCIDR": cidr} if cidr else {}
        metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
        status = {"allocatable": {"pods": "110"}}
        self.node: NodeEntry = self.fleet.node_seen({"metadata": metadata, "spec": spec, "status": status}, 0)[0]
        self._count = 0

    def pod(self, **status: Any) -> PodEntry:
        self._count += 1
        name = f"{self.node.name}-{self._count}"
        metadata = {"namespace": "default", "name": name, "uid": f"uid-{name}", "resourceVersion": "5"}
        entry = self.fleet.pod_seen({"metadata": metadata, "spec": {"nodeName": self.node.name}, "status": status}, 0)
        assert entry is not None
        return entry

    def address(self, entry: PodEntry) -> str:
        return self.fleet.address_for(entry, self.node)


def test_pods_have_addresses_of_their_nodes_range_and_keep_them() -> None:
    yard = Yard("10.1.2.0/29")
    first, second = yard.pod(), yard.pod()
    assert [yard.address(pod) for pod in (first, second, first)] == ["10.1.2.2", "10.1.2.3", "10.1.2.2"]


def test_a_full_range_goes_on_in_the_spare_one_and_both_are_free_again_when_pods_go() -> None:
    yard = Yard("10.1.2.0/30")
    inside, outside = yard.pod(), yard.pod()
    assert (yard.address(inside), yard.address(outside)) == ("10.1.2.2", "198.18.0.0")
    yard.fleet.pod_gone(inside.key)
    yard.fleet.release(outside)
    assert outside.address == ""
    assert yard.address(yard.pod()) == "10.1.2.2"
    assert yard.address(yard.pod()) == "198.18.0.1"


def test_addresses_from_before_are_not_given_out_again() -> None:
    yard = Yard("10.1.2.0/29")
    for address in ("10.1.2.2", "198.18.0.0"):
        yard.fleet.note_address(yard.pod(), yard.node, address)
    assert [yard.address(yard.pod()) for _ in range(5)] == [
        "10.1.2.3",
        "10.1.2.4",
        "10.1.2.5",
        "10.1.2.6",
        "198.18.0.1",
    ]


def test_simulators_that_share_the_nodes_draw_different_spare_addresses() -> None:
    fleets = [Fleet(), Fleet()]
    for fleet in fleets:
        fleet.clear(shards=8)
    given = []
    for name in (f"n-{number}" for number in range(40)):
        yard = Yard(None, fleets[shard_of(name, 8) % 2], name)
        given += [yard.address(yard.pod()) for _ in range(3)]
    assert len(set(given)) == len(given) == 120
