"""The watchdog: told of every change in any order in which streams bring it, it says which rules were broken."""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from kubedyno.client.watching import ChangeType
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.measure.invariants import reading
from kubedyno.measure.invariants.departures import Departure
from kubedyno.measure.invariants.facts import EvictionFacts, Facts, Key, PodFacts
from kubedyno.measure.invariants.rule import Breach, Rule, overrides
from kubedyno.measure.invariants.table import all_rules
from kubedyno.measure.invariants.unfolding import Unfolding
from kubedyno.measure.invariants.world import Patience, World
from kubedyno.measure.records import Violation

HOLD_S: Final = 3.0
"""Streams of one server may differ by so much: changes wait, and are then looked at in the order of their versions."""

MOST_PER_RULE: Final = 100
"""Violations that are kept of each rule; the rest is counted."""

_LOOK_EVERY_NS: Final = NS_PER_S


class _Found(msgspec.Struct, frozen=True):
    """A violation, and what it rests on."""

    violation: Violation
    version: int
    pods: frozenset[str]


class Watchdog:
    """Pure but for its memory: times come with what it is told. Rules are those of the table unless some are given."""

    def __init__(
        self, rules: Sequence[Rule] | None = None, *, patience: Patience | None = None, hold_s: float = HOLD_S
    ) -> None:
        self.rules = tuple(all_rules() if rules is None else rules)
        self.world = World(patience or Patience())
        self.late = 0
        """Changes that came after others that were written later had been looked at already."""
        self.counts: Counter[str] = Counter()
        """Violations by rule, all of them."""
        self._hold_ns = round(hold_s * NS_PER_S)
        self._held: list[tuple[int, int, ChangeType, Facts, int, bool]] = []
        self._told = 0
        self._version = 0
        self._looked_ns = 0
        self._found: list[_Found] = []
        self._unfolding = Unfolding(self.world, self.rules, self._report)
        self._timed = [rule for rule in self.rules if overrides(rule, "looked")]

    def change(
        self, resource: Resource, kind: ChangeType, obj: Object, arrival_ns: int, *, listed: bool = False
    ) -> None:
        """An object was added, changed or deleted; `listed`: a list showed it, nobody saw how it came to be so."""
        facts = reading.read(resource, obj)
        if facts is not None:
            self.tell(kind, facts, reading.version_of(obj), arrival_ns, listed=listed)

    def tell(self, kind: ChangeType, facts: Facts, version: int, arrival_ns: int, *, listed: bool = False) -> None:
        """The same of what was read already."""
        if isinstance(facts, EvictionFacts):
            # Events may be kept in a store of their own, whose versions compare to nothing. Old ones speak of others.
            if not listed:
                self._unfolding.apply(kind, facts, arrival_ns, listed=listed)
        else:
            self._told += 1
            heapq.heappush(self._held, (version, self._told, kind, facts, arrival_ns, listed))
        self._release(arrival_ns - self._hold_ns)
        if arrival_ns - self._looked_ns >= _LOOK_EVERY_NS:
            self.look(arrival_ns - self._hold_ns)

    def excuse(self, workloads: Iterable[str], now_ns: int) -> None:
        """Pods of these workloads are ours to take away from now on."""
        for workload in workloads:
            self._unfolding.pods.excused.setdefault(workload, now_ns)

    def excuse_pods(self, pods: Iterable[Key], now_ns: int) -> None:
        """The same of single pods, which belong to no workload."""
        for pod in pods:
            self._unfolding.pods.excused_pods.setdefault(pod, now_ns)

    def accepted(self, pods: Iterable[Key]) -> None:
        """The API has accepted these pods: they must be seen."""
        self.world.accepted.update(pods)

    def look(self, now_ns: int) -> None:
        """Time has passed: judge what needs it."""
        self._looked_ns = now_ns + self._hold_ns
        self._unfolding.pods.settle(now_ns)
        for rule in self._timed:
            for breach in rule.looked(self.world, now_ns):
                self._report(rule, breach, now_ns)

    def end(self, now_ns: int) -> None:
        """All that was written until now has been told: look at all of it. More may be told afterwards."""
        self._release(None)
        self.look(now_ns)
        self._unfolding.pods.settle_all(now_ns)
        for rule in self.rules:
            for breach in rule.ended(self.world, now_ns):
                self._report(rule, breach, now_ns)

    def violations(self) -> tuple[Violation, ...]:
        """What was broken so far, in the order in which it was found."""
        return tuple(found.violation for found in self._found)

    def evictions(self) -> list[Departure]:
        """Pods that schedulers are known to have taken away and that have not been judged yet."""
        return [one for one in self._unfolding.pods.going() if one.cause == "evicted"]

    def was_evicted(self, uid: str) -> bool:
        """Whether the scheduler took a pod away, of those that were judged."""
        return uid in self._unfolding.pods.evicted

    def _release(self, until_ns: int | None) -> None:
        held = self._held
        while held and (until_ns is None or held[0][4] <= until_ns):
            version, _, kind, facts, arrival_ns, listed = heapq.heappop(held)
            if version < self._version and not listed:
                self.late += 1
                if isinstance(facts, PodFacts) and (kind == "DELETED" or not facts.holds):
                    self._withdraw(facts.uid, version)
            self._version = max(self._version, version)
            self._unfolding.apply(kind, facts, arrival_ns, listed=listed)

    def _withdraw(self, uid: str, version: int) -> None:
        """A pod had gone before something was found that rests on it: so that is not so."""
        kept = []
        for found in self._found:
            if uid in found.pods and version < found.version:
                self.counts[found.violation.invariant] -= 1
            else:
                kept.append(found)
        self._found = kept

    def _report(self, rule: Rule, breach: Breach, at_ns: int) -> None:
        self.counts[rule.name] += 1
        if self.counts[rule.name] > MOST_PER_RULE:
            return
        violation = Violation(
            invariant=rule.name,
            object=breach.object,
            node=breach.node,
            at_ns=at_ns if breach.at_ns is None else breach.at_ns,
            evidence=breach.evidence,
        )
        self._found.append(_Found(violation, self._version, breach.pods))
