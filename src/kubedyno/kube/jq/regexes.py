r"""Go's regular expressions for `test`, `match` and what is built on them, by way of Python's `re`.

Where the two differ, Go's meaning is kept: `$` is the very end, `\d` and its like are ASCII while letters fold in all
of Unicode, `(?<name>...)` names a group, and no empty match stands right behind another match.
What Go does not have (look-around, back references, possessive repeats) is refused as Go refuses it.
"""

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kube.jq.errors import EvaluationError, QueryLimit
from kubedyno.kube.jq.values import not_applicable, to_json

_LONGEST_SUBJECT: Final = 1 << 16
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_ESCAPES: Final = {
    r"\z": r"\Z",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": "[0-9A-Za-z_]",
    r"\W": "[^0-9A-Za-z_]",
    r"\s": r"[\t\n\f\r ]",
    r"\S": r"[^\t\n\f\r ]",
    r"\b": "(?:(?<![0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<=[0-9A-Za-z_])(?![0-9A-Za-z_]))",
    r"\B": "(?:(?<![0-9A-Za-z_])(?![0-9A-Za-z_])|(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_]))",
}
_CLASS_ESCAPES: Final = {r"\d": "0-9", r"\w": "0-9A-Za-z_", r"\s": r"\t\n\f\r "}
_REASONS: Final = {
    "missing ), unterminated subpattern": "missing closing ): `{pattern}`",
    "unbalanced parenthesis": "unexpected ): `{pattern}`",
    "unterminated character set": "missing closing ]: `{rest}`",
    "nothing to repeat": "missing argument to repetition operator: `{one}`",
}
_TOKEN: Final = re.compile(
    r"""
    \\Q(?P<quoted>.*?)(?:\\E|$)
    | (?P<escape>\\.)
    | (?P<klass>\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\])
    | (?P<group>\(\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?[:)]|.?))
    | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})(?P<lazy>\??)(?P<twice>[*+?]*))
    | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_GROUP: Final = re.compile(r"\(\?(P?<[A-Za-z_]\w*>|[ims]*(-[ims]+)?[:)])")
_NOT_GO: Final = frozenset("123456789Z<>kKgGhHRX")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_translated(pattern))
    except (re.error, OverflowError) as error:
        told = f"invalid regular expression {to_json(pattern)}: error parsing regexp: {_reason(error, pattern)}"
        raise EvaluationError(told) from None


def _reason(error: Exception, pattern: str) -> str:
    """In Go's words, where they are known."""
    message = str(getattr(error, "msg", error))
    reason = next((text for start, text in _REASONS.items() if message.startswith(start)), "")
    position = getattr(error, "pos", None) or 0
    return reason.format(pattern=pattern, rest=pattern[position:], one=pattern[position : position + 1]) or message


def _translated(pattern: str) -> str:
    parts: list[str] = []
    flags = ""
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        match token.lastgroup:
            case "escape":
                parts.append(_translated_escape(text))
            case "quoted":
                parts.append(re.escape(token["quoted"]))
            case "klass":
                parts.append(_translated_class(text))
            case "group":
                if not _GROUP.fullmatch(text):
                    raise re.error(f"invalid or unsupported Perl syntax: `{text}`")
                if text.endswith(")") and not any(parts):
                    flags += text  # Python wants flags for the whole expression at its very start
                else:
                    parts.append(re.sub(r"^\(\?<", "(?P<", text))
            case "plain":
                parts.append({"$": r"\Z", "{": r"\{"}.get(text, text))
            case _:
                if token["twice"]:
                    raise re.error(f"invalid nested repetition operator: `{text}`")
                parts.append(text)
    return flags + "".join(parts)


def _translated_escape(text: str) -> str:
    if text[1] in _NOT_GO:
        raise re.error(f"invalid escape sequence: `{text}`")
    return _ESCAPES.get(text, text)


def _translated_class(text: str) -> str:
    named = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], found[0]), text)
    return re.sub(r"\\.", lambda found: _CLASS_ESCAPES.get(found[0], found[0]), named)


def _checked(name: str, subject: Any, pattern: Any, flags: Any) -> re.Pattern[str]:
    if not isinstance(subject, str) or not isinstance(pattern, str) or not isinstance(flags, str | None):
        raise not_applicable(name, subject, pattern, flags)
    if len(subject) > _LONGEST_SUBJECT:
        raise QueryLimit(f"a jq query matches a text of more than {_LONGEST_SUBJECT} characters")
    given = flags or ""
    if set(given) - set("gim"):
        raise EvaluationError(f"unsupported regular expression flag: {to_json(given)}")
    return _compiled(("(?s)" if "m" in given else "") + ("(?i)" if "i" in given else "") + pattern)


def test(subject: Any, pattern: Any, flags: Any) -> bool:
    """Whether the expression matches somewhere."""
    return _checked("test", subject, pattern, flags).search(subject) is not None


def matches(subject: Any, pattern: Any, flags: Any) -> list[Any]:
    """All matches (with flag g) or the first, as `match` tells them: offsets count characters."""
    expression = _checked("match", subject, pattern, flags)
    names = {number: name for name, number in expression.groupindex.items()}
    found = _found(expression, subject)
    return [
        {
            **_told(match, 0),
            "captures": [
                {"name": names.get(group), **_told(match, group)} for group in range(1, expression.groups + 1)
            ],
        }
        for match in (found if "g" in (flags or "") else itertools.islice(found, 1))
    ]


def _found(expression: re.Pattern[str], subject: str) -> Iterator[re.Match[str]]:
    at, last_end = 0, -1
    while at <= len(subject) and (match := expression.search(subject, at)):
        if match.end() > match.start() or match.start() != last_end:
            yield match
        last_end = match.end()
        at = match.end() + (match.end() == match.start())


def _told(match: re.Match[str], group: int) -> dict[str, Any]:
    start, end = match.span(group)
    return {"offset": start, "length": end - start, "string": match[group]}
