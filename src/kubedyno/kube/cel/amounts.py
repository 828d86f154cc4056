"""Quantities and semantic versions: how they are read, compared and added."""

import re
from typing import Final

from kubedyno.kit.errors import UsageError
from kubedyno.kube.cel.errors import EvaluationError
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.values import LEAST_INT, MOST_INT, MOST_UINT, NANOS, Semver, semver_order
from kubedyno.kube.quantities import Quantity

_BAD_QUANTITY: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_LIKE_QUANTITY: Final = re.compile(r"([+-]?[0-9]*(?:\.[0-9]*)?)([eEinumkKMGTP]*[-+]?[0-9]*)")
_NUMBER: Final = re.compile(r"[0-9]+")
_IDENTIFIER: Final = re.compile(r"[0-9A-Za-z-]+")


def _quantity(text: str) -> Quantity:
    try:
        return Quantity.parse(text)
    except UsageError:
        pass
    found = _LIKE_QUANTITY.fullmatch(text)
    if found is None or not text:
        raise EvaluationError(_BAD_QUANTITY)
    if not re.fullmatch(r"[KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]+", found[2]):
        raise EvaluationError("unable to parse quantity's suffix")
    # A sign or a suffix alone is nothing, but it is read.
    return Quantity(0)


def _is_quantity(text: str) -> bool:
    try:
        _quantity(text)
    except EvaluationError:
        return False
    return True


def _is_integer(amount: Quantity) -> bool:
    return amount.nanos % NANOS == 0 and LEAST_INT <= amount.nanos // NANOS <= MOST_INT


def _as_integer(amount: Quantity) -> int:
    if _is_integer(amount):
        return amount.nanos // NANOS
    raise EvaluationError("cannot convert value to integer")


def _order(one: Quantity, other: Quantity) -> int:
    return (one.nanos > other.nanos) - (one.nanos < other.nanos)


def _sign(amount: Quantity) -> int:
    return (amount.nanos > 0) - (amount.nanos < 0)


def read_semver(text: str) -> Semver:
    """A version as the library of the API server reads it, or its complaint."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) < 3:  # noqa: PLR2004 - major, minor and the rest
        raise EvaluationError("No Major.Minor.Patch elements found")
    patch, build = parts[2], ""
    has_build = has_pre = False
    if "+" in patch:
        patch, _, build = patch.partition("+")
        has_build = True
    pre = ""
    if "-" in patch:
        patch, _, pre = patch.partition("-")
        has_pre = True
    numbers = [
        _numbered(name, part) for name, part in zip(("major", "minor", "patch"), (*parts[:2], patch), strict=True)
    ]
    identifiers = tuple(_pre_release(part) for part in pre.split(".")) if has_pre else ()
    builds = tuple(build.split(".")) if has_build else ()
    for part in builds:
        if not part:
            raise EvaluationError("Build meta data is empty")
        if not _IDENTIFIER.fullmatch(part):
            raise EvaluationError(f'Invalid character(s) found in build meta data "{part}"')
    return Semver(numbers[0], numbers[1], numbers[2], identifiers, builds)


def _numbered(name: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]*", part):
        raise EvaluationError(f'Invalid character(s) found in {name} number "{part}"')
    if len(part) > 1 and part.startswith("0"):
        raise EvaluationError(f'{name.capitalize()} number must not contain leading zeroes "{part}"')
    if not part:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if int(part) > MOST_UINT:
        raise EvaluationError(f'strconv.ParseUint: parsing "{part}": value out of range')
    return int(part)


def _pre_release(part: str) -> int | str:
    if not part:
        raise EvaluationError("Prerelease is empty")
    if _NUMBER.fullmatch(part):
        if len(part) > 1 and part.startswith("0"):
            raise EvaluationError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
        return int(part)
    if not _IDENTIFIER.fullmatch(part):
        raise EvaluationError(f'Invalid character(s) found in prerelease "{part}"')
    return part


def _semver(text: str, lenient: bool = False) -> Semver:
    return read_semver(_normalized(text) if lenient else text)


def _normalized(text: str) -> str:
    """`v1.02` is `1.2.0`."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:  # noqa: PLR2004 - major, minor and the rest
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in "0123456789" else f"0{stripped}"


def _is_semver(text: str, lenient: bool = False) -> bool:
    try:
        _semver(text, lenient)
    except EvaluationError:
        return False
    return True


def semver_text(version: Semver) -> str:
    """`1.2.3-rc.1+build`."""
    pre = "-" + ".".join(map(str, version.pre)) if version.pre else ""
    build = "+" + ".".join(version.build) if version.build else ""
    return f"{version.major}.{version.minor}.{version.patch}{pre}{build}"


FUNCTIONS: Final[Library] = {
    "quantity": (of("string", _quantity),),
    "isQuantity": (of("string", _is_quantity),),
    "sign": (of("quantity", _sign),),
    "isGreaterThan": (
        on("quantity quantity", lambda one, other: one.nanos > other.nanos),
        on("semver semver", lambda one, other: semver_order(one, other) > 0),
    ),
    "isLessThan": (
        on("quantity quantity", lambda one, other: one.nanos < other.nanos),
        on("semver semver", lambda one, other: semver_order(one, other) < 0),
    ),
    "compareTo": (on("quantity quantity", _order), on("semver semver", semver_order)),
    "asApproximateFloat": (on("quantity", lambda amount: amount.nanos / NANOS),),
    "asInteger": (on("quantity", _as_integer),),
    "isInteger": (on("quantity", _is_integer),),
    "add": (
        on("quantity quantity", lambda one, other: one + other),
        on("quantity int", lambda one, other: one + Quantity(other * NANOS)),
    ),
    "sub": (
        on("quantity quantity", lambda one, other: one - other),
        on("quantity int", lambda one, other: one - Quantity(other * NANOS)),
    ),
    "semver": (of("string", _semver), of("string bool", _semver)),
    "isSemver": (of("string", _is_semver), of("string bool", _is_semver)),
    "major": (on("semver", lambda version: version.major),),
    "minor": (on("semver", lambda version: version.minor),),
    "patch": (on("semver", lambda version: version.patch),),
}
