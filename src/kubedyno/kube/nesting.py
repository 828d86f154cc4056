"""How deep what clients send may be nested.

Go reads JSON of 10,000 levels. Ours is read, checked and compared by functions that call themselves for every level,
so the end comes earlier; no object that anybody needs comes near it.
"""

import re
from typing import Final

MAX_DEPTH: Final = 200

_OPENERS = b"[{"
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def too_deep(data: bytes) -> str:
    """The character that opens one level too many in a JSON text, broken or not; empty: there is none."""
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return ""  # nearly always
    depth = 0
    for sign in _STRINGS.sub(b"", data).translate(None, _OTHERS):
        if sign in _OPENERS:
            depth += 1
            if depth > MAX_DEPTH:
                return chr(sign)
        else:
            depth -= 1
    return ""
