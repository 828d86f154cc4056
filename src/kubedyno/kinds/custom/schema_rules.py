"""Which schemas a definition may have: OpenAPI's as Kubernetes takes it, structural, with defaults that fit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubedyno.kinds.custom import list_rules, printed
from kubedyno.kinds.custom.default_rules import default_problems
from kubedyno.kinds.custom.structure_rules import children, structure_problems
from kubedyno.kube.problems import Problem, forbidden, invalid, not_supported, required

Raw = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = frozenset(["metadata", "kind", "apiVersion"])
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_ROOT_FIELDS = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
]
_IF_STATUS = "at the root of the schema if the status subresource is enabled"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def schema_problems(raw: Raw, path: str, *, has_status: bool) -> list[Problem]:
    """What is wrong with the schema of a version, which stands at `path` (`....schema` or `spec.validation`)."""
    place = f"{path}.openAPIV3Schema"
    found = [*_status_problems(raw, place)] if has_status else []
    if raw.get("nullable"):
        found.append(forbidden(f"{place}.nullable", "nullable cannot be true at the root"))
    unsupported = _unsupported(raw)
    if not unsupported:
        found += structure_problems(raw, place) or default_problems(raw, place)
    found += _openapi_problems(raw, place, _Context(is_root=True))
    if unsupported and not found:
        found.append(invalid(place, "", unsupported))
    return found


def _status_problems(raw: Raw, place: str) -> Iterator[Problem]:
    """With a status endpoint the root may say only what does not reach into status."""
    for name in printed.set_fields(raw):
        if name == "Type":
            if raw["type"] != "object":
                detail = f'only "object" is allowed as the type {_IF_STATUS}'
                yield invalid(f"{place}.type", raw["type"], detail)
                return
        elif name not in _ROOT_FIELDS:
            detail = f"only [{' '.join(_ROOT_FIELDS)}] fields are allowed {_IF_STATUS}"
            yield printed.invalid(place, printed.schema(raw), detail)
            return


def _unsupported(raw: Raw) -> str:
    """The first thing that no structural schema can be made of."""
    for name in _UNSUPPORTED:
        if raw.get(name):
            return f"OpenAPIV3Schema '{name.lstrip('$') if name == '$schema' else name}' is not supported"
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(raw.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((told for _, below in children(raw) if (told := _unsupported(below))), "")


class _Context:
    """What is forbidden at a place because of what is above it."""

    def __init__(self, *, is_root: bool = False, in_metadata: bool = False, no_defaults: str | None = None) -> None:
        self.is_root = is_root
        self.in_metadata = in_metadata
        self.no_defaults = no_defaults

    def below(self, raw: Raw, place: str) -> "_Context":
        """What holds for the schema at `.additionalProperties` or `.properties[name]`."""
        if place == ".additionalProperties" and self.in_metadata:
            return _Context(in_metadata=True, no_defaults="inside additionalProperties applying to object metadata")
        name = place.removeprefix(".properties[").removesuffix("]") if place.startswith(".properties[") else ""
        if name in _META and (self.is_root or raw.get("x-kubernetes-embedded-resource")):
            return _Context(in_metadata=True, no_defaults=f"in top-level {name}" if self.is_root else self.no_defaults)
        return _Context(in_metadata=self.in_metadata, no_defaults=self.no_defaults)


_NOT_SUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def _openapi_problems(raw: Raw, path: str, context: _Context) -> list[Problem]:
    """What is wrong at and below a place, whether or not the schema is structural."""
    found = [*_own_problems(raw, path, context)]
    additional = raw.get("additionalProperties")
    if raw.get("properties") and (additional is False or isinstance(additional, Mapping)):
        detail = "additionalProperties and properties are mutual exclusive"
        found.append(forbidden(f"{path}.additionalProperties", detail))
    for place, below in children(raw):
        found += _openapi_problems(below, f"{path}{place}", context.below(raw, place))
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        name = f"{path}.x-kubernetes-preserve-unknown-fields"
        found.append(invalid(name, value=False, detail="must be true or undefined"))
    found += list_rules.collection_problems(raw, path)
    for index, rule in enumerate(raw.get("x-kubernetes-validations") or ()):
        found += _rule_problems(rule, f"{path}.x-kubernetes-validations[{index}]")
    return found


def _own_problems(raw: Raw, path: str, context: _Context) -> Iterator[Problem]:
    type_ = raw.get("type") or ""
    if type_ and type_ not in _TYPES:
        yield not_supported(f"{path}.type", type_, _TYPES)
    if raw.get("default") is not None and context.no_defaults is not None:
        yield forbidden(f"{path}.default", f"must not be set {context.no_defaults}")
    for name in _NOT_SUPPORTED:
        if raw.get(name) is not None and raw[name] not in ("", {}):
            yield forbidden(f"{path}.{name}", f"{name} is not supported")
    if type_ == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(raw.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if context.in_metadata and raw.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if raw.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", detail)


def _rule_problems(rule: Raw, path: str) -> Iterator[Problem]:
    """The texts of a rule in CEL; whether it compiles is not looked at."""
    expression, message = rule.get("rule") or "", rule.get("message") or ""
    if not expression.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_line_breaks(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_line_breaks(expression.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    computed = rule.get("messageExpression") or ""
    if computed and not computed.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)
    field = rule.get("fieldPath") or ""
    if field and not field.strip():
        yield invalid(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _has_line_breaks(field):
        yield invalid(f"{path}.fieldPath", field, "must not contain line breaks")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def formats_of(raw: Raw) -> Iterator[tuple[str, Sequence[str]]]:
    """All formats that a schema names, with the types of the values there."""
    if raw.get("format"):
        yield raw["format"], (raw.get("type") or "",)
    for _, below in children(raw):
        yield from formats_of(below)
