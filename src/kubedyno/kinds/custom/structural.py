"""The schema of a custom kind's version, read once into a form that is quick to walk.

It holds what pruning, defaulting and validation ask for. That the schema is structural was checked when its
definition was accepted (`schema_rules`), so nothing is checked here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kinds.custom import formats, patterns


class Schema(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What one place of an object may hold."""

    type: str = ""
    nullable: bool = False
    default: Any = None
    """None: there is none; a default cannot be null."""
    properties: Mapping[str, "Schema"] = msgspec.field(default_factory=dict)
    additional: "Schema | bool | None" = None
    """The schema of members without a name of their own, or whether there may be any; None: nothing is said."""
    items: "Schema | None" = None
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    format: str = ""
    """Empty also where the server knows no such format for the type."""
    raw_format: str = ""
    """The format as written."""
    pattern: str = ""
    matcher: re.Pattern[str] | None = None
    """None also where Go's expression cannot be said in Python's; then everything matches."""
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple["Schema", ...] = ()
    any_of: tuple["Schema", ...] = ()
    one_of: tuple["Schema", ...] = ()
    negated: "Schema | None" = None
    preserve_unknown: bool = False
    int_or_string: bool = False
    embedded: bool = False
    """Whether it is a whole Kubernetes object with `apiVersion`, `kind` and `metadata`."""
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    map_type: str = ""
    rules: tuple[Mapping[str, Any], ...] = ()
    """`x-kubernetes-validations` as written; they are CEL and are not evaluated here."""
    types: tuple[str, ...] = ()
    """The types that values may have; two for an integer or string."""
    has_defaults: bool = False
    """Whether it or anything below it has a default."""
    has_rules: bool = False
    has_lists: bool = False
    """Whether it or anything below it is a list of type `map` or `set`."""
    has_embedded: bool = False

    def member(self, name: str) -> "Schema | None":
        """The schema of a member of an object; None: nothing is known of it."""
        found = self.properties.get(name)
        if found is None and isinstance(self.additional, Schema):
            return self.additional
        return found


EMPTY = Schema()
"""The schema of an object of which nothing is said: all but its metadata is unknown."""


def parse(raw: Mapping[str, Any] | None) -> Schema:
    """The schema that an `openAPIV3Schema` means."""
    if not raw:
        return EMPTY
    properties = {name: parse(below) for name, below in (raw.get("properties") or {}).items()}
    additional = raw.get("additionalProperties")
    parsed_additional = parse(additional) if isinstance(additional, Mapping) else additional
    items = parse(raw["items"]) if isinstance(raw.get("items"), Mapping) else None
    children = [*properties.values()]
    if isinstance(parsed_additional, Schema):
        children.append(parsed_additional)
    if items is not None:
        children.append(items)
    type_, int_or_string = raw.get("type") or "", bool(raw.get("x-kubernetes-int-or-string"))
    types = ("integer", "string") if int_or_string else (type_,) if type_ else ()
    list_type, rules = raw.get("x-kubernetes-list-type") or "", tuple(raw.get("x-kubernetes-validations") or ())
    embedded = bool(raw.get("x-kubernetes-embedded-resource"))
    return Schema(
        type=type_,
        nullable=bool(raw.get("nullable")),
        default=raw.get("default"),
        properties=properties,
        additional=parsed_additional,
        items=items,
        **_value_rules(raw, types),
        preserve_unknown=bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        int_or_string=int_or_string,
        embedded=embedded,
        list_type=list_type,
        list_keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
        map_type=raw.get("x-kubernetes-map-type") or "",
        rules=rules,
        types=types,
        has_defaults=raw.get("default") is not None or any(child.has_defaults for child in children),
        has_rules=bool(rules) or any(child.has_rules for child in children),
        has_lists=list_type in {"map", "set"} or any(child.has_lists for child in children),
        has_embedded=embedded or any(child.has_embedded for child in children),
    )


def _value_rules(raw: Mapping[str, Any], types: Sequence[str]) -> dict[str, Any]:
    pattern = raw.get("pattern") or ""
    return {
        "required": tuple(raw.get("required") or ()),
        "enum": tuple(raw.get("enum") or ()),
        "format": formats.known(raw.get("format") or "", types),
        "raw_format": raw.get("format") or "",
        "pattern": pattern,
        "matcher": patterns.compiled(pattern) if pattern else None,
        "minimum": raw.get("minimum"),
        "maximum": raw.get("maximum"),
        "exclusive_minimum": bool(raw.get("exclusiveMinimum")),
        "exclusive_maximum": bool(raw.get("exclusiveMaximum")),
        "multiple_of": raw.get("multipleOf"),
        "min_length": raw.get("minLength"),
        "max_length": raw.get("maxLength"),
        "min_items": raw.get("minItems"),
        "max_items": raw.get("maxItems"),
        "min_properties": raw.get("minProperties"),
        "max_properties": raw.get("maxProperties"),
        "all_of": tuple(map(parse, raw.get("allOf") or ())),
        "any_of": tuple(map(parse, raw.get("anyOf") or ())),
        "one_of": tuple(map(parse, raw.get("oneOf") or ())),
        "negated": parse(raw["not"]) if raw.get("not") is not None else None,
    }
