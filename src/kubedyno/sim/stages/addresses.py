"""Addresses of pods, as KWOK gives them: from the node's ranges, those of pods that are gone first.

Unlike KWOK's, an address stays with its pod for its life, and none is outside the range.
"""

from collections import deque
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface

from kubedyno.kube.codec import Object

_IPV4 = 4


class OutOfAddresses(ValueError):
    """All addresses of a range are taken."""


class AddressPool:
    """The addresses of one range, from the one after its written start on (`10.0.0.1/24` begins with 10.0.0.2)."""

    def __init__(self, cidr: str) -> None:
        interface = ip_interface(cidr)
        network = interface.network
        self._cidr = cidr
        self._network = network
        self._next = interface.ip + 1
        # The last address of an IPv4 range is for broadcasts.
        self._last = network[-1] - (1 if network.version == _IPV4 else 0)
        self._taken: set[str] = set()
        self._free: deque[str] = deque()

    def take(self) -> str:
        """An address that nobody has."""
        while self._free:
            address = self._free.popleft()
            if address not in self._taken:
                self._taken.add(address)
                return address
        while int(self._next) <= int(self._last):
            address = str(self._next)
            self._next += 1
            if address not in self._taken:
                self._taken.add(address)
                return address
        raise OutOfAddresses(f"all addresses of {self._cidr} are taken: give the node a larger podCIDR, or fewer pods")

    def note(self, address: str) -> bool:
        """Somebody has this address already; False when it is none of this range."""
        try:
            inside = ip_address(address) in self._network
        except ValueError:
            return False
        if inside:
            self._taken.add(address)
        return inside

    def give_back(self, address: str) -> None:
        """Its pod is gone."""
        if address in self._taken:
            self._taken.discard(address)
            self._free.append(address)


class PodAddresses:
    """Who has which address: a pod is known by its uid."""

    def __init__(self) -> None:
        self._pools: dict[str, AddressPool | None] = {}
        self._held: dict[str, list[tuple[AddressPool, str]]] = {}

    def take(self, owner: str, cidrs: Sequence[str]) -> list[str]:
        """One address of each range; for the same owner always the same. Ranges that cannot be read give none."""
        held = self._held.get(owner)
        if held is None:
            held = []
            try:
                for pool in self._pools_of(cidrs):
                    held.append((pool, pool.take()))
            except OutOfAddresses:
                _give_back(held)
                raise
            self._held[owner] = held
        return [address for _, address in held]

    def note(self, owner: str, cidrs: Sequence[str], addresses: Sequence[str]) -> None:
        """A pod that was there before has these addresses."""
        if owner in self._held:
            return
        pools = self._pools_of(cidrs)
        held = [(pool, address) for address in addresses for pool in pools if pool.note(address)]
        if held:
            self._held[owner] = held

    def release(self, owner: str) -> None:
        """The pod is gone."""
        _give_back(self._held.pop(owner, ()))

    def _pools_of(self, cidrs: Sequence[str]) -> list[AddressPool]:
        for cidr in cidrs:
            if cidr not in self._pools:
                try:
                    self._pools[cidr] = AddressPool(cidr)
                except ValueError:
                    self._pools[cidr] = None
        return [pool for cidr in cidrs if (pool := self._pools[cidr]) is not None]


def _give_back(held: Sequence[tuple[AddressPool, str]]) -> None:
    for pool, address in held:
        pool.give_back(address)


def ranges_of(node: Object | None, otherwise: str) -> list[str]:
    """The ranges of the node's pods: `podCIDRs`, else `podCIDR`, else the one for all."""
    spec = (node or {}).get("spec") or {}
    return list(spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [otherwise]))


def host_addresses(node: Object | None, otherwise: str) -> list[str]:
    """The node's address, internal ones first, and one of the other family if it has one; else the one for all."""
    listed = ((node or {}).get("status") or {}).get("addresses") or []
    found = [
        address
        for wanted in ("InternalIP", "ExternalIP")
        for entry in listed
        if entry.get("type") == wanted and (address := _parsed(entry.get("address"))) is not None
    ]
    if not found:
        return [otherwise] if otherwise else []
    other = next((address for address in found if address.version != found[0].version), None)
    return [str(found[0]), *([str(other)] if other is not None else [])]


def _parsed(text: object) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(str(text))
    except ValueError:
        return None
