"""The functions that every template has. `and`, `or` and `call` are the evaluator's: they see unevaluated arguments."""

from functools import partial
from typing import Any, Final
from urllib.parse import quote_plus

from kubedyno.kube.gotemplate.formatting import sprint, sprintf, sprintln
from kubedyno.kube.gotemplate.functions import Function, Parameter
from kubedyno.kube.gotemplate.quoting import printable
from kubedyno.kube.gotemplate.values import (
    MISSING,
    Boxed,
    Byte,
    basic_kind,
    go_bytes,
    go_text,
    plain,
    truth,
    type_name,
    unboxed,
)

_ZERO_VALUE: Final = "reflect: call of reflect.Value.Type on zero Value"
_INTEGERS: Final = frozenset(("int", "uint"))
_UNORDERED: Final = frozenset(("", "bool"))
_MAX_INDEXES: Final = 3
_CITED_MAX: Final = 1_000_000
_HTML: Final = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"},
)
_JS: Final = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "<": "\\u003C",
    ">": "\\u003E",
    "&": "\\u0026",
    "=": "\\u003D",
}
_SURROGATES: Final = range(0xD800, 0xE000)


def _type(value: Any) -> str:
    if value is MISSING:
        raise ValueError(_ZERO_VALUE)
    return type_name(value)


def _length(item: Any) -> int:
    if type(item) is Boxed:
        if item.value is None:
            raise ValueError("len of nil pointer")
        item = item.value
    if isinstance(item, str):
        return len(go_bytes(item))
    if isinstance(item, list | dict):
        return len(item)
    raise ValueError(f"len of type {_type(item)}")


def _position(index: Any, length: int) -> int:
    if index is MISSING:
        raise ValueError("cannot index slice/array with nil")
    if basic_kind(index) not in _INTEGERS:
        raise ValueError(f"cannot index slice/array with type {type_name(index)}")
    if not 0 <= index <= length:
        raise ValueError(f"index out of range: {index:d}")
    return int(index)


def _index(item: Any, *indexes: Any) -> Any:
    item = unboxed(item)
    if item is MISSING:
        raise ValueError("index of untyped nil")
    for boxed in indexes:
        index = unboxed(boxed)
        if type(item) is Boxed:
            if item.value is None:
                raise ValueError("index of nil pointer")
            item = item.value
        if isinstance(item, dict):
            if index is MISSING:
                raise ValueError("value is nil; should be of type string")
            if type(index) is not str:
                raise ValueError(f"value has type {type_name(index)}; should be string")
            item = Boxed(item.get(index))
        elif isinstance(item, list | str):
            data = go_bytes(item) if isinstance(item, str) else item
            position = _position(index, len(data))
            if position == len(data):
                kind = "string" if isinstance(item, str) else "slice"
                raise ValueError(f"reflect: {kind} index out of range")
            item = Byte(data[position]) if isinstance(item, str) else Boxed(data[position])
        else:
            raise ValueError(f"can't index item of type {type_name(item)}")  # noqa: TRY004 - as all errors of functions
    return item


def _slice(item: Any, *indexes: Any) -> Any:
    item = unboxed(item)
    if item is MISSING:
        raise ValueError("slice of untyped nil")
    if len(indexes) > _MAX_INDEXES:
        raise ValueError(f"too many slice indexes: {len(indexes)}")
    is_text = isinstance(item, str)
    if is_text and len(indexes) == _MAX_INDEXES:
        raise ValueError("cannot 3-index slice a string")
    if not isinstance(item, str | list):
        raise ValueError(f"can't slice item of type {type_name(item)}")  # noqa: TRY004 - as all errors of functions
    data: Any = go_bytes(item) if isinstance(item, str) else item
    bounds = [0, len(data), len(data)]
    for place, index in enumerate(indexes):
        bounds[place] = _position(index, len(data))
    begin, end, most = bounds
    if begin > end:
        raise ValueError(f"invalid slice index: {begin} > {end}")
    if end > most:
        raise ValueError(f"invalid slice index: {end} > {most}")
    part = data[begin:end]
    return type(item)(go_text(part)) if is_text else part


