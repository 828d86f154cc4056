"""Custom kinds as the handlers see them: an adapter over what `kinds.custom` makes of a definition."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.kinds import naming, rules
from kubedyno.kinds.custom import applying
from kubedyno.kinds.custom.kinds import CustomKind, finalizer_warnings
from kubedyno.kinds.custom.scaling import WrongType
from kubedyno.kinds.naming import Served
from kubedyno.kinds.strategies.keeping import keep_metadata
from kubedyno.kinds.tables.custom import custom_printer
from kubedyno.kinds.tables.printing import Printer
from kubedyno.kube import problems, status
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import Resource
from kubedyno.kube.status import Cause
from kubedyno.kube.typed import View
from kubedyno.server.catalogue import Understood
from kubedyno.server.messages import Refused


class Custom(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A custom kind in one version. Implements `catalogue.Kind`."""

    kind: CustomKind
    keeper: CustomKind
    """The same kind in the version in which its objects are kept."""
    served: Served
    printer: Printer
    openapi: Mapping[str, Any] | None

    is_terminating: bool
    """Whether its definition is being deleted."""

    is_custom: bool = True
    allows_unconditional_update: bool = False
    allows_create_on_update: bool = False

    @property
    def resource(self) -> Resource:
        """The resource and version of requests."""
        return self.kind.resource

    @property
    def deprecation(self) -> str:
        """As its definition has it."""
        return self.kind.deprecation

    @property
    def stored(self) -> Resource:
        """The resource and version in which its objects are kept."""
        return self.keeper.resource

    @property
    def view(self) -> View:
        """By its schema."""
        return self.kind.view

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields that its definition lets be selected by."""
        paths = [path.removeprefix(".") for path in self.kind.selectable_paths]
        return {path: path for path in paths}

    @property
    def list_kind(self) -> str:
        """The kind of its lists."""
        return self.kind.list_kind

    def unselectable(self, field: str) -> str:
        """In the words for custom kinds."""
        return f"field label not supported: {field}"

    def read(self, obj: Object, known: Object | None = None) -> Understood:
        """Pruned, with defaults; kind and version come first."""
        del known  # defaults and pruning are one quick pass
        found = self.kind.read(obj)
        if found.error:
            return Understood(object={}, error=found.error)
        head = {
            "kind": obj.get("kind") or self.resource.kind,
            "apiVersion": obj.get("apiVersion") or self.resource.api_version,
        }
        rest = {name: value for name, value in found.obj.items() if name not in head}
        return Understood(object={**head, "metadata": {}, **rest}, unknown=found.unknown)

    def empty(self) -> Object:
        """Custom objects have nothing by themselves."""
        return {"kind": self.resource.kind, "apiVersion": self.resource.api_version}

    def prepare_create(self, obj: Object, *, now: str) -> None:
        """Generation 1, no status where that has its own endpoint."""
        del now
        _become(obj, self.kind.prepared_for_create(obj))

    def prepare_update(self, new: Object, old: Object, *, now: str, subresource: str) -> None:
        """Status or everything else is kept, by the endpoint; generations are counted."""
        del now
        keep_metadata(new, old)
        if subresource == "status":
            _become(new, self.kind.prepared_for_status_update(new, old))
        else:
            _become(new, self.kind.prepared_for_update(new, old))

    def default_again(self, obj: Object) -> None:
        """Nothing that is prepared brings further defaults."""

    def unwritten(self, subresource: str) -> tuple[tuple[str, ...], ...]:
        """Status or spec, by the endpoint, where status has one of its own."""
        if not self.kind.has_status:
            return ()
        return (("spec",),) if subresource == "status" else (("status",),)

    def misfit(self, config: Object) -> str:
        """By its schema."""
        return applying.misfit(config, self.kind.schema)

    def problems_created(self, obj: Object) -> list[Problem]:
        """Of its kind, or of its metadata, then by its schema."""
        if found := self._kind_problems(obj):
            return found
        return [*rules.created(obj, self.resource), *self.kind.create_problems(obj)]

    def problems_updated(self, new: Object, old: Object, subresource: str) -> list[Problem]:
        """Of its kind, or of its metadata, then by its schema."""
        if found := self._kind_problems(new):
            return found
        found = rules.updated(new, old, self.resource, subresource)
        if subresource == "status":
            return [*found, *self.kind.status_problems(new, old)]
        return [*found, *self.kind.update_problems(new, old)]

    def _kind_problems(self, obj: Object) -> list[Problem]:
        wanted = {"kind": self.resource.kind, "apiVersion": self.resource.api_version}
        return [
            problems.invalid(name, obj[name], f"must be {value}")
            for name, value in wanted.items()
            if obj[name] != value
        ]

    def warnings(self, new: Object, old: Object | None) -> list[str]:
        """Of finalizers without a domain."""
        return finalizer_warnings(new, old)

    @property
    def replicas_path(self) -> tuple[str, ...]:
        """By the path that its definition names."""
        scale = self.kind.scale
        return () if scale is None else tuple(scale.spec_replicas.removeprefix(".").split("."))

    def scale_of(self, obj: Object, *, absent: int | None = None) -> Object:
        """By the paths that its definition names."""
        try:
            found = self.kind.scale_of(obj)
            if found is None and absent is not None:
                found = self.kind.scale_of(self.kind.with_replicas(obj, absent))
        except WrongType as error:
            raise Refused(status.failure(500, str(error), reason="")) from error
        if found is None:
            path = "" if self.kind.scale is None else self.kind.scale.spec_replicas
            said = f'the spec replicas field "{path}" does not exist'
            raise Refused(status.failure(500, f"Internal error occurred: {said}", causes=(Cause("", said),)))
        return found

    def with_replicas(self, obj: Object, replicas: int) -> Object:
        """By the path that its definition names."""
        return self.kind.with_replicas(obj, replicas)

    def to_stored(self, obj: Object) -> Object:
        """In the version in which it is kept."""
        return obj if self.stored == self.resource else self.keeper.converted(obj)

    def from_stored(self, obj: Object) -> Object:
        """In this version; objects kept before the storage version changed are of the older one."""
        return obj if obj["apiVersion"] == self.resource.api_version else self.kind.converted(obj)


def _become(obj: Object, other: Object) -> None:
    """Give an object the content of another."""
    obj.clear()
    obj.update(other)


def custom(kind: CustomKind, keeper: CustomKind, definition: Object) -> Custom:
    """A version of a definition."""
    is_terminating = "deletionTimestamp" in definition["metadata"]
    version = next(one for one in definition["spec"]["versions"] if one["name"] == kind.resource.version)
    return Custom(
        kind=kind,
        keeper=keeper,
        served=naming.custom(
            kind.resource,
            singular=kind.singular,
            short_names=kind.short_names,
            categories=kind.categories,
            is_terminating=is_terminating,
        ),
        is_terminating=is_terminating,
        printer=custom_printer(version.get("additionalPrinterColumns") or ()),
        openapi=(version.get("schema") or {}).get("openAPIV3Schema"),
    )
