"""All rules, in the order in which they are told of."""

from typing import Final

from kubedyno.measure.invariants.bindings import BoundTwice, PodLost
from kubedyno.measure.invariants.closeness import TopologyBroken
from kubedyno.measure.invariants.devices import DeviceTwice
from kubedyno.measure.invariants.eligibility import NodeAbsent, NodeRefuses
from kubedyno.measure.invariants.gangs import PartialGang
from kubedyno.measure.invariants.overcommit import OverCommit
from kubedyno.measure.invariants.queues import FixedQuota, QueueLimit
from kubedyno.measure.invariants.rule import Rule
from kubedyno.measure.invariants.sharing import SharedGpu
from kubedyno.measure.invariants.victims import VictimWithRight

RULES: Final[tuple[type[Rule], ...]] = (
    OverCommit,
    SharedGpu,
    DeviceTwice,
    PartialGang,
    QueueLimit,
    FixedQuota,
    TopologyBroken,
    NodeRefuses,
    NodeAbsent,
    BoundTwice,
    PodLost,
    VictimWithRight,
)


def all_rules() -> tuple[Rule, ...]:
    """One of each, as new."""
    return tuple(rule() for rule in RULES)