def _equal(first: Any, *others: Any) -> bool:
    first = unboxed(first)
    if not others:
        raise ValueError("missing argument for comparison")
    return any(_same(first, unboxed(other)) for other in others)


def _same(first: Any, second: Any) -> bool:
    kinds = basic_kind(first), basic_kind(second)
    if kinds[0] and kinds[1] and (kinds[0] == kinds[1] or _INTEGERS.issuperset(kinds)):
        return bool(first == second)
    if first is MISSING or second is MISSING:
        return first is second
    if kinds[0] != kinds[1]:
        raise ValueError(f"incompatible types for comparison: {type_name(first)} and {type_name(second)}")
    if type(first) is not type(second):
        raise ValueError(
            f"non-comparable types {_cited(first, 's')}: {type_name(first)}, {type_name(second)}: {_cited(second, 'v')}"
        )
    raise ValueError(f"non-comparable type {_cited(second, 's')}: {type_name(second)}")


def _cited(value: Any, verb: str) -> str:
    return sprintf(f"%{verb}", [value], _CITED_MAX)


def _unequal(first: Any, second: Any) -> bool:
    return not _equal(first, second)


def _less(first: Any, second: Any) -> bool:
    first, second = unboxed(first), unboxed(second)
    kinds = basic_kind(first), basic_kind(second)
    if "" in kinds:
        raise ValueError("invalid type for comparison")
    if kinds[0] != kinds[1] and not _INTEGERS.issuperset(kinds):
        raise ValueError(f"incompatible types for comparison: {type_name(first)} and {type_name(second)}")
    if kinds[0] in _UNORDERED:
        raise ValueError("invalid type for comparison")
    return bool(first < second)


def _at_most(first: Any, second: Any) -> bool:
    return _less(first, second) or _equal(first, second)


def _more(first: Any, second: Any) -> bool:
    return not _at_most(first, second)


def _at_least(first: Any, second: Any) -> bool:
    return not _less(first, second)


def _not(value: Any) -> bool:
    return not truth(value)


def _joined(values: tuple[Any, ...], limit: int) -> str:
    """What the escaping functions escape: nil is as it is printed outside of them."""
    return sprint(["<no value>" if value is None else value for value in values], limit)


def _html(limit: int, *values: Any) -> str:
    return _joined(values, limit).translate(_HTML)


def _js(limit: int, *values: Any) -> str:
    return "".join(map(_js_char, _joined(values, limit)))


def _js_char(char: str) -> str:
    if char in _JS:
        return _JS[char]
    code = ord(char)
    if code in _SURROGATES or (code >= ord(" ") and (char.isascii() or printable(char))):
        return char
    return f"\\u{code:04X}"


def _urlquery(limit: int, *values: Any) -> str:
    return quote_plus(go_bytes(_joined(values, limit)))


def built_ins(limit: int) -> dict[str, Function]:
    """By name; `limit`: how many characters a text may have."""
    any_, text, value = Parameter.ANY, Parameter.STRING, Parameter.VALUE
    pair = (value, value)
    return {
        "and": Function(plain, (value,), value),
        "or": Function(plain, (value,), value),
        "call": Function(plain, (value,), value),
        "not": Function(_not, (value,)),
        "len": Function(_length, (value,)),
        "index": Function(_index, (value,), value),
        "slice": Function(_slice, (value,), value),
        "eq": Function(_equal, (value,), value),
        "ne": Function(_unequal, pair),
        "lt": Function(_less, pair),
        "le": Function(_at_most, pair),
        "gt": Function(_more, pair),
        "ge": Function(_at_least, pair),
        "print": Function(lambda *values: sprint(values, limit), (), any_),
        "println": Function(lambda *values: sprintln(values, limit), (), any_),
        "printf": Function(lambda layout, *values: sprintf(layout, values, limit), (text,), any_),
        "html": Function(partial(_html, limit), (), any_),
        "js": Function(partial(_js, limit), (), any_),
        "urlquery": Function(partial(_urlquery, limit), (), any_),
    }


BUILT_IN_NAMES: Final = frozenset(built_ins(0))
