"""Sprig's functions that templates of stages use: texts, whole numbers, lists and maps.

Those that draw at random, read clocks, environments or networks, and cryptography are left out: a rendering depends on
its data only. Go's maps have no order; here keys are sorted.
"""

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubedyno.kube.gotemplate.formatting import sprint
from kubedyno.kube.gotemplate.functions import Function, Functions, Parameter
from kubedyno.kube.gotemplate.jsonvalues import json_text
from kubedyno.kube.gotemplate.quoting import quoted
from kubedyno.kube.gotemplate.values import go_bytes, go_text, truth, type_name

_LARGEST: Final = 1_000_000
"""Characters of a text, or items of a list, that a function may make."""
_INT: Final = re.compile(r"(?P<sign>[+-]?)(?P<digits>0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)(?:\.0*)?")
_HTML: Final = {"\\u003c": "<", "\\u003e": ">", "\\u0026": "&"}
_MOST_SEQ: Final = 3
_A, _S, _I, _M = Parameter.ANY, Parameter.STRING, Parameter.INT, Parameter.MAP


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else sprint((value,), _LARGEST)


def _bounded(size: int) -> int:
    if size > _LARGEST:
        raise ValueError(f"it would make more than {_LARGEST} characters or items")
    return size


def _whole(value: Any) -> int:
    """As Go's `cast.ToInt64`: what is no number is 0."""
    match value:
        case bool() | int():
            return int(value)
        case float():
            return int(value) if math.isfinite(value) else 0
        case str():
            return _whole_of_text(value)
    return 0


def _whole_of_text(text: str) -> int:
    found = _INT.fullmatch(text)
    if found is None:
        return 0
    digits = found["digits"]
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        digits = f"0o{digits[1:]}"
    return int(f"{found['sign']}{digits}", 0)


def _real(value: Any) -> float:
    if isinstance(value, bool | int | float | str):
        try:
            return float(value)
        except ValueError:
            return 0.0
    return 0.0


def _cut(count: int, text: str) -> str:
    data = go_bytes(text)
    if count < 0 and len(data) + count > 0:
        return go_text(data[count:])
    return go_text(data[:count]) if 0 <= count < len(data) else text


def _part(start: int, end: int, text: str) -> str:
    data = go_bytes(text)
    start, end = (0, end) if start < 0 else (start, len(data) if end < 0 or end > len(data) else end)
    if not 0 <= start <= end <= len(data):
        raise ValueError(f"runtime error: slice bounds out of range [{start}:{end}]")
    return go_text(data[start:end])


def _title(text: str) -> str:
    return re.sub(r"(?<![A-Za-z0-9_])[^\W\d_]", lambda found: found[0].upper(), text)


def _indent(spaces: int, text: str) -> str:
    pad = " " * _bounded(spaces)
    return pad + text.replace("\n", f"\n{pad}")


def _strings(value: Any) -> list[str]:
    if isinstance(value, list):
        return [_text(item) for item in value if item is not None]
    return [] if value is None else [_text(value)]


def _decoded(text: str) -> str:
    """Base64; what is none becomes Go's words about it."""
    try:
        return go_text(base64.b64decode(go_bytes(text), validate=True))
    except (binascii.Error, ValueError):
        good = re.match(r"[A-Za-z0-9+/]*", text)
        at = good.end() if good else 0
        return f"illegal base64 data at input byte {at if at < len(text) else at // 4 * 4}"


def _split(parts: list[str]) -> dict[str, str]:
    return {f"_{index}": part for index, part in enumerate(parts)}


def _split_at_most(at: str, most: int, text: str) -> list[str]:
    """At most so many parts; a negative number: all of them."""
    if most == 0:
        return []
    if not at:
        cut = len(text) if most < 0 else most - 1
        return [*text[:cut], *([text[cut:]] if text[cut:] else [])]
    return text.split(at, most - 1 if most > 0 else -1)


def _divided(one: Any, other: Any) -> int:
    """Towards zero, as Go."""
    top, bottom = _whole(one), _whole(other)
    if bottom == 0:
        raise ValueError("runtime error: integer divide by zero")
    return abs(top) // abs(bottom) * (1 if (top < 0) == (bottom < 0) else -1)


def _rest_of(one: Any, other: Any) -> int:
    return _whole(one) - _divided(one, other) * _whole(other)


def _rounded(value: Any, places: int, *on: float) -> float:
    power = 10.0**places
    digit = power * _real(value)
    fraction = math.modf(digit)[0]
    return (math.ceil(digit) if fraction >= (on[0] if on else 0.5) else math.floor(digit)) / power


def _steps(start: int, stop: int, step: int) -> list[int]:
    if step == 0 or (stop < start) != (step < 0):
        return []
    numbers = range(start, stop, step)
    _bounded(len(numbers))
    return list(numbers)


