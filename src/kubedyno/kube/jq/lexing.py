"""The words of a jq query."""

import json
import re
from typing import Final, Literal

import msgspec

KEYWORDS: Final = frozenset(
    {
        *("or", "and", "module", "import", "include", "def", "as", "label", "break", "null", "true", "false"),
        *("if", "then", "elif", "else", "end", "try", "catch", "reduce", "foreach"),
    }
)
_WHITE: Final = re.compile(r"(?:[ \t\r\n]+|#(?:\\(?:\r\n|[\\\r\n])?|[^\\\r\n])*)*")
_WORD: Final = re.compile(
    r"""
    (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
    | (?P<ident>[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)?)
    | (?P<variable>\$[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)?)
    | (?P<format>@[A-Za-z0-9_]+)
    | (?P<symbol>\?//|//=|\.\.|[|+*/%-]=|[=!<>]=|//|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BAD_NUMBER_END: Final = re.compile(r"[eE][+-]?[A-Za-z_]?|[A-Za-z_.]")
_PLAIN: Final = re.compile(r'[^"\\]+')
_ESCAPE: Final = re.compile(r'\\(?:["/\\bfnrt]|u[0-9a-fA-F]{4})')
_BAD_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{0,3}|.?)", re.DOTALL)

Kind = Literal["number", "field", "ident", "keyword", "variable", "format", "symbol", "string", "bad", "end"]


class Token(msgspec.Struct, frozen=True):
    """A word: `text` as written, or for "bad" the whole complaint; `at` counts characters from zero.

    A string has `pieces`: texts, and for each interpolation the words between its parentheses.
    """

    kind: Kind
    text: str
    at: int
    pieces: tuple["str | tuple[Token, ...]", ...] = ()


def tokens(text: str) -> tuple[Token, ...]:
    """All words up to the end, or up to the first that is none: complaints are told when a reader gets there."""
    return tuple(_read(text, 0, within_string=False)[0])


def _read(text: str, at: int, *, within_string: bool) -> tuple[list[Token], int]:
    """The words from `at`; within a string, up to the parenthesis that closes the interpolation."""
    words: list[Token] = []
    depth = 0
    while True:
        at = _after_white(text, at)
        if at == len(text):
            return [*words, Token("end", "", at)], at
        token, after = _word(text, at)
        words.append(token)
        if token.kind == "bad":
            return words, len(text)
        if token.kind == "symbol" and within_string:
            if token.text == ")" and depth == 0:
                return words, after
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        at = after


def _after_white(text: str, at: int) -> int:
    found = _WHITE.match(text, at)
    return found.end() if found else at


def _word(text: str, at: int) -> tuple[Token, int]:
    if text[at] == '"':
        return _string(text, at)
    found = _WORD.match(text, at)
    if found is None:  # cannot be: the last choice takes any character
        return Token("bad", "unexpected EOF", at), at
    kind, written, end = str(found.lastgroup), found[0], found.end()
    if kind == "number" and (more := _BAD_NUMBER_END.match(text, end)):
        return Token("bad", f"invalid token {json.dumps(written + more[0])}", at), end
    if kind == "ident" and written in KEYWORDS:
        kind = "keyword"
    return Token(kind, written, at), end  # type: ignore[arg-type]  # the groups are named for the kinds


def _string(text: str, start: int) -> tuple[Token, int]:
    pieces: list[str | tuple[Token, ...]] = []
    raw: list[str] = []
    at = start + 1
    while at < len(text):
        if text[at] == '"':
            written = text[start : at + 1]
            return Token("string", written, start, (*pieces, *_unescaped(raw))), at + 1
        if text.startswith("\\(", at):
            inner, at = _read(text, at + 2, within_string=True)
            pieces += [*_unescaped(raw), tuple(inner)]
            raw = []
        elif found := _PLAIN.match(text, at) or _ESCAPE.match(text, at):
            raw.append(found[0])
            at = found.end()
        else:
            bad = _BAD_ESCAPE.match(text, at)
            shown = bad[0] if bad else ""
            if shown == "\\":
                break
            return Token("bad", f'invalid escape sequence "{shown}" in string literal', at), at
    if pieces and isinstance(pieces[-1], tuple) and pieces[-1][-1].kind in {"bad", "end"}:
        return Token("string", text[start:], start, tuple(pieces)), len(text)
    return Token("bad", "unterminated string literal", start), at


def _unescaped(raw: list[str]) -> list[str]:
    """The text of a piece, in a list of one, or of none when it is empty."""
    if not raw:
        return []
    text: str = json.loads(f'"{"".join(raw)}"', strict=False)
    # Half a surrogate pair becomes U+FFFD, as Go decodes it.
    return [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")]
