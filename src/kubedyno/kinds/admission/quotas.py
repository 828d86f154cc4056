"""ResourceQuota: what is created is charged to the quotas of its namespace, or refused.

The status of a quota holds what is used. Creating only ever adds to it; the quota controller takes away again.
"""

from collections.abc import Iterable, Iterator

from kubedyno.kinds.admission import totals, usage
from kubedyno.kinds.admission.attributes import Asked, forbidden
from kubedyno.kinds.admission.totals import Amounts
from kubedyno.kinds.strategies.qos import qos_class
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import PODS, RESOURCE_QUOTAS, Resource
from kubedyno.kube.selectors import LabelSelector

_IGNORED = frozenset({("", "bindings"), ("", "events"), ("events.k8s.io", "events")})
_IGNORED_GROUPS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
_REQUIRED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})


def charge(new: Object, old: Object | None, request: Asked) -> list[Object]:
    """The quotas whose `status.used` grows with this request, as new objects to be stored with it; or `Denied`.

    `old` is the state before an update.
    """
    if not request.namespace or request.key in _IGNORED or request.resource.group in _IGNORED_GROUPS:
        return []
    if not _handles(new, old, request):
        return []
    quotas = [
        (quota, names)
        for quota in request.lookup.list(RESOURCE_QUOTAS, request.namespace)
        if (names := _names(quota, request)) and in_scopes(quota, new, request.resource)
    ]
    if not quotas:
        return []
    for quota, names in quotas:
        _check_constraints(quota, names, new, request)
        _check_known(quota, names, request)
    used = usage.usage(new, request.resource)
    grown = used if old is None else _difference(used, usage.usage(old, request.resource))
    charged = []
    for quota, _ in quotas:
        # What only now came into the scope of a quota is charged to it as a whole.
        delta = grown if old is None or in_scopes(quota, old, request.resource) else used
        after = _charged(quota, delta, request)
        if after is not None:
            charged.append(after)
    return charged


def _handles(new: Object, old: Object | None, request: Asked) -> bool:
    if old is None:
        return request.subresource == ""
    if request.key == ("", "pods"):
        if request.subresource == "resize":
            return True
        return request.subresource == "" and _is_terminating(new) != _is_terminating(old)
    if request.key == ("", "persistentvolumeclaims") and request.subresource == "status":
        return bool(_allocated(new) != _allocated(old))
    measured = {("", "services"), ("", "persistentvolumeclaims"), ("resource.k8s.io", "resourceclaims")}
    return request.subresource == "" and request.key in measured


def _allocated(claim: Object) -> Amounts:
    return totals.parsed((claim.get("status") or {}).get("allocatedResources"))


def _names(quota: Object, request: Asked) -> list[str]:
    """The resources in the quota that objects of this kind use."""
    return usage.concerned((quota.get("status") or {}).get("hard") or {}, request.resource)


def _charged(quota: Object, delta: Amounts, request: Asked) -> Object | None:
    """The quota with more in use; None when nothing is added."""
    status = quota["status"]
    hard, used = totals.parsed(status["hard"]), totals.parsed(status.get("used"))
    asked_for = {name: amount for name, amount in delta.items() if name in hard and not amount.is_zero()}
    if not asked_for:
        return None
    total = {name: used[name] + amount if name in used else amount for name, amount in asked_for.items()}
    exceeded = [name for name in sorted(asked_for) if total[name] > hard[name]]
    if exceeded and request.subresource != "status":
        told = ", ".join(
            f"{what}: {','.join(f'{name}={amounts[name]}' for name in exceeded if name in amounts)}"
            for what, amounts in (("requested", asked_for), ("used", used), ("limited", hard))
        )
        raise forbidden(request, f"exceeded quota: {quota['metadata']['name']}, {told}")
    written = {**status.get("used", {}), **{name: str(amount) for name, amount in total.items()}}
    return {**quota, "status": {**status, "used": written}}


def _difference(after: Amounts, before: Amounts) -> Amounts:
    zero = Quantity.parse(0)
    return {
        name: amount - before[name] if name in before else amount
        for name, amount in after.items()
        if amount > before.get(name, zero)
    }


def _check_constraints(quota: Object, names: Iterable[str], obj: Object, request: Asked) -> None:
    """Where a quota counts processor or memory, every container must say what it takes."""
    if request.key != ("", "pods"):
        return
    spec = obj["spec"]
    of_pod = spec.get("resources") or {}
    if any(totals.is_pod_level(name) for kind in ("requests", "limits") for name in of_pod.get(kind) or ()):
        return
    missing: dict[str, set[str]] = {}
    required = _REQUIRED.intersection(names)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        requests, limits = totals.parsed(resources.get("requests")), totals.parsed(resources.get("limits"))
        for name in required.difference(usage.named_for_quota(requests, limits)):
            missing.setdefault(name, set()).add(container["name"])
    if missing:
        told = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        raise forbidden(request, f"failed quota: {quota['metadata']['name']}: must specify {told}")


def _check_known(quota: Object, names: list[str], request: Asked) -> None:
    """Refuse what a quota cannot be charged for, because its controller has not counted yet."""
    used = quota["status"].get("used") or {}
    if any(name not in used for name in names):
        told = ",".join(sorted(names))
        raise forbidden(request, f"status unknown for quota: {quota['metadata']['name']}, resources: {told}")


def in_scopes(quota: Object, obj: Object, resource: Resource) -> bool:
    """Whether an object is one of those that a quota is about."""
    spec = quota.get("spec") or {}
    selectors: list[Object] = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not selectors:
        return True
    return resource == PODS and all(_matches_scope(obj, selector) for selector in selectors)


def _matches_scope(pod: Object, selector: Object) -> bool:
    scope: str = selector["scopeName"]
    if scope in ("Terminating", "NotTerminating"):
        return _is_terminating(pod) == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        known = (pod.get("status") or {}).get("qosClass") or qos_class(pod)
        return (known == "BestEffort") is (scope == "BestEffort")
    if scope == "PriorityClass":
        return _matches_class(pod["spec"].get("priorityClassName"), selector)
    return scope == "CrossNamespacePodAffinity" and any(
        term.get("namespaces") or "namespaceSelector" in term for term in _affinity_terms(pod["spec"])
    )


def _matches_class(name: str | None, selector: Object) -> bool:
    if selector["operator"] == "Exists":
        return bool(name)
    expression = {"key": "PriorityClass", "operator": selector["operator"], "values": selector.get("values") or []}
    return LabelSelector.from_object({"matchExpressions": [expression]}).matches(
        {"PriorityClass": name} if name else {}
    )


def _affinity_terms(spec: Object) -> Iterator[Object]:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = (spec.get("affinity") or {}).get(side) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for term in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield term["podAffinityTerm"]


def _is_terminating(pod: Object) -> bool:
    return bool(pod["spec"].get("activeDeadlineSeconds", -1) >= 0)
