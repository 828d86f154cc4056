"""What must change in a cluster so that it has the wanted nodes: pure, node by node, in place where Kubernetes allows.

What others wrote stays: labels and annotations that no pool wrote, taints of controllers and of people, cordons,
devices that are lost at the moment.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.placement import taint_identity
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import marks

_ARCHITECTURE: Final = "kubernetes.io/arch"
_PARTS: Final = ("capacity", "allocatable")
_GIVEN_ONCE: Final = ("podCIDR", "podCIDRs", "providerID")


class Written(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The names of all that a pool has put on its nodes: what it no longer wants of this is removed."""

    labels: frozenset[str] = frozenset()
    annotations: frozenset[str] = frozenset()
    taints: frozenset[tuple[str, str]] = frozenset()
    """Key and effect."""
    resources: frozenset[str] = frozenset()

    def __or__(self, other: "Written") -> "Written":
        return Written(
            labels=self.labels | other.labels,
            annotations=self.annotations | other.annotations,
            taints=self.taints | other.taints,
            resources=self.resources | other.resources,
        )


NOTHING: Final = Written()


def written_by(nodes: Iterable[Object], *, later: Collection[str] = ()) -> Written:
    """What these nodes have; resources in `later` appear on them by themselves."""
    labels: set[str] = set()
    annotations: set[str] = set()
    taints: set[tuple[str, str]] = set()
    resources: set[str] = set(later)
    for node in nodes:
        labels.update(node["metadata"]["labels"])
        annotations.update(node["metadata"]["annotations"])
        taints.update(map(taint_identity, node["spec"].get("taints") or ()))
        resources.update(node["status"]["capacity"])
    return Written(
        labels=frozenset(labels),
        annotations=frozenset(annotations),
        taints=frozenset(taints),
        resources=frozenset(resources),
    )


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one node, as merge patches; empty ones are not sent."""

    wanted: Object
    """What the node becomes: to work it out again when somebody else was faster."""
    body: Object = {}
    status: Object = {}


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What to do; `replace` are nodes that must be deleted and created again."""

    create: tuple[Object, ...] = ()
    patch: tuple[Patch, ...] = ()
    replace: tuple[Object, ...] = ()
    delete: tuple[Object, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.patch or self.replace or self.delete)


def changes(
    wanted: Iterable[Object], live: Iterable[Object], *, written: Written = NOTHING, later: Collection[str] = ()
) -> Changes:
    """From the nodes that are there to those that are wanted, by name; `live` are all nodes of the pool.

    Nodes to be deleted come with the last ones first. `later` are resources that come and go by themselves.
    """
    there = {node["metadata"]["name"]: node for node in live}
    create: list[Object] = []
    patches: list[Patch] = []
    replace: list[Object] = []
    for node in wanted:
        before = there.pop(node["metadata"]["name"], None)
        if before is None:
            create.append(node)
        elif must_replace(node, before):
            replace.append(node)
        else:
            patch = patch_of(node, before, written=written, later=later)
            if patch is not None:
                patches.append(patch)
    delete = sorted(there.values(), key=lambda node: _order(node["metadata"]["name"]), reverse=True)
    return Changes(create=tuple(create), patch=tuple(patches), replace=tuple(replace), delete=tuple(delete))


def _order(name: str) -> tuple[str, int, str]:
    prefix, _, number = name.rpartition("-")
    return (prefix, int(number), "") if number.isdecimal() else (name, -1, name)


def must_replace(wanted: Object, live: Object) -> bool:
    """Whether the node cannot become the wanted one: Kubernetes keeps ids and ranges, a machine its processor."""
    spec, before = wanted["spec"], live.get("spec") or {}
    for field in ("podCIDR", "providerID"):
        if before.get(field) and field in spec and spec[field] != before[field]:
            return True
    architecture = meta.labels(live).get(_ARCHITECTURE)
    return architecture is not None and wanted["metadata"]["labels"].get(_ARCHITECTURE, architecture) != architecture


def patch_of(wanted: Object, live: Object, *, written: Written = NOTHING, later: Collection[str] = ()) -> Patch | None:
    """How the live node becomes the wanted one in place; None when it is like that already."""
    metadata: Object = {}
    for field, known in (("labels", written.labels), ("annotations", written.annotations)):
        change = _texts(wanted["metadata"][field], live["metadata"].get(field) or {}, known)
        if change:
            metadata[field] = change
    body: Object = {"metadata": metadata} if metadata else {}
    spec = _spec(wanted["spec"], live.get("spec") or {}, written.taints)
    if spec:
        # A list is replaced whole: what a controller puts into it meanwhile must not be lost.
        body = {"metadata": {**metadata, "resourceVersion": live["metadata"]["resourceVersion"]}, "spec": spec}
    status = _amounts(wanted["status"], live.get("status") or {}, written.resources - set(later))
    if not body and not status:
        return None
    return Patch(wanted=wanted, body=body, status={"status": status} if status else {})


def _texts(wanted: Mapping[str, str], live: Mapping[str, str], written: Collection[str]) -> dict[str, str | None]:
    change: dict[str, str | None] = {key: text for key, text in wanted.items() if live.get(key) != text}
    return change | {key: None for key in live if key in written and key not in wanted}


def _spec(wanted: Object, live: Object, written: Collection[tuple[str, str]]) -> Object:
    change: Object = {field: wanted[field] for field in _GIVEN_ONCE if field in wanted and not live.get(field)}
    ours: list[Object] = wanted.get("taints") or []
    before: list[Object] = live.get("taints") or []
    named = {taint_identity(taint): taint for taint in ours}
    # In the order in which they are there: only what changes is changed.
    kept = [named.get(taint_identity(taint), taint) for taint in before if _is_kept(taint, named, written)]
    there = {taint_identity(taint) for taint in kept}
    after = [_with_times(taint, before) for taint in (*kept, *(t for t in ours if taint_identity(t) not in there))]
    if after != before:
        change["taints"] = after
    return change


def _is_kept(taint: Object, named: Collection[tuple[str, str]], written: Collection[tuple[str, str]]) -> bool:
    return taint_identity(taint) in named or taint_identity(taint) not in written


def _with_times(taint: Object, before: Iterable[Object]) -> Object:
    """A taint that was there with the same value keeps the time since when; the server adds it to NoExecute."""
    for other in before:
        if taint_identity(other) == taint_identity(taint) and other.get("value", "") == taint.get("value", ""):
            return other
    return taint


def _amounts(wanted: Object, live: Object, written: Collection[str]) -> Object:
    """The resources of the status. Devices are looked at in capacity only: allocatable tells which are healthy."""
    capacity: Mapping[str, str] = live.get("capacity") or {}
    changed: dict[str, dict[str, str | None]] = {part: {} for part in _PARTS}
    for name, amount in wanted["capacity"].items():
        differs = not _equal(capacity.get(name), amount)
        if differs:
            changed["capacity"][name] = amount
        can_have = wanted["allocatable"][name]
        if differs or ("/" not in name and not _equal((live.get("allocatable") or {}).get(name), can_have)):
            changed["allocatable"][name] = can_have
    for part in _PARTS:
        for name in live.get(part) or ():
            if name in written and name not in wanted["capacity"]:
                changed[part][name] = None
    return {part: amounts for part, amounts in changed.items() if amounts}


def _equal(live: str | None, wanted: str) -> bool:
    return live is not None and (live == wanted or Quantity.parse(live) == Quantity.parse(wanted))


def is_of_pool(node: Object, pool: str) -> bool:
    """Whether the node says that it belongs to the pool."""
    return meta.labels(node).get(marks.POOL) == pool
