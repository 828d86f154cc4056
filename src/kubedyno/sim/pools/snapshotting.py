"""From the nodes of a live cluster to pools that give nodes like them.

Nodes that are alike become one pool. What identifies machines, clusters and accounts is left out, annotations
altogether; a simulated node has nothing to hide and is told whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory as inventories
from kubedyno.sim.hardware import GPU
from kubedyno.sim.kubelet import settings as kubelets
from kubedyno.sim.pools import identities, nodes, recognising
from kubedyno.sim.pools.nodes import CLIQUE, HOSTNAME
from kubedyno.sim.pools.pool import DEFAULT_PODS, Gpus, Pool, Taint

_LIFECYCLE: Final = "node.kubernetes.io/"
_FIELDS: Final = ("cpu", "memory", "pods", "ephemeral-storage")
_NAME_LIMIT: Final = 40
# Labels that the node lifecycle controller keeps equal to others.
_DERIVED: Final = {"beta.kubernetes.io/arch": "kubernetes.io/arch", "beta.kubernetes.io/os": "kubernetes.io/os"}


class _Facts(msgspec.Struct, frozen=True):
    """What all nodes of a pool have in common, as texts that can be compared."""

    pool: str
    capacity: tuple[tuple[str, str], ...]
    reserved: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    architecture: str
    kubelet: str
    devices: str
    labels: tuple[tuple[str, str], ...]


class _Node(msgspec.Struct, frozen=True):
    """A node and the labels in which it may differ from its like."""

    name: str
    labels: Mapping[str, str]
    own: Mapping[str, str]


def pools(live: Iterable[Object]) -> list[Pool]:
    """Pools that together give nodes like these, in the order in which their first nodes are met."""
    everywhere = list(live)
    unique = identities.unique_keys([node for node in everywhere if not _is_ours(node)])
    groups: dict[_Facts, list[_Node]] = {}
    for node in everywhere:
        facts, member = _facts(node, unique)
        groups.setdefault(facts, []).append(member)
    taken: set[str] = set()
    found = []
    for facts, members in groups.items():
        pool = _pool(facts, members, taken)
        taken.add(pool.name)
        found.append(pool)
    return found


def _is_ours(node: Object) -> bool:
    return marks.POOL in meta.labels(node)


def _facts(node: Object, unique: frozenset[str]) -> tuple[_Facts, _Node]:
    status, spec = node.get("status") or {}, node.get("spec") or {}
    labels = meta.labels(node)
    annotations = meta.annotations(node)
    ours = _is_ours(node)
    shown = dict(labels) if ours else identities.without(labels, unique)
    if CLIQUE in labels:
        shown[CLIQUE] = labels[CLIQUE]
    # Pools of ours hold together whatever their labels; of others only places may differ.
    for key, derived in _DERIVED.items():
        if key in shown and shown[key] == labels.get(derived):
            del shown[key]
    own = {key: value for key, value in shown.items() if ours or identities.is_place(key) or key == CLIQUE}
    capacity = {name: str(Quantity.parse(amount)) for name, amount in (status.get("capacity") or {}).items()}
    facts = _Facts(
        pool=labels.get(marks.POOL, ""),
        capacity=tuple(sorted(capacity.items())),
        reserved=tuple(sorted(_reserved(capacity, status.get("allocatable") or {}).items())),
        taints=tuple(_taints(spec.get("taints") or (), ours=ours)),
        architecture=(status.get("nodeInfo") or {}).get("architecture") or labels.get("kubernetes.io/arch", "amd64"),
        kubelet=annotations.get(marks.KUBELET, "") if ours else "",
        devices=_devices(annotations.get(marks.DEVICES, "")) if ours else "",
        labels=tuple(sorted((key, value) for key, value in shown.items() if key not in own)),
    )
    return facts, _Node(node["metadata"]["name"], shown, own)


def _reserved(capacity: Mapping[str, str], allocatable: Mapping[str, str]) -> dict[str, str]:
    """What pods cannot have. Devices that they cannot have are broken at the moment, not reserved."""
    left = {
        name: Quantity.parse(capacity[name]) - Quantity.parse(amount)
        for name, amount in allocatable.items()
        if name in capacity and "/" not in name
    }
    return {name: str(amount) for name, amount in left.items() if amount.nanos > 0}


def _taints(taints: Iterable[Mapping[str, Any]], *, ours: bool) -> Iterable[Taint]:
    for taint in taints:
        if not taint["key"].startswith(_LIFECYCLE):
            value = taint.get("value", "")
            shown = value if ours or not identities.looks_like_one(value) else ""
            yield Taint(key=taint["key"], effect=taint["effect"], value=shown)


def _devices(text: str) -> str:
    """The annotation without what differs between NVLink domains."""
    if not text:
        return ""
    return inventories.written(msgspec.structs.replace(inventories.read(text), clique=""))


def _pool(facts: _Facts, members: list[_Node], taken: set[str]) -> Pool:
    ours = bool(facts.pool)
    members = sorted(members, key=lambda node: _place(node, facts.pool))
    capacity = dict(facts.capacity)
    gpus = _gpus(facts, members[0], capacity)
    name = _name(facts, gpus, taken)
    pool = Pool(name=name, count=len(members), gpus=gpus, taints=facts.taints)
    if facts.kubelet:
        pool = msgspec.structs.replace(pool, kubelet=kubelets.read(facts.kubelet))
    if facts.architecture != pool.arch:
        pool = msgspec.structs.replace(pool, architecture=facts.architecture)
    pool = _with_amounts(pool, capacity, dict(facts.reserved))
    fabrics = {} if ours else _fabrics(pool, members)
    return _with_labels(pool, [{**dict(facts.labels), **node.own, **fabrics.get(node.name, {})} for node in members])


def _place(node: _Node, pool: str) -> tuple[int, str, tuple[tuple[str, str], ...], str]:
    """Where a node stands among its like: ours by number, others by their places."""
    index = nodes.index_of(pool, node.name)
    if index is not None:
        return index, "", (), ""
    return 1 << 32, node.own.get(CLIQUE, ""), tuple(sorted(node.own.items())), node.name


def _gpus(facts: _Facts, node: _Node, capacity: Mapping[str, str]) -> int | Gpus:
    """The GPUs, where a pool with them would show just what is there; else they are resources like others."""
    if facts.devices:
        return recognising.from_inventory(inventories.read(facts.devices))
    try:
        found = recognising.from_labels(node.labels, capacity)
        if found is not None:
            shown = nodes.device_resources(Pool(name="any", gpus=found))
            there = {name: amount for name, amount in capacity.items() if _is_device(name)}
            if shown == {name: amount for name, amount in there.items() if amount != "0"}:
                return found
    except UsageError:  # partitions that the catalogue does not know
        pass
    plain = capacity.get(GPU, "0")
    return int(plain) if plain.isdecimal() else 0


def _is_device(name: str) -> bool:
    return name == GPU or name.startswith("nvidia.com/mig-")


def _name(facts: _Facts, gpus: int | Gpus, taken: set[str]) -> str:
    stem = facts.pool
    if not stem and isinstance(gpus, Gpus) and gpus.model:
        stem = gpus.model.lower()[:_NAME_LIMIT]
    stem = stem or ("gpu" if gpus else "cpu")
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name


def _with_amounts(pool: Pool, capacity: Mapping[str, str], reserved: Mapping[str, str]) -> Pool:
    """The pool with those amounts that it would not have by itself."""
    usual = nodes.capacity(pool)
    devices = nodes.device_resources(pool)
    changed: dict[str, Any] = {
        name: capacity[name] for name in ("cpu", "memory") if name in capacity and capacity[name] != usual[name]
    }
    pods = int(Quantity.parse(capacity.get("pods", str(DEFAULT_PODS))).to_int())
    if pods != DEFAULT_PODS:
        changed["pods"] = pods
    if "ephemeral-storage" in capacity:
        changed["ephemeral_storage"] = capacity["ephemeral-storage"]
    rest = {name: amount for name, amount in capacity.items() if name not in _FIELDS and name not in devices}
    return msgspec.structs.replace(pool, resources=rest, reserved=dict(reserved), **changed)


def _fabrics(pool: Pool, members: Sequence[_Node]) -> dict[str, dict[str, str]]:
    """By node, its NVLink domain under a name that the pool would give: fabrics have ids of their own."""
    cluster = pool.clique(0).rpartition(".")[0] or "fabric"
    numbers: dict[str, int] = {}
    for node in members:
        if CLIQUE in node.own:
            numbers.setdefault(node.own[CLIQUE], len(numbers))
    return {node.name: {CLIQUE: f"{cluster}.{numbers[node.own[CLIQUE]]}"} for node in members if CLIQUE in node.own}


def _with_labels(pool: Pool, labels: Sequence[Mapping[str, str]]) -> Pool:
    """The pool with the labels that it would not give by itself: to all nodes, by its tree, or to single ones."""
    tree = recognising.tree(labels)
    if tree is not None:
        pool = msgspec.structs.replace(pool, topology=tree, count=None if tree.leaves == len(labels) else pool.count)
    maker = nodes.NodeMaker(pool, now="")
    made = [maker.node(index, 0)["metadata"]["labels"] for index in range(len(labels))]
    rest = [
        {key: value for key, value in own.items() if given.get(key) != value and key not in {HOSTNAME, marks.POOL}}
        for own, given in zip(labels, made, strict=True)
    ]
    shared = {key: value for key, value in rest[0].items() if all(own.get(key) == value for own in rest)}
    single = tuple({key: value for key, value in own.items() if key not in shared} for own in rest)
    return msgspec.structs.replace(pool, labels=shared, nodes=single if any(single) else ())
