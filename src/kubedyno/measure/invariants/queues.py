"""Queues get no more than they may, and what cannot be taken back stays within what they deserve."""

from collections.abc import Iterator

from kubedyno.measure.invariants.facts import SHARED, QueueFacts, Shares
from kubedyno.measure.invariants.ledger import UNLIMITED, Ledger, exceeded
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import Pod, World


class QueueLimit(Rule):
    """Judged when a pod is bound, for its queue and all above it. Pods on their way out no longer count."""

    name = "queue limit"
    meaning = "The pods of a queue hold no more than its limit, nor more than the limit of any queue above it."

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """Compare what is held with the limits."""
        for queue, at, used, most in _beyond(world, world.held, pod, at_ns, "limit"):
            yield Breach(
                f"Queue {queue}",
                pod.facts.node,
                f"queue {queue}: {used:g} {SHARED[at]} held, limit {most:g}, once pod {pod.facts.name} was bound",
                frozenset({pod.facts.uid}),
            )


class FixedQuota(Rule):
    """The same for pods that nobody may take away, against what the queue deserves."""

    name = "non-preemptible over quota"
    meaning = "Pods that cannot be preempted hold no more than the quota of their queue and of those above it."

    def bound(self, world: World, pod: Pod, at_ns: int) -> Iterator[Breach]:
        """Compare what is held for good with the quotas."""
        if pod.facts.uid not in world.fixed:
            return
        for queue, at, used, most in _beyond(world, world.fixed, pod, at_ns, "quota"):
            yield Breach(
                f"Queue {queue}",
                pod.facts.node,
                f"queue {queue}: {used:g} {SHARED[at]} held by non-preemptible pods, quota {most:g}, "
                f"once pod {pod.facts.name} was bound",
                frozenset({pod.facts.uid}),
            )


def _beyond(world: World, ledger: Ledger, pod: Pod, at_ns: int, field: str) -> Iterator[tuple[str, int, float, float]]:
    """For each queue above the pod and each resource beyond its bound: queue, resource, used, bound."""
    charge = world.charge_of(pod.facts)
    for queue in charge.path:
        facts = world.queues.get(queue)
        if facts is None:
            continue
        most = _bound(world, facts, at_ns, field)
        used = ledger.used(queue)
        for at in exceeded(used, most):
            if charge.shares[at]:
                yield queue, at, used[at], most[at]


def _bound(world: World, facts: QueueFacts, at_ns: int, field: str) -> Shares:
    """The bound, or what it was until a moment ago, where that was more."""
    now: Shares = getattr(facts, field)
    ended_ns, earlier = world.earlier_queues.get(facts.name, (-1, facts))
    if ended_ns < world.since(at_ns, world.patience.reaction_s):
        return now
    before: Shares = getattr(earlier, field)
    gpu, cpu, memory = (UNLIMITED if UNLIMITED in pair else max(pair) for pair in zip(now, before, strict=True))
    return gpu, cpu, memory
