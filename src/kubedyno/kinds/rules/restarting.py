"""Rules of when containers are started again: after they end, and when they are resized."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, invalid, not_supported, required, too_many

_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_RULES_LIMIT: Final = 20
_CODES_LIMIT: Final = 255
_RESIZED: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")


def restart_problems(container: Object, path: str) -> Iterator[Problem]:
    """The restart policy of a container and its rules by exit code."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        yield required(f"{path}.restartPolicy", "must specify restartPolicy when restart rules are used")
        # Init containers are not looked at any further then.
        if ".initContainers[" in path:
            return
    elif policy not in _POLICIES:
        yield not_supported(f"{path}.restartPolicy", policy, _POLICIES)
    if len(rules) > _RULES_LIMIT:
        yield too_many(f"{path}.restartPolicyRules", len(rules), _RULES_LIMIT)
    for index, rule in enumerate(rules):
        yield from _rule_problems(rule, f"{path}.restartPolicyRules[{index}]")


def _rule_problems(rule: Object, path: str) -> Iterator[Problem]:
    if rule.get("action", "") not in _ACTIONS:
        yield not_supported(f"{path}.action", rule.get("action", ""), _ACTIONS)
    codes = rule.get("exitCodes")
    if codes is None:
        yield required(f"{path}.exitCodes", "must be specified")
        return
    if codes.get("operator", "") not in _OPERATORS:
        yield not_supported(f"{path}.exitCodes.operator", codes.get("operator", ""), _OPERATORS)
    if len(codes.get("values") or ()) > _CODES_LIMIT:
        yield too_many(f"{path}.exitCodes.values", len(codes["values"]), _CODES_LIMIT)


def resize_policy_problems(container: Object, pod_policy: str, path: str) -> Iterator[Problem]:
    """What a container needs when its resources change; `pod_policy` is the restart policy of the pod."""
    seen: set[str] = set()
    for index, entry in enumerate(container.get("resizePolicy") or ()):
        name, policy = entry.get("resourceName", ""), entry.get("restartPolicy", "")
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)
        for value, known in ((name, _RESIZED), (policy, _RESIZE_POLICIES)):
            if not value:
                yield required(path)
            elif value not in known:
                yield not_supported(path, value, known)
        if pod_policy == "Never" and policy != "NotRequired":
            yield invalid(path, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def may_start_again(container: Object, pod_policy: str, exit_code: int) -> bool:
    """Whether the kubelet starts the container again after it ended so."""
    policy = container.get("restartPolicy")
    if policy is not None:
        rules = container.get("restartPolicyRules") or ()
        rule: Object = next((rule for rule in rules if _applies(rule, exit_code)), {})
        if rule.get("action") in _ACTIONS:
            return True
    decided = policy if policy in _POLICIES else pod_policy
    return exit_code != 0 if decided == "OnFailure" else decided != "Never"


def _applies(rule: Object, exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    listed = exit_code in (codes.get("values") or ())
    return listed if codes.get("operator") == "In" else codes.get("operator") == "NotIn" and not listed


def may_restart_all(spec: Object) -> bool:
    """Whether some rule of the pod starts all its containers again."""
    return any(
        rule.get("action") == "RestartAllContainers"
        for part in ("initContainers", "containers")
        for container in spec.get(part) or ()
        for rule in container.get("restartPolicyRules") or ()
    )
