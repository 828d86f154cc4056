"""No node is given more than it has."""

from collections.abc import Iterator

from kubedyno.measure.invariants.facts import GPU
from kubedyno.measure.invariants.rule import Breach, Rule, amount, named, names_of
from kubedyno.measure.invariants.world import Pod, World

_TITLES = {GPU: "GPUs", "cpu": "CPUs", "memory": "bytes of memory"}


class OverCommit(Rule):
    """Judged when a pod is bound, by all that hold the node then: those that terminate do until they are gone."""

    name = "over-commit"
    meaning = "The pods of a node request no more of any resource than the node has."

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """Look at what the pod asks for; reservations of shared GPUs and claims of devices have rules of their own."""
        facts = pod.facts
        node = world.nodes[facts.node or ""]
        for resource, _ in facts.ask.requests:
            if (facts.reserves and resource == GPU) or resource in facts.claimed:
                continue
            used, most = node.used[resource], world.allocatable(pod, resource, at_ns)
            if most is None or used <= most:
                continue  # a node that is not there is another rule's business
            holders = [one for one in node.pods.values() if one.facts.ask.amount(resource)]
            yield Breach(
                facts.title,
                facts.node,
                f"node {facts.node}: {amount(used)} {_TITLES.get(resource, resource)} bound, "
                f"{amount(most)} allocatable: pods {named(names_of(holders))}",
                frozenset(one.facts.uid for one in holders),
            )
