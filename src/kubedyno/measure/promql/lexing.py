"""The words of a query."""

import re
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.gotemplate.quoting import read_char
from kubedyno.kube.gotemplate.values import go_text
from kubedyno.measure.promql.problems import refusal

Kind: TypeAlias = Literal["number", "duration", "string", "word", "symbol", "end"]

_BLANK: Final = re.compile(r"(?:\s+|#[^\n]*)*")
_WORD: Final = re.compile(
    r"""
    (?P<duration>(?:[0-9]+(?:ms|[smhdwy]))+(?![A-Za-z0-9_.]))
    | (?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`)
    | (?P<word>(?:[A-Za-z_]|:(?=[A-Za-z_:]))[A-Za-z0-9_:]*)
    | (?P<symbol>=~|!~|==|!=|<=|>=|[-+*/%^(){}\[\],:=<>@])
    """,
    re.VERBOSE,
)
_UNITS_NS: Final = {
    "y": 365 * 24 * 3600 * NS_PER_S,
    "w": 7 * 24 * 3600 * NS_PER_S,
    "d": 24 * 3600 * NS_PER_S,
    "h": 3600 * NS_PER_S,
    "m": 60 * NS_PER_S,
    "s": NS_PER_S,
    "ms": NS_PER_S // 1000,
}
_DURATION: Final = re.compile("".join(f"(?:(?P<{unit}>[0-9]+){unit})?" for unit in _UNITS_NS))


class Token(msgspec.Struct, frozen=True):
    """A word: `text` as written, of a string what it says; `at` counts characters from zero."""

    kind: Kind
    text: str
    at: int


def tokens(text: str) -> tuple[Token, ...]:
    """All words of a query, and the end."""
    words: list[Token] = []
    at = _after_blank(text, 0)
    while at < len(text):
        found = _WORD.match(text, at)
        if found is None:
            what = "a string without an end" if text[at] in "\"'`" else f"unexpected {text[at]!r}"
            raise refusal(what, text, at)
        kind, written, end = str(found.lastgroup), found[0], found.end()
        if kind in {"number", "duration"} and re.match(r"[A-Za-z0-9_.]", text[end : end + 1]):
            raise refusal(f"{written + text[end]!r} is no number: write it like 5, 0.5, 5m or 1h30m", text, at)
        if kind == "string":
            written = _said(written, text, at)
        words.append(Token(kind, written, at))  # type: ignore[arg-type]  # the groups are named for the kinds
        at = _after_blank(text, end)
    return (*words, Token("end", "", len(text)))


def duration_ns(token: Token, text: str) -> int:
    """What a duration says, or a number of seconds."""
    if token.kind == "number":
        return round(number(token.text) * NS_PER_S)
    found = _DURATION.fullmatch(token.text)
    if found is None:
        raise refusal(
            f"{token.text!r} is no duration: write each unit once, from the largest on, like 1h30m", text, token.at
        )
    return sum(int(count) * _UNITS_NS[unit] for unit, count in found.groupdict().items() if count)


def number(written: str) -> float:
    """A number, decimal or hexadecimal."""
    return float(int(written, 16)) if written[:2] in {"0x", "0X"} else float(written)


def _after_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _said(literal: str, text: str, at: int) -> str:
    """The text of a string in any of the three quotes; escapes are Go's."""
    quote, body = literal[0], literal[1:-1]
    if quote == "`":
        return body
    said, place = bytearray(), 0
    while place < len(body):
        try:
            code, is_byte, after = read_char(body, place, quote)
        except ValueError:
            raise refusal(
                f"{body[place : place + 2]!r} is no escape in a string: write a backslash twice, or use backquotes",
                text,
                at + 1 + place,
            ) from None
        said += bytes((code,)) if is_byte else chr(code).encode("utf-8", "surrogateescape")
        place = after
    return go_text(bytes(said))
