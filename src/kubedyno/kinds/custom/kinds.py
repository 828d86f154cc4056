"""A custom kind in one version, made from its definition: how it is served, and what is done to its objects."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kinds.custom import defaulting, embedded, lists, pruning, scaling, structural, validating, views
from kubedyno.kinds.custom import paths as json_paths
from kubedyno.kinds.custom.scaling import ScalePaths
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kinds.custom.versions import deprecation_of
from kubedyno.kinds.rules import texts
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import copied
from kubedyno.kube.problems import Problem
from kubedyno.kube.resources import Resource
from kubedyno.kube.typed import View

_STANDARD_FINALIZERS = frozenset(["orphan", "foregroundDeletion", "kubernetes"])


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the kind's tables, beside the name."""

    name: str
    type: str
    json_path: str
    format: str = ""
    description: str = ""
    priority: int = 0


AGE = Column(name="Age", type="date", json_path=".metadata.creationTimestamp")
"""The only column of a kind that declares none."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """An object as it was read: pruned, with its defaults."""

    obj: Object
    unknown: tuple[str, ...] = ()
    """Fields that were dropped, for `fieldValidation`, in the server's order."""
    error: str = ""
    """Why it could not be read; then `obj` is as it came."""


class CustomKind(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One version of a custom kind."""

    resource: Resource
    singular: str
    list_kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    served: bool
    storage_version: str
    """The version in which objects of the kind are kept."""
    deprecation: str
    """What clients of this version are warned of; empty: nothing."""
    schema: Schema
    view: View
    columns: tuple[Column, ...]
    selectable_paths: tuple[str, ...]
    scale: ScalePaths | None

    @property
    def has_status(self) -> bool:
        """Whether status is written at an endpoint of its own."""
        return "status" in self.resource.subresources

    def read(self, obj: Object) -> Reading:
        """An object from a request: metadata in the server's form, unknown fields dropped, defaults filled in."""
        with_metadata, at_root = embedded.root(obj)
        if at_root.error:
            return Reading(obj=obj, error=at_root.error)
        kept, unknown = pruning.pruned(with_metadata, self.schema)
        if self.schema.has_embedded or self.schema.has_defaults:
            kept = copied(kept)
        inside = embedded.inner(kept, self.schema)
        if inside.error:
            return Reading(obj=obj, error=inside.error)
        defaulting.apply(kept, self.schema)
        return Reading(obj=kept, unknown=(*at_root.unknown, *unknown, *inside.unknown))

    def converted(self, stored: Object) -> Object:
        """An object of another version in this one: with the strategy `None` its `apiVersion` changes, nothing else.

        It has the defaults of the version that it comes from; what this version does not know is dropped.
        """
        kept, _ = pruning.pruned({**stored, "apiVersion": self.resource.api_version}, self.schema)
        return kept

    def prepared_for_create(self, obj: Object) -> Object:
        """The object as it is created: generation 1, and no status where that has its own endpoint."""
        made = {name: value for name, value in obj.items() if name != "status" or not self.has_status}
        return {**made, "metadata": {**obj.get("metadata", {}), "generation": 1}}

    def prepared_for_update(self, new: Object, old: Object) -> Object:
        """The new state with the old status where that has its own endpoint, and the next generation if it changed."""
        made = {**new}
        if self.has_status:
            made.pop("status", None)
            if "status" in old:
                made["status"] = old["status"]
        if _without_metadata(made) != _without_metadata(old):
            generation = old.get("metadata", {}).get("generation", 0) + 1
            made["metadata"] = {**made.get("metadata", {}), "generation": generation}
        return made

    def prepared_for_status_update(self, new: Object, old: Object) -> Object:
        """The old state with the new status; of the new metadata only `managedFields` count."""
        made = {name: value for name, value in old.items() if name != "status"}
        metadata = {name: value for name, value in old.get("metadata", {}).items() if name != "managedFields"}
        if managed := new.get("metadata", {}).get("managedFields"):
            metadata["managedFields"] = managed
        made["metadata"] = metadata
        if "status" in new:
            made["status"] = new["status"]
        return made

    def create_problems(self, obj: Object) -> list[Problem]:
        """What is wrong with a new object, its own metadata aside (`kinds.rules`)."""
        return self._problems(obj, None)

    def update_problems(self, new: Object, old: Object) -> list[Problem]:
        """What is wrong with a new state; what was wrong before and has not changed is let through."""
        return self._problems(new, old)

    def _problems(self, obj: Object, old: Object | None) -> list[Problem]:
        found = validating.value_problems(obj, self.schema, old=validating.ABSENT if old is None else old)
        if self.scale is not None:
            found += scaling.scale_problems(obj, self.scale)
        found += embedded.embedded_problems(obj, self.schema)
        if old is None or not lists.problems(old, self.schema):
            found += lists.problems(obj, self.schema)
        return found + validating.unchecked_rules(found, self.schema)

    def status_problems(self, new: Object, old: Object) -> list[Problem]:
        """What is wrong with a new status."""
        found: list[Problem] = []
        schema = self.schema.properties.get("status")
        if schema is not None and "status" in new:
            before = old.get("status", validating.ABSENT)
            found += validating.value_problems(new["status"], schema, "status", old=before)
        if self.scale is not None:
            found += scaling.scale_problems(new, self.scale, with_spec=False)
        if not lists.problems(old, self.schema):
            found += lists.problems(new, self.schema)
        return found + validating.unchecked_rules(found, self.schema)

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        """What field selectors may ask for, beside name and namespace: the value as text, empty where it is missing."""
        found = {}
        for path in self.selectable_paths:
            values = json_paths.read(path, obj)
            found[path.removeprefix(".")] = scaling.go_text(values[0]) if values and values[0] is not None else ""
        return found

    def scale_of(self, obj: Object) -> Object | None:
        """The Scale of an object; None: it does not say how many replicas it wants."""
        return scaling.scale_of(obj, self._scale())

    def with_replicas(self, obj: Object, replicas: int) -> Object:
        """The object with another number of replicas."""
        return scaling.with_replicas(obj, self._scale(), replicas)

    def _scale(self) -> ScalePaths:
        if self.scale is None:
            raise UsageError(f"{self.resource.full_name} have no scale")
        return self.scale


def _without_metadata(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name != "metadata"}


def finalizer_warnings(new: Object, old: Object | None = None) -> list[str]:
    """What the server warns of when finalizers without a domain come to an object."""
    before = set((old or {}).get("metadata", {}).get("finalizers") or ())
    return [
        f'metadata.finalizers: "{finalizer}": {told}'
        for finalizer in sorted(set(new.get("metadata", {}).get("finalizers") or ()) - before)
        for told in _finalizer_complaints(finalizer)
    ]


def _finalizer_complaints(finalizer: str) -> Iterable[str]:
    yield from texts.label_key(finalizer)
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in finalizer else ""
        yield (
            f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        )


def kinds_of(definition: Mapping[str, Any]) -> dict[str, CustomKind]:
    """All versions that a definition declares, by their names, whether served or not."""
    return {version["name"]: _kind(definition, version) for version in definition["spec"]["versions"]}


def _kind(definition: Mapping[str, Any], version: Mapping[str, Any]) -> CustomKind:
    spec = definition["spec"]
    accepted = (definition.get("status") or {}).get("acceptedNames") or {}
    names = accepted if accepted.get("plural") else spec["names"]
    subresources = version.get("subresources") or {}
    schema = structural.parse((version.get("schema") or {}).get("openAPIV3Schema"))
    scale = subresources.get("scale")
    return CustomKind(
        resource=Resource(
            spec["group"],
            version["name"],
            names["kind"],
            names["plural"],
            spec["scope"] == "Namespaced",
            tuple(name for name in ("status", "scale") if subresources.get(name) is not None),
        ),
        singular=names.get("singular") or names["kind"].lower(),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        served=bool(version.get("served")),
        storage_version=next(one["name"] for one in spec["versions"] if one.get("storage")),
        deprecation=deprecation_of(spec, version),
        schema=schema,
        view=views.view_through(schema),
        columns=tuple(map(_column, version.get("additionalPrinterColumns") or ())) or (AGE,),
        selectable_paths=tuple(one["jsonPath"] for one in version.get("selectableFields") or ()),
        scale=None
        if scale is None
        else ScalePaths(
            spec_replicas=scale["specReplicasPath"],
            status_replicas=scale["statusReplicasPath"],
            label_selector=scale.get("labelSelectorPath") or "",
        ),
    )


def _column(raw: Mapping[str, Any]) -> Column:
    return Column(
        name=raw["name"],
        type=raw["type"],
        json_path=raw["jsonPath"],
        format=raw.get("format") or "",
        description=raw.get("description") or "",
        priority=raw.get("priority") or 0,
    )
