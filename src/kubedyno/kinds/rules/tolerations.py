"""Rules of taints and of what tolerates them."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubedyno.kinds.rules import texts
from kubedyno.kinds.rules.fields import formatted
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_supported, required

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
# Kubernetes knows these two, but takes them only where an alpha feature is on.
_COMPARING: Final = ("Lt", "Gt")


def toleration_problems(tolerations: Sequence[Object], path: str) -> Iterator[Problem]:
    """The tolerations of a pod."""
    for index, toleration in enumerate(tolerations):
        at = f"{path}[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect = toleration.get("effect", "")
        if key:
            yield from formatted(key, f"{at}.key", texts.label_key)
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{at}.operator", operator, detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        yield from _operator_problems(operator, toleration.get("value", ""), f"{at}.operator")
        if effect:
            yield from _effect_problems(effect, f"{at}.effect")


def _operator_problems(operator: str, value: str, path: str) -> Iterator[Problem]:
    if operator in {"", "Equal"}:
        if wrong := texts.label_value(value):
            yield invalid(path, value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            yield invalid(path, value, "value must be empty when `operator` is 'Exists'")
    else:
        known = (*_OPERATORS, *_COMPARING) if operator in _COMPARING else _OPERATORS
        yield not_supported(path, operator, known)


def _effect_problems(effect: str, path: str) -> Iterator[Problem]:
    if effect not in _EFFECTS:
        yield not_supported(path, effect, _EFFECTS)


def only_added_problems(new: Sequence[Object], old: Sequence[Object], path: str) -> Iterator[Problem]:
    """Tolerations of a pod that is there already: more may come, none may go or change but in its seconds."""
    kept = [_without_seconds(toleration) for toleration in new]
    if any(_without_seconds(toleration) not in kept for toleration in old):
        yield forbidden(path, "existing toleration can not be modified except its tolerationSeconds")
        return
    yield from toleration_problems(new, path)


def _without_seconds(toleration: Object) -> Object:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def taint_problems(taints: Sequence[Object], path: str) -> Iterator[Problem]:
    """The taints of a node."""
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        yield from formatted(key, f"{at}.key", texts.label_key)
        if wrong := texts.label_value(value):
            yield invalid(f"{at}.value", value, ";".join(wrong))
        if not effect:
            yield required(f"{at}.effect")
        else:
            yield from _effect_problems(effect, f"{at}.effect")
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            problem = duplicate(at, shown)
            message = f"{problem.message}: taints must be unique by key and effect pair"
            yield msgspec.structs.replace(problem, message=message)
        seen.add((key, effect))
