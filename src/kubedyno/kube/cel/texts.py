"""Kubernetes' functions of texts: the strings extension and regular expressions."""

from typing import Any, Final

from kubedyno.kube.cel.errors import EvaluationError, no_such_overload
from kubedyno.kube.cel.formatting import formatted
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.regexes import BadPattern, compiled

_QUOTED: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\",
    '"': '\\"',
}  # fmt: skip
# What Go's strings.TrimSpace takes for space.
_SPACES: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_UPPER: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def _out_of_range(at: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {at}")


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise _out_of_range(at)
    return text[at : at + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    if not part:
        return len(text)
    if len(text.encode()) < len(part.encode()):
        return -1
    return _last_index_from(text, part, len(text) - 1)


def _last_index_from(text: str, part: str, start: int) -> int:
    if not part:
        return start
    if start < 0:
        raise _out_of_range(start)
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if separator:
        return text.split(separator, most - 1 if most > 0 else -1)
    if most < 0 or most >= len(text):
        return list(text)
    return [*text[: most - 1], text[most - 1 :]] if text else []


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most if most >= 0 else -1)


def _join(texts: Any, separator: str = "") -> str:
    if texts and type(texts[0]) is not str:
        raise no_such_overload("join", "list", "string")
    for text in texts:
        if type(text) is not str:
            raise EvaluationError(f"join: invalid input: {text}")
    return separator.join(texts)


def _quote(text: str) -> str:
    return f'"{"".join(_QUOTED.get(sign, sign) for sign in text)}"'


def _pattern(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except BadPattern as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _pattern(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [match[0] for match in _go_matches(_pattern(pattern), text)]
    return found[:most] if most >= 0 else found


def _go_matches(pattern: Any, text: str) -> Any:
    """All matches; unlike Python, Go finds no empty one where the one before ended."""
    last = -1
    for match in pattern.finditer(text):
        if match.end() > match.start() or match.start() != last:
            yield match
        last = match.end()


FUNCTIONS: Final[Library] = {
    "charAt": (on("string int", _char_at),),
    "lowerAscii": (on("string", lambda text: text.translate(_LOWER)),),
    "upperAscii": (on("string", lambda text: text.translate(_UPPER)),),
    "replace": (on("string string string", _replace), on("string string string int", _replace)),
    "split": (on("string string", _split), on("string string int", _split)),
    "substring": (on("string int", _substring), on("string int int", _substring)),
    "trim": (on("string", lambda text: text.strip(_SPACES)),),
    "join": (on("list", _join), on("list string", _join)),
    "format": (on("string list", formatted),),
    "strings.quote": (of("string", _quote),),
    "find": (on("string string", _find),),
    "findAll": (on("string string", _find_all), on("string string int", _find_all)),
    "indexOf": (on("string string", _index_of), on("string string int", _index_of)),
    "lastIndexOf": (on("string string", _last_index_of), on("string string int", _last_index_from)),
}
