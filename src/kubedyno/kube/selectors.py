"""Label selectors and field selectors: parse, match, and print in the canonical form of apimachinery.

    app=web,tier in (a,b),!legacy,gpus>4        labels
    status.phase!=Failed,spec.nodeName=node-1   fields

Selectors are values: frozen, comparable, and `parse(str(selector)) == selector` for what `parse` returned.
"""

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.meta import dns1123_subdomain_problem

_LABEL_EXAMPLE: Final = "write it like 'app=web,tier in (a,b),!legacy'"
_FIELD_EXAMPLE: Final = "write it like 'status.phase!=Failed,spec.nodeName=node-1'"
_LABEL_NAME: Final = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_MAX_CHARS: Final = 63
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,32}")
_INT64: Final = range(-(2**63), 2**63)
_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(?P<symbol>!=|==|[=!(),<>])|(?P<word>[^=!(),<> \t\r\n]+)|$)")


class Operator(enum.Enum):
    """How a requirement relates a label to its values; the value is how it stands in the text."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_WRITTEN_OPERATORS: Final = {
    operator.value: operator for operator in Operator if operator not in {Operator.EXISTS, Operator.DOES_NOT_EXIST}
}
_OBJECT_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def label_key_problem(text: str) -> str | None:
    """Why `text` may not be a label key (`name` or `prefix/name`); None when it may."""
    prefix, slash, name = text.rpartition("/")
    if slash and (problem := dns1123_subdomain_problem(prefix)):
        return f"the prefix of label key {text!r} is wrong: {problem}"
    if len(name) > _LABEL_MAX_CHARS:
        return f"the name in label key {text!r} is longer than {_LABEL_MAX_CHARS} characters"
    if not _LABEL_NAME.fullmatch(name):
        return (
            f"{text!r} is no label key: use letters, digits, '-', '_' and '.', "
            "with a letter or digit at both ends, like 'tier' or 'example.com/tier'"
        )
    return None


def label_value_problem(text: str) -> str | None:
    """Why `text` may not be the value of a label; None when it may. The empty text may."""
    if len(text) > _LABEL_MAX_CHARS:
        return f"label value {text!r} is longer than {_LABEL_MAX_CHARS} characters"
    if text and not _LABEL_NAME.fullmatch(text):
        return (
            f"{text!r} is no label value: use letters, digits, '-', '_' and '.', "
            "with a letter or digit at both ends, like 'batch-2'"
        )
    return None


class BadSelector(UsageError):
    """A selector that cannot be read; `told` says it in the API server's words."""

    def __init__(self, message: str, *, told: str) -> None:
        self.told = told
        super().__init__(message)


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label. Build it with `of`, which validates."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, key: str, operator: Operator, values: Sequence[str] = ()) -> "Requirement":
        """A requirement that Kubernetes would accept; a usage error says what is wrong with any other."""
        problem = (
            label_key_problem(key)
            or _values_problem(key, operator, values)
            or next(filter(None, map(label_value_problem, values)), None)
        )
        if problem:
            raise BadSelector(f"a label selector is wrong: {problem}", told=_requirement_told(key, operator, values))
        return cls(key, operator, tuple(values))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet it. An absent label meets `!=`, `notin` and `!`, and nothing else."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.NOT_EQUALS | Operator.NOT_IN:
                return value not in self.values
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                found, bound = _int64(value), _int64(self.values[0])
                if found is None or bound is None:
                    return False
                return found > bound if self.operator is Operator.GREATER_THAN else found < bound
            case _:
                return value in self.values

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({values})"
            case _:
                return f"{self.key}{self.operator.value}{values}"


