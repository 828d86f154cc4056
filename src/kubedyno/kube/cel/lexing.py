"""Texts of the language cut into tokens."""

import re
from typing import Final

import msgspec

from kubedyno.kube.cel.errors import CelSyntaxError

_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_STRING: Final = (
    r'[rR]"""[\s\S]*?"""' r"|[rR]'''[\s\S]*?'''" r'|[rR]"[^"\n\r]*"' r"|[rR]'[^'\n\r]*'"
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""' rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?!"")(?:{_ESCAPE}|[^\\"\n\r])*"' rf"|'(?!'')(?:{_ESCAPE}|[^\\'\n\r])*'" r'|""|' r"''"
)  # fmt: skip
_TOKEN: Final = re.compile(
    rf"""
    (?P<space>[\t\ \r\n\f]+|//[^\n]*)
    | (?P<bytes>[bB](?:{_STRING}))
    | (?P<string>{_STRING})
    | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    | (?P<uint>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])
    | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<quoted>`[A-Za-z0-9_.\-/\ ]+`)
    | (?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    """,
    re.VERBOSE,
)
_WORDS: Final = frozenset({"true", "false", "null", "in"})
_SIMPLE: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED: Final = re.compile(_ESCAPE)
_BEYOND: Final = 0x110000
_SURROGATES: Final = range(0xD800, 0xE000)


class Token(msgspec.Struct, frozen=True):
    """One token: signs and words are their own `kind`; `at` counts characters from 0."""

    kind: str
    text: str
    at: int


def tokens(text: str) -> list[Token]:
    """All tokens, with one of kind `end` last."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CelSyntaxError(text, at, f"Syntax error: token recognition error at: '{_unreadable(text, at)}'")
        kind, written = match.lastgroup or "", match[0]
        if kind == "sign" or written in _WORDS:
            kind = written
        if kind != "space":
            found.append(Token(kind, written, at))
        at = match.end()
    found.append(Token("end", "<EOF>", len(text)))
    return found


def _unreadable(text: str, at: int) -> str:
    """What no token begins with: a text that is never closed as far as its line goes, else one character."""
    quote = text[at]
    if quote in "&|=":
        # Begun as `&&`, `||` or `==`, and given up at the character after.
        return text[at : at + 2]
    if quote not in "\"'":
        return quote
    for end in range(at + 1, len(text)):
        if text[end] in "\r\n":
            return text[at : end + 1]
        if text[end] == "\\" and not _ESCAPED.match(text, end):
            return text[at : end + 2]
    return text[at:]


def string_value(token: Token, text: str) -> str:
    """What a text literal stands for."""
    inside, raw = _inside(token.text)
    if raw:
        return inside

    def unescaped(match: re.Match[str]) -> str:
        code = _code(match[0][1:])
        if isinstance(code, str):
            return code
        if code >= _BEYOND or code in _SURROGATES:
            raise CelSyntaxError(text, token.at, "invalid unicode code point")
        return chr(code)

    return _ESCAPED.sub(unescaped, inside)


def bytes_value(token: Token, text: str) -> bytes:
    r"""What a bytes literal stands for: `\x` and octal escapes are bytes, all else is UTF-8."""
    inside, raw = _inside(token.text[1:])
    if raw:
        return inside.encode()
    parts: list[bytes] = []
    last = 0
    for match in _ESCAPED.finditer(inside):
        parts.append(inside[last : match.start()].encode())
        code = _code(match[0][1:])
        if isinstance(code, str):
            parts.append(code.encode())
        elif match[0][1] in "uU":
            raise CelSyntaxError(text, token.at, "unable to unescape string")
        else:
            parts.append(bytes([code]))
        last = match.end()
    parts.append(inside[last:].encode())
    return b"".join(parts)


def _inside(written: str) -> tuple[str, bool]:
    raw = written[0] in "rR"
    written = written[raw:]
    quote = 3 if written[:3] in {'"""', "'''"} else 1
    # Line ends are made equal, as cel-go does, so that a rule means the same in every file.
    return written[quote:-quote].replace("\r\n", "\n").replace("\r", "\n"), raw


def _code(escape: str) -> str | int:
    if escape[0] in _SIMPLE:
        return _SIMPLE[escape[0]]
    if escape[0] in "xXuU":
        return int(escape[1:], 16)
    return int(escape, 8) if escape[0].isdigit() else escape
