"""What kind of objects a template makes, as ClusterLoader2 learns it: from its text, without rendering it. Pure."""

import re
from typing import Any, Final

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.language.documents import Document, NoYaml, documents, first_line, key_lines, read
from kubedyno.kit.errors import UsageError

_PLACEHOLDERS = re.compile(r"\{\{.*\}\}")
_ADVICE: Final = (
    "write apiVersion and kind as they are, without placeholders: they are read before anything is rendered"
)


def shape(text: str) -> str:
    """A template without what stands on a line from the first `{{` to the last `}}`; lines keep their numbers."""
    return _PLACEHOLDERS.sub("", text)


def identities(file: str, text: str) -> tuple[tuple[str, str], ...]:
    """The apiVersion and the kind of each document of an object's template.

    `file` names it in the `UsageError` for a template of which they cannot be told.
    """
    found: list[tuple[str, str]] = []
    for document in documents(shape(text)):
        try:
            value = read(document)
        except NoYaml as error:
            raise UsageError(
                f"{Place(file, error.line)}: without its placeholders it is no YAML: {error}; keep each placeholder "
                f"on one line, and {_ADVICE}"
            ) from error
        if value is not None:
            found.append((_literal(file, document, value, "apiVersion"), _literal(file, document, value, "kind")))
    if not found:
        raise UsageError(f"{Place(file, 1)}: there is no object in it; {_ADVICE}")
    return tuple(found)


def _literal(file: str, document: Document, value: Any, key: str) -> str:
    if not isinstance(value, dict):
        raise UsageError(f"{Place(file, first_line(document))}: an object is a mapping; {_ADVICE}")
    held = value.get(key)
    if isinstance(held, str) and held:
        return held
    line = key_lines(document).get(key) or first_line(document)
    problem = "is no text without its placeholders" if key in value else "is missing"
    raise UsageError(f"{Place(file, line)}: {key} {problem}; {_ADVICE}")
