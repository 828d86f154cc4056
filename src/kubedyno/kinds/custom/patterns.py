r"""Go's regular expressions in Python: the same texts match, and what Go refuses is refused in its words."""

import functools
import re

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}

_TOKEN = re.compile(
    r"""
    (?P<escape>\\(?:[pP]\{\^?\w+\}|[pP]\w|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|0[0-7]{0,2}|.|$))
    | (?P<class>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*(?P<end>\]|$))
    | (?P<group>\(\?(?:P?<[A-Za-z_]\w*>|[imsU]*(?:-[imsU]+)?[:)]|P?<[^>]*>?|P|.?))
    | (?P<repeat>[*+?]|\{\d+(?:,\d*)?\})
    | (?P<plain>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_GOOD_GROUP = re.compile(r"\(\?(P?<[A-Za-z_]\w*>|[imsU]*(-[imsU]+)?[:)])")
_GO_ESCAPES = frozenset("dDsSwWbBAzQEafnrtvCpPx0")
_MOST_REPEATS = 1000


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The expression in Python; None when it cannot be said there."""
    try:
        return re.compile(_translated(pattern), re.ASCII)
    except (re.error, OverflowError):
        return None


def _translated(pattern: str) -> str:
    r"""`$` and `\z` mean the very end, `{,3}` is plain text, and classes such as `[:alpha:]` are written out."""
    parts: list[str] = []
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if token["escape"]:
            parts.append(r"\Z" if text == r"\z" else text)
        elif token["class"]:
            parts.append(_translated_class(text))
        elif token["group"]:
            parts.append(re.sub(r"^\(\?<", "(?P<", text))
        else:
            parts.append({"$": r"\Z", "{": r"\{"}.get(text, text))
    return "".join(parts)


def _translated_class(text: str) -> str:
    inside = re.sub(r"\[:(\w+):\]", lambda found: _POSIX.get(found[1], found[0]), text[1:])
    return f"[{inside}"


def problem(pattern: str) -> str:
    """Why Go cannot compile the expression, in its words; empty when it can."""
    told = _first_problem(pattern)
    return f"error parsing regexp: {told}" if told else ""


def _first_problem(pattern: str) -> str:
    depth, before = 0, ""
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if told := _token_problem(token, before):
            return told
        if text == ")":
            depth -= 1
        elif text == "(" or (token["group"] and not text.endswith(")")):
            depth += 1
        if depth < 0:
            return f"unexpected ): `{pattern}`"
        before = before + text if token["repeat"] and _is_repeat(before) else text
    return f"missing closing ): `{pattern}`" if depth else ""


def _token_problem(token: re.Match[str], before: str) -> str:
    text = token[0]
    if token["escape"]:
        return _escape_problem(text)
    if token["class"]:
        if not token["end"]:
            return f"missing closing ]: `{text}`"
        reversed_ranges = [one[0] for one in re.finditer(r"(\w)-(\w)", text) if one[1] > one[2]]
        return f"invalid character class range: `{reversed_ranges[0]}`" if reversed_ranges else ""
    if token["group"]:
        return _group_problem(token)
    return _repeat_problem(text, before) if token["repeat"] else ""


def _escape_problem(text: str) -> str:
    if text == "\\":
        return "trailing backslash at end of expression: ``"
    return f"invalid escape sequence: `{text[:2]}`" if text[1].isalnum() and text[1] not in _GO_ESCAPES else ""


def _group_problem(token: re.Match[str]) -> str:
    if _GOOD_GROUP.fullmatch(token[0]):
        return ""
    if token[0].startswith(("(?<", "(?P<")):
        return f"invalid named capture: `{token.string[token.start() :]}`"
    return f"invalid or unsupported Perl syntax: `{token[0][:3]}`"


def _repeat_problem(text: str, before: str) -> str:
    if before in {"", "(", "|"} or (before.startswith("(?") and before.endswith(":")):
        return f"missing argument to repetition operator: `{text}`"
    if _is_repeat(before) and not (text == "?" and (len(before) == 1 or before.endswith("}"))):
        return f"invalid nested repetition operator: `{before}{text}`"
    counts = [int(count) for count in re.findall(r"\d+", text)]
    if any(count > _MOST_REPEATS for count in counts) or counts != sorted(counts):
        return f"invalid repeat count: `{text}`"
    return ""


def _is_repeat(text: str) -> bool:
    return re.fullmatch(r"([*+?]|\{\d+(,\d*)?\})\??", text) is not None
