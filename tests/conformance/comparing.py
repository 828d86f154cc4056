"""Two records side by side, as text that tells which request was answered differently and how."""

import difflib
from itertools import zip_longest

import yaml
from tests.conformance.api import Entry

CONTEXT_LINES = 3


def differences(expected: list[Entry], actual: list[Entry]) -> str:
    """A diff per request whose answers differ; empty when none does. Ends where the requests part."""
    parts = []
    for number, (one, other) in enumerate(zip_longest(expected, actual), start=1):
        if one == other:
            continue
        asked = {entry["request"] for entry in (one, other) if entry}
        parts.append(f"{number}. {' / '.join(sorted(asked))}\n{_diff(one, other)}")
        if len(asked) > 1 or not one or not other:
            break
    return "\n".join(parts)


def _diff(one: Entry | None, other: Entry | None) -> str:
    lines = difflib.unified_diff(_lines(one), _lines(other), "real", "embedded", lineterm="", n=CONTEXT_LINES)
    return "\n".join(f"    {line}" for line in lines)


def _lines(entry: Entry | None) -> list[str]:
    return (
        [] if entry is None else yaml.dump(entry, Dumper=yaml.CSafeDumper, width=200, allow_unicode=True).splitlines()
    )
