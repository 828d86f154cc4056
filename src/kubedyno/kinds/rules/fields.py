"""Checks of single fields that many kinds share: numbers, texts, labels, annotations, what may not change."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.texts import Format
from kubedyno.kube.problems import Problem, invalid, required, too_long

ANNOTATIONS_LIMIT: Final = 256 * 1024
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"
IMMUTABLE: Final = "field is immutable"
NO_FIELD: Final = "[]"
"""How Go prints the path of what is wrong with the object as a whole."""


def formatted(value: str, path: str, check: Format) -> Iterator[Problem]:
    """A text that must have a format."""
    for told in check(value):
        yield invalid(path, value, told)


def required_formatted(value: str | None, path: str, check: Format) -> Iterator[Problem]:
    """A text that must be given and have a format."""
    if not value:
        yield required(path)
    else:
        yield from formatted(value, path, check)


def required_fields(owner: Mapping[str, Any], path: str, *names: str) -> Iterator[Problem]:
    """Texts and lists that may not be empty."""
    for name in names:
        if not owner.get(name):
            yield required(f"{path}.{name}")


def nonnegative(value: int | None, path: str) -> Iterator[Problem]:
    """A count, perhaps absent."""
    if value is not None and value < 0:
        yield invalid(path, value, NOT_NEGATIVE)


def positive(value: int | None, path: str) -> Iterator[Problem]:
    """A count of at least one; an absent one is zero."""
    if (value or 0) <= 0:
        yield invalid(path, value or 0, NOT_POSITIVE)


def immutable(new: Any, old: Any, path: str) -> Iterator[Problem]:
    """A field that keeps its value."""
    if new != old:
        yield invalid(path, new, IMMUTABLE)


def label_problems(labels: Mapping[str, str] | None, path: str) -> Iterator[Problem]:
    """Labels, or a node selector: keys and values."""
    for key, value in (labels or {}).items():
        yield from formatted(key, path, texts.label_key)
        yield from formatted(value, path, texts.label_value)


def annotation_problems(annotations: Mapping[str, str] | None, path: str) -> Iterator[Problem]:
    """Keys like those of labels in any case, and all together no more than 256 KiB."""
    for key in annotations or ():
        for told in texts.label_key(key.lower()):
            yield invalid(path, key, told)
    size = sum(texts.byte_length(key) + texts.byte_length(value) for key, value in (annotations or {}).items())
    if size > ANNOTATIONS_LIMIT:
        yield too_long(path, ANNOTATIONS_LIMIT)


def port_number_or_name(port: int | str, path: str) -> Iterator[Problem]:
    """A port that may be told by its name."""
    wrong = texts.port_name(port) if isinstance(port, str) else texts.port_number(port)
    for told in wrong:
        yield invalid(path, port, told)
