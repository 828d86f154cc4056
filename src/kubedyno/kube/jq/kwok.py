"""What KWOK 0.8 makes of a query's outputs: requirements of a stage's selector, and the value of an expression."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.jq.errors import EvaluationError
from kubedyno.kube.jq.query import Query
from kubedyno.kube.jq.values import to_json

_WITH_VALUES: Final = frozenset({"In", "NotIn"})
_WITHOUT_VALUES: Final = frozenset({"Exists", "DoesNotExist"})
_NEGATIVE: Final = frozenset({"NotIn", "DoesNotExist"})


def outputs(query: Query, value: Any) -> list[Any] | None:
    """All outputs but nulls; None when the query fails, even where it gave some before."""
    try:
        return [output for output in query.run(value) if output is not None]
    except EvaluationError:
        return None


class Requirement(msgspec.Struct, frozen=True):
    """One of a selector's `matchExpressions`: the query's outputs, an operator, and texts to compare with."""

    query: Query
    operator: str
    values: frozenset[str]

    @classmethod
    def of(cls, query: Query, operator: str, values: Sequence[str] = ()) -> "Requirement":
        """The requirement, checked as KWOK checks it; UsageError says what it must be."""
        if operator in _WITH_VALUES and not values:
            raise UsageError("for 'in', 'notin' operators, values set can't be empty")
        if operator in _WITHOUT_VALUES and values:
            raise UsageError("values set must be empty for exists and does not exist")
        if operator not in _WITH_VALUES | _WITHOUT_VALUES:
            raise UsageError(f"operator {to_json(operator)} is not supported")
        return cls(query, operator, frozenset(values))

    def matches(self, value: Any) -> bool:
        """Whether the object meets it: one output among the texts is enough, and a query that fails finds nothing."""
        found = outputs(self.query, value) or []
        if self.operator in _WITH_VALUES:
            return self._has_value(found, value) != (self.operator in _NEGATIVE)
        return bool(found) != (self.operator in _NEGATIVE)

    def _has_value(self, found: list[Any], value: Any) -> bool:
        if any(_text(output) in self.values for output in found):
            return True
        if not any(type(output) is int and str(output) in self.values for output in found):
            return False
        # KWOK decodes all numbers of the object as floats, which it compares with nothing: only whole numbers that
        # the query makes by itself (`length`, a literal) count. Rare, so the object is converted only here.
        again = outputs(self.query, _with_floats(value)) or []
        return any(type(output) is int and str(output) in self.values for output in again)


def _text(output: Any) -> str | None:
    if isinstance(output, bool):
        return "true" if output else "false"
    return output if isinstance(output, str) else None


def _with_floats(value: Any) -> Any:
    if type(value) is int:
        return float(value)
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    return value
