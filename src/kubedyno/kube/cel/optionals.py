"""Optional values."""

from typing import Any, Final

from kubedyno.kube.cel.errors import EvaluationError
from kubedyno.kube.cel.library import Library, of, on
from kubedyno.kube.cel.values import NONE, Duration, Maybe, Timestamp, is_list, is_map, some


def _value(optional: Maybe) -> Any:
    if optional.has:
        return optional.value
    raise EvaluationError("optional.none() dereference")


def _is_zero(value: Any) -> bool:
    if is_list(value) or is_map(value) or type(value) in {str, bytes}:
        return len(value) == 0
    if type(value) is Maybe:
        return not value.has
    if type(value) in {Duration, Timestamp}:
        return bool(value.nanos == 0)
    return value is None or (isinstance(value, (int, float)) and value == 0)


FUNCTIONS: Final[Library] = {
    "optional.of": (of("any", some),),
    "optional.none": (of("", lambda: NONE),),
    "optional.ofNonZeroValue": (of("any", lambda value: NONE if _is_zero(value) else some(value)),),
    "hasValue": (on("optional", lambda optional: optional.has),),
    "value": (on("optional", _value),),
}
