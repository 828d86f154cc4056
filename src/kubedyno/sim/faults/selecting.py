"""Which nodes a fault meets: by name, pool, label and place, and by how they fail together.

Pure functions on the nodes of a cluster. What fails together is a domain: one node, or all nodes of a rack, a zone, or
whatever else a label says.
"""

import math
import random
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.selectors import LabelSelector
from kubedyno.sim import marks
from kubedyno.sim.pools.pool import level_label

NODE: Final = "node"
_POOL: Final = "pool"


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for; a node must meet all of it, and of domains that hold such nodes some are drawn."""

    names: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    labels: str = ""
    """A label selector."""
    within: tuple[str, ...] = ()
    """Places, `level=value` (`rack=zone-0-block-1-rack-3`)."""
    everything: bool = False
    """All nodes: said aloud, so that nothing is not everything."""
    by: str = NODE
    """What fails together: `node`, a level (`rack`, `zone`), or the key of a label."""
    number: int | None = None
    """How many domains are drawn; None: all of them."""
    share: float | None = None
    """Which share of the domains is drawn, at least one."""


class Domain(msgspec.Struct, frozen=True):
    """Nodes that fail together."""

    name: str
    nodes: tuple[str, ...]


def select(nodes: Sequence[Object], selection: Selection, rng: random.Random) -> tuple[Domain, ...]:
    """The domains that fail, in order of their names. UsageError when the selection means nothing here.

    A domain is whole: with `by="rack"`, all nodes of every rack that holds one of the nodes asked for.
    """
    _check(selection)
    asked = _asked(nodes, selection)
    if not asked:
        raise UsageError(f"no node matches {told(selection)}: `kubectl get nodes --show-labels` shows what there is")
    domains = _domains(nodes, asked, selection.by)
    count = _count(len(domains), selection)
    drawn = domains if count is None else rng.sample(domains, count)
    return tuple(sorted(drawn, key=lambda domain: domain.name))


def told(selection: Selection) -> str:
    """The selection as it is written in the command."""
    parts = [
        *selection.names,
        *(f"--pool {pool}" for pool in selection.pools),
        *((f"-l {selection.labels}",) if selection.labels else ()),
        *(f"--in {place}" for place in selection.within),
        *(("--all",) if selection.everything else ()),
    ]
    return " ".join(parts)


def level_key(nodes: Iterable[Object], level: str) -> str:
    """The label that tells a level of a topology: for `rack` that of our pools, else `rack` with any prefix."""
    keys = {key for node in nodes for key in meta.labels(node)}
    for key in (level, marks.POOL if level == _POOL else level_label(level)):
        if key in keys:
            return key
    found = sorted(key for key in keys if _level(key) == level)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"level {level!r} may be any of the labels {', '.join(found)}: write the whole key")
    # Of all labels only those are offered that tell places: nodes have dozens of others.
    levels = {_level(key) for key in keys if "topology" in key}
    raise UsageError(f"no node has a label for level {level!r}: {suggestion(level, levels)}")


def _level(key: str) -> str:
    return key.rpartition("/")[2].removeprefix("topology-")


def _check(selection: Selection) -> None:
    if not told(selection):
        raise UsageError("say which nodes: names, --pool, -l, --in rack=..., or --all")
    if selection.number is not None and selection.share is not None:
        raise UsageError("--number and --share: give one of them")
    if selection.number is not None and selection.number < 1:
        raise UsageError(f"--number {selection.number}: at least one must fail")
    if selection.share is not None and not 0 < selection.share <= 1:
        raise UsageError(f"--share {selection.share:g}: write more than 0 and at most 1, like 0.1")


def _asked(nodes: Sequence[Object], selection: Selection) -> list[Object]:
    there = {meta.key(node)[1] for node in nodes}
    for name in selection.names:
        if name not in there:
            raise UsageError(f"there is no node {name!r}: {suggestion(name, there) if there else 'there are none'}")
    selector = LabelSelector.parse(selection.labels)
    places = [_place(nodes, text) for text in selection.within]
    return [
        node
        for node in nodes
        if (not selection.names or meta.key(node)[1] in selection.names)
        and (not selection.pools or _is_of(node, selection.pools))
        and selector.matches(meta.labels(node))
        and all(meta.labels(node).get(key) == value for key, value in places)
    ]


def _is_of(node: Object, pools: Collection[str]) -> bool:
    """Whether the node is of one of the pools, or of a NodePool of such a name."""
    return any(meta.labels(node).get(label) in pools for label in (marks.POOL, marks.NODE_POOL))


def _place(nodes: Sequence[Object], text: str) -> tuple[str, str]:
    level, equals, value = text.partition("=")
    if not (level and equals and value):
        raise UsageError(f"--in {text}: write a level of the topology and its value, like rack=zone-0-rack-3")
    return level_key(nodes, level), value


def _domains(nodes: Sequence[Object], asked: Sequence[Object], by: str) -> list[Domain]:
    """The domains of the nodes asked for, in the order in which the cluster has them."""
    if by == NODE:
        return [Domain(meta.key(node)[1], (meta.key(node)[1],)) for node in asked]
    key = level_key(nodes, by)
    for node in asked:
        if key not in meta.labels(node):
            raise UsageError(f"--by {by}: node {meta.key(node)[1]!r} has no label {key}; select nodes that have it")
    members: dict[str, list[str]] = {meta.labels(node)[key]: [] for node in asked}
    for node in nodes:
        if (value := meta.labels(node).get(key)) in members:
            members[str(value)].append(meta.key(node)[1])
    return [Domain(value, tuple(names)) for value, names in members.items()]


def _count(there: int, selection: Selection) -> int | None:
    if selection.share is not None:
        return max(1, math.floor(there * selection.share + 0.5))
    if selection.number is not None and selection.number > there:
        unit = f"{'node' if selection.by == NODE else 'domain'}{'s' if there > 1 else ''}"
        by = "" if selection.by == NODE else f" by {selection.by}"
        raise UsageError(f"--number {selection.number}: {told(selection)} has only {there} {unit}{by}")
    return selection.number
