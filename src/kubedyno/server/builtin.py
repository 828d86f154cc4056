"""Kubernetes' own kinds, from what `kinds` knows of them."""

import functools
from collections.abc import Iterator, Mapping

import msgspec

from kubedyno.kinds import conversions, defaults, rules, strategies
from kubedyno.kinds.custom import definition_rules
from kubedyno.kinds.deprecations import deprecation
from kubedyno.kinds.naming import Served, built_in
from kubedyno.kinds.strategies.scales import scale_of
from kubedyno.kinds.tables.printing import Printer
from kubedyno.kinds.tables.table import printer_of
from kubedyno.kube import decoding, typed
from kubedyno.kube.codec import Object
from kubedyno.kube.configurations import configuration_problem
from kubedyno.kube.normalizing import normalized
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import BUILT_IN, CRDS, Resource
from kubedyno.kube.typed import View
from kubedyno.server.catalogue import Understood

_NOT_SERVED = frozenset({"componentstatuses"})
"""Deprecated since 1.19: it would tell of processes that are not there."""


class BuiltIn(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of Kubernetes' own in one version. Implements `catalogue.Kind`."""

    served: Served
    stored: Resource
    view: View
    fields: Mapping[str, str]

    printer: Printer
    deprecation: str

    is_custom: bool = False
    is_terminating: bool = False
    openapi: None = None

    @property
    def resource(self) -> Resource:
        """The resource and version of requests."""
        return self.served.resource

    @property
    def allows_unconditional_update(self) -> bool:
        """Whether an update without a resourceVersion overwrites."""
        return strategies.allows_unconditional_update(self.resource)

    @property
    def allows_create_on_update(self) -> bool:
        """Whether an update of what is not there creates it."""
        return strategies.allows_create_on_update(self.resource)

    @property
    def list_kind(self) -> str:
        """The kind of its lists."""
        return f"{self.resource.kind}List"

    def unselectable(self, field: str) -> str:
        """In the words of its group."""
        return conversions.unselectable(self.resource, field) or f"field label not supported: {field}"

    def read(self, obj: Object, known: Object | None = None) -> Understood:
        """Checked against its type, normalised, with defaults; kind and version come first."""
        if known is not None:
            return self._reread(obj, known)
        resource = self.resource
        found = decoding.read(obj, resource.api_version, resource.kind)
        if found is not None and found.error:
            return Understood(object={}, error=found.error)
        new = normalized(obj, resource.api_version, resource.kind)
        defaults.apply(new, resource.api_version, resource.kind)
        understood = _headed(new, resource)
        understood.setdefault("metadata", {})
        return Understood(object=understood, unknown=found.unknown if found is not None else ())

    def _reread(self, obj: Object, known: Object) -> Understood:
        """Like `read`, for a new state of an object: only what changed is looked at."""
        resource = self.resource
        part = {name: value for name, value in obj.items() if name not in known or known[name] != value}
        found = decoding.read(part, resource.api_version, resource.kind)
        if found is not None and found.error:
            return Understood(object={}, error=found.error)
        changed = normalized(part, resource.api_version, resource.kind) if part else {}
        gone = [name for name in known if name not in obj]
        # What a type always prints is there again when it is left out, as in a whole object.
        bare = normalized({}, resource.api_version, resource.kind) if gone else {}
        new = {name: value for name, value in known.items() if name not in gone}
        new |= {name: changed[name] for name in part if name in changed}
        new = {name: value for name, value in new.items() if name not in part or name in changed}
        new |= {name: bare[name] for name in gone if name in bare}
        defaults.apply(new, resource.api_version, resource.kind)
        return Understood(object=_headed(new, resource), unknown=found.unknown if found is not None else ())

    def empty(self) -> Object:
        """What Go prints of an empty struct. Shared by all who ask: never changed."""
        return _empty(self.resource)

    def prepare_create(self, obj: Object, *, now: str) -> None:
        """As its strategy does."""
        defaults.stamp(obj, self.resource.api_version, self.resource.kind, now)
        strategies.prepare_create(obj, self.resource, now=now)

    def prepare_update(self, new: Object, old: Object, *, now: str, subresource: str) -> None:
        """As its strategy does."""
        defaults.stamp(new, self.resource.api_version, self.resource.kind, now)
        strategies.prepare_update(new, old, self.resource, now=now, subresource=subresource)

    def default_again(self, obj: Object) -> None:
        """A Job takes its labels from its template's, which its strategy has just set."""
        defaults.apply(obj, self.resource.api_version, self.resource.kind)

    def unwritten(self, subresource: str) -> tuple[tuple[str, ...], ...]:
        """By its strategy."""
        return strategies.unwritten_fields(self.resource, subresource)

    def misfit(self, config: Object) -> str:
        """By its type."""
        return configuration_problem(config, self.view)

    def problems_created(self, obj: Object) -> list[Problem]:
        """By its rules."""
        found = rules.created(obj, self.resource)
        return [*found, *definition_rules.create_problems(obj)] if self.resource == CRDS else found

    def problems_updated(self, new: Object, old: Object, subresource: str) -> list[Problem]:
        """By its rules."""
        found = rules.updated(new, old, self.resource, subresource)
        if self.resource == CRDS:
            compare = definition_rules.status_problems if subresource else definition_rules.update_problems
            found += compare(new, old)
        return found

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """By its strategy."""
        if old is None:
            return strategies.warnings_on_create(new, self.resource)
        return strategies.warnings_on_update(new, old, self.resource)

    @property
    def replicas_path(self) -> tuple[str, ...]:
        """As the kinds with replicas have it."""
        return "spec", "replicas"

    def scale_of(self, obj: Object, *, absent: int | None = None) -> Object:
        """As the kinds with replicas have it: they always say how many."""
        del absent
        return scale_of(obj)

    def with_replicas(self, obj: Object, replicas: int) -> Object:
        """With another `spec.replicas`."""
        return {**obj, "spec": {**(obj.get("spec") or {}), "replicas": replicas}}

    def to_stored(self, obj: Object) -> Object:
        """Converted, where it is kept in another version."""
        return obj if self.stored == self.resource else _headed(conversions.converted(obj, self.stored), self.stored)

    def from_stored(self, obj: Object) -> Object:
        """Converted, where it is kept in another version."""
        if self.stored == self.resource:
            return obj
        return _headed(conversions.converted(obj, self.resource), self.resource)


def _headed(obj: Object, resource: Resource) -> Object:
    """The object with kind and version first: so all bytes of one kind begin alike."""
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return {**head, **{name: value for name, value in obj.items() if name not in head}}


@functools.cache
def _empty(resource: Resource) -> Object:
    return _headed(normalized({}, resource.api_version, resource.kind), resource)


def built_in_kinds() -> Iterator[BuiltIn]:
    """All kinds that a server has from its start."""
    for resource in BUILT_IN:
        if resource.plural not in _NOT_SERVED:
            yield built_in_kind(resource, stored=conversions.storage_resource(resource))


def built_in_kind(resource: Resource, *, stored: Resource | None = None) -> BuiltIn:
    """One kind; one that is never stored, but sent to a subresource, has no storage version."""
    return BuiltIn(
        served=built_in(resource),
        stored=stored or resource,
        view=typed.view_of(resource.api_version, resource.kind),
        printer=printer_of(resource),
        deprecation=deprecation(resource),
        fields={field.name: field.path for field in conversions.selectable_fields(resource)},
    )
