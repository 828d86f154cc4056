"""Pods that went before they had ended: who took them, by all that was told."""

from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.measure.invariants.facts import EvictionFacts, Key, PodFacts
from kubedyno.measure.invariants.world import World

Cause: TypeAlias = Literal["evicted", "ours", "node", "owner", "unknown"]
"""`evicted`: its scheduler took it away; `ours`: whoever runs the trial did; `node`: its node failed or was emptied;
`owner`: it belongs to something that makes and removes its pods; `unknown`: nobody said anything."""

_BY_SCHEDULER: Final = "PreemptionByScheduler"
_EMPTYING: Final = frozenset({"NoExecute"})


class Departure(msgspec.Struct):
    """A pod that was taken away, and what was true then."""

    pod: PodFacts
    at_ns: int
    excused: bool
    """Whether it was ours to take away."""
    node_lost: bool
    fixed: bool
    """Whether nobody might take it."""
    priority: int
    over: dict[str, bool]
    """For its queue and each above it: whether that was beyond what it deserves, lately."""
    figures: dict[str, str]
    """The same in words."""
    is_gone: bool = False
    disruption: str | None = None
    cause: Cause = "unknown"
    eviction: EvictionFacts | None = None


def taken(world: World, pod: PodFacts, at_ns: int, *, excused: bool) -> Departure:
    """A departure that begins now; the world still counts the pod."""
    since_ns = world.since(at_ns, world.patience.usage_s)
    path = world.path(world.queue_of(pod))
    over, figures = {}, {}
    for name in path:
        facts = world.queues.get(name)
        over[name] = world.reach.was_over(name, since_ns)
        if facts is not None:
            used, quota = world.reach.used(name)[0], facts.quota[0]
            figures[name] = f"queue {name} had {used:g} GPUs of {quota:g} deserved"
    return Departure(
        pod=pod,
        at_ns=at_ns,
        excused=excused,
        node_lost=_is_node_lost(world, pod, at_ns),
        fixed=world.is_fixed(pod),
        priority=world.priority_of(pod),
        over=over,
        figures=figures,
        disruption=pod.disruption,
    )


def judge(world: World, departure: Departure) -> None:
    """Say who took the pod; what schedulers tell may come later than the deed."""
    pod = departure.pod
    told = _told_of(world, "Pod", pod.key, pod.uid)
    group = world.group_of(pod)
    if told is None and group is not None:
        told = _told_of(world, "PodGroup", group.key[1:], group.uid)
    departure.eviction = told
    if departure.excused:
        departure.cause = "ours"
    elif told is not None or departure.disruption == _BY_SCHEDULER:
        departure.cause = "evicted"
    elif departure.node_lost or departure.disruption is not None:
        departure.cause = "node"
    elif pod.owner is not None or pod.reserves:  # the binder makes and removes reservations as it needs them
        departure.cause = "owner"


def _told_of(world: World, kind: str, key: Key, uid: str) -> EvictionFacts | None:
    """What was told of the eviction of an object, and not of another one of its name."""
    _, told = world.evictions.get((kind, key), (0, None))
    return told if told is not None and told.uid in {"", uid} else None


def _is_node_lost(world: World, pod: PodFacts, at_ns: int) -> bool:
    node = world.nodes.get(pod.node or "")
    if node is None or node.facts is None:
        return pod.node is not None
    states = node.states(world.since(at_ns, world.patience.evidence_s))
    return any(taint.get("effect") in _EMPTYING for state in states for taint in state.taints)
