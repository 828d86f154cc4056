"""The digits of a float as Go's strconv writes them, without sign."""

import math
from typing import Final

_SHORTEST_EXPONENTS: Final = range(-4, 6)
_MANTISSA_BITS: Final = 52
_DEFAULT_DIGITS: Final = 6
_MIN_EXPONENT: Final = -1074


def float_text(value: float, verb: str, precision: int | None) -> str:
    """A float that is not negative, by one of the verbs b e E f g G x X; precision None: as few digits as tell it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Inf"
    if verb in "bxX":
        return _binary(value, verb, precision)
    if precision is not None:
        return format(value, f".{precision}{verb}")
    digits, exponent = _shortest(value)
    if verb in "eE" or (verb in "gG" and exponent not in _SHORTEST_EXPONENTS):
        point = "." if len(digits) > 1 else ""
        letter = "E" if verb in "EG" else "e"
        return f"{digits[0]}{point}{digits[1:]}{letter}{exponent:+03d}"
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole, rest = digits[: exponent + 1], digits[exponent + 1 :]
    return f"{whole}.{rest}" if rest else whole.ljust(exponent + 1, "0")


def _shortest(value: float) -> tuple[str, int]:
    """The fewest digits that are this float, and the exponent of the first of them."""
    if not value:
        return "0", 0
    mantissa, _, tail = repr(value).partition("e")
    whole, _, rest = mantissa.partition(".")
    digits = (whole + rest).lstrip("0")
    leading = len(whole) - 1 if whole != "0" else len(rest.lstrip("0")) - len(rest) - 1
    return digits.rstrip("0"), leading + int(tail or 0)


def _binary(value: float, verb: str, precision: int | None) -> str:
    """Verb b: mantissa and exponent of two; x: hexadecimal, with a mantissa from 1 to 2."""
    fraction, exponent = math.frexp(value)
    if verb == "b":
        shift = max(exponent - _MANTISSA_BITS - 1, _MIN_EXPONENT)
        return f"{int(math.ldexp(value, -shift)) if value else 0}p{shift if value else _MIN_EXPONENT:+d}"
    mantissa, exponent = int(fraction * 2 ** (_MANTISSA_BITS + 1)), exponent - 1
    if not value:
        exponent = 0
    width = _MANTISSA_BITS // 4
    if precision is not None and precision < width:
        dropped = (width - precision) * 4
        mantissa = round(mantissa / 2**dropped)  # to even, as Go does
        if mantissa >> (precision * 4 + 1):
            mantissa, exponent = mantissa >> 1, exponent + 1
        mantissa <<= dropped
    digits = f"{mantissa % 2**_MANTISSA_BITS:0{width}x}"
    digits = digits.rstrip("0") if precision is None else digits[:precision].ljust(precision, "0")
    text = f"0x{mantissa >> _MANTISSA_BITS}{'.' if digits else ''}{digits}p{exponent:+03d}"
    return text.upper() if verb == "X" else text


def with_point(text: str, verb: str, precision: int | None) -> str:
    """The same as the flag `#` asks for it: with a decimal point, and with the zeros that `g` leaves out."""
    cut = min((at for at in map(text.find, "pP" if verb in "xX" else "eE") if at >= 0), default=len(text))
    number, tail = text[:cut], text[cut:]
    missing = 0
    if verb in "gGx":
        missing = _DEFAULT_DIGITS if precision is None else precision
        digits = number.replace(".", "")
        missing -= len(digits[1:] if verb == "x" else digits.lstrip("0"))  # the x of 0x counts, too
    if "." not in number:
        missing -= number == "0"
        number += "."
    return f"{number}{'0' * max(missing, 0)}{tail}"
