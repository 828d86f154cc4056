"""The topology manager's merge: one hint for all resources of a container or pod, and whether it is admitted.

The kubelet walks the product of all providers' hints and keeps the better of two results at each step. Its choice is
a total order, so the best is looked for among the distinct results instead: a few hundred sets rather than millions
of combinations, with the same outcome.
"""

import enum
from collections.abc import Iterable, Sequence

import msgspec

from kubedyno.model.numa import bits
from kubedyno.model.numa.bits import Bits
from kubedyno.model.numa.hints import Hint, Hints


class Policy(enum.StrEnum):
    """`topologyManagerPolicy` of the kubelet's configuration."""

    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class Merger(msgspec.Struct, frozen=True):
    """How hints are merged on one machine. `distances[a][b]` is read only when the closest nodes are preferred."""

    policy: Policy
    nodes: Bits
    distances: Sequence[Sequence[int]] = ()
    prefer_closest: bool = False

    def merge(self, providers: Iterable[Hints | None]) -> tuple[Hint, bool]:
        """The best hint and whether the policy admits it."""
        if self.policy is Policy.NONE:
            return Hint(None, preferred=False), True
        offers = normalised(providers)
        if self.policy is Policy.SINGLE_NUMA_NODE:
            offers = [single(offer) for offer in offers]
        best = self._best(offers)
        if self.policy is Policy.SINGLE_NUMA_NODE and best.nodes == self.nodes:
            best = Hint(None, best.preferred)
        return best, best.preferred or self.policy is Policy.BEST_EFFORT

    def _best(self, offers: Sequence[Sequence[Hint]]) -> Hint:
        preferred = self._agreed(offers)
        if preferred:
            return Hint(min(preferred, key=self.fitness), preferred=True)
        reachable = {self.nodes} if all(offers) else set()
        for offer in offers:
            masks = {self.nodes if hint.nodes is None else hint.nodes for hint in offer}
            reachable = {so_far & mask for so_far in reachable for mask in masks}
        reachable.discard(0)
        if not reachable:
            return Hint(self.nodes, preferred=False)
        goal = widest_need(offers)
        return Hint(min(reachable, key=lambda nodes: self.rank(nodes, goal)), preferred=False)

    def _agreed(self, offers: Sequence[Sequence[Hint]]) -> set[Bits]:
        """The sets that every resource prefers: only when all name the same one is the result preferred."""
        wishes = [{hint.nodes for hint in offer if hint.preferred} for offer in offers]
        named = {nodes for wish in wishes for nodes in wish if nodes is not None}
        agreed = {nodes & self.nodes for nodes in named if all(nodes in wish or None in wish for wish in wishes)}
        if all(None in wish for wish in wishes):
            agreed.add(self.nodes)
        return agreed - {0}

    def fitness(self, nodes: Bits) -> tuple[int, int, int]:
        """Lower is fitter: fewer nodes, then closer ones if asked for, then lower numbers."""
        distance = 0
        if self.prefer_closest and self.policy is not Policy.SINGLE_NUMA_NODE:
            members = bits.members(nodes)
            distance = sum(self.distances[one][other] for one in members for other in members)
        return nodes.bit_count(), distance, nodes

    def rank(self, nodes: Bits, goal: int) -> tuple[int, int, tuple[int, int, int]]:
        """Lower is better among sets that are not preferred.

        Best are as many nodes as the neediest resource must have, then as near below as possible, then above.
        """
        size = nodes.bit_count()
        if size > goal:
            return 1, size, self.fitness(nodes)
        return 0, goal - size, self.fitness(nodes)


def normalised(providers: Iterable[Hints | None]) -> list[Sequence[Hint]]:
    """One list of hints for each resource: no opinion becomes `any`, an impossible request `any, not preferred`."""
    offers: list[Sequence[Hint]] = []
    for hints in providers:
        if not hints:
            offers.append((Hint(None, preferred=True),))
            continue
        for offer in hints.values():
            if offer is None:
                offers.append((Hint(None, preferred=True),))
            else:
                offers.append(offer or (Hint(None, preferred=False),))
    return offers


def single(offer: Sequence[Hint]) -> list[Hint]:
    """What single-numa-node looks at: preferred hints of one node, or of any."""
    return [hint for hint in offer if hint.preferred and (hint.nodes is None or hint.nodes.bit_count() == 1)]


def widest_need(offers: Iterable[Sequence[Hint]]) -> int:
    """The number of nodes that the neediest resource has at least to spread over."""
    return max(
        (min(sizes) for offer in offers if (sizes := [hint.nodes.bit_count() for hint in offer if hint.nodes])),
        default=0,
    )
