"""From the text that a template made to the objects that are sent. Pure.

An object is created as it is, and patched by itself: sent as a JSON merge patch, the object that is wanted changes what
it says, and leaves alone what it does not mention, which is what ClusterLoader2 comes to by comparing it with the live
object first. The server compares for us: no object is read before.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from kubedyno.kit.errors import UsageError
from kubedyno.kube import goyaml
from kubedyno.kube.codec import Object

_BEGIN_OF_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_CONTENT = re.compile(r"^(?!---[ \t]*(?:#|\r?$))[ \t]*[^\s#]", re.MULTILINE)
_TYPE_KEYS: Final = ("apiVersion", "kind")
_INTEGER_BELOW: Final = 1e21
"""Go's JSON writes whole numbers below this without a point or an exponent."""


def object_name(basename: str, index: int) -> str:
    """How a replica's object is called, whatever its template says."""
    return f"{basename}-{index}"


def placeholders(
    values: Mapping[str, Any], fill_map: Mapping[str, Any], *, basename: str, index: int, namespace: str
) -> dict[str, Any]:
    """What an object template is rendered with: the test's values, over them the fill map, over both what it is.

    `namespace` is empty for the cluster's scope.
    """
    return {
        **values,
        **fill_map,
        "Name": object_name(basename, index),
        "BaseName": basename,
        "Index": index,
        "Namespace": namespace,
    }


def read_objects(text: str, *, source: str, name: str, namespace: str) -> tuple[Object, ...]:
    """The objects of a rendered template, all with that name and namespace; none where it rendered to nothing.

    An empty namespace takes one away that the template has. `source` names the template in errors; their lines are
    those of the rendered text.
    """
    objects: list[Object] = []
    seen: set[tuple[str, str]] = set()
    for place, document in _documents(text, source):
        api_version, kind = _type_of(document, place)
        if (api_version, kind) in seen:
            raise UsageError(
                f"{place}: a second {kind} of {api_version}: all objects of one template get the same name, so each "
                "must be of another kind; give this one a template and an entry in objectBundle of its own"
            )
        seen.add((api_version, kind))
        metadata = document.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise UsageError(f"{place}: metadata must be a mapping, not {_shown(metadata)}")
        metadata = {**(metadata or {}), "name": name, "namespace": namespace}
        if not namespace:
            del metadata["namespace"]
        objects.append({**document, "metadata": metadata})
    return tuple(objects)


def _documents(text: str, source: str) -> Iterator[tuple[str, Object]]:
    """The documents that are not empty, each with its place for errors."""
    begins = [0, *(found.start() for found in _BEGIN_OF_DOCUMENT.finditer(text)), len(text)]
    for begin, end in itertools.pairwise(begins):
        content = _CONTENT.search(text, begin, end)
        if content is None:
            continue
        document = _read(text[begin:end], source, lines_before=text.count("\n", 0, begin))
        if document is None:
            continue
        line = text.count("\n", 0, content.start()) + 1
        place = f"{source}, line {line}"
        if not isinstance(document, dict):
            raise UsageError(f"{place}: a document must be a mapping with apiVersion and kind, not {_shown(document)}")
        yield place, document


def _read(text: str, source: str, *, lines_before: int) -> Any:
    try:
        document, _ = goyaml.read(text.encode("utf-8", "surrogateescape"))
    except ValueError as error:
        cause = error.__cause__
        mark = cause.problem_mark if isinstance(cause, yaml.MarkedYAMLError) else None
        place = f"{source}, line {lines_before + mark.line + 1}" if mark else source
        problem = cause.problem if isinstance(cause, yaml.MarkedYAMLError) else str(error).removeprefix("yaml: ")
        raise UsageError(f"{place}: what the template makes is no YAML: {problem}") from error
    return _with_whole_numbers(document)


def _with_whole_numbers(value: Any) -> Any:
    """Templates print large numbers as `1e+06`, which Go sends as 1000000: a field of whole numbers takes no other."""
    match value:
        case dict():
            return {key: _with_whole_numbers(held) for key, held in value.items()}
        case list():
            return [_with_whole_numbers(held) for held in value]
        case float() if value.is_integer() and abs(value) < _INTEGER_BELOW:
            return int(value)
    return value


def _type_of(document: Object, place: str) -> tuple[str, str]:
    for key in _TYPE_KEYS:
        if not document.get(key):
            raise UsageError(f"{place}: the object has no {key}: write both, like apiVersion: v1 and kind: Pod")
        if not isinstance(document[key], str):
            raise UsageError(f"{place}: {key} must be text, not {_shown(document[key])}")
    return document["apiVersion"], document["kind"]


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return "text"
    return repr(value)
