"""What a Job's pod failure policy says of a failed pod, and whether its success policy is met."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from kubedyno.controllers.jobs import indexes
from kubedyno.kube.codec import Object

Action = Literal["FailJob", "FailIndex", "Ignore", "Count"]


class Ruling(msgspec.Struct, frozen=True):
    """`counts`: the failure is counted. `message` is why the whole Job fails."""

    counts: bool = True
    action: Action | None = None
    message: str | None = None


_NO_RULE = Ruling()


def ruling(policy: Mapping[str, Any] | None, pod: Object) -> Ruling:
    """What the first rule that fits says; without one the failure counts."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        what = _matched(rule, pod)
        if what is None:
            continue
        action: Action = rule["action"]
        message = f"{what} matching {action} rule at index {number}" if action == "FailJob" else None
        return Ruling(counts=action != "Ignore", action=action, message=message)
    return _NO_RULE


def _matched(rule: Mapping[str, Any], pod: Object) -> str | None:
    """What of the pod a rule fits, as the message says it."""
    status = pod.get("status") or {}
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    on_exit_codes = rule.get("onExitCodes")
    if on_exit_codes is not None:
        for field in ("containerStatuses", "initContainerStatuses"):
            for container in status.get(field) or ():
                code = ((container.get("state") or {}).get("terminated") or {}).get("exitCode", 0)
                if code and _fits_exit(on_exit_codes, container["name"], code):
                    return f"Container {container['name']} for pod {name} failed with exit code {code}"
        return None
    for condition in status.get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if condition["type"] == pattern["type"] and condition["status"] == pattern.get("status", "True"):
                return f"Pod {name} has condition {condition['type']}"
    return None


def _fits_exit(requirement: Mapping[str, Any], container: str, code: int) -> bool:
    if requirement.get("containerName") not in {None, container}:
        return False
    listed = code in (requirement.get("values") or ())
    return listed if requirement["operator"] == "In" else not listed


def success_message(policy: Mapping[str, Any] | None, completions: int, succeeded: set[int]) -> str | None:
    """Why the Job has succeeded by its policy; None while it has not."""
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        count = rule.get("succeededCount")
        if rule.get("succeededIndexes") is not None:
            wanted = indexes.parse(rule["succeededIndexes"], completions)
            if not wanted:
                continue
            there = len(wanted & succeeded)
            met = there == len(wanted) or (count is not None and there >= count)
        else:
            met = count is not None and len(succeeded) >= count
        if met:
            return f"Matched rules at index {number}"
    return None
