"""The fields of a mapping as Go's JSON decoder reads them into a struct.

Names count in any case, unknown ones are odd but not wrong, null is as good as absent, a bare word of any type is good
for a text. What is of a wrong type is a problem, and the field as if it were absent: the next field is looked at too.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

from kubedyno.clusterloader.config import Place
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.located import Node
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kit.units import parse_duration_s
from kubedyno.kube.gotemplate.floats import float_text

_INT32: Final = range(-(2**31), 2**31)
_LONGEST_S: Final = 2**63 / 1e9
"""Of Go's durations, which count nanoseconds in 64 bits."""
_SHOWN_CHARS: Final = 60


def names(*known: str) -> Mapping[str, str]:
    """The names of a struct's fields, to find them in any case."""
    return {name.lower(): name for name in known}


def shown(value: Any) -> str:
    """A value in a sentence about what stands where something else is expected."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {text_of(value)}"
        case str():
            cut = value if len(value) <= _SHOWN_CHARS else f"{value[:_SHOWN_CHARS]}..."
            return f"the text {cut!r}"
        case dict():
            return "a mapping"
    return "a list"


def text_of(value: bool | float | str) -> str:
    """A word as the text that Kubernetes' YAML reader makes of it where a text is expected."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return ("-" if value < 0 else "") + float_text(abs(value), "g", None)
    return str(value)


class Fields:
    """The fields of one mapping."""

    def __init__(self, node: Node, known: Mapping[str, str], findings: Findings) -> None:
        self.node = node
        self._findings = findings
        self._found: dict[str, Node] = {}
        if node.value is None:
            return
        if not isinstance(node.value, dict):
            expect(node, f"a mapping with {', '.join(known.values())}", findings)
            return
        for key, place, below in node.entries():
            name = known.get(key.lower())
            if name is None:
                advice = suggestion(key, known.values())
                findings.remark(place, f"{below.path}: this key is unknown, nothing reads it; {advice}")
                continue
            if name in self._found:
                findings.remark(place, f"{below.path}: {name} stands here twice, in different case; this one counts")
            self._found[name] = below

    def below(self, name: str) -> Node | None:
        """The value of a field; None: absent or null."""
        found = self._found.get(name)
        return None if found is None or found.value is None else found

    def place(self, name: str) -> Place:
        """Where a field's value stands; that of the mapping when it is absent."""
        found = self.below(name)
        return self.node.place if found is None else found.place

    def problem(self, name: str, text: str) -> None:
        """Something wrong with the value of a field."""
        found = self._found.get(name)
        path = found.path if found else _joined(self.node.path, name)
        self._findings.problem(self.place(name), f"{path}: {text}")

    def has(self, name: str) -> bool:
        """Whether there is anything in a field: an empty list, mapping or text is as good as none."""
        found = self.below(name)
        return found is not None and found.value not in ("", [], {})

    def text(self, name: str, default: str = "") -> str:
        """A text; a bare word of another type is taken as it would be printed."""
        found = self.below(name)
        if found is None:
            return default
        if isinstance(found.value, dict | list):
            expect(found, "a text", self._findings)
            return default
        return text_of(found.value)

    def required_text(self, name: str, example: str) -> str:
        """A text that must be there; empty when it is not."""
        text = self.text(name)
        if not text and not self.has(name) and isinstance(self.node.value, dict):
            self._findings.problem(
                self.place(name), f"{self.node.path or self.node.file}: {name} is missing; write {name}: {example}"
            )
        return text

    def whole(self, name: str, default: int = 0, *, least: int | None = None) -> int:
        """A whole number of 32 bits."""
        found = self.below(name)
        if found is None:
            return default
        value = found.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value not in _INT32:
            expect(found, "a whole number", self._findings)
            return default
        if least is not None and value < least:
            self.problem(name, f"{value} is too small; write {least} or more")
            return default
        return value

    def number(self, name: str, default: float = 0.0, *, above: float | None = None) -> float:
        """A number, above the one that is named."""
        found = self.below(name)
        if found is None:
            return default
        if isinstance(found.value, bool) or not isinstance(found.value, int | float):
            expect(found, "a number", self._findings)
            return default
        if above is not None and found.value <= above:
            self.problem(name, f"{text_of(found.value)} is too small; write a value above {above:g}")
            return default
        return float(found.value)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        found = self.below(name)
        if found is None:
            return default
        if not isinstance(found.value, bool):
            expect(found, "true or false", self._findings)
            return default
        return found.value

    def duration_s(self, name: str, default: float = 0.0, *, can_be_zero: bool = True) -> float:
        """Seconds of a Go duration, 0 or more. It must be a text: a bare number has no unit."""
        found = self.below(name)
        if found is None:
            return default
        value = found.value
        if not isinstance(value, str) or (_is_bare(value) and value != "0"):
            advice = f'"{text_of(value)}s" or "5m"' if _is_bare(value) else '"5m"'
            self.problem(name, f"expected a duration with its unit, but there is {shown(value)}; write {advice}")
            return default
        try:
            duration_s = parse_duration_s(value)
        except UsageError as error:
            self.problem(name, str(error))
            return default
        if not 0 <= duration_s < _LONGEST_S or not (duration_s or can_be_zero):
            least = "0s or more" if can_be_zero else "more than 0s"
            self.problem(name, f"{value} is out of bounds; write {least}, and less than 292 years")
            return default
        return duration_s

    def mapping(self, name: str) -> dict[str, Any]:
        """A mapping with whatever is in it, its keys as they are."""
        found = self.below(name)
        if found is None:
            return {}
        if not isinstance(found.value, dict):
            expect(found, "a mapping", self._findings)
            return {}
        return found.value

    def items(self, name: str) -> list[Node]:
        """The values of a list; those that are null are problems, and left out."""
        found = self.below(name)
        if found is None:
            return []
        if not isinstance(found.value, list):
            expect(found, "a list", self._findings)
            return []
        return filled(found, self._findings)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; what is none is a problem, and the empty text."""
        return tuple(plain_text(item, self._findings) for item in self.items(name))


def filled(node: Node, findings: Findings) -> list[Node]:
    """The values of a list, without null ones, which are problems."""
    found = []
    for item in node.items():
        if item.value is None:
            findings.problem(item.place, f"{item.path}: there is nothing in this item of the list; leave out its dash")
        else:
            found.append(item)
    return found


def plain_text(node: Node, findings: Findings) -> str:
    """The text of a value; empty, and a problem, when it is none."""
    if node.value is None or isinstance(node.value, dict | list):
        expect(node, "a text", findings)
        return ""
    return text_of(node.value)


def expect(node: Node, what: str, findings: Findings) -> None:
    """A problem: something else stands there."""
    findings.problem(node.place, f"{node.path or 'the file'}: expected {what}, but there is {shown(node.value)}")


def _is_bare(value: Any) -> bool:
    """Whether it is a number, or a text that is one."""
    if isinstance(value, str):
        try:
            return math.isfinite(float(value))
        except ValueError:
            return False
    return isinstance(value, int | float) and not isinstance(value, bool)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