class LabelSelector(msgspec.Struct, frozen=True):
    """All requirements must be met; without any, everything matches — unless `matches_nothing`."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    @classmethod
    def parse(cls, text: str) -> "LabelSelector":
        """The selector of a `labelSelector` query parameter; the empty text selects everything."""
        return cls(_sorted_by_key(_Parser(text).requirements()))

    @classmethod
    def from_object(cls, selector: Mapping[str, Any] | None) -> "LabelSelector":
        """The selector of a `matchLabels`/`matchExpressions` object.

        As everywhere in Kubernetes, an absent object selects nothing and an empty one everything.
        """
        if selector is None:
            return cls(matches_nothing=True)
        requirements = [
            Requirement.of(key, Operator.EQUALS, (value,)) for key, value in (selector.get("matchLabels") or {}).items()
        ]
        for expression in selector.get("matchExpressions") or []:
            name = expression.get("operator")
            if name not in _OBJECT_OPERATORS:
                raise UsageError(f"{name!r} is no operator of a label selector: use In, NotIn, Exists or DoesNotExist")
            values = expression.get("values") or ()
            requirements.append(Requirement.of(expression.get("key") or "", _OBJECT_OPERATORS[name], values))
        return cls(_sorted_by_key(requirements))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return not self.matches_nothing and all(entry.matches(labels) for entry in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _sorted_by_key(requirements: list[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(requirements, key=lambda requirement: requirement.key))


def _values_problem(key: str, operator: Operator, values: Sequence[str]) -> str | None:
    """Why an operator cannot go with these values: `in` needs some, `exists` none, the others exactly one."""
    if operator in {Operator.IN, Operator.NOT_IN}:
        return None if values else f"{operator.value!r} on {key!r} needs values, like '{key} in (a,b)'"
    if operator in {Operator.EXISTS, Operator.DOES_NOT_EXIST}:
        return f"a requirement that {key!r} exists or not takes no values" if values else None
    if len(values) != 1:
        return f"{operator.value!r} on {key!r} needs exactly one value"
    if operator in {Operator.GREATER_THAN, Operator.LESS_THAN} and _int64(values[0]) is None:
        return f"{operator.value!r} on {key!r} needs a whole number, like '{key}{operator.value}4'"
    return None


def _int64(text: str | None) -> int | None:
    """The number a label holds, None where Go's ParseInt would fail."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


_SIGNS = "=!(),<>"
_UNABLE = "unable to parse requirement: "


def _requirement_told(key: str, operator: Operator, values: Sequence[str]) -> str:
    """What the API server says of a requirement that is written well but cannot be."""
    if operator in {Operator.GREATER_THAN, Operator.LESS_THAN}:
        said = "for 'Gt', 'Lt' operators, the value must be an integer"
        return f'{_UNABLE}values[0]: Invalid value: "{values[0]}": {said}'
    if label_key_problem(key):
        return f'{_UNABLE}<nil>: Invalid value: "{key}": {label_key_problem(key)}'
    wrong = next((value for value in values if label_value_problem(value)), "")
    return f'{_UNABLE}values[0][{key}]: Invalid value: "{wrong}": {label_value_problem(wrong)}'


