"""What admission is asked about, what it may look up, and how it says no."""

from collections.abc import Iterable
from typing import Protocol

import msgspec

from kubedyno.kinds.strategies.refusal import Refused
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.kube.status import Cause, failure


class Denied(Refused):
    """Admission refuses the request."""


class Lookup(Protocol):
    """The objects that the server has. What comes back is not changed."""

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """One object, if it is there; the namespace of cluster-wide kinds is empty."""

    def list(self, resource: Resource, namespace: str) -> Iterable[Object]:
        """All objects of a namespace, or with an empty one, of all."""


class Asked(msgspec.Struct, frozen=True):
    """The request that is to be admitted: the object's resource and place, and what may be looked up."""

    resource: Resource
    namespace: str
    name: str
    """As errors tell it: before a name was generated, it is the prefix."""
    lookup: Lookup
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Group and plural: by these plugins know what concerns them."""
        return self.resource.group, self.resource.plural


def asked(
    obj: Object, resource: Resource, lookup: Lookup, *, namespace: str | None = None, subresource: str = ""
) -> Asked:
    """The request for an object; its own namespace is taken unless another is given."""
    metadata = obj.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "Unknown"
    where = metadata.get("namespace", "") if namespace is None else namespace
    return Asked(resource, where if resource.namespaced else "", name, lookup, subresource)


def forbidden(request: Asked, why: str, *, causes: tuple[Cause, ...] = ()) -> Denied:
    """The 403 that admission plugins answer."""
    resource = request.resource
    told = f'{resource.full_name} "{request.name}" is forbidden: {why}'
    return Denied(failure(403, told, name=request.name, group=resource.group, resource=resource.plural, causes=causes))


def aggregated(messages: Iterable[str]) -> str:
    """Several errors as one text, each told once, as Go's machinery joins them."""
    told = list(dict.fromkeys(messages))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"