def _seq(*numbers: int) -> str:
    """As the shell's: last, first and last, or first, step and last."""
    if not 1 <= len(numbers) <= _MOST_SEQ:
        return ""
    first = 1 if len(numbers) == 1 else numbers[0]
    last = numbers[-1]
    step = numbers[1] if len(numbers) == _MOST_SEQ else (-1 if last < first else 1)
    return " ".join(map(str, _steps(first, last + (1 if step > 0 else -1), step)))


def _product(first: Any, *more: Any) -> int:
    return math.prod(map(_whole, (first, *more)))


def _default(otherwise: Any, *values: Any) -> Any:
    """The value, or the other where it is missing or empty."""
    return values[0] if values and truth(values[0]) else otherwise


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if truth(value)), None)


def _ternary(yes: Any, no: Any, answer: bool) -> Any:
    return yes if answer else no


def _fail(message: str) -> str:
    raise ValueError(message)


def _dict(*parts: Any) -> dict[str, Any]:
    """A map of keys and values in turn; a last key alone has an empty text."""
    keys = [_text(key) for key in parts[::2]]
    values = [*parts[1::2], ""][: len(keys)]
    return dict(zip(keys, values, strict=True))


def _set(held: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    held[key] = value
    return held


def _unset(held: dict[str, Any], key: str) -> dict[str, Any]:
    held.pop(key, None)
    return held


def _keys(*maps: Mapping[str, Any]) -> list[str]:
    return [key for held in maps for key in sorted(held)]


def _items(what: str) -> Callable[[Any], list[Any]]:
    """The items of a list; other values are refused in sprig's words for `what` was tried."""

    def items(value: Any) -> list[Any]:
        if isinstance(value, list):
            return value
        name = {"str": "string", "Number": "string", "dict": "map", "float": "float64"}
        kind = "invalid" if value is None else name.get(type(value).__name__, type_name(value))
        raise ValueError(f"Cannot {what} type {kind}")

    return items


def _end(what: str, index: int) -> Function:
    items = _items(f"find {what} on")

    def end(value: Any) -> Any:
        found = items(value)
        return found[index] if found else None

    return Function(end, (_A,))


def _some(what: str, choose: Callable[[list[Any]], list[Any]]) -> Function:
    """A list from a list; from an empty one nothing."""
    items = _items(f"find {what} on")
    return Function(lambda value: choose(found) if (found := items(value)) else None, (_A,))


def _same(one: Any, other: Any) -> bool:
    """Go's DeepEqual: numbers of different types are different."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)


def _is_among(item: Any, among: list[Any]) -> bool:
    return any(_same(item, other) for other in among)


def _unique(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not _is_among(item, found):
            found.append(item)
    return found


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_int=float)
    except ValueError:
        return None


def _raw_json(value: Any) -> str:
    return re.sub(r"\\u003[ce]|\\u0026", lambda found: _HTML[found[0]], json_text(value))


_TEXTS: Final[Functions] = {
    "trim": Function(str.strip, (_S,)),
    "upper": Function(str.upper, (_S,)),
    "lower": Function(str.lower, (_S,)),
    "title": Function(_title, (_S,)),
    "repeat": Function(lambda count, text: text * count if _bounded(count * len(text)) else "", (_I, _S)),
    "trimAll": Function(lambda cut, text: text.strip(cut), (_S, _S)),
    "trimall": Function(lambda cut, text: text.strip(cut), (_S, _S)),
    "trimSuffix": Function(lambda cut, text: text.removesuffix(cut), (_S, _S)),
    "trimPrefix": Function(lambda cut, text: text.removeprefix(cut), (_S, _S)),
    "nospace": Function(lambda text: "".join(text.split()), (_S,)),
    "contains": Function(lambda part, text: part in text, (_S, _S)),
    "hasPrefix": Function(lambda part, text: text.startswith(part), (_S, _S)),
    "hasSuffix": Function(lambda part, text: text.endswith(part), (_S, _S)),
    "quote": Function(lambda *values: " ".join(quoted(_text(one)) for one in values if one is not None), (), _A),
    "squote": Function(lambda *values: " ".join(f"'{_text(one)}'" for one in values if one is not None), (), _A),
    "cat": Function(lambda *values: " ".join(_text(one) for one in values if one is not None), (), _A),
    "indent": Function(_indent, (_I, _S)),
    "nindent": Function(lambda spaces, text: f"\n{_indent(spaces, text)}", (_I, _S)),
    "replace": Function(lambda old, new, text: text.replace(old, new), (_S, _S, _S)),
    "plural": Function(lambda one, many, count: one if count == 1 else many, (_S, _S, _I)),
    "trunc": Function(_cut, (_I, _S)),
    "substr": Function(_part, (_I, _I, _S)),
    "toString": Function(_text, (_A,)),
    "sha256sum": Function(lambda text: hashlib.sha256(go_bytes(text)).hexdigest(), (_S,)),
    "b64enc": Function(lambda text: base64.b64encode(go_bytes(text)).decode(), (_S,)),
    "b64dec": Function(_decoded, (_S,)),
    "splitList": Function(lambda at, text: text.split(at) if at else list(text), (_S, _S)),
    "split": Function(lambda at, text: _split(text.split(at) if at else list(text)), (_S, _S)),
    "splitn": Function(lambda at, most, text: _split(_split_at_most(at, most, text)), (_S, _I, _S)),
    "join": Function(lambda between, value: between.join(_strings(value)), (_S, _A)),
    "sortAlpha": Function(lambda value: sorted(_strings(value), key=go_bytes), (_A,)),
    "toStrings": Function(_strings, (_A,)),
    "toJson": Function(json_text, (_A,)),
    "toRawJson": Function(_raw_json, (_A,)),
    "fromJson": Function(_from_json, (_S,)),
}
_NUMBERS: Final[Functions] = {
    "atoi": Function(lambda text: int(text) if re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) else 0, (_S,)),
    "int": Function(_whole, (_A,)),
    "int64": Function(_whole, (_A,)),
    "float64": Function(_real, (_A,)),
    "add": Function(lambda *values: sum(map(_whole, values)), (), _A),
    "add1": Function(lambda value: _whole(value) + 1, (_A,)),
    "sub": Function(lambda one, other: _whole(one) - _whole(other), (_A, _A)),
    "mul": Function(_product, (_A,), _A),
    "div": Function(_divided, (_A, _A)),
    "mod": Function(_rest_of, (_A, _A)),
    "max": Function(lambda *values: max(map(_whole, values)), (_A,), _A),
    "biggest": Function(lambda *values: max(map(_whole, values)), (_A,), _A),
    "min": Function(lambda *values: min(map(_whole, values)), (_A,), _A),
    "floor": Function(lambda value: float(math.floor(_real(value))), (_A,)),
    "ceil": Function(lambda value: float(math.ceil(_real(value))), (_A,)),
    "round": Function(_rounded, (_A, _I), Parameter.FLOAT),
    "until": Function(lambda count: _steps(0, count, -1 if count < 0 else 1), (_I,)),
    "untilStep": Function(_steps, (_I, _I, _I)),
    "seq": Function(_seq, (), _I),
}
_CHOICES: Final[Functions] = {
    "default": Function(_default, (_A,), _A),
    "empty": Function(lambda value: not truth(value), (_A,)),
    "coalesce": Function(_coalesce, (), _A),
    "all": Function(lambda *values: all(map(truth, values)), (), _A),
    "any": Function(lambda *values: any(map(truth, values)), (), _A),
    "ternary": Function(_ternary, (_A, _A, Parameter.BOOL)),
    "fail": Function(_fail, (_S,)),
    "deepEqual": Function(_same, (_A, _A)),
}
_COLLECTIONS: Final[Functions] = {
    "list": Function(lambda *values: list(values), (), _A),
    "tuple": Function(lambda *values: list(values), (), _A),
    "dict": Function(_dict, (), _A),
    "get": Function(lambda held, key: held.get(key, ""), (_M, _S)),
    "hasKey": Function(lambda held, key: key in held, (_M, _S)),
    "set": Function(_set, (_M, _S, _A)),
    "unset": Function(_unset, (_M, _S)),
    "pluck": Function(lambda key, *maps: [held[key] for held in maps if key in held], (_S,), _M),
    "keys": Function(_keys, (), _M),
    "values": Function(lambda held: [held[key] for key in sorted(held)], (_M,)),
    "pick": Function(lambda held, *keys: {key: held[key] for key in keys if key in held}, (_M,), _S),
    "omit": Function(lambda held, *keys: {key: value for key, value in held.items() if key not in keys}, (_M,), _S),
    "append": Function(lambda items, item: [*_items("push on")(items), item], (_A, _A)),
    "push": Function(lambda items, item: [*_items("push on")(items), item], (_A, _A)),
    "prepend": Function(lambda items, item: [item, *_items("prepend on")(items)], (_A, _A)),
    "concat": Function(lambda *lists: [item for one in lists for item in _items("concat type")(one)], (), _A),
    "first": _end("first", 0),
    "last": _end("last", -1),
    "rest": _some("rest", lambda items: items[1:]),
    "initial": _some("initial", lambda items: items[:-1]),
    "reverse": Function(lambda value: _items("find reverse on")(value)[::-1], (_A,)),
    "uniq": Function(lambda value: _unique(_items("find uniq on")(value)), (_A,)),
    "compact": Function(lambda value: [item for item in _items("compact on")(value) if truth(item)], (_A,)),
    "without": Function(
        lambda value, *items: [item for item in _items("find without on")(value) if not _is_among(item, list(items))],
        (_A,),
        _A,
    ),
    "has": Function(lambda item, value: value is not None and _is_among(item, _items("find has on")(value)), (_A, _A)),
}

SPRIG: Final[Functions] = {**_TEXTS, **_NUMBERS, **_CHOICES, **_COLLECTIONS}
