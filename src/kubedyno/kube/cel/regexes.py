r"""Go's regular expressions in Python: the same texts match, as far as the syntax is translated.

Classes are written out because Go's are ASCII (`\d`, `\s`, `[[:alpha:]]`), `$` and `\z` mean the very end, and flags
within the pattern hold until their group ends. Classes of scripts (`\p{Greek}`) are refused.
"""

import functools
import re
import sys
import unicodedata
from typing import Final

_PERL: Final = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
_POSIX: Final = {
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
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_REPEAT: Final = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_ESCAPE: Final = re.compile(r"\\(?:[pP](?:\{\^?\w+\}|\w)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[0-7]{1,3}|[\s\S])")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED: Final = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_MOST_REPEATS: Final = 1000


class BadPattern(Exception):
    """Why Go cannot compile a pattern, in its words."""


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern in Python; a `BadPattern` when Go refuses it, or when it cannot be said here."""
    try:
        return re.compile(_Translation(pattern).text())
    except (re.error, OverflowError, RecursionError) as error:
        raise BadPattern(f"error parsing regexp: {error}") from None


class _Translation:
    """A position in a pattern, and which groups are open."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.parts: list[str] = []
        # For each open group, the flags that were set within it: they are closed with it.
        self.open: list[list[str]] = [[]]
        self.multiline = [False]
        self.last_repeat = ""
        self.repeatable = False

    def refuse(self, problem: str, part: str) -> BadPattern:
        return BadPattern(f"error parsing regexp: {problem}: `{part}`")

    def text(self) -> str:
        while self.at < len(self.pattern):
            self._step()
        if len(self.open) > 1:
            raise self.refuse("missing closing )", self.pattern)
        return "".join(self.parts) + ")" * len(self.open[0])

    def _step(self) -> None:
        sign = self.pattern[self.at]
        if repeat := _REPEAT.match(self.pattern, self.at):
            self._repeat(repeat[0])
            return
        self.last_repeat = ""
        if sign == "(":
            self._group()
        elif sign == ")":
            self._end_group()
        elif sign == "|":
            flags = self.open[-1]
            self.parts.append(")" * len(flags) + "|" + "".join(flags))
            self.at += 1
            self.repeatable = False
        else:
            self.repeatable = True
            self._atom(sign)

    def _atom(self, sign: str) -> None:
        if sign == "[":
            self.parts.append(self._class())
        elif sign == "\\":
            self._escape()
        else:
            # Groups, because Python does not repeat bare anchors.
            start, end = ("(?:^)", r"(?=\n|\Z)") if self.multiline[-1] else (r"(?:\A)", r"(?:\Z)")
            self.parts.append({"$": end, "^": start, "{": r"\{", "}": r"\}"}.get(sign, sign))
            self.at += 1

    def _repeat(self, repeat: str) -> None:
        lazy = self.pattern[self.at + len(repeat) : self.at + len(repeat) + 1] == "?"
        if not self.repeatable:
            raise self.refuse("missing argument to repetition operator", repeat + "?" * lazy)
        if self.last_repeat:
            raise self.refuse("invalid nested repetition operator", self.last_repeat + repeat)
        counts = [int(count) for count in re.findall(r"[0-9]+", repeat)]
        if any(count > _MOST_REPEATS for count in counts) or counts != sorted(counts):
            raise self.refuse("invalid repeat count", repeat)
        self.at += len(repeat) + lazy
        self.last_repeat = repeat + "?" * lazy
        self.parts.append(self.last_repeat)

    def _group(self) -> None:
        rest = self.pattern[self.at :]
        self.repeatable = False
        if not rest.startswith("(?"):
            self._begin("(", 1)
        elif named := _NAMED.match(rest):
            self._begin(f"(?P<{named[1]}>", named.end())
        elif flags := _FLAGS.match(rest):
            self._flags(flags)
        elif rest.startswith(("(?P<", "(?<")) and not rest.startswith(("(?<=", "(?<!")):
            raise self.refuse("invalid named capture", rest)
        else:
            shown = rest[:4] if rest.startswith("(?<") else rest[:3]
            raise self.refuse("invalid or unsupported Perl syntax", shown)

    def _flags(self, flags: re.Match[str]) -> None:
        on, off, end = flags[1], flags[2] or "", flags[3]
        if "U" in on + off:
            raise self.refuse("invalid or unsupported Perl syntax", flags[0])
        # Go's `m` is Python's but for `$`; what is off already may not be switched off again in Python's words.
        written = f"(?{''.join(sorted(set(on)))}{'-' + ''.join(sorted(set(off))) if off else ''}:"
        multiline = "m" in on or (self.multiline[-1] and "m" not in off)
        if end == ":":
            self._begin(written, flags.end())
        else:
            self.at += flags.end()
            if not on and not off:
                raise self.refuse("missing argument to repetition operator", "?")
            self.open[-1].append(written)
            self.parts.append(written)
        self.multiline[-1] = multiline

    def _begin(self, written: str, length: int) -> None:
        self.parts.append(written)
        self.open.append([])
        self.multiline.append(self.multiline[-1])
        self.at += length

    def _end_group(self) -> None:
        if len(self.open) == 1:
            raise self.refuse("unexpected )", self.pattern)
        self.parts.append(")" * (len(self.open.pop()) + 1))
        self.multiline.pop()
        self.at += 1
        self.repeatable = True

    def _escape(self) -> None:
        if self.pattern.startswith(r"\Q", self.at):
            quoted, _, _ = self.pattern[self.at + 2 :].partition(r"\E")
            self.parts.append(re.escape(quoted))
            self.at += 2 + len(quoted) + 2
            return
        found = _ESCAPE.match(self.pattern, self.at)
        if found is None:
            raise BadPattern("error parsing regexp: trailing backslash at end of expression: ``")
        self.at = found.end()
        self.parts.append(self._escaped(found[0], within_class=False))

    def _escaped(self, escape: str, *, within_class: bool) -> str:  # noqa: PLR0911 - one rule per kind of escape
        kind = escape[1]
        if kind in "dsw":
            return _PERL[kind] if within_class else f"[{_PERL[kind]}]"
        if kind in "DSW":
            ranges = _complement(_PERL[kind.lower()])
            return ranges if within_class else f"[{ranges}]"
        if kind in "pP":
            return self._category(escape, within_class=within_class)
        if kind == "x" and escape != r"\x":
            code = int(escape[2:].strip("{}"), 16)
            return re.escape(chr(code)) if code <= sys.maxunicode else ""
        if kind in "01234567":
            if escape[2:] == "" and kind != "0":
                raise self.refuse("invalid escape sequence", escape)
            return re.escape(chr(int(escape[1:], 8)))
        if kind in "afnrtv":
            return f"\\{kind}"
        if not within_class and kind in "AzbB":
            return {"A": r"(?:\A)", "z": r"(?:\Z)", "b": r"(?a:\b)", "B": r"(?a:\B)"}[kind]
        if kind.isalnum() or kind == "_":
            raise self.refuse("invalid escape sequence", escape[:2])
        return re.escape(kind)

    def _category(self, escape: str, *, within_class: bool) -> str:
        name = escape[2:].strip("{}")
        negated = (escape[1] == "P") != name.startswith("^")
        ranges = _ranges_of(name.removeprefix("^"))
        if not ranges:
            raise self.refuse("invalid character class range", escape)
        if negated:
            ranges = _complement(ranges)
        return ranges if within_class else f"[{ranges}]"

    def _class(self) -> str:
        start = self.at
        self.at += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        parts: list[str] = []
        first = True
        while first or not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise self.refuse("missing closing ]", self.pattern[start:])
            first = False
            parts.append(self._class_part())
        self.at += 1
        return f"[{'^' * negated}{''.join(parts)}]"

    def _class_part(self) -> str:
        rest = self.pattern[self.at :]
        if posix := re.match(r"\[:(\^?)(\w+):\]", rest):
            if posix[2] not in _POSIX:
                raise self.refuse("invalid character class range", posix[0])
            self.at += posix.end()
            return _complement(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
        at = self.at
        low = self._class_sign()
        if low[2:] and "-" in low[1:]:
            # A class within the class, not one character.
            return low
        if re.compile(r"-[^\]]").match(self.pattern, self.at):
            self.at += 1
            high = self._class_sign()
            if _char(low) > _char(high):
                raise self.refuse("invalid character class range", self.pattern[at : self.at])
            return f"{low}-{high}"
        return low

    def _class_sign(self) -> str:
        if self.pattern.startswith("\\", self.at):
            found = _ESCAPE.match(self.pattern, self.at)
            if found is None:
                raise BadPattern("error parsing regexp: trailing backslash at end of expression: ``")
            self.at = found.end()
            return self._escaped(found[0], within_class=True)
        self.at += 1
        return re.escape(self.pattern[self.at - 1])


def _char(written: str) -> str:
    simple = {r"\a": "\a", r"\f": "\f", r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\v": "\v"}
    return simple.get(written, written.removeprefix("\\"))


@functools.lru_cache(maxsize=64)
def _complement(ranges: str) -> str:
    """All other characters, as ranges."""
    held = re.compile(f"[{ranges}]")
    return _as_ranges([code for code in range(sys.maxunicode + 1) if not held.match(chr(code))])


@functools.lru_cache(maxsize=64)
def _ranges_of(category: str) -> str:
    """The characters of a general category such as `L` or `Lu`; empty when there is none of that name."""
    if not re.fullmatch("[CLMNPSZ][a-z]?", category):
        return ""
    return _as_ranges(
        [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(category)]
    )


def _as_ranges(codes: list[int]) -> str:
    parts: list[str] = []
    start = end = -2
    for code in [*codes, -2]:
        if code == end + 1:
            end = code
            continue
        if start >= 0:
            parts.append(f"{re.escape(chr(start))}-{re.escape(chr(end))}")
        start = end = code
    return "".join(parts)
