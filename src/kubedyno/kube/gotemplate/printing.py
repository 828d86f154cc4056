"""Values as Go's fmt prints them: each verb with its flags, and the markers for a verb that does not fit its value."""

import math
from typing import Any, Final

import msgspec

from kubedyno.kube.gotemplate.floats import float_text, with_point
from kubedyno.kube.gotemplate.problems import LimitExceeded
from kubedyno.kube.gotemplate.quoting import can_backquote, printable, quoted
from kubedyno.kube.gotemplate.values import Byte, go_bytes, type_name

_BASES: Final = {"b": 2, "o": 8, "O": 8, "d": 10, "v": 10, "x": 16, "X": 16}
_BASE_FORMATS: Final = {2: "b", 8: "o", 10: "d", 16: "x"}
_MAX_RUNE: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)
_DEFAULT_DIGITS: Final = 6


class Flags(msgspec.Struct):
    """What stands between `%` and the verb; `plus_v` and `sharp_v` are the signs that change what `%v` means."""

    plus: bool = False
    minus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    plus_v: bool = False
    sharp_v: bool = False
    width: int | None = None
    precision: int | None = None


class Printer:
    """A text that grows to at most `limit` characters."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.length = 0
        self.parts: list[str] = []
        self.flags = Flags()

    def text(self) -> str:
        """What was printed."""
        return "".join(self.parts)

    def write(self, text: str) -> None:
        """Adds a text as it is."""
        self.length += len(text)
        if self.length > self.limit:
            raise LimitExceeded(
                f"a template prints a text of more than {self.limit} characters; print less, or in smaller parts"
            )
        self.parts.append(text)

    def value(self, value: Any, verb: str, *, inner: bool = False) -> None:
        """One value by a verb; `inner`: it stands in a list or a map."""
        if value is None:
            self._nil(verb, inner=inner)
            return
        if not inner and verb == "T":
            self._string(type_name(value), "s", value)
            return
        if verb in "pw":  # addresses are not told, and errors to wrap there are none
            self._wrong(value, verb)
            return
        match value:
            case bool():
                self._bool(value, verb)
            case str():
                self._string(value, verb, value)
            case int():
                self._integer(value, verb)
            case float():
                self._float(value, verb)
            case list():
                self._list(value, verb)
            case _:
                self._map(value, verb)

    # Kinds of values

    def _nil(self, verb: str, *, inner: bool) -> None:
        if inner:
            self.write("interface {}(nil)" if self.flags.sharp_v else "<nil>")
        elif verb in "Tv":
            self._pad("<nil>")
        else:
            self._wrong(None, verb)

    def _list(self, values: list[Any], verb: str) -> None:
        sharp = self.flags.sharp_v
        self.write("[]interface {}{" if sharp else "[")
        for position, value in enumerate(values):
            if position:
                self.write(", " if sharp else " ")
            self.value(value, verb, inner=True)
        self.write("}" if sharp else "]")

    def _map(self, values: dict[str, Any], verb: str) -> None:
        sharp = self.flags.sharp_v
        self.write("map[string]interface {}{" if sharp else "map[")
        for position, key in enumerate(sorted(values)):
            if position:
                self.write(", " if sharp else " ")
            self.value(key, verb, inner=True)
            self.write(":")
            self.value(values[key], verb, inner=True)
        self.write("}" if sharp else "]")

    def _bool(self, value: bool, verb: str) -> None:
        if verb in "tv":
            self._pad("true" if value else "false")
        else:
            self._wrong(value, verb)

    def _string(self, text: str, verb: str, value: Any) -> None:
        flags = self.flags
        if verb == "q" or (verb == "v" and flags.sharp_v):
            text = self._cut(text)
            if flags.sharp and can_backquote(text):
                self._pad(f"`{text}`")
            else:
                self._pad(quoted(text, ascii_only=flags.plus))
        elif verb in "sv":
            self._pad(self._cut(text))
        elif verb in "xX":
            self._hex(go_bytes(text), upper=verb == "X")
        else:
            self._wrong(value, verb)

    def _hex(self, data: bytes, *, upper: bool) -> None:
        flags = self.flags
        if flags.precision is not None:
            data = data[: flags.precision]
        separator, lead = (" " if flags.space else "", "0x" if flags.sharp else "")
        if upper:
            lead = lead.upper()
        pairs = [f"{byte:02X}" if upper else f"{byte:02x}" for byte in data]
        text = (separator + (lead if separator else "")).join(pairs)
        self._pad(f"{lead}{text}" if data else "")

    def _integer(self, value: int, verb: str) -> None:
        if verb == "c":
            self._pad(_char(value))
        elif verb == "q":
            self._pad(quoted(_char(value), quote="'", ascii_only=self.flags.plus))
        elif verb == "U":
            self._unicode(value)
        elif verb == "v" and self.flags.sharp_v and isinstance(value, Byte):
            self._pad(f"0x{value:x}")
        elif verb in _BASES:
            self._digits(value, verb)
        else:
            self._wrong(value, verb)

    def _digits(self, value: int, verb: str) -> None:
        flags, base = self.flags, _BASES[verb]
        digits = format(abs(value), _BASE_FORMATS[base])
        sign = "-" if value < 0 else "+" if flags.plus else " " if flags.space else ""
        if flags.precision is not None:
            if not flags.precision and not value:
                self.write(" " * (flags.width or 0))
                return
            digits = digits.zfill(flags.precision)
        elif flags.zero and not flags.minus and flags.width is not None:
            digits = digits.zfill(flags.width - bool(sign))
        if flags.sharp and verb != "v":
            if base == _BASES["o"]:
                digits = digits if digits.startswith("0") else f"0{digits}"
            else:
                digits = {2: "0b", 16: "0x"}.get(base, "") + digits
        if verb == "O":
            digits = f"0o{digits}"
        if verb == "X":
            digits = digits.upper()
        self._pad(sign + digits, zeros=False)

    def _unicode(self, value: int) -> None:
        code = value % 2**64
        text = f"U+{code:0{max(4, self.flags.precision or 0)}X}"
        if self.flags.sharp and code <= _MAX_RUNE and code not in _SURROGATES and printable(chr(code)):
            text += f" '{chr(code)}'"
        self._pad(text, zeros=False)

    def _float(self, value: float, verb: str) -> None:
        if verb not in "vbgGxXfFeE":
            self._wrong(value, verb)
            return
        flags = self.flags
        verb = {"v": "g", "F": "f"}.get(verb, verb)
        precision = flags.precision
        if precision is None and verb in "feE":
            precision = _DEFAULT_DIGITS
        text = float_text(abs(value), verb, precision)
        negative = math.copysign(1, value) < 0 and not math.isnan(value)
        sign = "-" if negative else " " if flags.space and not flags.plus else "+"
        if not math.isfinite(value):
            # Go shows the sign of an infinity that is asked for or not plain, of "not a number" only when asked for.
            shown = sign if sign != "+" or flags.plus else ""
            self._pad(shown + text, zeros=False)
            return
        if flags.sharp and verb != "b":
            text = with_point(text, verb, precision)
        if not flags.plus and sign == "+":
            self._pad(text)
        elif flags.zero and not flags.minus and flags.width is not None:
            self.write(sign + text.rjust(flags.width - 1, "0"))
        else:
            self._pad(sign + text)

    # Parts

    def _wrong(self, value: Any, verb: str) -> None:
        """The marker of a verb that does not fit."""
        self.write(f"%!{verb}(")
        if value is None:
            self.write("<nil>")
        else:
            self.write(f"{type_name(value)}=")
            self.value(value, "v")
        self.write(")")

    def _cut(self, text: str) -> str:
        return text if self.flags.precision is None else text[: self.flags.precision]

    def _pad(self, text: str, *, zeros: bool = True) -> None:
        flags = self.flags
        if flags.width is None:
            self.write(text)
        elif flags.minus:
            self.write(text.ljust(flags.width))
        else:
            self.write(text.rjust(flags.width, "0" if zeros and flags.zero else " "))


def _char(value: int) -> str:
    code = value % 2**64
    return chr(code) if code <= _MAX_RUNE and code not in _SURROGATES else "\ufffd"
