"""The formats that schemas of custom resources may name, and which texts they allow."""

import base64
import binascii
import datetime as dt
import email.utils
import ipaddress
import re
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s-?%s-?[0-9a-f]{12}"
_ANY_UUID_PART, _UUID_VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
_SHORT_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_GO_DURATION = re.compile(r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_SCALA_DURATION = re.compile(r"\d+\s*([A-Za-zµ]+)")
_UNITS = ("ns", "us", "µs", "ms", "s", "m", "h", "d", "w", "hr", "wk")
_UNIT_BEGINNINGS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_HOSTNAME = re.compile(r"[^\W_](-?[^\W_]{0,62})?|([^\W_](([^\W_]|-){0,61}[^\W_])?\.)+[^\W\d_]{2,63}")
_LONGEST_LABEL, _LONGEST_HOSTNAME, _LONGEST_NAME = 63, 255, 253


def _matches(pattern: str, flags: int = re.IGNORECASE | re.ASCII) -> Callable[[str], bool]:
    expression = re.compile(pattern, flags)
    return lambda text: expression.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, separator, rest = text.lower().partition("t")
    found = _TIME.fullmatch(rest.partition("t")[0])
    return (
        bool(separator) and _is_date(day) and found is not None and found[1] <= "23" and max(found[2], found[3]) <= "59"
    )


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    units = [unit.lower() for unit in _SCALA_DURATION.findall(text)]
    return any(unit in _UNITS or unit.startswith(_UNIT_BEGINNINGS) for unit in units)


def _is_hostname(text: str) -> bool:
    labels = [len(label.encode()) for label in text.split(".")]
    return (
        _HOSTNAME.fullmatch(text) is not None
        and len(text.encode()) <= _LONGEST_HOSTNAME
        and max(labels) <= _LONGEST_LABEL
    )


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(_without_leading_zeros(text))
    except ValueError:
        return False
    return "%" not in text


def _without_leading_zeros(text: str) -> str:
    """Addresses such as 010.0.0.1 are decimal, as they were in Go's older releases."""
    return re.sub(r"(?<![0-9A-Fa-f:])0+(?=\d)", "", text) if "." in text else text


def _is_cidr(text: str) -> bool:
    address, separator, bits = text.partition("/")
    widest = 32 if "." in address and ":" not in address else 128
    return bool(separator) and _is_ip(address) and re.fullmatch(r"\d{1,3}", bits) is not None and int(bits) <= widest


def _is_uri(text: str) -> bool:
    if any(character <= " " or character == "\x7f" for character in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    # Go's ParseRequestURI wants an absolute address or an absolute path.
    return bool(parts.scheme) or text.startswith("/")


def _is_email(text: str) -> bool:
    _, address = email.utils.parseaddr(text)
    name, separator, domain = address.rpartition("@")
    return bool(name and separator and domain) and not any(character.isspace() for character in address)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"\d{9}[\dX]", digits, re.ASCII):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((index + 1) * value for index, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    return re.fullmatch(r"\d{13}", digits, re.ASCII) is not None and (
        sum((3 if index % 2 else 1) * int(digit) for index, digit in enumerate(digits)) % 10 == 0
    )


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    doubled = [int(digit) * (2 if index % 2 else 1) for index, digit in enumerate(reversed(digits))]
    checks = sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0  # noqa: PLR2004 - Luhn's rule
    brands = r"4\d{12}(\d{3})?|5[1-5]\d{14}|(222[1-9]|22[3-9]\d|2[3-6]\d{2}|27[01]\d|2720)\d{12}|6(011|5\d\d)\d{12}"
    others = r"|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11}|6[27]\d{14}"
    return checks and re.fullmatch(brands + others, digits) is not None


def _is_rgb(text: str) -> bool:
    found = re.fullmatch(r"rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)", text, re.ASCII)
    return found is not None and all(int(part) <= 255 for part in found.groups())  # noqa: PLR2004 - a byte's values


def _is_mac(text: str) -> bool:
    return any(
        re.fullmatch(f"{digits}({separator}{digits}){{{more}}}", text, re.IGNORECASE) is not None
        for digits, separator, lengths in (("[0-9a-f]{2}", "[:-]", (5, 7, 19)), ("[0-9a-f]{4}", r"\.", (2, 3, 9)))
        for more in lengths
    ) and not (":" in text and "-" in text)


_TEXTS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches(r"[0-9a-f]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and _is_ip(text),
    "ipv6": lambda text: ":" in text and _is_ip(text),
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matches(_UUID % (_ANY_UUID_PART, _ANY_UUID_PART)),
    "uuid3": _matches(_UUID % ("3[0-9a-f]{3}", _ANY_UUID_PART)),
    "uuid4": _matches(_UUID % ("4[0-9a-f]{3}", _UUID_VARIANT)),
    "uuid5": _matches(_UUID % ("5[0-9a-f]{3}", _UUID_VARIANT)),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matches(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _matches(r"#?([0-9a-f]{3}|[0-9a-f]{6})"),
    "rgbcolor": _is_rgb,
    "byte": _is_base64,
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text) <= _LONGEST_LABEL and _matches(_SHORT_NAME, 0)(text),
    "k8slongname": lambda text: len(text) <= _LONGEST_NAME and _matches(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", 0)(text),
}

_OF_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def known(name: str, types: Sequence[str]) -> str:
    """The format, or empty where the server knows none of that name for values of these types and ignores it."""
    only = types[0] if len(types) == 1 else ""
    if only in _OF_NUMBERS:
        return name if name in _OF_NUMBERS[only] else ""
    return name if only in {"", "string"} and name.replace("-", "") in _TEXTS else ""


def allows(name: str, text: str) -> bool:
    """Whether the format of texts allows this one."""
    return _TEXTS[name.replace("-", "")](text)


def is_of_texts(name: str) -> bool:
    """Whether the format is one of texts."""
    return name.replace("-", "") in _TEXTS
