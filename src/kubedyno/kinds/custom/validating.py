"""Objects held against a schema, in the words of the API server.

Its words come from an OpenAPI library: a value is checked for its type, then against `anyOf`, `oneOf`, `allOf` and
`not`, then by what it is. Of several alternatives that all fail the errors of the one that came furthest are told,
which the library finds by counting checks; so the counting is imitated too. Rules in CEL are not evaluated.
"""

from typing import Any

import msgspec

from kubedyno.kinds.custom import formats, numbers
from kubedyno.kinds.custom.findings import NOWHERE, Findings, add, as_go_json, is_int64, merge, told
from kubedyno.kinds.custom.structural import Schema
from kubedyno.kube.problems import Problem

_UNCHECKED_RULES = Problem(
    NOWHERE,
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_BLOCKING = frozenset(
    [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ]
)
ABSENT: Any = object()
"""What was before, where nothing was."""
_encoder = msgspec.json.Encoder(order="sorted")


def value_problems(value: Any, schema: Schema, place: str = "", *, old: Any = ABSENT) -> list[Problem]:
    """What the schema says of a value that stands at `place` (`status`; empty: the object itself).

    With `old`, the value before: errors in parts that have not changed are let through.
    """
    errors: Findings = {}
    _check(value, schema, "", errors, old)
    return [told(one, place) for one in errors.values()]


def unchecked_rules(found: list[Problem], schema: Schema) -> list[Problem]:
    """What the server adds when the schema has rules and other problems kept it from asking them."""
    return [_UNCHECKED_RULES] if schema.has_rules and any(one.reason in _BLOCKING for one in found) else []


def _check(value: Any, schema: Schema, path: str, errors: Findings, old: Any = ABSENT) -> int:
    """Check a value; how many checks it passed, as the library counts."""
    if old is not ABSENT and _is_unchanged(value, old, schema):
        # Errors in what has not changed are let through, at whatever depth they are.
        return _one(value, schema, path, {}, old)
    return _one(value, schema, path, errors, old)


def _is_unchanged(value: Any, old: Any, schema: Schema) -> bool:
    """Whether nothing has changed, as far as the schema can tell: items of a list of type `map` may have moved.

    An object with members that the schema does not know counts as changed.
    """
    if isinstance(value, dict) and isinstance(old, dict):
        return len(value) == len(old) and all(
            name in old and (below := schema.member(name)) is not None and _is_unchanged(member, old[name], below)
            for name, member in value.items()
        )
    if isinstance(value, list) and isinstance(old, list) and schema.list_type == "map" and schema.items is not None:
        before, items = _by_keys(old, schema), schema.items
        return len(value) == len(old) and all(
            (was := before.get(_key(item, schema))) is not None and _is_unchanged(item, was, items) for item in value
        )
    return type(value) is type(old) and bool(value == old)


def _one(value: Any, schema: Schema, path: str, errors: Findings, old: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and not is_int64(value):
        value = float(value)
    if value is None:
        count = _check_type(value, schema, path, errors)
        _check_enum(value, schema, path, errors)
        return count
    count = 4  # alternatives, their own count, enum, and the whole
    if schema.types or schema.format:
        count += _check_type(value, schema, path, errors) + 1
    count += _check_alternatives(value, schema, path, errors, old)
    match value:
        case str():
            count += 1
            _check_text(value, schema, path, errors)
            if schema.format and formats.is_of_texts(schema.format):
                count += 1
                _check_format(value, schema, path, errors)
        case bool():
            pass
        case int() | float():
            count += 2
            numbers.check(value, schema, path, errors)
        case list():
            count += 2 + _check_items(value, schema, path, errors, old)
    _check_enum(value, schema, path, errors)
    if isinstance(value, dict):
        count += 1 + _check_members(value, schema, path, errors, old)
    return count


_JSON_TYPES = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
_GO_FORMATS = {int: "int64", float: "float64"}


def _check_type(value: Any, schema: Schema, path: str, errors: Findings) -> int:
    wanted = schema.types
    if value is None:
        if wanted and not schema.nullable:
            _wrong_type(errors, path, ",".join(wanted), "null")
            return 0
        return 1
    kind = type(value)
    found = _JSON_TYPES[kind]
    fits = (
        found in wanted
        or (found == "number" and "integer" in wanted and numbers.is_integer(value))
        or (found == "integer" and "number" in wanted)
    )
    is_numeric = "number" in wanted or "integer" in wanted
    if schema.format and kind not in {str, list} and not fits:
        _wrong_type(errors, path, schema.format, _GO_FORMATS.get(kind, ""))
        return 0
    if schema.format and kind in {str, list} and not is_numeric:
        return 1
    if not fits:
        _wrong_type(errors, path, ",".join(wanted), found)
        return 0
    return 1


def _wrong_type(errors: Findings, path: str, wanted: str, found: str) -> None:
    text = f'{path} in body must be of type {wanted}: "{found}"'
    add(errors, "FieldValueTypeInvalid", path, text, found)


def _check_alternatives(value: Any, schema: Schema, path: str, errors: Findings, old: Any) -> int:
    """`anyOf`, `oneOf`, `allOf` and `not`: each at the same place."""
    count = 0
    shown = msgspec.json.encode(path).decode()
    if schema.any_of:
        passed, (best, best_count) = _alternatives(value, schema.any_of, path, old, until_passed=True)
        if not passed:
            add(errors, "FieldValueInvalid", "", f"{shown} must validate at least one schema (anyOf)")
        merge(errors, best)
        count += best_count
    if schema.one_of:
        passed, (best, best_count) = _alternatives(value, schema.one_of, path, old)
        if passed != 1:
            found = f"Found {passed} valid alternatives" if passed else "Found none valid"
            add(errors, "FieldValueInvalid", "", f"{shown} must validate one and only one schema (oneOf). {found}")
        if passed <= 1:
            merge(errors, best)
            count += best_count
    if schema.all_of:
        count += _check_all(value, schema.all_of, path, errors, old)
    if schema.negated is not None:
        below: Findings = {}
        _one(value, schema.negated, path, below, old)
        if not below:
            add(errors, "FieldValueInvalid", "", f"{shown} must not validate the schema (not)")
    return count


def _check_all(value: Any, schemas: tuple[Schema, ...], path: str, errors: Findings, old: Any) -> int:
    count = passed = 0
    for one in schemas:
        below: Findings = {}
        count += _one(value, one, path, below, old)
        passed += not below
        merge(errors, below)
    if passed != len(schemas):
        shown, none = msgspec.json.encode(path).decode(), "" if passed else ". None validated"
        add(errors, "FieldValueInvalid", "", f"{shown} must validate all the schemas (allOf){none}")
    return count


def _alternatives(
    value: Any, schemas: tuple[Schema, ...], path: str, old: Any, *, until_passed: bool = False
) -> tuple[int, tuple[Findings, int]]:
    """How many schemas the value passes; and the errors (none if it passes) and count of the nearest one."""
    passed = 0
    nearest: tuple[Findings, int] | None = None
    for one in schemas:
        below: Findings = {}
        count = _one(value, one, path, below, old)
        if not below:
            passed += 1
            nearest = ({}, count) if passed == 1 else nearest
            if until_passed:
                break
        elif not passed and (nearest is None or count > nearest[1]):
            nearest = (below, count)
    return passed, nearest or ({}, 0)


def _check_text(value: str, schema: Schema, path: str, errors: Findings) -> None:
    """The first of length and pattern that fails."""
    if schema.max_length is not None and len(value) > schema.max_length:
        text = f"{path} in body should be at most {schema.max_length} chars long"
        add(errors, "FieldValueTooLong", path, text, schema.max_length)
    elif schema.min_length is not None and len(value) < schema.min_length:
        text = f"{path} in body should be at least {schema.min_length} chars long"
        add(errors, "FieldValueInvalid", path, text, value)
    elif schema.matcher is not None and not schema.matcher.search(value):
        add(errors, "FieldValueInvalid", path, f"{path} in body should match '{schema.pattern}'", value)


def _check_format(value: str, schema: Schema, path: str, errors: Findings) -> None:
    if not formats.allows(schema.format, value):
        _wrong_type(errors, path, schema.format, value)


def _check_items(value: list[Any], schema: Schema, path: str, errors: Findings, old: Any) -> int:
    count = 0
    if schema.items is not None:
        before = _by_keys(old, schema)
        for index, item in enumerate(value):
            was = before.get(_key(item, schema), ABSENT) if before else ABSENT
            count += _check(item, schema.items, f"{path}[{index}]", errors, was)
    if schema.min_items is not None and len(value) < schema.min_items:
        text = f"{path} in body should have at least {schema.min_items} items"
        add(errors, "FieldValueInvalid", path, text, len(value))
    if schema.max_items is not None and len(value) > schema.max_items:
        text = f"{path} in body should have at most {schema.max_items} items"
        add(errors, "FieldValueTooMany", path, text, (len(value), schema.max_items))
    return count


def _by_keys(old: Any, schema: Schema) -> dict[str, Any]:
    """The items before by their keys: only items of a list of type `map` can be recognised."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {_key(item, schema): item for item in old if isinstance(item, dict)}


def _key(item: Any, schema: Schema) -> str:
    if not isinstance(item, dict):
        return ""
    return msgspec.json.encode([item.get(name) for name in schema.list_keys]).decode()


def _check_members(value: dict[str, Any], schema: Schema, path: str, errors: Findings, old: Any) -> int:
    count, size = 0, len(value)
    if schema.min_properties is not None and size < schema.min_properties:
        text = f"{path} in body should have at least {schema.min_properties} properties"
        add(errors, "FieldValueInvalid", path, text, size)
    if schema.max_properties is not None and size > schema.max_properties:
        text = f"{path} in body should have at most {schema.max_properties} properties"
        add(errors, "FieldValueTooMany", path, text, (size, schema.max_properties))
    before = old if isinstance(old, dict) else {}
    for name, member in value.items():
        if name in schema.properties:
            place = f"{path}.{name}" if path else name
            # The type of the object itself is not told by comparing: both states come in the same version.
            was = ABSENT if not path and name in {"apiVersion", "kind"} else before.get(name, ABSENT)
            count += _check(member, schema.properties[name], place, errors, was)
        elif isinstance(schema.additional, Schema):
            count += _check(member, schema.additional, f"{path}.{name}", errors, before.get(name, ABSENT))
        elif schema.additional is False:
            add(errors, "FieldValueInvalid", path, f"{path}.{name} in body is a forbidden property", name)
    for name in schema.required:
        if name not in value:
            add(errors, "FieldValueRequired", f"{path}.{name}", f"{path}.{name} in body is required")
    return count


def _check_enum(value: Any, schema: Schema, path: str, errors: Findings) -> None:
    if schema.enum and not any(_is_equal(value, allowed) for allowed in schema.enum):
        allowed = [one if isinstance(one, str) else _json(one) for one in schema.enum]
        text = f"{path} in body should be one of [{' '.join(allowed)}]"
        add(errors, "FieldValueNotSupported", path, text, (value, allowed))


def _is_equal(value: Any, allowed: Any) -> bool:
    """Equal, after a number was made one of the enum's kind, which cuts off its fraction."""
    if value is None or isinstance(value, bool) or isinstance(allowed, bool):
        return value is not None and value is allowed
    if isinstance(value, int | float) and isinstance(allowed, int):
        return int(value) == allowed
    return bool(value == allowed)


def _json(value: Any) -> str:
    return _encoder.encode(as_go_json(value)).decode()
