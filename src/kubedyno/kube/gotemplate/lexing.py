"""The words of a template: text, and what stands between `{{` and `}}`, with trim markers and comments applied."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

from kubedyno.kube.gotemplate.quoting import printable, quoted

_SPACES: Final = " \t\r\n"
_TERMINATORS: Final = frozenset(f"{_SPACES}.,|:)(")
_LEFT, _RIGHT = "{{", "}}"
_NUMBER = re.compile(
    r"[-+]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][-+]?[0-9_]*)?|0[oO][0-7_]*(?:\.[0-7_]*)?"
    r"|0[bB][01_]*(?:\.[01_]*)?|[0-9_]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9_]*)?)i?"
)
_QUOTED = re.compile(r'"(?:[^"\\\n]|\\[^\n])*+"')
_CHAR = re.compile(r"'(?:[^'\\\n]|\\[^\n])*+'")
_SPACE_RUN = re.compile(r"[ \t\r\n]+")
_SHOWN_MAX = 10


class Kind(Enum):
    """What a word is; the value is only a name."""

    ERROR = "error"
    BOOL = "bool"
    CHAR = "char"
    CHAR_CONSTANT = "char constant"
    COMPLEX = "complex"
    ASSIGN = "assign"
    DECLARE = "declare"
    EOF = "EOF"
    FIELD = "field"
    IDENTIFIER = "identifier"
    LEFT_DELIM = "left delim"
    LEFT_PAREN = "left paren"
    NUMBER = "number"
    PIPE = "pipe"
    RAW_STRING = "raw string"
    RIGHT_DELIM = "right delim"
    RIGHT_PAREN = "right paren"
    SPACE = "space"
    STRING = "string"
    TEXT = "text"
    VARIABLE = "variable"
    BLOCK = "block"
    BREAK = "break"
    CONTINUE = "continue"
    DOT = "."
    DEFINE = "define"
    ELSE = "else"
    END = "end"
    IF = "if"
    NIL = "nil"
    RANGE = "range"
    TEMPLATE = "template"
    WITH = "with"


_WORDS: Final = {
    kind.value: kind
    for kind in (
        Kind.BLOCK,
        Kind.BREAK,
        Kind.CONTINUE,
        Kind.DEFINE,
        Kind.ELSE,
        Kind.END,
        Kind.IF,
        Kind.NIL,
        Kind.RANGE,
        Kind.TEMPLATE,
        Kind.WITH,
    )
}
_KEYWORDS: Final = frozenset((*_WORDS.values(), Kind.DOT))
_SIGNS: Final = {"=": Kind.ASSIGN, "|": Kind.PIPE}


class Token(NamedTuple):
    """A word and where it begins, in characters."""

    kind: Kind
    at: int
    text: str

    def shown(self) -> str:
        """As Go names it in its errors."""
        if self.kind is Kind.EOF:
            return "EOF"
        if self.kind is Kind.ERROR:
            return self.text
        if self.kind in _KEYWORDS:
            return f"<{self.text}>"
        if len(self.text.encode("utf-8", "surrogateescape")) > _SHOWN_MAX:
            return f"{quoted(self.text[:_SHOWN_MAX])}..."
        return quoted(self.text)


class _Broken(Exception):
    """What is wrong with the word that begins at `_Lexer.start`."""


def tokens(text: str) -> Iterator[Token]:
    """All words; the last is EOF, or ERROR whose text says what is wrong."""
    lexer = _Lexer(text)
    try:
        yield from lexer.run()
    except _Broken as broken:
        yield Token(Kind.ERROR, lexer.start, str(broken))


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.at = 0
        self.parens = 0

    def run(self) -> Iterator[Token]:
        text = self.text
        while True:
            opened = text.find(_LEFT, self.at)
            end = len(text) if opened < 0 else opened
            shown = text[self.at : end]
            if opened >= 0 and self._trims_left(opened + len(_LEFT)):
                shown = shown.rstrip(_SPACES)
            if shown:
                yield Token(Kind.TEXT, self.at, shown)
            self.start = self.at = end
            if opened < 0:
                yield Token(Kind.EOF, end, "EOF")
                return
            inside = opened + len(_LEFT)
            after = inside + 2 * self._trims_left(inside)
            if text.startswith("/*", after):
                self._comment(after)
                continue
            yield Token(Kind.LEFT_DELIM, opened, _LEFT)
            self.start = self.at = after
            self.parens = 0
            yield from self._action()

    def _trims_left(self, at: int) -> bool:
        return self.text.startswith("-", at) and self.text[at + 1 : at + 2] in tuple(_SPACES)

    def _trims_right(self, at: int) -> bool:
        """Whether ` -}}` stands there."""
        return self.text[at : at + 1] in tuple(_SPACES) and self.text.startswith(f"-{_RIGHT}", at + 1)

    def _comment(self, at: int) -> None:
        self.start = at
        end = self.text.find("*/", at + 2)
        if end < 0:
            raise _Broken("unclosed comment")
        self.at = end + 2
        if not self.text.startswith(_RIGHT, self.at) and not self._trims_right(self.at):
            raise _Broken("comment ends before closing delimiter")
        self._close()

    def _close(self) -> Token:
        """Steps over `}}` and, if it is marked so, the space after it."""
        trims = self._trims_right(self.at)
        begin = self.at + 2 * trims
        self.at = begin + len(_RIGHT)
        if trims and (run := _SPACE_RUN.match(self.text, self.at)):
            self.at = run.end()
        self.start = self.at
        return Token(Kind.RIGHT_DELIM, begin, _RIGHT)

    def _action(self) -> Iterator[Token]:
        while True:
            self.start = self.at
            if self.text.startswith(_RIGHT, self.at) or self._trims_right(self.at):
                if self.parens:
                    raise _Broken("unclosed left paren")
                yield self._close()
                return
            kind = self._word()
            if kind is None:
                continue
            yield Token(kind, self.start, self.text[self.start : self.at])

    def _word(self) -> Kind | None:  # noqa: C901, PLR0911, PLR0912 - one case for each first character
        text, at = self.text, self.at
        first = text[at : at + 1]
        if not first:
            raise _Broken("unclosed action")
        if first in _SPACES:
            return self._spaces()
        self.at += 1
        if first in _SIGNS:
            return _SIGNS[first]
        if first == ":":
            if not text.startswith("=", self.at):
                raise _Broken("expected :=")
            self.at += 1
            return Kind.DECLARE
        if first == '"':
            return self._matched(_QUOTED, Kind.STRING, "unterminated quoted string")
        if first == "'":
            return self._matched(_CHAR, Kind.CHAR_CONSTANT, "unterminated character constant")
        if first == "`":
            end = text.find("`", self.at)
            if end < 0:
                raise _Broken("unterminated raw quoted string")
            self.at = end + 1
            return Kind.RAW_STRING
        if first == "$":
            return self._name(Kind.VARIABLE, Kind.VARIABLE)
        if first == "." and text[self.at : self.at + 1] not in tuple("0123456789") and self.at < len(text):
            return self._name(Kind.FIELD, Kind.DOT)
        if first in ".+-0123456789":
            return self._number()
        if _alphanumeric(first):
            self._name(Kind.IDENTIFIER, Kind.IDENTIFIER)
            word = text[at : self.at]
            return Kind.BOOL if word in {"true", "false"} else _WORDS.get(word, Kind.IDENTIFIER)
        if first == "(":
            self.parens += 1
            return Kind.LEFT_PAREN
        if first == ")":
            self.parens -= 1
            if self.parens < 0:
                raise _Broken("unexpected right paren")
            return Kind.RIGHT_PAREN
        if first.isascii() and printable(first):
            return Kind.CHAR
        raise _Broken(f"unrecognized character in action: {_named(first)}")

    def _spaces(self) -> Kind | None:
        run = _SPACE_RUN.match(self.text, self.at)
        self.at = run.end() if run else self.at
        if self._trims_right(self.at - 1):
            self.at -= 1
            if self.at == self.start:
                return None
        return Kind.SPACE

    def _matched(self, pattern: re.Pattern[str], kind: Kind, otherwise: str) -> Kind:
        found = pattern.match(self.text, self.start)
        if not found:
            raise _Broken(otherwise)
        self.at = found.end()
        return kind

    def _name(self, kind: Kind, alone: Kind) -> Kind:
        """The rest of a name; `alone`: what its first character is when nothing follows."""
        begin = self.at
        while _alphanumeric(self.text[self.at : self.at + 1]):
            self.at += 1
        after = self.text[self.at : self.at + 1]
        if after and after not in _TERMINATORS and not self.text.startswith(_RIGHT, self.at):
            raise _Broken(f"bad character {_named(after)}")
        return kind if self.at > begin else alone

    def _number(self) -> Kind:
        self._one_number(self.start)
        if self.text[self.at : self.at + 1] in tuple("+-"):
            self._one_number(self.at)
            if self.text[self.at - 1] != "i":
                raise _Broken(f"bad number syntax: {quoted(self.text[self.start : self.at])}")
            return Kind.COMPLEX
        return Kind.NUMBER

    def _one_number(self, begin: int) -> None:
        found = _NUMBER.match(self.text, begin)
        self.at = found.end() if found else self.at
        if _alphanumeric(self.text[self.at : self.at + 1]):
            self.at += 1
            raise _Broken(f"bad number syntax: {quoted(self.text[self.start : self.at])}")


def _alphanumeric(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _named(char: str) -> str:
    """As Go's %#U."""
    return f"U+{ord(char):04X} '{char}'" if printable(char) else f"U+{ord(char):04X}"
