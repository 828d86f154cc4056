"""jq's functions of plain values: the input and the arguments in, one value out."""

import base64
import binascii
import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import quote

from kubedyno.kube.jq import paths, regexes
from kubedyno.kube.jq.arithmetic import add, split
from kubedyno.kube.jq.errors import EvaluationError
from kubedyno.kube.jq.values import (
    compare,
    described,
    is_number,
    not_applicable,
    preview,
    sort_key,
    to_int,
    to_json,
    to_text,
    type_of,
)

Function = Callable[..., Any]
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LARGEST_RUNE: Final = 0x10FFFF
# What Go's unicode.IsSpace says.
_SPACE: Final = "".join(
    map(chr, (*range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000))
)
_HTML: Final = str.maketrans({"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&apos;", '"': "&quot;"})
_TSV: Final = str.maketrans({"\t": "\\t", "\r": "\\r", "\n": "\\n", "\\": "\\\\"})


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise not_applicable(name, value)
    return value


def _array(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise not_applicable(name, value)
    return value


def _members(name: str, value: Any, *arguments: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if not isinstance(value, list):
        raise not_applicable(name, value, *arguments)
    return value


def _length(value: Any) -> Any:
    if value is None:
        return 0
    if is_number(value):
        return abs(value)
    if isinstance(value, bool):
        raise not_applicable("length", value)
    return len(value)


def _keys(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return sorted(value)
    return list(range(len(_array("keys", value))))


def _has(value: Any, key: Any) -> bool:
    if value is None:
        return False
    if isinstance(value, dict) and isinstance(key, str):
        return key in value
    if isinstance(value, list) and is_number(key):
        return 0 <= to_int(key) < len(value)
    raise not_applicable("has", value, key)


def contains(value: Any, part: Any) -> bool:
    """Whether `part` is within `value`: substrings, items of items, keys of keys."""
    if type_of(value) == type_of(part):
        match value:
            case str():
                return part in value
            case list():
                return all(any(_is_within(inner, item) for item in value) for inner in part)
            case dict():
                return all(key in value and _is_within(inner, value[key]) for key, inner in part.items())
            case _:
                if is_number(value) or value == part:
                    return bool(value == part)
    raise not_applicable("contains", value, part)


def _is_within(part: Any, value: Any) -> bool:
    # Below the top, values of different types just do not contain each other.
    try:
        return contains(value, part)
    except EvaluationError:
        return False


def _sum(values: Iterable[Any]) -> Any:
    total = None
    for value in values:
        total = add(total, value)
    return total


def _join(value: Any, separator: Any) -> Any:
    members = _members("join", value, separator)
    if not members:
        return ""
    parts: list[Any] = [""]
    for position, member in enumerate(members):
        if position:
            parts.append(separator)
        parts.append(to_json(member) if is_number(member) or isinstance(member, bool) else member)
    return _sum(parts)


def _split(value: Any, separator: Any) -> list[str]:
    return split(_text("split", value), _text("split", separator))


def _of_two_texts(name: str, of: Callable[[str, str], Any]) -> Function:
    def applied(value: Any, other: Any) -> Any:
        if not isinstance(value, str) or not isinstance(other, str):
            raise not_applicable(name, value, other)
        return of(value, other)

    return applied


def _of_text(name: str, of: Callable[[str], Any]) -> Function:
    return lambda value: of(_text(name, value))


def _of_number(name: str, of: Callable[[float], float]) -> Function:
    def applied(value: Any) -> Any:
        if not is_number(value):
            raise not_applicable(name, value)
        if isinstance(value, float) and not math.isfinite(value):
            return abs(value) if name == "fabs" else value
        try:
            return float(of(value))  # a float even where it is whole, as Go's functions give it
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return applied


def _rounded(number: float) -> float:
    return math.copysign(math.floor(abs(number) + 0.5), number)


def _power(_: Any, base: Any, exponent: Any) -> Any:
    for value in (base, exponent):
        if not is_number(value):
            raise not_applicable("pow", value)
    try:
        return float(base) ** float(exponent)
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf


def _to_number(value: Any) -> Any:
    if is_number(value):
        return value
    text = _text("tonumber", value)
    if not _NUMBER.fullmatch(text):
        raise EvaluationError(f"tonumber cannot be applied to {preview(text)}: invalid number")
    return float(text) if re.search("[.eE]", text) else int(text)


def _to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if _text("toboolean", value) not in {"true", "false"}:
        raise EvaluationError(f"toboolean cannot be applied to {preview(value)}: invalid boolean")
    return bool(value == "true")


def _from_json(value: Any) -> Any:
    try:
        return json.loads(_text("fromjson", value), parse_constant=_refused_constant)
    except (ValueError, RecursionError) as error:
        raise EvaluationError(f"fromjson cannot be applied to {preview(value)}: {error}") from None


def _refused_constant(text: str) -> Any:
    raise ValueError(f"invalid character {text[0]!r} looking for beginning of value")


def _places(name: str, chosen: Callable[[list[int]], Any]) -> Function:
    def applied(value: Any, sought: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return chosen(paths.positions(value, sought if isinstance(sought, list) else [sought]))
        if isinstance(value, str) and isinstance(sought, str):
            return chosen(paths.positions(list(value), list(sought)))
        raise not_applicable(name, value, sought)

    return applied


def _flatten(value: Any, depth: Any = math.inf) -> list[Any]:
    members = _members("flatten", value)
    if not is_number(depth):
        raise not_applicable("flatten", depth)
    if depth < 0:
        raise EvaluationError(f"flatten depth should not be negative: {preview(depth)}")
    return _flattened(members, depth)


def _flattened(members: list[Any], depth: float) -> list[Any]:
    flat: list[Any] = []
    for member in members:
        if isinstance(member, list) and depth > 0:
            flat += _flattened(member, depth - 1)
        else:
            flat.append(member)
    return flat


def unique(items: list[Any], keys: list[Any]) -> list[Any]:
    """The first item of each key, in the order of the keys."""
    return [group[0] for group in grouped(items, keys)]


def grouped(items: list[Any], keys: list[Any]) -> list[list[Any]]:
    """Items of equal keys together, in the order of the keys."""
    groups: list[list[Any]] = []
    last: Any = None
    for key, item in sorted(zip(keys, items, strict=True), key=lambda pair: sort_key(pair[0])):
        if groups and compare(last, key) == 0:
            groups[-1].append(item)
        else:
            groups.append([item])
        last = key
    return groups


def _transpose(value: Any) -> list[Any]:
    rows = _array("transpose", value)
    if not all(isinstance(row, list) for row in rows):
        raise not_applicable("transpose", value)
    width = max(map(len, rows), default=0)
    return [[row[column] if column < len(row) else None for row in rows] for column in range(width)]


def _implode(value: Any) -> str:
    codes = _array("implode", value)
    if not all(map(is_number, codes)):
        raise not_applicable("implode", value)
    return "".join(chr(code) if 0 <= (code := to_int(number)) <= _LARGEST_RUNE else "\ufffd" for number in codes)


def _error(value: Any, *given: Any) -> Any:
    told = given[0] if given else value
    raise EvaluationError(f"error: {to_text(told)}", told, has_value=True)


def _captures(value: Any) -> dict[str, Any]:
    return {capture["name"]: capture["string"] for capture in value if capture["name"] is not None}


def _from_date(value: Any) -> int:
    text = _text("strptime", value)
    try:
        moment = dt.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    except ValueError as error:
        raise EvaluationError(
            f"strptime({preview('%Y-%m-%dT%H:%M:%S%z')}) cannot be applied to {preview(text)}: {error}"
        ) from None
    return int(moment.timestamp())


def _to_date(value: Any) -> str:
    if not is_number(value):
        raise not_applicable("strftime", value, "%Y-%m-%dT%H:%M:%SZ")
    start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    try:
        return (start + dt.timedelta(seconds=math.floor(value))).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError):
        raise not_applicable("strftime", value, "%Y-%m-%dT%H:%M:%SZ") from None


def _row(name: str, value: Any, written: Callable[[str], str], separator: str) -> str:
    if not isinstance(value, list):
        raise not_applicable(f"@{name}", value)
    cells = []
    for cell in value:
        if isinstance(cell, list | dict):
            raise EvaluationError(f"@{name} cannot format an array including: {described(cell)}")
        cells.append("" if cell is None and name != "sh" else written(cell) if isinstance(cell, str) else to_json(cell))
    return separator.join(cells)


def _base64_decoded(value: Any) -> str:
    text = to_text(value).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise EvaluationError(f"@base64d cannot be applied to {preview(value)}: {error}") from None


def _shell_quoted(text: str) -> str:
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


FORMATS: Final[dict[str, Callable[[Any], str]]] = {
    "": to_text,
    "@text": to_text,
    "@json": to_json,
    "@html": lambda value: to_text(value).translate(_HTML),
    "@uri": lambda value: quote(to_text(value), safe="-_.~"),
    "@csv": lambda value: _row("csv", value, lambda cell: '"' + cell.replace('"', '""') + '"', ","),
    "@tsv": lambda value: _row("tsv", value, lambda cell: cell.translate(_TSV), "\t"),
    "@sh": lambda value: _row("sh", value if isinstance(value, list) else [value], _shell_quoted, " "),
    "@base64": lambda value: base64.b64encode(to_text(value).encode()).decode(),
    "@base64d": _base64_decoded,
}


def _format(value: Any, name: Any) -> str:
    written = FORMATS.get(f"@{_text('format', name)}")
    if written is None:
        raise EvaluationError(f"format not defined: @{name}")
    return written(value)


def _ascii(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "".join(change(character) if character.isascii() else character for character in text)


def _extreme(name: str, choose: Callable[..., Any]) -> Function:
    return lambda value: choose(_array(name, value), key=sort_key, default=None)


def _maximum(value: Any) -> Any:
    items = _array("max", value)
    return max(reversed(items), key=sort_key, default=None)  # of equals, the last


# name/number of arguments -> function of the input and the arguments
FUNCTIONS: Final[dict[str, Function]] = {
    "length/0": _length,
    "utf8bytelength/0": _of_text("utf8bytelength", lambda text: len(text.encode())),
    "not/0": lambda value: value is None or value is False,
    "keys/0": _keys,
    "has/1": _has,
    "contains/1": contains,
    "inside/1": lambda value, whole: contains(whole, value),
    "add/0": lambda value: _sum(_members("add", value)),
    "join/1": _join,
    "split/1": _split,
    "startswith/1": _of_two_texts("startswith", str.startswith),
    "endswith/1": _of_two_texts("endswith", str.endswith),
    "ltrimstr/1": _of_two_texts("ltrimstr", str.removeprefix),
    "rtrimstr/1": _of_two_texts("rtrimstr", str.removesuffix),
    "trimstr/1": _of_two_texts("trimstr", lambda text, end: text.removeprefix(end).removesuffix(end)),
    "trim/0": _of_text("trim", lambda text: text.strip(_SPACE)),
    "ltrim/0": _of_text("ltrim", lambda text: text.lstrip(_SPACE)),
    "rtrim/0": _of_text("rtrim", lambda text: text.rstrip(_SPACE)),
    "ascii_downcase/0": _of_text("ascii_downcase", _ascii(str.lower)),
    "ascii_upcase/0": _of_text("ascii_upcase", _ascii(str.upper)),
    "explode/0": _of_text("explode", lambda text: [ord(character) for character in text]),
    "implode/0": _implode,
    "tostring/0": to_text,
    "tojson/0": to_json,
    "fromjson/0": _from_json,
    "tonumber/0": _to_number,
    "toboolean/0": _to_boolean,
    "type/0": type_of,
    "format/1": _format,
    "error/0": _error,
    "error/1": _error,
    "reverse/0": lambda value: _array("reverse", value)[::-1],
    "sort/0": lambda value: sorted(_array("sort", value), key=sort_key),
    "unique/0": lambda value: unique(_array("unique", value), value),
    "min/0": _extreme("min", min),
    "max/0": _maximum,
    "flatten/0": _flatten,
    "flatten/1": _flatten,
    "transpose/0": _transpose,
    "indices/1": _places("indices", lambda found: found),
    "index/1": _places("index", lambda found: found[0] if found else None),
    "rindex/1": _places("rindex", lambda found: found[-1] if found else None),
    "setpath/2": paths.put,
    "delpaths/1": paths.delete,
    "abs/0": lambda value: abs(value) if is_number(value) else _error_of("abs", value),
    "floor/0": _of_number("floor", math.floor),
    "ceil/0": _of_number("ceil", math.ceil),
    "round/0": _of_number("round", _rounded),
    "trunc/0": _of_number("trunc", math.trunc),
    "fabs/0": _of_number("fabs", abs),
    "sqrt/0": _of_number("sqrt", math.sqrt),
    "log/0": _of_number("log", math.log),
    "log2/0": _of_number("log2", math.log2),
    "log10/0": _of_number("log10", math.log10),
    "exp/0": _of_number("exp", math.exp),
    "pow/2": _power,
    "nan/0": lambda _: math.nan,
    "infinite/0": lambda _: math.inf,
    "isnan/0": lambda value: math.isnan(value) if is_number(value) else _error_of("isnan", value),
    "isinfinite/0": lambda value: math.isinf(value) if is_number(value) else _error_of("isinfinite", value),
    "fromdateiso8601/0": _from_date,
    "fromdate/0": _from_date,
    "todateiso8601/0": _to_date,
    "todate/0": _to_date,
    "_test/2": regexes.test,
    "_matches/2": regexes.matches,
    "_captures/0": _captures,
}


def _error_of(name: str, value: Any) -> Any:
    raise not_applicable(name, value)
