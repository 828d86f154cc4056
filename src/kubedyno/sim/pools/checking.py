"""Whether a pool can be: every fault is a sentence that begins with the field."""

import uuid
from collections.abc import Iterable
from typing import Final

from kubedyno.kinds import rules
from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory as inventories
from kubedyno.sim.kubelet import machines
from kubedyno.sim.kubelet import settings as kubelets
from kubedyno.sim.pools import nodes, ranges
from kubedyno.sim.pools.pool import NODE_LEVEL, Gpus, Pool, Topology
from kubedyno.sim.pools.templating import VARIABLES, is_template

ARCHITECTURES: Final = ("amd64", "arm64", "ppc64le", "s390x")
_NOW: Final = "2026-01-01T00:00:00Z"  # no rule looks at the time
# Where the API server finds fault, and which field of the pool that comes from.
_FIELDS: Final = (
    ("metadata.name", "name"),
    ("metadata.labels", "labels"),
    ("metadata.annotations", "annotations"),
    ("metadata.taints", "taints"),
    ("status.capacity.", "resources."),
    ("status.allocatable.", "resources."),
)


def check(pool: Pool) -> Pool:
    """The pool itself, when a cluster can have it; else UsageError with pool, field and remedy."""
    with located(f"pool {pool.name}"):
        _check_numbers(pool)
        if pool.topology is not None:
            _check_topology(pool.topology)
        _check_size(pool)
        if isinstance(pool.gpus, Gpus):
            _check_gpus(pool, pool.gpus)
        _check_architecture(pool)
        with located("kubelet"):
            kubelets.check(pool.kubelet)
        _check_labels(pool)
        _check_nodes(pool)
        with located("kubelet"):
            machines.check(pool.kubelet, nodes.capacity(pool))
    return pool


def _check_numbers(pool: Pool) -> None:
    whole = pool.gpus if isinstance(pool.gpus, int) else pool.gpus.count
    field = "gpus" if isinstance(pool.gpus, int) else "gpus.count"
    for name, number in (("count", pool.count), ("pods", pool.pods), (field, whole)):
        if number is not None and number < 0:
            raise UsageError(f"{name}: {number} is less than nothing; write 0 or more")


def _check_architecture(pool: Pool) -> None:
    if pool.arch not in ARCHITECTURES:
        raise UsageError(f"architecture: {pool.arch!r} is none; {suggestion(pool.arch, ARCHITECTURES)}")


def _check_topology(topology: Topology) -> None:
    names = [level.level for level in topology.levels]
    if not names:
        raise UsageError(
            "topology: there are no levels; write them like `{zone: 2, rack: 4, node: 8}`, or leave it out"
        )
    for place, level in enumerate(topology.levels):
        if level.count < 1:
            raise UsageError(f"topology.{level.level}: {level.count} of a level cannot be; write 1 or more")
        if level.level in VARIABLES or not level.level.replace("-", "_").isidentifier():
            raise UsageError(f"topology: a level cannot be called {level.level!r}; use letters and digits, like rack")
        if level.level in names[:place]:
            raise UsageError(f"topology: level {level.level!r} stands there twice; leave one out")
        if level.key in [other.key for other in topology.levels[:place]]:
            raise UsageError(f"topology.{level.level}: label {level.key} belongs to another level; choose another one")
    if NODE_LEVEL in names[:-1]:
        raise UsageError(f"topology: level `{NODE_LEVEL}` is the innermost one; write it last")


def _check_size(pool: Pool) -> None:
    if pool.size > ranges.COUNT:
        raise UsageError(f"count: {pool.size} nodes are too many; a cluster has at most {ranges.COUNT}")
    if pool.topology is not None and pool.size > pool.topology.leaves:
        raise UsageError(
            f"count: the topology has room for {pool.topology.leaves} nodes, not for {pool.size}; "
            "write fewer, or more of a level"
        )
    if len(pool.nodes) > pool.size:
        raise UsageError(f"nodes: there are labels for {len(pool.nodes)} nodes, and the pool has {pool.size}")


def _check_gpus(pool: Pool, gpus: Gpus) -> None:
    if not gpus.show or len(set(gpus.show)) < len(gpus.show):
        raise UsageError("gpus.show: write `[extended]`, `[dra]` or `[extended, dra]`")
    if gpus.partitionable and "dra" not in gpus.show:
        raise UsageError("gpus.partitionable: only DRA has such devices; add `dra` to `show`")
    if gpus.cluster_uuid and not _is_uuid(gpus.cluster_uuid):
        raise UsageError(f"gpus.clusterUuid: {gpus.cluster_uuid!r} is no UUID; leave it out to have one made")
    with located("gpus.delay"):
        delay_s = gpus.delay_s
    if delay_s < 0:
        raise UsageError(f"gpus.delay: {gpus.delay} is less than nothing; write it like 30s")
    with located("gpus"):
        devices = pool.inventory(0)
        if devices is not None:
            inventories.check(devices)


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _check_labels(pool: Pool) -> None:
    for field, labels in (("labels", pool.labels), *((f"nodes[{n}]", own) for n, own in enumerate(pool.nodes))):
        if marks.POOL in labels:
            raise UsageError(f"{field}.{marks.POOL}: this label is how the nodes of a pool are found; leave it out")
    for key in (marks.FAKE, marks.KUBELET, marks.DEVICES):
        if key in pool.annotations:
            raise UsageError(f"annotations.{key}: this is written by the pool itself; leave it out")


def _check_nodes(pool: Pool) -> None:
    """Ask the API server's own rules: of every node where they differ by more than numbers, else of the outermost."""
    texts = (*pool.labels.values(), *pool.annotations.values(), *(taint.value for taint in pool.taints))
    differ = bool(pool.nodes) or any(map(is_template, texts))
    maker = nodes.NodeMaker(pool, now=_NOW)
    indexes: Iterable[int] = range(pool.size) if differ else {0, max(0, pool.size - 1)}
    for index in indexes:
        refuse(maker.node(index, 0))


def refuse(node: Object) -> None:
    """Nothing, for a node that the API server accepts; else UsageError in its words."""
    for problem in rules.created(node, NODES):
        field = problem.field
        for theirs, ours in _FIELDS:
            if field.startswith(theirs):
                field = f"{ours}{field.removeprefix(theirs)}"
        raise UsageError(f"{field}: Kubernetes refuses it: {problem.message}")
