"""Parts of a definition as Go prints the structs that it reads them into: some messages show them whole."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from kubedyno.kube.problems import Problem

_Part = Mapping[str, Any]

# What is not there: Go's zero of the field's type.
_TEXT, _FALSE, _NULL = "", False, None

_SCHEMA_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("ID", "id", _TEXT),
    ("Schema", "$schema", _TEXT),
    ("Ref", "$ref", _NULL),
    ("Description", "description", _TEXT),
    ("Type", "type", _TEXT),
    ("Nullable", "nullable", _FALSE),
    ("Format", "format", _TEXT),
    ("Title", "title", _TEXT),
    ("Default", "default", _NULL),
    ("Maximum", "maximum", _NULL),
    ("ExclusiveMaximum", "exclusiveMaximum", _FALSE),
    ("Minimum", "minimum", _NULL),
    ("ExclusiveMinimum", "exclusiveMinimum", _FALSE),
    ("MaxLength", "maxLength", _NULL),
    ("MinLength", "minLength", _NULL),
    ("Pattern", "pattern", _TEXT),
    ("MaxItems", "maxItems", _NULL),
    ("MinItems", "minItems", _NULL),
    ("UniqueItems", "uniqueItems", _FALSE),
    ("MultipleOf", "multipleOf", _NULL),
    ("Enum", "enum", _NULL),
    ("MaxProperties", "maxProperties", _NULL),
    ("MinProperties", "minProperties", _NULL),
    ("Required", "required", _NULL),
    ("Items", "items", _NULL),
    ("AllOf", "allOf", _NULL),
    ("OneOf", "oneOf", _NULL),
    ("AnyOf", "anyOf", _NULL),
    ("Not", "not", _NULL),
    ("Properties", "properties", _NULL),
    ("AdditionalProperties", "additionalProperties", _NULL),
    ("PatternProperties", "patternProperties", _NULL),
    ("Dependencies", "dependencies", _NULL),
    ("AdditionalItems", "additionalItems", _NULL),
    ("Definitions", "definitions", _NULL),
    ("ExternalDocs", "externalDocs", _NULL),
    ("Example", "example", _NULL),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", _NULL),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", _FALSE),
    ("XIntOrString", "x-kubernetes-int-or-string", _FALSE),
    ("XListMapKeys", "x-kubernetes-list-map-keys", _NULL),
    ("XListType", "x-kubernetes-list-type", _NULL),
    ("XMapType", "x-kubernetes-map-type", _NULL),
    ("XValidations", "x-kubernetes-validations", _NULL),
)
_RULE_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("Rule", "rule", _TEXT),
    ("Message", "message", _TEXT),
    ("MessageExpression", "messageExpression", _TEXT),
    ("Reason", "reason", _NULL),
    ("FieldPath", "fieldPath", _TEXT),
    ("OptionalOldSelf", "optionalOldSelf", _NULL),
)
_COLUMN_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("Name", "name", _TEXT),
    ("Type", "type", _TEXT),
    ("Format", "format", _TEXT),
    ("Description", "description", _TEXT),
    ("Priority", "priority", 0),
    ("JSONPath", "jsonPath", _TEXT),
)
_SCALE_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("SpecReplicasPath", "specReplicasPath", _TEXT),
    ("StatusReplicasPath", "statusReplicasPath", _TEXT),
    ("LabelSelectorPath", "labelSelectorPath", _NULL),
)
_LISTS_OF_SCHEMAS = frozenset(["allOf", "oneOf", "anyOf"])
_MAPS_OF_SCHEMAS = frozenset(["properties", "patternProperties", "definitions"])


def _fields(part: _Part, table: Sequence[tuple[str, str, Any]]) -> dict[str, Any]:
    return {go_name: part.get(name, zero) for go_name, name, zero in table}


def set_fields(schema: _Part) -> list[str]:
    """Go's names of the fields that a schema sets, in the order of the struct."""
    return [
        go_name
        for go_name, name, zero in _SCHEMA_FIELDS
        if name in schema and schema[name] != zero and schema[name] is not None
    ]


def schema(part: _Part) -> dict[str, Any]:
    """A schema."""
    return {go_name: _schema_value(name, part.get(name, zero)) for go_name, name, zero in _SCHEMA_FIELDS}


def _schema_value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _LISTS_OF_SCHEMAS:
        return [schema(one) for one in value]
    if name in _MAPS_OF_SCHEMAS:
        return {key: schema(value[key]) for key in sorted(value)}
    shown = _SPECIAL.get(name)
    return value if shown is None else shown(value)


def _items(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"Schema": None, "JSONSchemas": [schema(one) for one in value]}
    return {"Schema": schema(value), "JSONSchemas": None}


def _schema_or_bool(value: Any) -> dict[str, Any]:
    is_schema = isinstance(value, Mapping)
    return {"Allows": is_schema or value, "Schema": schema(value) if is_schema else None}


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    "not": schema,
    "items": _items,
    "additionalProperties": _schema_or_bool,
    "additionalItems": _schema_or_bool,
    "x-kubernetes-validations": lambda rules: [_fields(one, _RULE_FIELDS) for one in rules],
}


def version(part: _Part) -> dict[str, Any]:
    """A version of a definition."""
    subresources, own_schema = part.get("subresources"), part.get("schema")
    columns, selectable = part.get("additionalPrinterColumns"), part.get("selectableFields")
    root = own_schema.get("openAPIV3Schema") if own_schema is not None else None
    return {
        "Name": part.get("name", ""),
        "Served": part.get("served", False),
        "Storage": part.get("storage", False),
        "Deprecated": part.get("deprecated", False),
        "DeprecationWarning": part.get("deprecationWarning"),
        "Schema": None if own_schema is None else {"OpenAPIV3Schema": None if root is None else schema(root)},
        "Subresources": None if subresources is None else _subresources(subresources),
        "AdditionalPrinterColumns": None if columns is None else [_fields(one, _COLUMN_FIELDS) for one in columns],
        "SelectableFields": None
        if selectable is None
        else [{"JSONPath": one.get("jsonPath", "")} for one in selectable],
    }


def _subresources(part: _Part) -> dict[str, Any]:
    scale = part.get("scale")
    return {
        "Status": None if part.get("status") is None else {},
        "Scale": None if scale is None else _fields(scale, _SCALE_FIELDS),
    }


def invalid(field: str, value: Any, detail: str) -> Problem:
    """An invalid value that is printed as such a struct, with the signs that Go escapes in JSON."""
    shown = msgspec.json.encode(value).decode()
    for sign in "<>&":
        shown = shown.replace(sign, f"\\u{ord(sign):04x}")
    return Problem(field, "FieldValueInvalid", f"Invalid value: {shown}: {detail}")
