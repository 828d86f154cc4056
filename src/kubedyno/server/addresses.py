"""The addresses and ports of services: which are taken, and the next free one."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Final

from kubedyno.kinds.strategies import services
from kubedyno.kinds.strategies.services import Unavailable
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import SERVICES, Resource
from kubedyno.store.store import Store

RANGE: Final = IPv4Network("10.96.0.0/16")
_PORTS = range(30_000, 32_768)


class Addresses:
    """Looks at the services that there are whenever one is written: they are few. Implements `services.Allocator`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allocate(self, resource: Resource, new: Object, old: Object | None) -> None:
        """Give a service what its type needs; other kinds are left alone."""
        if resource == SERVICES:
            services.allocate(new, old, self)

    def cluster_ip(self, wanted: str | None) -> str:
        """The wanted address, or a free one."""
        taken = {address for spec in self._specs() for address in spec.get("clusterIPs") or ()}
        if wanted is None:
            return next(text for text in map(str, RANGE.hosts()) if text not in taken)
        try:
            address = ip_address(wanted)
        except ValueError:
            raise Unavailable("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)") from None
        if not isinstance(address, IPv4Address) or address not in RANGE:
            raise Unavailable("the provided network does not match the current range")
        if wanted in taken:
            raise Unavailable("provided IP is already allocated")
        return wanted

    def node_port(self, wanted: int | None) -> int:
        """The wanted port, or a free one."""
        taken = {port.get("nodePort") for spec in self._specs() for port in spec.get("ports") or ()}
        if wanted is None:
            return next(port for port in _PORTS if port not in taken)
        if wanted not in _PORTS:
            said = f"{_PORTS.start}-{_PORTS.stop - 1}"
            raise Unavailable(f"provided port is not in the valid range. The range of valid ports is {said}")
        if wanted in taken:
            raise Unavailable("provided port is already allocated")
        return wanted

    def _specs(self) -> Iterator[Object]:
        for record in self._store.page(SERVICES.full_name).items:
            yield codec.decode(record.data)["spec"]
