"""Who owns whom, by uid: kept up with every change, and telling whom a change concerns."""

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class Node(msgspec.Struct, frozen=True):
    """What garbage collection must know of an object."""

    uid: str
    resource: Resource
    namespace: str
    name: str
    version: str
    owners: tuple[Object, ...]
    finalizers: tuple[str, ...]
    is_deleting: bool

    @property
    def deletes_dependents(self) -> bool:
        """Whether it waits for its dependents to go first."""
        return self.is_deleting and FOREGROUND in self.finalizers

    @property
    def orphans_dependents(self) -> bool:
        """Whether its dependents shall outlive it."""
        return self.is_deleting and ORPHAN in self.finalizers

    def is_blocked_by(self, dependent: "Node") -> bool:
        """Whether a dependent must be gone before this one goes."""
        return any(ref["uid"] == self.uid and ref.get("blockOwnerDeletion") for ref in dependent.owners)


def node_of(resource: Resource, obj: Object) -> Node:
    """The node of an object."""
    metadata = obj["metadata"]
    return Node(
        uid=metadata["uid"],
        resource=resource,
        namespace=metadata.get("namespace") or "",
        name=metadata["name"],
        version=metadata["resourceVersion"],
        owners=tuple(metadata.get("ownerReferences") or ()),
        finalizers=tuple(metadata.get("finalizers") or ()),
        is_deleting=metadata.get("deletionTimestamp") is not None,
    )


class Graph:
    """All objects and their owners. Dependents of an owner that nobody has seen are kept, too."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._dependents: dict[str, dict[str, None]] = {}

    def get(self, uid: str) -> Node | None:
        """The node of a uid."""
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[Node]:
        """The objects that name `uid` as an owner, in the order they were seen."""
        return [self._nodes[dependent] for dependent in self._dependents.get(uid, ())]

    def unsettled(self) -> list[str]:
        """The uids to look at when all is known for the first time: owners on their way out, dependents of those."""
        found = []
        for node in self._nodes.values():
            owners = [self._nodes.get(ref["uid"]) for ref in node.owners]
            is_affected = any(owner is None or owner.deletes_dependents for owner in owners)
            if is_affected or node.deletes_dependents or node.orphans_dependents:
                found.append(node.uid)
        return found

    def of_resource(self, resource: Resource) -> list[Node]:
        """All objects of a resource."""
        return [node for node in self._nodes.values() if node.resource == resource]

    def put(self, node: Node) -> list[str]:
        """Take in a new state; the uids that must be looked at because of it."""
        old = self._nodes.get(node.uid)
        self._nodes[node.uid] = node
        before = {ref["uid"]: ref for ref in old.owners} if old is not None else {}
        after = {ref["uid"]: ref for ref in node.owners}
        concerned: dict[str, None] = {}
        for uid in after:
            self._dependents.setdefault(uid, {})[node.uid] = None
            owner = self._nodes.get(uid)
            if owner is None or (uid not in before and owner.deletes_dependents):
                concerned[node.uid] = None
        for uid, ref in before.items():
            if uid not in after:
                self._unlink(uid, node.uid)
            still_blocks = uid in after and after[uid].get("blockOwnerDeletion")
            owner = self._nodes.get(uid)
            if owner is not None and owner.deletes_dependents and ref.get("blockOwnerDeletion") and not still_blocks:
                concerned[uid] = None
        if node.orphans_dependents or (node.deletes_dependents and not (old is not None and old.deletes_dependents)):
            concerned[node.uid] = None
            if node.deletes_dependents:
                concerned.update(dict.fromkeys(self._dependents.get(node.uid, ())))
        return list(concerned)

    def remove(self, uid: str) -> list[str]:
        """An object is gone; the uids that must be looked at: its dependents, and owners that waited for it."""
        node = self._nodes.pop(uid, None)
        if node is None:
            return []
        concerned = dict.fromkeys(self._dependents.get(uid, ()))
        for ref in node.owners:
            self._unlink(ref["uid"], uid)
            owner = self._nodes.get(ref["uid"])
            if owner is not None and owner.deletes_dependents:
                concerned[owner.uid] = None
        return list(concerned)

    def _unlink(self, owner: str, dependent: str) -> None:
        dependents = self._dependents.get(owner)
        if dependents is not None:
            dependents.pop(dependent, None)
            if not dependents:
                del self._dependents[owner]
