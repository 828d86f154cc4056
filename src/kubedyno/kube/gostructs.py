"""What the structs of Kubernetes' Go packages say and OpenAPI does not: whether a field is printed when it is empty.

Read from the text of the packages when the table of types is made (`openapi` writes it there, `schema` reads it):

    (no word)   printed unless it is empty: `omitempty` on a value that is no pointer and no struct
    given       printed if it was given, even as `0` or `""`: a pointer
    always      printed in any case, as the empty value of its type if need be: a struct, or no `omitempty`
    null        as `always`, with `null` for nothing: a pointer, list or map without `omitempty`
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from kubedyno.kit.errors import EngineError

Presence = Literal["", "given", "always", "null"]
WORDS: tuple[Presence, ...] = ("given", "always", "null")

_MODULES = {
    "meta": "apimachinery/pkg/apis",
    "apiextensions": "apiextensions-apiserver/pkg/apis",
    "apiregistration": "kube-aggregator/pkg/apis",
}
_IMPORT = re.compile(r'^(?:\t|import )(?:(\w+) )?"k8s\.io/([\w./-]+)"', re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_RENAMED = re.compile(r"^type (\w+) (?:= )?([A-Z]\w+)$", re.MULTILINE)
_FIELD = re.compile(r"^\t(?:\w+\s+)?(\S+)\s+`([^`]*)`", re.MULTILINE)
_TAG = re.compile(r'json:"([^",]*)((?:,\w+)*)"')
# Structs that are one value in JSON; `omitempty` does nothing to them.
_STRUCTS_OF_ONE_VALUE = frozenset({"time", "quantity", "int-or-string", "any"})


class _Found(msgspec.Struct, frozen=True):
    pointer: bool
    omits_empty: bool
    omits_zero: bool


def read_sources(types: Iterable[str], cache: Path, version: str) -> dict[str, list[str]]:
    """The texts of the packages of the types (`core.v1.Pod`) in Go's module cache, by package (`core.v1`).

    `version` is the server's (`v1.36.3`); its libraries are numbered `v0.36.3`. Empty if the cache has none of them.
    """
    numbered = version.replace("v1.", "v0.", 1)
    found = {}
    for package in sorted({name.rpartition(".")[0] for name in types}):
        group, of_group = package.split(".")
        module, _, inside = f"{_MODULES.get(group, 'api')}/{group}/{of_group}".partition("/")
        files = sorted((cache / "k8s.io" / f"{module}@{numbered}" / inside).glob("*.go"))
        found[package] = [file.read_text() for file in files if "generated" not in file.name]
    return found if any(found.values()) else {}


def with_presences(
    types: Mapping[str, Mapping[str, str]], sources: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, str]]:
    """The fields of a table of types, each with its word; `sources` are the texts of each package's files."""
    read = _Reader(sources)
    return {
        name: {
            field: " ".join(filter(None, (text, _presence(text, read.fields(name), f"{name}.{field}"))))
            for field, text in fields.items()
        }
        for name, fields in types.items()
    }


def without_presences(types: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """The same fields without those words: what OpenAPI alone tells."""
    return {
        name: {field: " ".join(word for word in text.split(" ") if word not in WORDS) for field, text in fields.items()}
        for name, fields in types.items()
    }


def _presence(text: str, found: Mapping[str, _Found], where: str) -> Presence:
    tag = found.get(where.rpartition(".")[2])
    if tag is None:
        raise EngineError(f"no Go struct has {where}: are the sources those of the server?")
    of = text.partition(" ")[0]
    if tag.pointer:
        return "given" if tag.omits_empty else "null"
    if tag.omits_zero:
        return ""
    is_struct = of.startswith("@") or of in _STRUCTS_OF_ONE_VALUE
    if tag.omits_empty and not is_struct:
        return ""
    return "null" if of.startswith(("[]", "{}")) or of in {"bytes", "any", "time"} else "always"


class _Reader:
    """Structs by the table's names (`core.v1.Pod`), their fields read when first asked for."""

    def __init__(self, sources: Mapping[str, Iterable[str]]) -> None:
        self._bodies: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._renamed: dict[str, str] = {}
        for package, texts in sources.items():
            for text in texts:
                imported = {alias or path.rpartition("/")[2]: _package(path) for alias, path in _IMPORT.findall(text)}
                for name, body in _STRUCT.findall(text):
                    self._bodies[f"{package}.{name}"] = (body, {**imported, "": package})
                for name, other in _RENAMED.findall(text):
                    self._renamed[f"{package}.{name}"] = f"{package}.{other}"

    def fields(self, name: str) -> dict[str, _Found]:
        """The fields of a struct by their names in JSON; those of structs that it embeds are its own."""
        body, imported = self._bodies.get(self._renamed.get(name, name), ("", {}))
        found: dict[str, _Found] = {}
        for go_type, tags in _FIELD.findall(body):
            tag = _TAG.search(tags)
            if tag is None or tag[1] == "-":
                continue
            options = tag[2].split(",")
            if tag[1]:
                found[tag[1]] = _Found(go_type.startswith("*"), "omitempty" in options, "omitzero" in options)
            else:
                qualifier, _, embedded = go_type.rpartition(".")
                found |= self.fields(f"{imported[qualifier]}.{embedded}")
        return found


def _package(path: str) -> str:
    """`api/core/v1` is `core.v1` in the table."""
    return ".".join(path.split("/")[-2:])
