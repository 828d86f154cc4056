"""Texts in Go's quotes, written and read: `strconv.Quote` and its kin."""

from typing import Final

from kubedyno.kube.gotemplate.values import go_text

_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
}
_LETTERS: Final = {escape[1]: char for char, escape in _SHORT.items()}
_HEX_WIDTHS: Final = {"x": 2, "u": 4, "U": 8}
_DIGITS: Final = {8: frozenset("01234567"), 16: frozenset("0123456789abcdefABCDEF")}
_SURROGATES: Final = range(0xD800, 0xE000)
_ESCAPED_BYTES: Final = range(0xDC80, 0xDD00)
_BASIC_PLANE: Final = 0xFFFF
_ASCII: Final = 0x7F
_MAX_RUNE: Final = 0x10FFFF
_MAX_BYTE: Final = 0xFF


def printable(char: str) -> bool:
    """Whether Go prints it as it is."""
    return char.isprintable()


def quoted(text: str, *, quote: str = '"', ascii_only: bool = False) -> str:
    """The text as a Go literal."""
    return f"{quote}{''.join(_escaped(char, quote, ascii_only=ascii_only) for char in text)}{quote}"


def _escaped(char: str, quote: str, *, ascii_only: bool) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char == quote:
        return f"\\{quote}"
    code = ord(char)
    if printable(char) and not (ascii_only and code > _ASCII):
        return char
    if code in _ESCAPED_BYTES:
        return f"\\x{code - 0xDC00:02x}"
    if code < ord(" ") or code == _ASCII:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _BASIC_PLANE else f"\\U{code:08x}"


def can_backquote(text: str) -> bool:
    """Whether it can stand between backquotes unchanged."""
    return not any(char in "`\x7f\ufeff" or (char < " " and char != "\t") or ord(char) in _SURROGATES for char in text)


def unquoted(literal: str) -> str:
    """The text of a Go string literal, raw or not; `ValueError` with Go's words when it is none."""
    if literal[0] == "`":
        return literal[1:-1].replace("\r", "")
    body, text = literal[1:-1], bytearray()
    at = 0
    while at < len(body):
        code, is_byte, at = read_char(body, at, '"')
        text += bytes((code,)) if is_byte else chr(code).encode("utf-8", "surrogateescape")
    return go_text(bytes(text))


def read_char(body: str, at: int, quote: str) -> tuple[int, bool, int]:
    """One character or escape: its code, whether it is a byte rather than a character, and where the next begins."""
    if at >= len(body) or body[at] == quote:
        raise ValueError("invalid syntax")
    if body[at] != "\\":
        return ord(body[at]), False, at + 1
    letter = body[at + 1 : at + 2]
    at += 2
    if letter and letter in _LETTERS:
        return ord(_LETTERS[letter]), False, at
    if letter and letter == quote:
        return ord(quote), False, at
    if letter in _HEX_WIDTHS:
        digits = body[at : at + _HEX_WIDTHS[letter]]
        code = _read_digits(digits, 16, _HEX_WIDTHS[letter])
        if letter != "x" and (code > _MAX_RUNE or code in _SURROGATES):
            raise ValueError("invalid syntax")
        return code, letter == "x", at + len(digits)
    digits = body[at - 1 : at + 2]
    code = _read_digits(digits, 8, 3)
    if code > _MAX_BYTE:
        raise ValueError("invalid syntax")
    return code, True, at + 2


def _read_digits(digits: str, base: int, count: int) -> int:
    if len(digits) != count or not set(digits) <= _DIGITS[base]:
        raise ValueError("invalid syntax")
    return int(digits, base)
