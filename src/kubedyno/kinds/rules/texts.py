"""Which texts Kubernetes takes as names, label keys, port names and the like, and what it says of the others.

Each function answers with what is wrong, in the words of apimachinery, or with nothing. Lengths are in bytes.
"""

import functools
import re
from collections.abc import Callable
from typing import Final

Format = Callable[[str], tuple[str, ...]]

LABEL_LIMIT: Final = 63
SUBDOMAIN_LIMIT: Final = 253

_DNS1123_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_LABEL_UNDERSCORE: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN: Final = rf"{_DNS1123_LABEL}(\.{_DNS1123_LABEL})*"
_DNS1123_SUBDOMAIN_UNDERSCORE: Final = rf"{_DNS1123_LABEL_UNDERSCORE}(\.{_DNS1123_LABEL_UNDERSCORE})*"
_DNS1035_LABEL: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD_SUBDOMAIN: Final = rf"\*\.{_DNS1123_SUBDOMAIN}"
_LABEL_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_LABEL_KEY})?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_CONDITION_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_PORT_NAME_LIMIT: Final = 15
_PORT_NAME_TEXT: Final = f"must contain only alpha{'-'}numeric characters (a-z, 0-9), and hyphens (-)"
_PORT_LIMIT: Final = 65535
_ID_LIMIT: Final = 2**31 - 1
_PRINTABLE_ASCII: Final = re.compile(r"[ -~]*")


def byte_length(text: str) -> int:
    """How long Go finds the text."""
    return len(text) if text.isascii() else len(text.encode())


def too_long_text(limit: int, unit: str = "characters") -> str:
    """What is said of a text with too many bytes; newer checks call them by their name."""
    return f"must be no more than {limit} {unit}"


def range_text(low: int, high: int) -> str:
    """What is said of a number that is out of bounds."""
    return f"must be between {low} and {high}, inclusive"


def regex_text(message: str, pattern: str, *examples: str) -> str:
    """What is said of a text that does not match, with examples of those that do."""
    if not examples:
        return f"{message} (regex used for validation is '{pattern}')"
    told = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {told}regex used for validation is '{pattern}')"


def _matching(pattern: str, limit: int | None, message: str, *examples: str, unit: str = "characters") -> Format:
    """A format that is one pattern and perhaps a limit."""
    compiled = re.compile(pattern)
    complaint = regex_text(message, pattern, *examples)

    @functools.lru_cache(maxsize=4096)
    def check(text: str) -> tuple[str, ...]:
        wrong: tuple[str, ...] = ()
        if limit is not None and byte_length(text) > limit:
            wrong = (too_long_text(limit, unit),)
        return wrong if compiled.fullmatch(text) else (*wrong, complaint)

    return check


