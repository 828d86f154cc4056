"""What hint providers tell the topology manager: which sets of NUMA nodes could serve a request."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

from kubedyno.model.numa.bits import Bits


class Hint(msgspec.Struct, frozen=True):
    """A set of NUMA nodes that could serve a request; `nodes` None stands for any."""

    nodes: Bits | None
    preferred: bool


Hints: TypeAlias = Mapping[str, Sequence[Hint] | None]
"""Hints by resource. None: it does not matter where; an empty list: it cannot be served anywhere."""

NOWHERE = Hint(None, preferred=False)
"""What a container has to go by when no policy merged hints for it."""


def marked(candidates: Sequence[Bits], smallest: int) -> list[Hint]:
    """Hints for these sets; those of the smallest size that could ever serve the request are preferred."""
    return [Hint(nodes, nodes.bit_count() == smallest) for nodes in candidates]
