"""Resource quantities without rounding errors: `500m`, `1.5Gi`, `12e3`.

A quantity is a whole number of nano-units plus the family of suffixes it was written in, as `resource.Quantity`
of apimachinery holds it. Equality, order and hash look at the value only; the family decides how it is printed.

Two things differ on purpose. Kubernetes prints some texts back as they came (`1.500`, `+5`, `01Ki`) because it
caches them; here `str` is always the canonical form. And where int64 overflows there, Python's integers do not:
a decimal quantity above 10^21 keeps its value and its suffix, and negative ones round alike at every size.
"""

import enum
import functools
import re
from typing import Final

import msgspec

from kubedyno.kit.errors import UsageError

_NANOS_PER_UNIT: Final = 10**9
_NANOS_PER_MILLI: Final = 10**6
_DECIMAL_EXPONENTS: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_DECIMAL_SUFFIXES: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_LARGEST_BINARY_NANOS: Final = (2**63 - 1) * _NANOS_PER_UNIT
_LARGEST_DECIMAL_EXPONENT: Final = 18
# Bounded where Kubernetes is not: `1e999999999` would ask for a number of a gigabyte.
_LARGEST_WRITTEN_EXPONENT: Final = 308
_QUANTITY: Final = re.compile(
    r"(?P<sign>[+-]?)(?=\.?[0-9])(?P<whole>[0-9]{0,300})(?:\.(?P<fraction>[0-9]{0,300}))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE]?)|[eE](?P<exponent>[+-]?[0-9]{1,9}))"
)


class Family(enum.Enum):
    """The suffixes a quantity is printed with."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """An exact amount of a resource: `nanos` thousand-millionths of the unit (core, byte, device)."""

    nanos: int
    family: Family = Family.DECIMAL_SI

    @classmethod
    def parse(cls, written: str | float) -> "Quantity":
        """The quantity that a manifest writes as text or as a number.

        What is finer than a nano-unit is rounded away from zero, and binary quantities are capped at 2^63-1,
        as the API server does. A float stands for its shortest decimal text: YAML's `cpu: 0.5` is 500m.
        """
        if isinstance(written, str):
            return _parsed(written)
        if isinstance(written, bool):
            raise _bad(written)
        return _parsed(repr(written))

    def is_zero(self) -> bool:
        """Whether the amount is nothing at all."""
        return self.nanos == 0

    def to_int(self) -> int:
        """Whole units; what is left over counts as one more, away from zero (`Value()` in Go)."""
        return _divided_away_from_zero(self.nanos, _NANOS_PER_UNIT)

    def milli(self) -> int:
        """Thousandths of the unit; what is left over counts as one more, away from zero (`MilliValue()` in Go)."""
        return _divided_away_from_zero(self.nanos, _NANOS_PER_MILLI)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self._family_with(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self._family_with(other))

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.nanos * factor, self.family)

    def __rmul__(self, factor: int) -> "Quantity":
        return self * factor

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nanos, self.family)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __lt__(self, other: "Quantity") -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: "Quantity") -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: "Quantity") -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: "Quantity") -> bool:
        return self.nanos >= other.nanos

    def __str__(self) -> str:
        if self.family is Family.BINARY_SI and self._is_shown_binary():
            return _binary_text(self.nanos // _NANOS_PER_UNIT)
        return _decimal_text(self.nanos, with_exponent=self.family is Family.DECIMAL_EXPONENT)

    def _family_with(self, other: "Quantity") -> Family:
        # As in Kubernetes, a sum that starts from nothing is printed like its first part.
        return other.family if self.nanos == 0 else self.family

    def _is_shown_binary(self) -> bool:
        # Below 1Ki, and for fractions, Kubernetes falls back to decimal suffixes so that nothing is lost.
        return abs(self.nanos) >= 1024 * _NANOS_PER_UNIT and self.nanos % _NANOS_PER_UNIT == 0


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> Quantity:
    """Parse one text; cached because the same few texts stand in thousands of pods."""
    match = _QUANTITY.fullmatch(text)
    exponent = int(match["exponent"] or 0) if match else 0
    if match is None or abs(exponent) > _LARGEST_WRITTEN_EXPONENT:
        raise _bad(text)
    fraction = match["fraction"] or ""
    mantissa = int(match["whole"] + fraction)
    if match["binary"]:
        mantissa <<= 10 * _BINARY_SUFFIXES.index(match["binary"])
        family = Family.BINARY_SI
    elif match["exponent"]:
        family = Family.DECIMAL_EXPONENT
    else:
        exponent = _DECIMAL_EXPONENTS[match["decimal"]]
        family = Family.DECIMAL_SI
    nano_exponent = exponent - len(fraction) + 9
    if nano_exponent >= 0:
        nanos = mantissa * 10**nano_exponent
    else:
        nanos = _divided_away_from_zero(mantissa, 10**-nano_exponent)
    if family is Family.BINARY_SI:
        nanos = min(nanos, _LARGEST_BINARY_NANOS)
        if 0 < nanos < _NANOS_PER_UNIT:
            family = Family.DECIMAL_SI
    return Quantity(-nanos if match["sign"] == "-" else nanos, family)


def _bad(written: object) -> UsageError:
    return UsageError(f"{written!r} is no quantity: write it like 500m, 2, 1.5Gi or 12e3")


def _divided_away_from_zero(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount > 0 else amount // divisor


def _binary_text(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power + 1 < len(_BINARY_SUFFIXES):
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIXES[power]}"


def _decimal_text(nanos: int, *, with_exponent: bool) -> str:
    """The shortest whole mantissa with an exponent that is a multiple of three."""
    if nanos == 0:
        return "0"
    mantissa, exponent = nanos, -9
    while mantissa % 1000 == 0 and (with_exponent or exponent < _LARGEST_DECIMAL_EXPONENT):
        mantissa //= 1000
        exponent += 3
    if with_exponent:
        return f"{mantissa}e{exponent}" if exponent else str(mantissa)
    return f"{mantissa}{_DECIMAL_SUFFIXES[exponent]}"
