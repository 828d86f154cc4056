"""Pods go where they may be: there is such a node, it takes pods, and it is one that they ask for."""

from collections.abc import Iterator

from kubedyno.kube.placement import is_tolerated
from kubedyno.measure.invariants.facts import Ask, NodeFacts
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import Pod, World

_CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_HARD = frozenset({"NoSchedule", "NoExecute"})


class NodeRefuses(Rule):
    """A node counts as what it was within the time that a scheduler needs to hear of changes."""

    name = "taint, selector or affinity ignored"
    meaning = "A pod is bound to a node whose taints it tolerates and that its selector and required affinity match."

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """Look for a reason against the node that held all the time."""
        node = world.nodes[pod.facts.node or ""]
        if pod.was_placed or node.facts is None:
            return
        why = ""
        for state in world.states(pod, at_ns):
            refusal = refuses(state, pod.facts.ask)
            if not refusal:
                return
            why = why or refusal
        yield Breach(pod.facts.title, pod.facts.node, why, frozenset({pod.facts.uid}))


class NodeAbsent(Rule):
    """Gone or cordoned before the binding, by more than the time that a scheduler needs to hear of it."""

    name = "bound to an absent node"
    meaning = "A pod is bound to a node that exists and is not cordoned."

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """Look for a state of the node that takes pods."""
        if pod.was_placed:
            return
        facts = pod.facts
        node = world.nodes[facts.node or ""]
        states = list(world.states(pod, at_ns))
        if not states:
            why = "was gone" if node.before else "was never there"
            yield Breach(
                facts.title, facts.node, f"node {facts.node} {why} when the pod was bound", frozenset({facts.uid})
            )
        elif all(state.unschedulable for state in states) and not is_tolerated(_CORDONED, facts.ask.tolerations):
            yield Breach(
                facts.title,
                facts.node,
                f"node {facts.node} was cordoned (spec.unschedulable) when the pod was bound",
                frozenset({facts.uid}),
            )


def refuses(node: NodeFacts, ask: Ask) -> str:
    """Why a pod that asks so may not be on the node; empty: it may. Cordoning is not looked at."""
    for taint in node.taints:
        if node.unschedulable and taint.get("key") == _CORDONED["key"]:
            continue
        if taint.get("effect") in _HARD and not is_tolerated(taint, ask.tolerations):
            written = f"{taint.get('key')}={taint.get('value') or ''}:{taint.get('effect')}"
            return f"node {node.name} has the taint {written}, which the pod does not tolerate"
    for key, value in ask.selector:
        if node.labels.get(key) != value:
            return f"the pod selects nodes with {key}={value}, node {node.name} has {_has(node, key)}"
    if ask.affinity is not None and not ask.affinity.matches(node.name, node.labels):
        keys = sorted({one.key for term in ask.affinity.terms for one in term.labels})
        told = ", ".join(_has(node, key) for key in keys)
        return f"the required affinity of the pod does not match node {node.name}, which has {told or 'another name'}"
    return ""


def _has(node: NodeFacts, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"
