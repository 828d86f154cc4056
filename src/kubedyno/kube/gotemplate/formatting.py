"""Go's Sprint, Sprintln and Sprintf."""

from collections.abc import Sequence
from typing import Any, Final

from kubedyno.kube.gotemplate.printing import Flags, Printer
from kubedyno.kube.gotemplate.values import type_name

_FLAGS: Final = {"#": "sharp", "0": "zero", "+": "plus", "-": "minus", " ": "space"}
_TOO_LARGE: Final = 1_000_000


def sprint(values: Sequence[Any], limit: int) -> str:
    """The values in a row, with a space between two of which neither is a text."""
    if len(values) == 1 and type(values[0]) is str:
        return values[0]
    printer = Printer(limit)
    was_text = True
    for position, value in enumerate(values):
        is_text = isinstance(value, str)
        if position and not is_text and not was_text:
            printer.write(" ")
        printer.value(value, "v")
        was_text = is_text
    return printer.text()


def sprintln(values: Sequence[Any], limit: int) -> str:
    """The values with spaces between them, and a line end."""
    printer = Printer(limit)
    for position, value in enumerate(values):
        if position:
            printer.write(" ")
        printer.value(value, "v")
    printer.write("\n")
    return printer.text()


def sprintf(layout: str, values: Sequence[Any], limit: int) -> str:
    """The values in their places; what does not fit is marked in the text, as Go does it."""
    return _Layout(layout, values, limit).printed()


class _Layout:
    """A position in the layout and one in the values."""

    def __init__(self, layout: str, values: Sequence[Any], limit: int) -> None:
        self.layout = layout
        self.values = values
        self.printer = Printer(limit)
        self.at = 0
        self.next_value = 0
        self.good_index = True
        self.reordered = False

    def printed(self) -> str:
        layout = self.layout
        while self.at < len(layout):
            mark = layout.find("%", self.at)
            end = len(layout) if mark < 0 else mark
            if end > self.at:
                self.printer.write(layout[self.at : end])
            if mark < 0:
                break
            self.at = mark + 1
            self._verb()
        if not self.reordered and self.next_value < len(self.values):
            self._extra()
        return self.printer.text()

    def _peek(self) -> str:
        return self.layout[self.at : self.at + 1]

    def _verb(self) -> None:
        flags = self.printer.flags = Flags()
        self.good_index = True
        while (sign := self._peek()) and sign in _FLAGS:
            setattr(flags, _FLAGS[sign], True)
            self.at += 1
        after_index = self._index()
        after_index = self._width(flags, after_index=after_index)
        if self._peek() == ".":
            after_index = self._precision(flags, after_index=after_index)
        if not after_index:
            self._index()
        verb = self._peek()
        if not verb:
            self.printer.write("%!(NOVERB)")
            return
        self.at += 1
        if verb == "%":
            self.printer.write("%")
        elif not self.good_index:
            self.printer.write(f"%!{verb}(BADINDEX)")
        elif self.next_value >= len(self.values):
            self.printer.write(f"%!{verb}(MISSING)")
        else:
            if verb == "v":
                flags.sharp_v, flags.sharp = flags.sharp, False
                flags.plus_v, flags.plus = flags.plus, False
            self.printer.value(self.values[self.next_value], verb)
            self.next_value += 1

    def _width(self, flags: Flags, *, after_index: bool) -> bool:
        if self._peek() == "*":
            self.at += 1
            width = self._from_value()
            if width is None:
                self.printer.write("%!(BADWIDTH)")
            elif width < 0:
                flags.minus, flags.zero = True, False
                width = -width
            flags.width = width
            return False
        flags.width = self._number()
        if after_index and flags.width is not None:
            self.good_index = False
        return after_index

    def _precision(self, flags: Flags, *, after_index: bool) -> bool:
        self.at += 1
        if after_index:
            self.good_index = False
        after_index = self._index()
        if self._peek() == "*":
            self.at += 1
            precision = self._from_value()
            if precision is not None and precision < 0:
                precision = None
                self.printer.write("%!(BADPREC)")
            elif precision is None:
                self.printer.write("%!(BADPREC)")
            flags.precision = precision
            return False
        flags.precision = self._number() or 0
        return after_index

    def _from_value(self) -> int | None:
        """The next value as a width or precision; None: it is none, or too large."""
        if self.next_value >= len(self.values):
            return None
        value = self.values[self.next_value]
        self.next_value += 1
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _TOO_LARGE:
            return None
        return value

    def _number(self) -> int | None:
        """Digits; a number that is too large swallows the rest of the layout, as in Go."""
        begin = self.at
        while self._peek().isascii() and self._peek().isdigit():
            if int(self.layout[begin : self.at] or 0) > _TOO_LARGE:
                self.at = len(self.layout)
                return None
            self.at += 1
        return int(self.layout[begin : self.at]) if self.at > begin else None

    def _index(self) -> bool:
        """`[2]`: which value comes next."""
        if self._peek() != "[":
            return False
        self.reordered = True
        end = self.layout.find("]", self.at)
        if end < 0:
            self.good_index = False
            self.at += 1
            return False
        digits = self.layout[self.at + 1 : end]
        self.at = end + 1
        valid = digits.isascii() and digits.isdigit() and len(digits) <= len(str(_TOO_LARGE)) + 1
        number = int(digits) if valid else 0
        if 1 <= number <= len(self.values):
            self.next_value = number - 1
            return True
        self.good_index = False
        return valid

    def _extra(self) -> None:
        self.printer.flags = Flags()
        self.printer.write("%!(EXTRA ")
        for position, value in enumerate(self.values[self.next_value :]):
            if position:
                self.printer.write(", ")
            if value is None:
                self.printer.write("<nil>")
            else:
                self.printer.write(f"{type_name(value)}=")
                self.printer.value(value, "v")
        self.printer.write(")")
