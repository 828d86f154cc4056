"""Ranges of pod addresses: one /24 of 10.0.0.0/8 for each node, never one that another node has."""

from collections.abc import Container, Iterator
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object

COUNT: Final = 65536
"""How many nodes can have one."""

_NETWORK: Final = IPv4Network("10.0.0.0/8")
_SLOT_BITS: Final = 8
_ADDRESSES_FROM: Final = int(IPv4Address("172.16.0.1"))


def cidr(slot: int) -> str:
    """The range with the number `slot`."""
    return f"10.{slot >> _SLOT_BITS}.{slot & 255}.0/24"


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
    if not isinstance(network, IPv4Network) or not network.overlaps(_NETWORK):
        return range(0)
    start = int(_NETWORK.network_address)
    first = max(int(network.network_address), start) - start
    last = min(int(network.broadcast_address), int(_NETWORK.broadcast_address)) - start
    return range(first >> _SLOT_BITS, (last >> _SLOT_BITS) + 1)


def free(taken: Container[int], *, highest_first: bool = False) -> Iterator[int]:
    """The numbers of the ranges that are not `taken`, in turn; UsageError when there are no more."""
    numbers = range(COUNT)
    yield from (slot for slot in (reversed(numbers) if highest_first else numbers) if slot not in taken)
    raise UsageError(
        f"all {COUNT} ranges of pod addresses in {_NETWORK} are taken: ask for fewer nodes, or delete a pool"
    )
