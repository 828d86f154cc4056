"""What a pod asks for and what it holds, prepared for the table of nodes."""

import msgspec

from kubedyno.schedulers.reference.fitting import DEVICES, Needs
from kubedyno.schedulers.reference.jobs import Key
from kubedyno.schedulers.reference.nodes_table import NodesTable, Terms

Entry = tuple[int, int, int, str, int]
"""GPUs and CPU that are left, how much of a zone would be left (all negative when spreading); name and slot."""


class Kind:
    """Needs, prepared for the table's rows."""

    def __init__(self, needs: Needs, table: NodesTable) -> None:
        self.needs = needs
        self.terms = Terms.of(needs)
        asked = (*needs.requests, *((f"{DEVICES}{signature}", 1000 * count) for signature, count in needs.devices))
        self.pairs = tuple((table.row(name), amount) for name, amount in asked if amount)
        self.order: list[Entry] | None = None
        """A heap; every node that fits is in it as it is now, and perhaps as it was before."""
        self.seen = 0
        """How many changes of nodes the order knows."""


class Held(msgspec.Struct):
    """What one pod holds."""

    kind: Kind
    node: str
    slot: int | None
    """None: its node is not there."""
    group: str = ""
    part: int = 0
    """Thousandths of the shared GPU of its group."""
    going: bool = False
    freeing: tuple[tuple[int, int], ...] = ()
    """Beyond its room, what becomes free when it goes: the devices of its claims."""
    waiting: bool = False
    """Its room is reserved: others are still leaving."""
    key: Key | None = None
    """None: the API does not know yet that it has its node."""
    is_running: bool = False
    since: str = ""
    """The version of what was known of the node's zones when it got its node."""
    is_reported: bool = False
    """What is known of the node's zones has it counted."""
