"""Under which numbers protobuf carries the fields of Kubernetes' own types: all that `kube.schema` does not say.

The table `numbers.json` is made by `scripts/schema` from the `.proto` files beside the server's Go structs, and read
when first asked for. Types are named as in `kube.schema`. A struct that is inlined in JSON is a message of its own in
protobuf: its entry is `@type` in place of a field's name.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

PATH: Final = Path(__file__).with_name("numbers.json")

_LEFT_OUT = ("apiextensions.", "apiregistration.")
"""Definitions are free-form in places, with messages that are unlike their JSON; nobody is known to send them so."""

_FOLDERS = {"meta": "apimachinery@{}/pkg/apis"}
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (?:optional|repeated|map)\s*(<.*?>|[\w.]+) (\w+) = (\d+);", re.MULTILINE)


@functools.cache
def _table() -> dict[str, dict[str, int]]:
    return msgspec.json.decode(PATH.read_bytes(), type=dict[str, dict[str, int]])


@functools.cache
def fields_by_number(name: str) -> Mapping[int, str] | None:
    """The fields of a message by their numbers; None if nothing is known of it."""
    found = _table().get(name)
    return None if found is None else {number: field for field, number in found.items()}


def read_sources(types: Iterable[str], cache: Path, version: str) -> dict[str, str]:
    """The `.proto` files of the types (`core.v1.Pod`) in Go's module cache, by package (`core.v1`).

    `version` is the server's (`v1.36.3`); its libraries are numbered `v0.36.3`. Empty if the cache has none of them.
    """
    numbered = version.replace("v1.", "v0.", 1)
    found = {}
    for package in sorted({name.rpartition(".")[0] for name in types if not name.startswith(_LEFT_OUT)}):
        group, of_group = package.split(".")
        folder = _FOLDERS.get(group, "api@{}").format(numbered)
        path = cache / "k8s.io" / folder / group / of_group / "generated.proto"
        if path.exists():
            found[package] = path.read_text()
    return found


def table(types: Mapping[str, Mapping[str, str]], sources: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """The table of the types of `schema.json`, from the texts of the `.proto` files by package."""
    messages = {f"{package}.{name}": body for package, text in sources.items() for name, body in _MESSAGE.findall(text)}
    made: dict[str, dict[str, int]] = {}
    for name, fields in types.items():
        if name in messages:
            _enter(made, messages, name, {field.lower(): field for field in fields})
    return dict(sorted(made.items()))


def _enter(made: dict[str, dict[str, int]], messages: Mapping[str, str], name: str, known: Mapping[str, str]) -> None:
    """Add a message, and those that JSON inlines in it: what is no field that its type has.

    `known` are the fields in JSON's spelling by the same in lower case: a few of the others begin with a capital.
    """
    package = name.rpartition(".")[0]
    made[name] = numbers = {}
    for type_name, field, number in _FIELD.findall(messages[name]):
        if field.lower() in known:
            numbers[known[field.lower()]] = int(number)
            continue
        inlined = f"{package}.{type_name}"
        if inlined in messages:
            numbers[f"@{inlined}"] = int(number)
            if inlined not in made:
                _enter(made, messages, inlined, known)


def text(made: Mapping[str, Mapping[str, int]]) -> str:
    """The table as it is kept: a line for each type."""
    lines = (f"{_json(name)}:{_json(numbers)}" for name, numbers in made.items())
    return "{" + ",\n".join(lines) + "}\n"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
