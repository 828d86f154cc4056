"""Rules of the policies of a Job: which failures end it, and which successes do."""

from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import go_json, invalid_printed, invalid_unnamed
from kubedyno.kinds.rules.job_indexes import IndexesUnreadable, counted
from kubedyno.kinds.rules.numbers import not_negative
from kubedyno.kinds.rules.texts import byte_length, label_key
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required, too_long, too_many

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_MOST_RULES: Final = 20
_MOST_EXIT_CODES: Final = 255
_MOST_PATTERNS: Final = 20
_MOST_INDEX_BYTES: Final = 64 * 1024


def _one_of(value: str, path: str, supported: tuple[str, ...]) -> Iterator[Problem]:
    if not value:
        listed = " ".join(map(go_json, supported))
        yield required(path, f"valid values: [{listed}]")
    elif value not in supported:
        yield not_supported(path, value, supported)


def failure_policy_problems(spec: Object, path: str) -> Iterator[Problem]:
    """What is wrong with `podFailurePolicy` of a Job's spec."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {entry.get("name") for field in ("containers", "initContainers") for entry in pod.get(field) or ()}
    for index, rule in enumerate(rules):
        yield from _failure_rule(spec, rule, f"{path}.rules[{index}]", names)


def _failure_rule(spec: Object, rule: Object, path: str, names: set[Any]) -> Iterator[Problem]:
    action = rule.get("action", "")
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    yield from _one_of(action, f"{path}.action", _ACTIONS)
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _exit_codes(codes, f"{path}.onExitCodes", names)
    if len(conditions) > _MOST_PATTERNS:
        yield too_many(f"{path}.onPodConditions", len(conditions), _MOST_PATTERNS)
    for index, pattern in enumerate(conditions):
        here = f"{path}.onPodConditions[{index}]"
        yield from formatted(pattern.get("type", ""), f"{here}.type", label_key)
        yield from _one_of(pattern.get("status", ""), f"{here}.status", _STATUSES)
    if codes is not None and conditions:
        yield invalid_unnamed(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield invalid_unnamed(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(codes: Object, path: str, names: set[Any]) -> Iterator[Problem]:
    operator = codes.get("operator", "")
    yield from _one_of(operator, f"{path}.operator", _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in names:
        said = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, said)
    values = codes.get("values") or []
    if not values:
        yield invalid_printed(f"{path}.values", go_json(codes.get("values")), "at least one value is required")
    elif len(values) > _MOST_EXIT_CODES:
        yield too_many(f"{path}.values", len(values), _MOST_EXIT_CODES)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in values[:index]:
            yield duplicate(f"{path}.values[{index}]", value)
    if sorted(values) != values:
        yield invalid(f"{path}.values", values, "must be ordered")


def success_policy_problems(spec: Object, path: str) -> Iterator[Problem]:
    """What is wrong with `successPolicy` of an indexed Job's spec."""
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        yield required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > _MOST_RULES:
        yield too_many(f"{path}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        yield from _success_rule(rule, f"{path}.rules[{index}]", spec.get("completions") or 0)


def _success_rule(rule: Object, path: str, completions: int) -> Iterator[Problem]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        if byte_length(indexes) > _MOST_INDEX_BYTES:
            yield too_long(f"{path}.succeededIndexes", _MOST_INDEX_BYTES)
        try:
            total = counted(indexes, completions)
        except IndexesUnreadable as error:
            yield invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    yield from not_negative(rule, path, "succeededCount")
    if count > completions:
        said = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(f"{path}.succeededCount", count, said)
    if indexes is not None and count > total:
        said = f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        yield invalid(f"{path}.succeededCount", count, said)
