"""What the API server prints of two states when it refuses a change: a unified diff of its own types as JSON."""

import difflib
import json
from collections.abc import Mapping
from typing import Any

from kubedyno.kinds.rules.internals import internal


def difference(type_name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The diff from the old to the new state of that type, both given as JSON of the public API."""
    return printed_difference(json.loads(internal(type_name, old)), json.loads(internal(type_name, new)))


def printed_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """The same of values that are as the server prints them already."""
    before, after = _lines(old), _lines(new)
    # The first two lines name the files that are compared; here are none.
    return "".join(list(difflib.unified_diff(before, after))[2:])


def _lines(value: Mapping[str, Any]) -> list[str]:
    text = json.dumps(value, indent=1, ensure_ascii=False)
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return [f"{line}\n" for line in escaped.split("\n")]
