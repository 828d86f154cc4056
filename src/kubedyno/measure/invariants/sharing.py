"""A GPU that is shared is shared out once."""

from collections.abc import Iterator

from kubedyno.measure.invariants.facts import GPU
from kubedyno.measure.invariants.rule import Breach, Rule, amount, named, names_of
from kubedyno.measure.invariants.world import Pod, World

_WHOLE = 1.0 + 1e-6


class SharedGpu(Rule):
    """The fractions of a group, and the reservations of a node."""

    name = "shared GPU over-committed"
    meaning = "Fractions of one GPU add up to one at most, and no node has more GPUs shared or held than it has."

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """Look at the GPUs of its node, where any are shared."""
        if world.shares_gpus and (pod.facts.gpu_groups or pod.facts.ask.amount(GPU)):
            yield from self._held(world, pod, at_ns)
            yield from self._parts(world, pod)

    def shared(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """The same when it is told later which GPUs it shares."""
        return self.bound(world, pod, at_ns)

    @staticmethod
    def _held(world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """A GPU that is shared is held by a reservation, or else by its group."""
        node = world.nodes[pod.facts.node or ""]
        groups: dict[bool, set[str]] = {True: set(), False: set()}
        for one in node.pods.values():
            groups[one.facts.reserves].update(one.facts.gpu_groups)
        shared = 1000 * len(groups[False] - groups[True])
        used, most = node.used[GPU], world.allocatable(pod, GPU, at_ns)
        is_shared = shared or any(one.facts.reserves for one in node.pods.values())
        if most is None or used + shared <= most or not is_shared:
            return
        holders = [one for one in node.pods.values() if one.facts.ask.amount(GPU) or one.facts.gpu_groups]
        yield Breach(
            pod.facts.title,
            pod.facts.node,
            f"node {pod.facts.node}: {amount(used)} GPUs reserved or bound and {amount(shared)} more shared, "
            f"{amount(most)} allocatable: pods {named(names_of(holders))}",
            frozenset(one.facts.uid for one in holders),
        )

    @staticmethod
    def _parts(world: World, pod: Pod) -> Iterator[Breach]:
        node = world.nodes[pod.facts.node or ""]
        for group in pod.facts.gpu_groups if not pod.facts.reserves else ():
            sharers = [one for one in node.pods.values() if group in one.facts.gpu_groups and not one.facts.reserves]
            total = sum(world.portion(one.facts) for one in sharers)
            if total > _WHOLE:
                parts = named(f"{one.facts.name} ({world.portion(one.facts):g})" for one in sharers)
                yield Breach(
                    pod.facts.title,
                    pod.facts.node,
                    f"node {pod.facts.node}: {total:g} of one GPU given out, group {group}: pods {parts}",
                    frozenset(one.facts.uid for one in sharers),
                )
