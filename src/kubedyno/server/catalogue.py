"""Which kinds are served, and what the handlers may ask of one, be it Kubernetes' own or a custom one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from kubedyno.kinds.naming import Served
from kubedyno.kinds.tables.printing import Printer
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import BUILT_IN, Resource
from kubedyno.kube.typed import View

_OWN_GROUPS = frozenset(resource.group for resource in BUILT_IN)


class Understood(msgspec.Struct, frozen=True, kw_only=True):
    """An object as the server understands it: a new one, without unknown fields, normalised, with defaults."""

    object: Object
    unknown: tuple[str, ...] = ()
    """The fields that were dropped, in the server's order."""
    error: str = ""
    """Why it could not be read; then `object` says nothing."""


class Kind(Protocol):
    """One kind in one version, as the handlers see it. Objects that functions get and give are of this version.

    Functions that prepare change their first argument; nothing else is changed.
    """

    @property
    def served(self) -> Served:
        """How discovery tells of it."""
        ...

    @property
    def resource(self) -> Resource:
        """The resource and version of requests."""
        ...

    @property
    def stored(self) -> Resource:
        """The resource and version in which its objects are kept."""
        ...

    @property
    def view(self) -> View:
        """How server-side apply takes its objects apart."""
        ...

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields it can be selected by in this version, each with its name in the store."""
        ...

    @property
    def list_kind(self) -> str:
        """The kind of its lists."""
        ...

    @property
    def printer(self) -> Printer:
        """How its tables are made."""
        ...

    @property
    def openapi(self) -> Mapping[str, Any] | None:
        """The schema that a custom kind was defined with."""
        ...

    @property
    def is_custom(self) -> bool:
        """Whether it was defined by a CRD: its lists name the kind of each item, its patches know no merge keys."""
        ...

    @property
    def is_terminating(self) -> bool:
        """Whether its definition is being deleted: then nothing new is created."""
        ...

    @property
    def deprecation(self) -> str:
        """What everybody who asks for this version is warned of; empty: nothing."""
        ...

    @property
    def allows_unconditional_update(self) -> bool:
        """Whether an update without a resourceVersion overwrites."""
        ...

    @property
    def allows_create_on_update(self) -> bool:
        """Whether an update of what is not there creates it."""
        ...

    def unselectable(self, field: str) -> str:
        """What is said to a selector by a field that is none of `fields`."""
        ...

    def read(self, obj: Object, known: Object | None = None) -> Understood:
        """An object of a request, understood. Parts equal to those of `known`, the state before, are taken from it."""
        ...

    def empty(self) -> Object:
        """The object of this kind that says nothing: what bookmarks carry."""
        ...

    def prepare_create(self, obj: Object, *, now: str) -> None:
        """Set and drop what clients may not set at creation."""
        ...

    def prepare_update(self, new: Object, old: Object, *, now: str, subresource: str) -> None:
        """Keep what clients may not change by this endpoint, count generations."""
        ...

    def default_again(self, obj: Object) -> None:
        """Set the defaults that follow from what was prepared: the real server does when it reads what it stored."""
        ...

    def unwritten(self, subresource: str) -> tuple[tuple[str, ...], ...]:
        """The paths that a write to this endpoint cannot change, with all below: nobody comes to own them by it."""
        ...

    def misfit(self, config: Object) -> str:
        """What does not fit the type in a configuration to be applied, in the words of apply; empty: all does."""
        ...

    def problems_created(self, obj: Object) -> list[Problem]:
        """What is wrong with a new object."""
        ...

    def problems_updated(self, new: Object, old: Object, subresource: str) -> list[Problem]:
        """What is wrong with a change."""
        ...

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """What a client is warned of, beside unknown fields."""
        ...

    @property
    def replicas_path(self) -> tuple[str, ...]:
        """The names of the fields that lead to its number of replicas, if it has a scale."""
        ...

    def scale_of(self, obj: Object, *, absent: int | None = None) -> Object:
        """Its Scale. `absent` is for one that does not say how many replicas it wants: None refuses it."""
        ...

    def with_replicas(self, obj: Object, replicas: int) -> Object:
        """A new object with another number of replicas."""
        ...

    def to_stored(self, obj: Object) -> Object:
        """The object in the version in which it is kept."""
        ...

    def from_stored(self, obj: Object) -> Object:
        """An object that is kept, in this version."""
        ...


class Catalogue:
    """The kinds by group, version and plural."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._groups: dict[str, dict[str, None]] = {}
        self.generation = 0
        """Counts changes, for those who remember what they made of it."""
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_path.values())

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a path."""
        return self._by_path.get((group, version, plural))

    def of(self, resource: Resource) -> Kind:
        """The kind of a resource that is served."""
        return self._by_path[resource.group, resource.version, resource.plural]

    def serves_group(self, group: str) -> bool:
        """Whether any kind is of this group."""
        return group in self._groups

    def has_own_group(self, group: str) -> bool:
        """Whether a group is Kubernetes' own, and not only of custom kinds."""
        return group in _OWN_GROUPS

    def schemas(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """The OpenAPI schemas of the custom kinds by version and kind, as their definitions wrote them."""
        found = ((kind.resource, kind.openapi) for kind in self)
        return {(resource.api_version, resource.kind): schema for resource, schema in found if schema is not None}

    def add(self, kind: Kind) -> None:
        """Serve a kind, or another definition of it."""
        resource = kind.resource
        self._by_path[resource.group, resource.version, resource.plural] = kind
        self._groups.setdefault(resource.group, {})[resource.version] = None
        self.generation += 1

    def remove(self, resource: Resource) -> None:
        """Serve it no more."""
        self._by_path.pop((resource.group, resource.version, resource.plural), None)
        if not any(group == resource.group for group, _, _ in self._by_path):
            self._groups.pop(resource.group, None)
        self.generation += 1
