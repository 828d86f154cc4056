"""Ranges of pod addresses: one /24 for each node, never one that another node has.

They are cut from 10.0.0.0/8 and, in a cluster with more nodes than that has room for, from 240.0.0.0/8: the reserved
addresses that clouds, too, give the pods of clusters that have used up the private ones.
"""

from collections.abc import Container, Iterator
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object

_NETWORKS: Final = (IPv4Network("10.0.0.0/8"), IPv4Network("240.0.0.0/8"))
_SLOT_BITS: Final = 8
_SLOTS_EACH: Final = 1 << 16

COUNT: Final = len(_NETWORKS) * _SLOTS_EACH
"""How many nodes can have one."""

_FIRST_BYTES: Final = tuple(network.network_address.packed[0] for network in _NETWORKS)
_ADDRESSES_FROM: Final = int(IPv4Address("172.16.0.1"))


def cidr(slot: int) -> str:
    """The range with the number `slot`."""
    network, place = divmod(slot, _SLOTS_EACH)
    return f"{_FIRST_BYTES[network]}.{place >> 8}.{place & 255}.0/24"


def spec_of(slot: int) -> Object:
    """What the spec of the node that has the range says of it."""
    return {"podCIDR": cidr(slot), "podCIDRs": [cidr(slot)]}


def addresses(name: str, slot: int) -> list[Object]:
    """The addresses of the node of that name that has the range: its own ones, too."""
    number = _ADDRESSES_FROM + slot
    own = f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return [{"type": "InternalIP", "address": own}, {"type": "Hostname", "address": name}]


def of_node(node: Object) -> range:
    """The numbers of the ranges that the node's pods have; empty where it has none."""
    return slots((node.get("spec") or {}).get("podCIDR") or "")


def slots(text: str) -> range:
    """The numbers of the ranges that `text` touches; it may be wider, narrower or elsewhere."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return range(0)
    if not isinstance(network, IPv4Network):
        return range(0)
    touched = []
    for place, ours in enumerate(_NETWORKS):
        start, end = int(ours.network_address), int(ours.broadcast_address)
        first = (max(int(network.network_address), start) - start) >> _SLOT_BITS
        last = (min(int(network.broadcast_address), end) - start) >> _SLOT_BITS
        touched += [place * _SLOTS_EACH + slot for slot in (first, last) if network.overlaps(ours)]
    return range(touched[0], touched[-1] + 1) if touched else range(0)


def free(taken: Container[int], *, highest_first: bool = False) -> Iterator[int]:
    """The numbers of the ranges that are not `taken`, in turn; UsageError when there are no more."""
    numbers = range(COUNT)
    yield from (slot for slot in (reversed(numbers) if highest_first else numbers) if slot not in taken)
    raise UsageError(
        f"all {COUNT} ranges of pod addresses in {' and '.join(map(str, _NETWORKS))} are taken: "
        "ask for fewer nodes, or delete a pool"
    )
