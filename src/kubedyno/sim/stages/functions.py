"""What templates of stages may call: KWOK's functions by kind, given by whoever plays the nodes."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from kubedyno.kube.gotemplate import kwok
from kubedyno.kube.gotemplate.functions import Function
from kubedyno.sim.stages.stage import NODE, POD, Kind

KWOK_VERSION: Final = "v0.8.0"
"""The version whose stages are interpreted: nodes say it where they say nothing else."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What KWOK is told of itself on its command line; an empty text or 0 is left out of what nodes say."""

    node_ip: str = "127.0.0.1"
    node_name: str = ""
    node_port: int = 0
    cidr: str = "10.0.0.0/24"
    """Addresses of pods whose node has no range of its own."""


class Addresses(msgspec.Struct, frozen=True):
    """Where addresses come from: of the pod that is being rendered, of a node, and of a pod on a node."""

    of_rendered_pod: Callable[[], str]
    of_node: Callable[[str], Sequence[str]]
    of_pod: kwok.PodAddresses


def functions_of(
    kind: Kind, *, now: Callable[[], str], start_time: str, surroundings: Surroundings, addresses: Addresses
) -> dict[str, Function]:
    """The functions for templates of a kind; `now` and `start_time` as RFC 3339."""
    common = kwok.common_functions(now=now, start_time=start_time, version=KWOK_VERSION)
    if kind == NODE:
        return common | kwok.node_functions(
            ip=surroundings.node_ip, name=surroundings.node_name, port=surroundings.node_port
        )
    if kind == POD:
        return common | kwok.pod_functions(
            node_ip=surroundings.node_ip,
            pod_ip=addresses.of_rendered_pod,
            node_ips=addresses.of_node,
            pod_ips=addresses.of_pod,
        )
    return common


def known_functions(kind: Kind) -> dict[str, Function]:
    """The same functions to read templates with, before anything is played."""
    nowhere = Addresses(lambda: "", lambda _node: (), lambda *_pod: ())
    return functions_of(kind, now=lambda: "", start_time="", surroundings=Surroundings(), addresses=nowhere)
