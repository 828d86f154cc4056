"""Addresses of pods: unique while the pod is there, from its node's own range, given out again when it is gone."""

from ipaddress import IPv4Address, IPv4Network, ip_network

_SPARE_FROM = int(IPv4Address("198.18.0.0"))  # set aside for benchmarks of networks
_SPARE_COUNT = 1 << 17


class AddressRange:
    """The addresses of one range, lowest first; the first one is the gateway's."""

    __slots__ = ("_base", "_count", "_next", "_taken")

    def __init__(self, base: int, count: int) -> None:
        self._base = base
        self._count = count
        self._next = 0
        self._taken: set[int] | None = None

    @classmethod
    def of(cls, cidr: str) -> "AddressRange | None":
        """The range as a node's `podCIDR` writes it; None for what is no IPv4 range of some size."""
        try:
            network = ip_network(cidr, strict=False)
        except ValueError:
            return None
        if not isinstance(network, IPv4Network) or network.num_addresses < 4:  # noqa: PLR2004 - two are no pod's
            return None
        return cls(int(network.network_address) + 2, network.num_addresses - 3)

    def take(self) -> str | None:
        """An address that nobody has; None when all are taken."""
        taken = self._taken
        if taken is None:
            taken = self._taken = set()
        if len(taken) >= self._count:
            return None
        # After the last one given, as a network plugin does: an address is not reused at once.
        while self._next in taken:
            self._next = (self._next + 1) % self._count
        offset = self._next
        taken.add(offset)
        self._next = (offset + 1) % self._count
        return str(IPv4Address(self._base + offset))

    def note(self, address: str) -> None:
        """Somebody has this address already."""
        offset = self._offset(address)
        if offset is not None:
            if self._taken is None:
                self._taken = set()
            self._taken.add(offset)

    def give_back(self, address: str) -> None:
        """Its pod is gone."""
        offset = self._offset(address)
        if offset is not None and self._taken is not None:
            self._taken.discard(offset)

    def _offset(self, address: str) -> int | None:
        try:
            offset = int(IPv4Address(address)) - self._base
        except ValueError:
            return None
        return offset if 0 <= offset < self._count else None


def spare(part: int, parts: int) -> AddressRange:
    """For pods whose node has no range, or a full one; in parts, so that simulators that share nodes draw others."""
    count = _SPARE_COUNT // parts
    return AddressRange(_SPARE_FROM + part * count, count)