class _Parser:
    """Recursive descent over the tokens of one selector text; the last token is the empty text, its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [match["symbol"] or match["word"] or "" for match in _TOKEN.finditer(text)]
        self._position = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self._next or found:
            found.append(self._requirement())
            if not self._next:
                break
            if self._next != ",":
                raise self._bad("expected ','", f"found '{self._next}', expected: ',' or 'end of string'")
            self._take()
            if not self._next or (self._next != "!" and self._next[0] in _SIGNS):
                raise self._bad("expected a label key", f"found '{self._next}', expected: identifier after ','")
        return found

    @property
    def _next(self) -> str:
        return self._tokens[self._position]

    def _take(self) -> str:
        token = self._next
        self._position += bool(token)
        return token

    def _word(self, what: str, told: str = "identifier") -> str:
        token = self._take()
        # `in` and `notin` are words like others where no operator can stand: `in in (notin)` is valid.
        if not token or token[0] in _SIGNS:
            raise self._bad(f"expected {what}", f"{_UNABLE}found '{token}', expected: {told}")
        return token

    def _requirement(self) -> Requirement:
        if self._next == "!":
            self._take()
            return Requirement.of(self._word("a label key"), Operator.DOES_NOT_EXIST)
        if self._next and self._next[0] in _SIGNS:
            said = f"found '{self._next}', expected: !, identifier, or 'end of string'"
            raise self._bad("expected a label key", said)
        key = self._word("a label key")
        if self._next in {"", ","}:
            return Requirement.of(key, Operator.EXISTS)
        written = self._take()
        operator = _WRITTEN_OPERATORS.get(written)
        if operator is None:
            raise self._bad(
                "expected an operator (=, ==, !=, in, notin, < or >)",
                f"{_UNABLE}found '{written}', expected: in, notin, =, ==, !=, gt, lt",
            )
        if operator in {Operator.IN, Operator.NOT_IN}:
            return Requirement.of(key, operator, sorted(set(self._listed_values())))
        # Nothing behind the sign means the empty value: `a=` selects labels that are set to "".
        value = "" if self._next in {"", ","} else self._word("a value")
        return Requirement.of(key, operator, (value,))

    def _listed_values(self) -> Iterator[str]:
        opened = self._take()
        if opened != "(":
            raise self._bad("expected '('", f"{_UNABLE}found '{opened}' expected: '('")
        while True:
            yield "" if self._next in {",", ")"} else self._word("a value", "',', ')' or identifier")
            if self._next == ")":
                self._take()
                return
            if self._take() != ",":
                raise self._bad("expected ','", f"{_UNABLE}found '{self._next}', expected: ',' or ')'")

    def _bad(self, reason: str, told: str) -> BadSelector:
        return BadSelector(f"{self._text!r} is no label selector: {reason}; {_LABEL_EXAMPLE}", told=told)


class FieldTerm(msgspec.Struct, frozen=True):
    """One comparison of a field, by its dotted path, with a text."""

    path: str
    value: str
    negated: bool = False

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object's field has (or, negated, has not) the value."""
        return (_field_text(obj, self.path) == self.value) != self.negated

    def __str__(self) -> str:
        escaped = re.sub(r"([\\,=])", r"\\\1", self.value)
        return f"{self.path}{'!=' if self.negated else '='}{escaped}"


class FieldSelector(msgspec.Struct, frozen=True):
    """All terms must hold; without any, everything matches."""

    terms: tuple[FieldTerm, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "FieldSelector":
        r"""The selector of a `fieldSelector` query parameter.

        In values, backslash, comma and equals sign are written `\\`, `\,` and `\=`. Empty terms are ignored,
        also a lone `=`.
        """
        parts = sorted(filter(None, re.findall(r"(?:\\.|[^,\\]|\\$)*", text, re.DOTALL)))
        terms = [_field_term(part, text) for part in parts]
        return cls(tuple(term for term in terms if term.path or term.value))

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether the object is selected. A field that is missing counts as the empty text.

        Fields that the API server fills from typed defaults (`spec.unschedulable=false` of a node that does not
        carry the field) must be in `obj` when they shall be selected by.
        """
        return all(term.matches(obj) for term in self.terms)

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


def _field_term(part: str, text: str) -> FieldTerm:
    match = re.fullmatch(r"(?P<path>.*?)(?P<operator>!=|==|=)(?P<value>.*)", part, re.DOTALL)
    if match is None:
        raise BadSelector(
            f"{text!r} is no field selector: {part!r} has no =, == or !=; {_FIELD_EXAMPLE}",
            told=f"invalid selector: '{text}'; can't understand '{part}'",
        )
    value = match["value"]
    if not re.fullmatch(r"(?:[^\\,=]|\\[\\,=])*", value):
        raise BadSelector(
            f"{text!r} is no field selector: in the value {value!r}, write backslash, comma and equals sign "
            r"as '\\', '\,' and '\='",
            told=f"invalid selector: '{text}'; can't understand '{part}'",
        )
    return FieldTerm(match["path"], re.sub(r"\\(.)", r"\1", value), negated=match["operator"] == "!=")


def _field_text(obj: Mapping[str, Any], path: str) -> str:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""
