"""From one state of the cluster to the next: the world is changed, and rules are told what that means."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from kubedyno.client.watching import ChangeType
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.invariants.facts import (
    ClaimFacts,
    DecisionFacts,
    EvictionFacts,
    Facts,
    GroupFacts,
    NodeFacts,
    PodFacts,
    PriorityFacts,
    QueueFacts,
    TopologyFacts,
)
from kubedyno.measure.invariants.podways import PodWays
from kubedyno.measure.invariants.rule import Breach, Rule, overrides
from kubedyno.measure.invariants.world import World

_KEPT_STATES: Final = 8
"""Of a node."""
_SAME_EVICTION_NS: Final = 5 * NS_PER_S


class Unfolding:
    """Applies changes one by one; what rules find goes to `report`."""

    def __init__(self, world: World, rules: Sequence[Rule], report: Callable[[Rule, Breach, int], None]) -> None:
        self.world = world
        self._report = report
        self._rules = {
            method: [rule for rule in rules if overrides(rule, method)]
            for method in ("bound", "shared", "moved", "yielded", "claimed", "departed")
        }
        self.pods = PodWays(world, self._rules, self._tell)

    def apply(self, kind: ChangeType, facts: Facts, at_ns: int, *, listed: bool) -> None:
        """An object changed; `listed`: nobody saw how it came to be so."""
        match facts:
            case PodFacts():
                self.pods.change(kind, facts, at_ns, listed=listed)
            case NodeFacts():
                self._node(kind, facts, at_ns)
            case QueueFacts():
                self._queue(kind, facts, at_ns)
            case ClaimFacts():
                self._claim(kind, facts, at_ns)
            case DecisionFacts():
                self._decision(kind, facts, at_ns)
            case _ if kind != "DELETED":
                self._learn(facts, at_ns)

    def _tell(self, rule: Rule, breaches: Iterable[Breach], at_ns: int) -> None:
        for breach in breaches:
            self._report(rule, breach, at_ns)

    def _node(self, kind: ChangeType, facts: NodeFacts, at_ns: int) -> None:
        node = self.world.node(facts.name)
        after = None if kind == "DELETED" else facts
        if node.facts == after:
            return
        if node.facts is not None:
            node.before = [*node.before[-_KEPT_STATES:], (at_ns, node.facts)]
        node.facts = after

    def _queue(self, kind: ChangeType, facts: QueueFacts, at_ns: int) -> None:
        world = self.world
        before = world.queues.get(facts.name)
        if before == facts and kind != "DELETED":
            return
        if before is not None:
            for ledger in (world.held, world.reach, world.fixed):
                ledger.note(facts.name, at_ns)
            world.earlier_queues[facts.name] = at_ns, before
        if kind == "DELETED":
            world.queues.pop(facts.name, None)
        else:
            world.queues[facts.name] = facts

    def _claim(self, kind: ChangeType, facts: ClaimFacts, at_ns: int) -> None:
        world = self.world
        before = world.claims.pop(facts.uid, None)
        if kind != "DELETED":
            world.claims[facts.uid] = facts
        devices = () if kind == "DELETED" else facts.devices
        if devices != (before.devices if before is not None else ()):
            now = msgspec.structs.replace(facts, devices=devices)
            for rule in self._rules["claimed"]:
                self._tell(rule, rule.claimed(world, now, at_ns), at_ns)

    def _decision(self, kind: ChangeType, facts: DecisionFacts, at_ns: int) -> None:
        """A pod counts for what its queue is about to use from the decision on, until that has come to nothing."""
        world = self.world
        pod = world.pods.get(world.by_key.get(facts.pod, ""))
        if pod is None or pod.facts.node is not None:
            return
        if kind == "DELETED" or facts.failed:
            pod.decided_ns = None
            world.reach.release(pod.facts.uid, at_ns)
        else:
            pod.decided_ns = pod.decided_ns or at_ns
            charge = world.charge_of(pod.facts)
            if charge.path:
                world.reach.charge(pod.facts.uid, charge)

    def _learn(self, facts: Facts, at_ns: int) -> None:
        """What is still worth knowing when its object is gone."""
        world = self.world
        match facts:
            case GroupFacts():
                world.groups[facts.key] = facts
                world.group_uids[facts.uid] = facts.key
            case TopologyFacts():
                world.topologies[facts.name] = facts
            case PriorityFacts():
                world.priorities[facts.name] = facts.value
            case EvictionFacts():
                self._evicts(facts, at_ns)

    def _evicts(self, facts: EvictionFacts, at_ns: int) -> None:
        """What is told last counts; of many alike events some no longer say for whom."""
        at = facts.kind, facts.key
        told_ns, before = self.world.evictions.get(at, (0, None))
        says_less = before is not None and facts.evictor is None and facts.evictor_uid is None
        if not says_less or at_ns - told_ns >= _SAME_EVICTION_NS:
            self.world.evictions[at] = at_ns, facts