_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
dns1123_subdomain: Final = _matching(_DNS1123_SUBDOMAIN, SUBDOMAIN_LIMIT, _SUBDOMAIN_TEXT, "example.com")
long_name: Final = _matching(_DNS1123_SUBDOMAIN, SUBDOMAIN_LIMIT, _SUBDOMAIN_TEXT, "example.com", unit="bytes")
dns1123_subdomain_with_underscore: Final = _matching(
    _DNS1123_SUBDOMAIN_UNDERSCORE,
    SUBDOMAIN_LIMIT,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character",
    "example.com",
)
wildcard_dns1123_subdomain: Final = _matching(
    _WILDCARD_SUBDOMAIN,
    SUBDOMAIN_LIMIT,
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    "*.example.com",
)
dns1035_label: Final = _matching(
    _DNS1035_LABEL,
    LABEL_LIMIT,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    "my-name",
    "abc-123",
)
label_value: Final = _matching(
    _LABEL_VALUE,
    LABEL_LIMIT,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    "MyValue",
    "my_value",
    "12345",
    unit="bytes",
)
http_header_name: Final = _matching(
    _HTTP_HEADER, None, "a valid HTTP header must consist of alphanumeric characters or '-'", "X-Header-Name"
)
percent: Final = _matching(
    _PERCENT, None, "a valid percent string must be a numeric string followed by an ending '%'", "1%", "93%"
)
c_identifier: Final = _matching(
    _C_IDENTIFIER,
    None,
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
)
condition_reason: Final = _matching(
    _CONDITION_REASON,
    None,
    "a condition reason must start with alphabetic character, optionally followed by a string of "
    "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
_config_key: Final = _matching(
    _CONFIG_KEY,
    SUBDOMAIN_LIMIT,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_label: Final = _matching(
    _DNS1123_LABEL,
    LABEL_LIMIT,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    "my-name",
    "123-abc",
)
_subdomain_pattern: Final = re.compile(_DNS1123_SUBDOMAIN)
_label_pattern: Final = re.compile(_DNS1123_LABEL)
_label_key_pattern: Final = re.compile(_LABEL_KEY)
_LABEL_KEY_TEXT: Final = regex_text(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _LABEL_KEY,
    "MyName",
    "my.name",
    "123-abc",
)


def dns1123_label(text: str) -> tuple[str, ...]:
    """The name of a container, a namespace, a volume."""
    wrong = _label(text)
    if wrong and not _label_pattern.fullmatch(text) and _subdomain_pattern.fullmatch(text):
        return (*wrong[:-1], "must not contain dots")
    return wrong


@functools.lru_cache(maxsize=4096)
def label_key(text: str) -> tuple[str, ...]:
    """`name` or `prefix/name`: a label key, which Kubernetes calls a qualified name too."""
    prefix, slash, name = text.partition("/")
    wrong: list[str] = []
    if not slash:
        name = text
    elif "/" in name:
        with_prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_LABEL_KEY_TEXT} {with_prefix}",)
    elif not prefix:
        wrong.append("prefix part must be non-empty")
    else:
        wrong.extend(f"prefix part {told}" for told in long_name(prefix))
    if not name:
        wrong.append("name part must be non-empty")
    elif byte_length(name) > LABEL_LIMIT:
        wrong.append(f"name part {too_long_text(LABEL_LIMIT, 'bytes')}")
    if not _label_key_pattern.fullmatch(name):
        wrong.append(f"name part {_LABEL_KEY_TEXT}")
    return tuple(wrong)


def config_key(text: str) -> tuple[str, ...]:
    """A key of a ConfigMap or a Secret, which may become the name of a file."""
    wrong = _config_key(text)
    if text in {".", ".."}:
        return (*wrong, f"must not be '{text}'")
    return (*wrong, "must not start with '..'") if text.startswith("..") else wrong


def env_var_name(text: str) -> tuple[str, ...]:
    """The name of an environment variable."""
    wrong = () if text else ("environment variable name must be non-empty",)
    if "=" in text or not _PRINTABLE_ASCII.fullmatch(text):
        told = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        return (*wrong, told)
    return wrong


def port_number(port: int) -> tuple[str, ...]:
    """A port that one can listen on."""
    return () if 1 <= port <= _PORT_LIMIT else (range_text(1, _PORT_LIMIT),)


def port_name(text: str) -> tuple[str, ...]:
    """An IANA service name."""
    wrong = []
    if byte_length(text) > _PORT_NAME_LIMIT:
        wrong.append(too_long_text(_PORT_NAME_LIMIT))
    if not re.fullmatch("[-a-z0-9]+", text):
        wrong.append(_PORT_NAME_TEXT)
    if not re.search("[a-z]", text):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in text:
        wrong.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return tuple(wrong)


def user_or_group_id(number: int) -> tuple[str, ...]:
    """A number that Linux takes as a user or a group."""
    return () if 0 <= number <= _ID_LIMIT else (range_text(0, _ID_LIMIT),)


def path_segment(text: str) -> tuple[str, ...]:
    """What can stand between two slashes of a URL; the most that all kinds ask of a name."""
    if text in {".", ".."}:
        return (f"may not be '{text}'",)
    return path_segment_prefix(text)


def path_segment_prefix(text: str) -> tuple[str, ...]:
    """What such a name may begin with."""
    return tuple(f"may not contain '{banned}'" for banned in "/%" if banned in text)
