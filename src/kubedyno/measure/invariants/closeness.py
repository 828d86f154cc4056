"""A gang that must be in one domain is in one domain."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from kubedyno.measure.invariants.facts import GroupFacts, GroupKey, PodFacts
from kubedyno.measure.invariants.rule import Breach, Rule, named
from kubedyno.measure.invariants.world import Pod, World

_Scope: TypeAlias = tuple[GroupKey, str]
"""A gang, and a part of it; empty: all of it."""
_Domain: TypeAlias = tuple[str | None, ...]


class TopologyBroken(Rule):
    """Domains of a gang, or of a part of it, counted as its pods come and go."""

    name = "required topology"
    meaning = "All pods of a gang, or of a sub-group, that requires a level of the topology are in one domain of it."

    def __init__(self) -> None:
        self._domains: dict[_Scope, Counter[_Domain]] = {}
        self._places: dict[str, list[tuple[_Scope, _Domain]]] = {}

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """A pod more in its domain."""
        del at_ns
        facts = pod.facts
        group = world.group_of(facts)
        if group is None or facts.group is None or not pod.counted:
            return
        for part, level in _required(group, facts):
            domain = world.domain(facts.node or "", group, level)
            counts = self._domains.setdefault((facts.group, part), Counter())
            counts[domain] += 1
            self._places.setdefault(facts.uid, []).append(((facts.group, part), domain))
            who = f"{group.title}, sub-group {part}" if part else group.title
            if domain[-1] is None:
                yield Breach(
                    who,
                    facts.node,
                    f"pod {facts.name} is on node {facts.node}, which has no label {level}",
                    frozenset({facts.uid}),
                )
            elif len(counts) > 1:
                told = named(f"{count} in {_written(one)}" for one, count in counts.items())
                yield Breach(
                    who,
                    facts.node,
                    f"pods are in {len(counts)} domains of {level}, where one is required: {told}",
                    frozenset({facts.uid}),
                )

    def yielded(self, world: World, pod: Pod, at_ns: int) -> None:
        """A pod less in its domain."""
        del world, at_ns
        for scope, domain in self._places.pop(pod.facts.uid, ()):
            counts = self._domains[scope]
            counts[domain] -= 1
            if not counts[domain]:
                del counts[domain]
            if not counts:
                del self._domains[scope]


def _required(group: GroupFacts, pod: PodFacts) -> Iterator[tuple[str, str]]:
    """Parts of the gang that the pod belongs to, and the level that each requires."""
    if group.required:
        yield "", group.required
    part = group.subgroups.get(pod.subgroup)
    if part is not None and part.required:
        yield pod.subgroup, part.required


def _written(domain: _Domain) -> str:
    return "/".join(one or "-" for one in domain)
