"""A pod keeps its node, and is not lost."""

from collections.abc import Iterator

from kubedyno.measure.invariants.departures import Departure
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import Pod, World


class BoundTwice(Rule):
    """A binding is for good: a pod that is moved is a new pod."""

    name = "bound twice"
    meaning = "A pod that has a node keeps it until it is gone."

    def moved(self, world: World, pod: Pod, before: str, at_ns: int) -> Iterator[Breach]:
        """It is elsewhere now."""
        del world, at_ns
        after = f"now on node {pod.facts.node}" if pod.facts.node is not None else "now on none"
        yield Breach(pod.facts.title, pod.facts.node or before, f"the pod was bound to node {before} and is {after}")


class PodLost(Rule):
    """Pods that nothing makes anew must not vanish unless somebody is known to have taken them."""

    name = "pod lost"
    meaning = "A pod that was accepted is there until it ends, or until somebody who says so takes it away."

    def departed(self, world: World, departure: Departure) -> Iterator[Breach]:
        """Nobody has said anything."""
        del world
        if departure.cause == "unknown" and departure.is_gone:
            pod = departure.pod
            where = f"on node {pod.node}" if pod.node is not None else "that waited for a node"
            yield Breach(
                pod.title,
                pod.node,
                f"the pod {where} ({pod.phase}) vanished: no owner, no eviction, no failure of its node explains it",
                at_ns=departure.at_ns,
            )

    def ended(self, world: World, now_ns: int) -> Iterator[Breach]:
        """What was accepted was never seen."""
        del now_ns
        for namespace, name in sorted(world.accepted - world.seen):
            yield Breach(f"Pod {namespace}/{name}", None, "the API accepted the pod, and no watch has ever shown it")
