"""YAML as the API server reads it: JSON's types only, with the words of Go's library for what it refuses.

The document is built from the parser's events with a stack of its own. Composing it as Python's library does goes as
deep into the C stack as the document is nested, which a small body can drive to its end, and with it the process.
"""

import base64
import binascii
import math
import re
from typing import Any, Final

import yaml

from kubedyno.kube.nesting import MAX_DEPTH

_TAG: Final = "tag:yaml.org,2002:"
_CONSTANTS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_UNSIGNED_64 = 2**64
_SIGNED_64 = -(2**63)

# Go's library gives up where a document is made of little but repetitions of its own parts.
_ALIASED_AT_LEAST = 100
_COUNTED_AT_LEAST = 1000
_SMALL, _LARGE = 400_000, 4_000_000
_RATIO_SMALL, _RATIO_LARGE = 0.99, 0.10
_ALIASED_MAX_CHARS = 3 * 1024 * 1024


def read(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """The first document, and which keys stand twice in it (`line 4: key "a" already set in map`).

    The last of two values counts; keys are sorted. `ValueError` with Go's words when it cannot be read.
    """
    builder = _Builder()
    try:
        loader = yaml.CSafeLoader(data)
        try:
            while loader.check_event():
                event = loader.get_event()
                if event is None or isinstance(event, yaml.DocumentEndEvent):
                    break
                builder.take(event)
        finally:
            loader.dispose()
    except yaml.reader.ReaderError as error:
        raise ValueError(f"yaml: {error.reason}") from error
    except yaml.MarkedYAMLError as error:
        raise ValueError(_problem(error)) from error
    return builder.value, tuple(builder.repeated)


def _problem(error: yaml.MarkedYAMLError) -> str:
    """Go's parser is libyaml's too, but counts lines from 0 where it can."""
    mark = error.context_mark if error.context_mark and error.context_mark.line else error.problem_mark
    line = (mark.line if mark else 0) + isinstance(error, yaml.scanner.ScannerError)
    return f"yaml: line {line}: {error.problem}" if line else f"yaml: {error.problem}"


class _Open:
    """A collection that is being read."""

    def __init__(self, value: Any, anchor: str | None, counted: int) -> None:
        self.value = value
        self.anchor = anchor
        self.counted = counted
        self.key: Any = None
        self.has_key = False
        self.merged: Any = None
        self.seen: set[Any] = set()


class _Builder:
    """Makes the value of a document from its events."""

    def __init__(self) -> None:
        self.value: Any = None
        self.repeated: list[str] = []
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._counted = self._aliased = self._aliased_chars = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.ScalarEvent():
                self._counted += 1
                value = _scalar(event)
                if event.anchor:
                    self._anchors[event.anchor] = (value, 1)
                self._put(value, event)
            case yaml.AliasEvent():
                self._put(self._repeated(event.anchor or ""), event)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(self._stack) >= MAX_DEPTH:
                    raise ValueError("yaml: exceeded max depth of 10000")
                self._counted += 1
                made: Any = [] if isinstance(event, yaml.SequenceStartEvent) else {}
                self._stack.append(_Open(made, event.anchor, self._counted))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._close(event)

    def _close(self, event: yaml.Event) -> None:
        done = self._stack.pop()
        value = done.value
        if isinstance(value, dict):
            value = {name: value[name] for name in sorted(_with_merged(value, done.merged))}
        if done.anchor:
            self._anchors[done.anchor] = (value, self._counted - done.counted + 1)
        self._put(value, event)

    def _put(self, value: Any, event: yaml.Event) -> None:
        """Enter a value where the document is."""
        if not self._stack:
            self.value = value
            return
        top = self._stack[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif not top.has_key:
            top.key, top.has_key = (_Merge if _is_merge(event) else value), True
            self._look_at_key(top, event)
        else:
            top.has_key = False
            if top.key is _Merge:
                top.merged = value
            else:
                top.value[_key(top.key, value)] = value

    def _look_at_key(self, top: _Open, event: yaml.Event) -> None:
        if isinstance(top.key, dict | list):
            raise ValueError("yaml: invalid map key")  # noqa: TRY004 - what is wrong is the text
        if (type(top.key), top.key) in top.seen:
            line = event.start_mark.line + 1 if event.start_mark else 0
            self.repeated.append(f"line {line}: key {_shown(top.key)} already set in map")
        top.seen.add((type(top.key), top.key))

    def _repeated(self, anchor: str) -> Any:
        """A copy of the value of an anchor: what is made of one of them must not show in the other."""
        if any(opened.anchor == anchor for opened in self._stack):
            raise ValueError(f"yaml: anchor '{anchor}' value contains itself")
        if anchor not in self._anchors:
            raise ValueError(f"yaml: unknown anchor '{anchor}' referenced")
        value, size = self._anchors[anchor]
        self._counted += size
        self._aliased += size
        if (
            self._aliased > _ALIASED_AT_LEAST
            and self._counted > _COUNTED_AT_LEAST
            and self._aliased / self._counted > _allowed_ratio(self._counted)
        ):
            raise ValueError("yaml: document contains excessive aliasing")
        return self._copied(value)

    def _copied(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._copied(below) for name, below in value.items()}
        if isinstance(value, list):
            return [self._copied(below) for below in value]
        if isinstance(value, str):
            self._aliased_chars += len(value)
            if self._aliased_chars > _ALIASED_MAX_CHARS:
                raise ValueError("yaml: document contains excessive aliasing")
        return value


class _Merge:
    """The key `<<`."""


def _is_merge(event: yaml.Event) -> bool:
    if not isinstance(event, yaml.ScalarEvent) or event.value != "<<":
        return False
    return not event.style and event.tag in {None, f"{_TAG}merge"}


def _with_merged(value: dict[str, Any], merged: Any) -> dict[str, Any]:
    """A mapping with what it takes over from others: its own values come before theirs."""
    if merged is None:
        return value
    sources = merged if isinstance(merged, list) else [merged]
    if not all(isinstance(source, dict) for source in sources):
        raise ValueError("yaml: map merge requires map or sequence of maps as the value")
    for source in sources:
        for name, below in source.items():
            value.setdefault(name, below)
    return value


def _allowed_ratio(counted: int) -> float:
    if counted <= _SMALL:
        return _RATIO_SMALL
    if counted >= _LARGE:
        return _RATIO_LARGE
    return _RATIO_SMALL - (_RATIO_SMALL - _RATIO_LARGE) * (counted - _SMALL) / (_LARGE - _SMALL)


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    tag = (event.tag or "").removeprefix(_TAG)
    if tag == "binary":
        try:
            return base64.b64decode(text).decode("utf-8", "replace")
        except (binascii.Error, ValueError):
            raise ValueError("yaml: !!binary value contains invalid base64 data") from None
    if not tag:
        value = text if event.style else _resolved(text)
    elif tag in {"int", "float", "bool", "null"}:
        value = _resolved(text)
        if tag == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, str):
            raise ValueError(f"yaml: cannot decode !!str `{text}` as a !!{tag}")
    else:
        value = text
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"json: unsupported value: {'NaN' if math.isnan(value) else f'{value:+}'.title()}")
    return value


def _resolved(text: str) -> Any:
    """What a text without quotes stands for."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if not text[0].isdigit() and text[0] not in "+-.":
        return text
    plain = text.replace("_", "")
    if _INTEGER.fullmatch(plain) and len(plain) < _UNSIGNED_64.bit_length() + 2:
        number = int(plain, 8) if _OCTAL.fullmatch(plain) else int(plain, 0)
        if _SIGNED_64 <= number < _UNSIGNED_64:
            return number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        return value if math.isfinite(value) else text
    return text


def _key(key: Any, value: Any) -> str:
    """A key as JSON has it."""
    if key is None:
        raise ValueError(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {_shown(value)}")
    return key if isinstance(key, str) else _shown(key)


def _shown(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return "<nil>" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
