"""What a rule is: told of what happens in the cluster, it yields what was broken."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

import msgspec

from kubedyno.measure.invariants.departures import Departure
from kubedyno.measure.invariants.facts import ClaimFacts
from kubedyno.measure.invariants.world import Pod, World

_NAMED = 10


class Breach(msgspec.Struct, frozen=True):
    """A rule was broken."""

    object: str
    """Who broke it or suffered."""
    node: str | None
    evidence: str
    pods: frozenset[str] = frozenset()
    """uids of pods without which it would not be so."""
    at_ns: int | None = None
    """None: now."""


class Rule:
    """A rule that holds in every cluster. Each overrides what it must know of; the rest costs nothing."""

    name: ClassVar[str]
    meaning: ClassVar[str]

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterable[Breach]:
        """A pod has a node now, and holds it."""
        del world, pod, at_ns
        return ()

    def shared(self, world: World, pod: Pod, at_ns: int) -> Iterable[Breach]:
        """It is told which GPUs a pod shares that has a node already."""
        del world, pod, at_ns
        return ()

    def moved(self, world: World, pod: Pod, before: str, at_ns: int) -> Iterable[Breach]:
        """A pod that had a node has another one, or none."""
        del world, pod, before, at_ns
        return ()

    def yielded(self, world: World, pod: Pod, at_ns: int) -> None:
        """A pod no longer counts for its gang and its queue: it ends, is on its way out, or gone."""
        del world, pod, at_ns

    def claimed(self, world: World, claim: ClaimFacts, at_ns: int) -> Iterable[Breach]:
        """A claim has other devices than before; none, when it is gone."""
        del world, claim, at_ns
        return ()

    def departed(self, world: World, departure: Departure) -> Iterable[Breach]:
        """A pod was taken away before it had ended, and all that will be told of why has been told."""
        del world, departure
        return ()

    def looked(self, world: World, now_ns: int) -> Iterable[Breach]:
        """Time has passed."""
        del world, now_ns
        return ()

    def ended(self, world: World, now_ns: int) -> Iterable[Breach]:
        """Nothing more will happen."""
        del world, now_ns
        return ()


def overrides(rule: Rule, method: str) -> bool:
    """Whether a rule wants to know of something."""
    return getattr(type(rule), method) is not getattr(Rule, method)


def named(names: Iterable[str]) -> str:
    """Names in order, not too many of them."""
    ordered = sorted(names)
    more = f" and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else ""
    return ", ".join(ordered[:_NAMED]) + more


def amount(thousandths: int) -> str:
    """A figure as people write it."""
    return f"{thousandths / 1000:g}"


def names_of(pods: Iterable[Pod]) -> Iterator[str]:
    """Of pods in words."""
    return (pod.facts.name for pod in pods)
