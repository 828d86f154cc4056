"""What is wrong with an object, field by field, in the words of the API server's 422."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from kubedyno.kube.status import Cause, Status, failure

_WORDS = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueTypeInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooShort": "Too short",
    "FieldValueTooMany": "Too many",
    "FieldValueTooFew": "Too few",
    "InternalError": "Internal error",
}

_ABSENT: Any = object()


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong: `field` is the path (`spec.containers[0].name`), `message` says it without the path."""

    field: str
    reason: str
    message: str


def _problem(field: str, reason: str, detail: str, value: Any = _ABSENT) -> Problem:
    said = _WORDS[reason] if value is _ABSENT else f"{_WORDS[reason]}: {_shown(value)}"
    return Problem(field, reason, f"{said}: {detail}" if detail else said)


def _shown(value: Any) -> str:
    """A value as Go prints it in such a message; JSON is near enough to its quoted texts."""
    return msgspec.json.encode(value).decode()


def required(field: str, detail: str = "") -> Problem:
    """It must be given."""
    return _problem(field, "FieldValueRequired", detail)


def invalid(field: str, value: Any, detail: str = "") -> Problem:
    """It cannot be this."""
    return _problem(field, "FieldValueInvalid", detail, value)


def wrong_type(field: str, value: Any, detail: str = "") -> Problem:
    """It is not of the type that a schema asks for."""
    return _problem(field, "FieldValueTypeInvalid", detail, value)


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Problem:
    """It is none of the values that there are; `supported` in the order in which the server tells them."""
    told = ", ".join(map(_shown, supported))
    return _problem(field, "FieldValueNotSupported", f"supported values: {told}" if told else "", value)


def not_found(field: str, value: Any) -> Problem:
    """It names what is not there."""
    return _problem(field, "FieldValueNotFound", "", value)


def duplicate(field: str, value: Any) -> Problem:
    """It stands there twice."""
    return _problem(field, "FieldValueDuplicate", "", value)


def forbidden(field: str, detail: str) -> Problem:
    """It may not be given, or not be changed."""
    return _problem(field, "FieldValueForbidden", detail)


def too_long(field: str, max_bytes: int) -> Problem:
    """A text has too many bytes."""
    return _problem(field, "FieldValueTooLong", f"may not be more than {max_bytes} bytes" if max_bytes >= 0 else "")


def too_many(field: str, count: int, at_most: int) -> Problem:
    """A list has too many items."""
    items = "item" if at_most == 1 else "items"
    return _problem(field, "FieldValueTooMany", f"must have at most {at_most} {items}", count)


def internal(field: str, detail: str) -> Problem:
    """The server could not tell."""
    return _problem(field, "InternalError", detail)


def invalid_status(kind: str, group: str, name: str, problems: Sequence[Problem]) -> Status:
    """The 422 that tells all problems; the same one is told once."""
    causes = tuple(Cause(problem.reason, problem.message, problem.field) for problem in problems)
    texts = list(dict.fromkeys(f"{problem.field}: {problem.message}" for problem in problems))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    return failure(
        422, f'{qualified} "{name}" is invalid: {told}', name=name, group=group, resource=kind, causes=causes
    )
