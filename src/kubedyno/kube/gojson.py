"""Why Go's JSON decoder refuses bytes, in its words: the API server passes them on to its clients.

Only asked when decoding failed; it walks the bytes as Go's scanner does and names the first that cannot stand there.
"""

from typing import Final

_SPACE: Final = b" \t\r\n"
_MAX_DEPTH: Final = 10_000
_LITERALS: Final = {b"t": b"true", b"f": b"false", b"n": b"null"}
_ESCAPED: Final = b'bfnrt\\/"'
_HEX: Final = b"0123456789abcdefABCDEF"
_END: Final = "unexpected end of JSON input"


def json_problem(data: bytes) -> str:
    """What is wrong with the JSON; empty: nothing is."""
    scanner = _Scanner(data)
    try:
        scanner.value()
        scanner.skip()
        if scanner.at < len(data):
            scanner.refuse("after top-level value")
    except _Wrong as wrong:
        return str(wrong)
    return ""


class _Wrong(Exception):
    """The sentence."""


class _Scanner:
    """A position in the bytes. Objects and arrays are kept on a stack of our own: depth is part of the question."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def peek(self) -> bytes:
        return self.data[self.at : self.at + 1]

    def skip(self) -> None:
        while self.peek() and self.peek() in _SPACE:
            self.at += 1

    def refuse(self, where: str) -> None:
        if self.at >= len(self.data):
            raise _Wrong(_END)
        raise _Wrong(f"invalid character {_quoted(self.data[self.at])} {where}")

    def expect(self, allowed: bytes, where: str) -> bytes:
        found = self.peek()
        if not found or found not in allowed:
            self.refuse(where)
        self.at += 1
        return found

    def value(self) -> None:
        """One value and all within it."""
        stack: list[bytes] = []
        while True:
            opened = self._begin(stack)
            if opened:
                continue
            if not self._close(stack):
                return

    def _begin(self, stack: list[bytes]) -> bool:
        """Read the beginning of a value; whether it is one that holds others and is not empty."""
        self.skip()
        first = self.peek()
        if first in (b"{", b"["):
            if len(stack) >= _MAX_DEPTH:
                self.refuse("exceeded max depth")
            self.at += 1
            stack.append(first)
            self.skip()
            if first == b"{":
                if self.peek() == b"}":
                    return False
                self._key("looking for beginning of object key string")
                return True
            return self.peek() != b"]"
        if first == b'"':
            self._string()
        elif first == b"-" or first.isdigit():
            self._number()
        elif first in _LITERALS:
            self._literal(_LITERALS[first])
        else:
            self.refuse("looking for beginning of value")
        return False

    def _close(self, stack: list[bytes]) -> bool:
        """Read what follows a value; whether another one comes."""
        while stack:
            self.skip()
            if stack[-1] == b"{":
                if self.expect(b",}", "after object key:value pair") == b",":
                    self.skip()
                    self._key("looking for beginning of object key string")
                    return True
            elif self.expect(b",]", "after array element") == b",":
                return True
            stack.pop()
        return False

    def _key(self, where: str) -> None:
        if self.peek() != b'"':
            self.refuse(where)
        self._string()
        self.skip()
        self.expect(b":", "after object key")

    def _string(self) -> None:
        self.at += 1
        while True:
            found = self.peek()
            if found == b'"':
                self.at += 1
                return
            if found == b"\\":
                self.at += 1
                if self.expect(_ESCAPED + b"u", "in string escape code") == b"u":
                    for _ in range(4):
                        self.expect(_HEX, "in \\u hexadecimal character escape")
                continue
            if not found or found < b" ":
                self.refuse("in string literal")
            self.at += 1

    def _number(self) -> None:
        if self.peek() == b"-":
            self.at += 1
            if not self.peek().isdigit():
                self.refuse("in numeric literal")
        if self.peek() == b"0":
            self.at += 1
        else:
            self._digits()
        if self.peek() == b".":
            self.at += 1
            if not self.peek().isdigit():
                self.refuse("after decimal point in numeric literal")
            self._digits()
        if self.peek() in (b"e", b"E"):
            self.at += 1
            if self.peek() in (b"+", b"-"):
                self.at += 1
            if not self.peek().isdigit():
                self.refuse("in exponent of numeric literal")
            self._digits()

    def _digits(self) -> None:
        while self.peek().isdigit():
            self.at += 1

    def _literal(self, word: bytes) -> None:
        for letter in word:
            if self.at >= len(self.data) or self.data[self.at] != letter:
                self.refuse(f"in literal {word.decode()} (expecting {_quoted(letter)})")
            self.at += 1


def _quoted(byte: int) -> str:
    """A byte as Go quotes a character: as the code point of that number."""
    if byte == ord("'"):
        return r"'\''"
    if byte == ord('"'):
        return "'\"'"
    if byte == ord("\\"):
        return r"'\\'"
    known = {7: "a", 8: "b", 12: "f", 10: "n", 13: "r", 9: "t", 11: "v"}
    if byte in known:
        return f"'\\{known[byte]}'"
    character = chr(byte)
    if character.isprintable() and byte != 0xA0:  # noqa: PLR2004 - Go prints no space but the plain one
        return f"'{character}'"
    return f"'\\x{byte:02x}'" if byte < 0x80 else f"'\\u{byte:04x}'"  # noqa: PLR2004 - the end of ASCII
