"""Rules of the group scheduling.k8s.io: PriorityClass, Workload and PodGroup."""

from collections.abc import Iterator, Sequence
from typing import Final

from kubedyno.kinds.rules.conditions import condition_problems
from kubedyno.kinds.rules.fields import formatted, required_formatted
from kubedyno.kinds.rules.internals import immutable, invalid_printed
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.texts import Format, dns1123_label, dns1123_subdomain, label_key, path_segment
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, duplicate, forbidden, invalid, not_supported, required, too_many

_GROUP: Final = "scheduling.k8s.io"
_HIGHEST_USER_PRIORITY: Final = 1_000_000_000
_SYSTEM_PREFIX: Final = "system-"
_SYSTEM_VALUES: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_DISRUPTION_MODES: Final = ("Pod", "PodGroup")
_MOST_TEMPLATES: Final = 8
_MOST_CLAIMS: Final = 4


# --- PriorityClass --------------------------------------------------------------------------------------------


def _priority_class(obj: Object) -> Iterator[Problem]:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith(_SYSTEM_PREFIX):
        if error := _system_error(name, value, global_default=bool(obj.get("globalDefault"))):
            yield forbidden(
                "metadata.name",
                f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. error: {error}",
            )
    elif value > _HIGHEST_USER_PRIORITY:
        said = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        yield forbidden("value", said)
    policy = obj.get("preemptionPolicy")
    if policy == "":
        yield required("preemptionPolicy")
    elif policy is not None and policy not in _PREEMPTION_POLICIES:
        yield not_supported("preemptionPolicy", policy, _PREEMPTION_POLICIES)


