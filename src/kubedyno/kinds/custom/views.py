"""Objects of custom kinds seen through their schema, for server-side apply."""

from typing import Any

from kubedyno.kinds.custom.structural import Schema
from kubedyno.kit.errors import UsageError
from kubedyno.kube.fieldsets import item_by_keys, item_by_value
from kubedyno.kube.typed import Structure, View, view_of

_METADATA = view_of("v1", "ConfigMap").member("metadata")
_UNKNOWN = View(None)


class SchemaView(View, frozen=True, kw_only=True):
    """The view of values at a place of a schema; members that it does not name are seen as they are."""

    schema: Schema
    is_resource: bool = False
    """Whether `apiVersion`, `kind` and `metadata` are known without being named."""

    def structure(self, value: Any) -> Structure:
        """What a value is here: only lists of type `map` and `set` have items."""
        if isinstance(value, dict):
            return "leaf" if self.schema.map_type == "atomic" else "members"
        return "items" if isinstance(value, list) and self.schema.list_type in {"map", "set"} else "leaf"

    def member(self, name: str) -> View:
        """The view of a member of an object."""
        if self.is_resource and name == "metadata":
            return _METADATA
        return _view(self.schema.member(name))

    def is_named(self, name: str) -> bool:
        """Whether the schema names this member."""
        return name in self.schema.properties or (self.is_resource and name in {"apiVersion", "kind", "metadata"})

    @property
    def item(self) -> View:
        """The view of the items of a list."""
        return _view(self.schema.items)

    def element(self, item: Any, where: str) -> str:
        """The path element of an item of a list of type `map` or `set`; keys that are missing have their defaults."""
        if self.schema.list_type == "set":
            return item_by_value(item)
        if not isinstance(item, dict):
            raise UsageError(f"{where}: an item is no object, so it has no {', '.join(self.schema.list_keys)}")
        members = self.schema.items.properties if self.schema.items is not None else {}
        keys = {key: item.get(key, members[key].default if key in members else None) for key in self.schema.list_keys}
        return item_by_keys({key: value for key, value in keys.items() if value is not None})


def _view(schema: Schema | None) -> View:
    return _UNKNOWN if schema is None else SchemaView(of=None, schema=schema, is_resource=schema.embedded)


def view_through(schema: Schema) -> View:
    """The view of whole objects of a kind with that schema."""
    return SchemaView(of=None, schema=schema, is_resource=True)
