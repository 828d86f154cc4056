"""Rules of the group rbac.authorization.k8s.io: roles and their bindings."""

from collections.abc import Callable, Iterator
from typing import Final

from kubedyno.kinds.rules.fields import formatted
from kubedyno.kinds.rules.internals import internal, invalid_printed
from kubedyno.kinds.rules.rules import Comparison, Rules
from kubedyno.kinds.rules.selectors import compiled, has_impossible_value, selector_problems
from kubedyno.kinds.rules.texts import dns1123_subdomain, path_segment
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, invalid, not_supported, required

_GROUP: Final = "rbac.authorization.k8s.io"


def _role(obj: Object) -> Iterator[Problem]:
    return _policy_rules(obj, namespaced=True)


def _role_update(new: Object, _old: Object) -> Iterator[Problem]:
    return _role(new)


def _cluster_role(obj: Object) -> Iterator[Problem]:
    return _whole_cluster_role(obj, any_value=False)


def _cluster_role_update(new: Object, old: Object) -> Iterator[Problem]:
    selectors = (old.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    return _whole_cluster_role(new, any_value=any(map(has_impossible_value, selectors)))


def _whole_cluster_role(obj: Object, *, any_value: bool) -> Iterator[Problem]:
    yield from _policy_rules(obj, namespaced=False)
    aggregation = obj.get("aggregationRule")
    if aggregation is None:
        return
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        yield required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(selectors):
        yield from selector_problems(selector, f"{path}[{index}]", any_value=any_value)
        if compiled(selector) is None:
            # What the server prints here is the selector that it could not make.
            yield invalid_printed(f"{path}[{index}]", "null", "invalid label selector.")


def _policy_rules(obj: Object, *, namespaced: bool) -> Iterator[Problem]:
    for index, rule in enumerate(obj.get("rules") or ()):
        yield from _policy_rule(rule, f"rules[{index}]", namespaced=namespaced)


def _policy_rule(rule: Object, path: str, *, namespaced: bool) -> Iterator[Problem]:
    if not rule.get("verbs"):
        yield required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            yield invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            said = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid(f"{path}.nonResourceURLs", urls, said)
        return
    if not rule.get("apiGroups"):
        yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield required(f"{path}.resources", "resource rules must supply at least one resource")


def _binding(obj: Object) -> Iterator[Problem]:
    return _any_binding(obj, ["Role", "ClusterRole"], namespaced=True)


def _cluster_binding(obj: Object) -> Iterator[Problem]:
    return _any_binding(obj, ["ClusterRole"], namespaced=False)


def _any_binding(obj: Object, kinds: list[str], *, namespaced: bool) -> Iterator[Problem]:
    role = obj.get("roleRef") or {}
    if role.get("apiGroup", "") != _GROUP:
        yield not_supported("roleRef.apiGroup", role.get("apiGroup", ""), [_GROUP])
    if role.get("kind", "") not in kinds:
        yield not_supported("roleRef.kind", role.get("kind", ""), kinds)
    if role.get("name"):
        yield from formatted(role["name"], "roleRef.name", path_segment)
    else:
        yield required("roleRef.name")
    for index, subject in enumerate(obj.get("subjects") or ()):
        yield from _subject(subject, f"subjects[{index}]", namespaced=namespaced)


def _subject(subject: Object, path: str, *, namespaced: bool) -> Iterator[Problem]:
    name, group, kind = subject.get("name", ""), subject.get("apiGroup", ""), subject.get("kind", "")
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from formatted(name, f"{path}.name", dns1123_subdomain)
        if group:
            yield not_supported(f"{path}.apiGroup", group, [""])
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind not in {"User", "Group"}:
        yield not_supported(f"{path}.kind", kind, ["ServiceAccount", "User", "Group"])
    elif group != _GROUP:
        yield not_supported(f"{path}.apiGroup", group, [_GROUP])


def _with_fixed_role(check: Callable[[Object], Iterator[Problem]]) -> Comparison:
    """The rules of an update: those of a new binding, and the role stays the same."""

    def update(new: Object, old: Object) -> Iterator[Problem]:
        yield from check(new)
        if new.get("roleRef") != old.get("roleRef"):
            printed = internal("rbac.RoleRef", new.get("roleRef") or {})
            yield invalid_printed("roleRef", printed, "cannot change roleRef")

    return update


RULES: Final[dict[tuple[str, str], Rules]] = {
    (_GROUP, "Role"): Rules(create=_role, update=_role_update),
    (_GROUP, "ClusterRole"): Rules(create=_cluster_role, update=_cluster_role_update),
    (_GROUP, "RoleBinding"): Rules(create=_binding, update=_with_fixed_role(_binding)),
    (_GROUP, "ClusterRoleBinding"): Rules(create=_cluster_binding, update=_with_fixed_role(_cluster_binding)),
}
"""By group and kind."""