def _system_error(name: str, value: int, *, global_default: bool) -> str:
    if name not in _SYSTEM_VALUES:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM_VALUES[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM_VALUES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""


def _priority_class_update(new: Object, old: Object) -> Iterator[Problem]:
    if new.get("value", 0) != old.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    yield from immutable("preemptionPolicy", new.get("preemptionPolicy"), old.get("preemptionPolicy"))


# --- Workload and PodGroup ------------------------------------------------------------------------------------
#
# Fields behind gates that are off by default (schedulingConstraints, disruptionMode, priorityClassName, priority,
# resourceClaims) are dropped by the server before it looks; here they are checked as with the gates on.


def _workload(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    if spec.get("controllerRef") is not None:
        yield from _controller(spec["controllerRef"], "spec.controllerRef")
    yield from _pod_group_templates(spec.get("podGroupTemplates") or ())


def _controller(reference: Object, path: str) -> Iterator[Problem]:
    if reference.get("apiGroup"):
        yield from formatted(reference["apiGroup"], f"{path}.apiGroup", dns1123_subdomain)
    for name in ("kind", "name"):
        yield from required_formatted(reference.get(name), f"{path}.{name}", path_segment)


def _pod_group_templates(templates: Sequence[Object]) -> Iterator[Problem]:
    path = "spec.podGroupTemplates"
    if len(templates) > _MOST_TEMPLATES:
        yield too_many(path, len(templates), _MOST_TEMPLATES)
        return
    if not templates:
        yield required(path)
    yield from _same_names(templates, path)
    for index, template in enumerate(templates):
        yield from required_formatted(template.get("name"), f"{path}[{index}].name", dns1123_label)
        yield from _group(template, f"{path}[{index}]")


def _same_names(items: Sequence[Object], path: str) -> Iterator[Problem]:
    names = [item.get("name", "") for item in items]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield duplicate(f"{path}[{index}]", items[index])


def _group(group: Object, path: str) -> Iterator[Problem]:
    """What PodGroups and their templates share."""
    yield from _scheduling_policy(group.get("schedulingPolicy") or {}, f"{path}.schedulingPolicy")
    topology = (group.get("schedulingConstraints") or {}).get("topology") or ()
    at = f"{path}.schedulingConstraints.topology"
    if len(topology) > 1:
        yield too_many(at, len(topology), 1)
    else:
        for index, constraint in enumerate(topology):
            yield from required_formatted(constraint.get("key"), f"{at}[{index}].key", label_key)
    yield from _resource_claims(group.get("resourceClaims") or (), f"{path}.resourceClaims")
    mode = group.get("disruptionMode")
    if mode is not None and mode not in _DISRUPTION_MODES:
        yield not_supported(f"{path}.disruptionMode", mode, _DISRUPTION_MODES)
    if group.get("priorityClassName"):
        yield from formatted(group["priorityClassName"], f"{path}.priorityClassName", dns1123_subdomain)
    if group.get("priority", 0) > _HIGHEST_USER_PRIORITY:
        said = f"must be less than or equal to {_HIGHEST_USER_PRIORITY}"
        yield invalid(f"{path}.priority", group["priority"], said)


def _one_member(holder: Object, path: str, *members: str) -> Iterator[Problem]:
    """A union: exactly one of its members is given."""
    given = [name for name in members if holder.get(name) is not None]
    listed = ", ".join(f"`{name}`" for name in members)
    if not given:
        yield invalid(path, "", f"must specify one of: {listed}")
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {listed}")


def _scheduling_policy(policy: Object, path: str) -> Iterator[Problem]:
    yield from _one_member(policy, path, "basic", "gang")
    gang = policy.get("gang")
    if gang is None:
        return
    count = gang.get("minCount", 0)
    if not count:
        yield required(f"{path}.gang.minCount")
    elif count < 1:
        yield invalid(f"{path}.gang.minCount", count, "must be greater than or equal to 1")


def _resource_claims(claims: Sequence[Object], path: str) -> Iterator[Problem]:
    if len(claims) > _MOST_CLAIMS:
        yield too_many(path, len(claims), _MOST_CLAIMS)
        return
    yield from _same_names(claims, path)
    for index, claim in enumerate(claims):
        here = f"{path}[{index}]"
        yield from _one_member(claim, here, "resourceClaimName", "resourceClaimTemplateName")
        yield from required_formatted(claim.get("name"), f"{here}.name", dns1123_label)
        for name in ("resourceClaimName", "resourceClaimTemplateName"):
            if claim.get(name) is not None:
                yield from formatted(claim[name], f"{here}.{name}", dns1123_subdomain)


def _workload_update(new: Object, old: Object) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in ("controllerRef", "podGroupTemplates"):
        yield from _fixed(spec, before, name)


def _fixed(spec: Object, before: Object, name: str) -> Iterator[Problem]:
    if spec.get(name) != before.get(name):
        yield invalid_printed(f"spec.{name}", "null", "field is immutable")


def _pod_group(obj: Object) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    reference = spec.get("podGroupTemplateRef")
    if reference is not None:
        path = "spec.podGroupTemplateRef"
        yield from _one_member(reference, path, "workload")
        formats: tuple[tuple[str, Format], ...] = (
            ("workloadName", dns1123_subdomain),
            ("podGroupTemplateName", dns1123_label),
        )
        for name, check in formats if reference.get("workload") is not None else ():
            yield from required_formatted(reference["workload"].get(name), f"{path}.workload.{name}", check)
    yield from _group(spec, "spec")


def _pod_group_update(new: Object, old: Object) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    for name in (
        "podGroupTemplateRef",
        "schedulingPolicy",
        "schedulingConstraints",
        "resourceClaims",
        "disruptionMode",
        "priorityClassName",
        "priority",
    ):
        yield from _fixed(spec, before, name)


def _pod_group_status(new: Object, _old: Object) -> Iterator[Problem]:
    status = new.get("status") or {}
    yield from condition_problems(status.get("conditions"), "status.conditions")
    path, claims = "status.resourceClaimStatuses", status.get("resourceClaimStatuses") or ()
    known = {claim.get("name") for claim in (new.get("spec") or {}).get("resourceClaims") or ()}
    for index, claim in enumerate(claims):
        if claim.get("name") not in known:
            said = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid(f"{path}[{index}].name", claim.get("name", ""), said)
    if len(claims) > _MOST_CLAIMS:
        yield too_many(path, len(claims), _MOST_CLAIMS)
        return
    yield from _same_names(claims, path)
    for index, claim in enumerate(claims):
        if claim.get("resourceClaimName") is not None:
            yield from formatted(claim["resourceClaimName"], f"{path}[{index}].resourceClaimName", dns1123_subdomain)


RULES: Final[dict[tuple[str, str], Rules]] = {
    (_GROUP, "PriorityClass"): Rules(create=_priority_class, update=_priority_class_update),
    (_GROUP, "Workload"): Rules(create=_workload, update=_workload_update),
    (_GROUP, "PodGroup"): Rules(create=_pod_group, update=_pod_group_update, update_status=_pod_group_status),
}
"""By group and kind."""
