"""Settings of components: `--set component.field=value` parsed, put into flags or files, and checked against --help."""

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import ProgramError, UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.plane.component import Component

_FLAG_IN_HELP = re.compile(r"^\s+(?:-\w, )?--?([A-Za-z][\w.-]*)", re.MULTILINE)
_HELP_WITHIN_S = 20.0


def parse(assignments: Iterable[str]) -> dict[str, dict[str, str]]:
    """`binder.qps=20` and its like, by component; a dotted path may follow the component."""
    parsed: dict[str, dict[str, str]] = {}
    for assignment in assignments:
        target, equals, value = assignment.partition("=")
        component, dot, field = target.partition(".")
        if not (equals and dot and component and field):
            raise UsageError(f"--set {assignment}: write it as component.field=value, for example binder.qps=20")
        parsed.setdefault(component, {})[field] = value
    return parsed


def with_flags(component: Component, values: Mapping[str, str]) -> Component:
    """The component with these flags set, over what its builder chose."""
    kept = [arg for arg in component.args if arg.lstrip("-").partition("=")[0] not in values]
    added = [f"--{name}={value}" for name, value in values.items()]
    return msgspec.structs.replace(component, args=(*kept, *added))


async def known_flags(program: Path, *first: str) -> frozenset[str]:
    """The flags that a program's `--help` lists; `first` are arguments that come before it."""
    try:
        child = await asyncio.create_subprocess_exec(
            program,
            *first,
            "--help",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"PATH": os.environ.get("PATH", "")},
        )
    except OSError as error:
        raise ProgramError(f"{program} could not be asked for its flags: {error.strerror}") from error
    try:
        async with asyncio.timeout(_HELP_WITHIN_S):
            output, _ = await child.communicate()
    except TimeoutError:
        child.kill()
        await child.wait()
        raise ProgramError(f"{program} --help did not answer within {_HELP_WITHIN_S:.0f} s") from None
    return frozenset(_FLAG_IN_HELP.findall(output.decode(errors="replace")))


def refuse_unknown_flag(component: str, field: str, known: frozenset[str]) -> None:
    """Raise when a program has no such flag."""
    if field not in known:
        raise UsageError(f"--set {component}.{field}: {component} has no flag --{field}; {suggestion(field, known)}")


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """A document with another laid over it: objects are merged, all else is replaced."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        result[key] = merged(below, value) if both and isinstance(below, Mapping) else value
    return result


def typed(path: str, text: str) -> Any:
    """The value that a text means in a configuration file: YAML, so that numbers are numbers."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(
            f"--set ...{path}={text}: this is no value of YAML; write it in quotes: '\"{text}\"'"
        ) from error


def assign(document: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The document with `value` at a dotted path; a number in the path is an index of a list, which a 0 begins.

    A key that is there and has dots itself (`Job.batch`) is found.
    """
    head, rest = _split(document, path)
    result = dict(document)
    result[head] = _assigned(result.get(head), rest, value, path) if rest else value
    return result


def _split(document: Mapping[str, Any], path: str) -> tuple[str, str]:
    """The key of the document that the path begins with, and what follows."""
    known = [key for key in document if "." in key and f"{path}.".startswith(f"{key}.")]
    head = max(known, key=len) if known else path.partition(".")[0]
    return head, path[len(head) + 1 :]


def _assigned(below: Any, path: str, value: Any, whole: str) -> Any:
    index, _, rest = path.partition(".")
    if below is None and index == "0":
        below = []
    if isinstance(below, list):
        if not index.isdigit() or int(index) > len(below):
            raise UsageError(f"--set ...{whole}: {index!r} is no index of a list of {len(below)}")
        items = [*below] if int(index) < len(below) else [*below, {}]
        items[int(index)] = _assigned(items[int(index)], rest, value, whole) if rest else value
        return items
    return assign(below if isinstance(below, Mapping) else {}, path, value)


def lookup(document: Any, path: str) -> Any:
    """The value at a dotted path; None where there is nothing."""
    while path:
        if isinstance(document, Mapping):
            head, path = _split(document, path)
            document = document.get(head)
        elif isinstance(document, list):
            index, _, path = path.partition(".")
            document = document[int(index)] if index.isdigit() and int(index) < len(document) else None
        else:
            return None
    return document
