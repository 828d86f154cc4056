"""What garbage collection does about one object, given the state of its owners."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from kubedyno.client.options import Propagation
from kubedyno.controllers.collecting.graph import FOREGROUND, ORPHAN, Node
from kubedyno.kube.codec import Object

OwnerState = Literal["solid", "dangling", "waiting"]
"""There and staying; gone; waiting for its dependents to be deleted."""


class Delete(msgspec.Struct, frozen=True):
    """Delete the object."""

    propagation: Propagation


class Patch(msgspec.Struct, frozen=True):
    """Write these fields of its metadata, if nobody has changed it since; then `then`."""

    metadata: Object
    then: Delete | None = None


class LookAt(msgspec.Struct, frozen=True):
    """Nothing to write; look at these objects."""

    uids: Sequence[str] = ()


Decision = Delete | Patch | LookAt


def about_dependents(node: Node, dependents: Sequence[Node]) -> Decision:
    """For an object that goes after its dependents: the next ones to delete, or its finalizer."""
    blocking = [dependent for dependent in dependents if node.is_blocked_by(dependent)]
    if not blocking:
        return without_finalizer(node, FOREGROUND)
    return LookAt([dependent.uid for dependent in blocking if not dependent.deletes_dependents])


def about_owners(node: Node, states: Mapping[str, OwnerState], dependents: Sequence[Node]) -> Decision:
    """For an object with owners: it lives while one of them stays."""
    by_state: dict[OwnerState, list[str]] = {"solid": [], "dangling": [], "waiting": []}
    for ref in node.owners:
        by_state[states[ref["uid"]]].append(ref["uid"])
    if by_state["solid"]:
        leaving = [*by_state["dangling"], *by_state["waiting"]]
        return without_owners(node, leaving) if leaving else LookAt()
    if by_state["waiting"] and dependents:
        delete = Delete("Foreground")
        if any(dependent.deletes_dependents for dependent in dependents):
            # Two that wait for each other would wait for ever.
            owners = [{**ref, "blockOwnerDeletion": False} for ref in node.owners]
            return Patch({"resourceVersion": node.version, "ownerReferences": owners}, then=delete)
        return delete
    if ORPHAN in node.finalizers:
        return Delete("Orphan")
    return Delete("Foreground" if FOREGROUND in node.finalizers else "Background")


def without_finalizer(node: Node, finalizer: str) -> Decision:
    """Take a finalizer away, if it is there."""
    if finalizer not in node.finalizers:
        return LookAt()
    left = [entry for entry in node.finalizers if entry != finalizer]
    return Patch({"resourceVersion": node.version, "finalizers": left})


def without_owners(node: Node, uids: Sequence[str]) -> Patch:
    """Take owners away."""
    left = [ref for ref in node.owners if ref["uid"] not in uids]
    return Patch({"resourceVersion": node.version, "ownerReferences": left or None})
