"""Versions of custom kinds: which is older, and what is said of one that is deprecated."""

import re
from collections.abc import Mapping
from typing import Any

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII)
_LAST_SIGN = 0x10FFFF
_STAGES = {"alpha": 1, "beta": 2, None: 3}


def rank(version: str) -> tuple[int, int, int, int, str]:
    """Later versions have larger ranks: v10 > v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > others, in reverse by letter."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (0, 0, 0, 0, "".join(chr(_LAST_SIGN - ord(letter)) for letter in version) + chr(_LAST_SIGN))
    return (1, _STAGES[found[2]], int(found[1]), int(found[3] or 0), "")


def deprecation_of(spec: Mapping[str, Any], version: Mapping[str, Any]) -> str:
    """What clients of a version are told; empty for one that is not deprecated."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind = spec["group"], spec["names"]["kind"]
    newer = [
        one["name"]
        for one in spec["versions"]
        if one.get("served") and not one.get("deprecated") and rank(version["name"]) < rank(one["name"])
    ]
    told = f"{group}/{version['name']} {kind} is deprecated"
    return f"{told}; use {group}/{max(newer, key=rank)} {kind}" if newer else told
