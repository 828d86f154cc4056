"""The admission plugins that are on by default, in the server's order; not webhooks and policies, which ask others.

`admit_*` come before the strategies and may change the object: its own mapping and that of its metadata in place;
deeper values are replaced, never changed. `validate_*` come after the rules and change nothing.
"""

import random

from kubedyno.kinds.admission import (
    accounts,
    groups,
    lifecycle,
    limits,
    nodes,
    priorities,
    quotas,
    resizing,
    runtimes,
    storage,
    tolerations,
)
from kubedyno.kinds.admission.attributes import Asked, Denied, Lookup, asked
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource, by_kind

__all__ = [
    "Denied",
    "Lookup",
    "admit_create",
    "admit_delete",
    "admit_subresource_create",
    "admit_update",
    "validate_create",
    "validate_update",
]

_PODS = ("", "pods")
_CLAIMS = ("", "persistentvolumeclaims")
_GROUPS = ("scheduling.k8s.io", "podgroups")
_INGRESSES = ("networking.k8s.io", "ingresses")
_INGRESS_CLASSES = by_kind("networking.k8s.io/v1", "IngressClass")
_DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"
_OLD_INGRESS_CLASS = "kubernetes.io/ingress.class"


def admit_create(obj: Object, resource: Resource, lookup: Lookup, rng: random.Random, *, namespace: str) -> None:
    """Complete a new object, or raise `Denied`; its name need not be generated yet (errors then tell the prefix).

    `namespace` is that of the request, empty for cluster-wide kinds; `rng` draws the suffix of the token's volume.
    """
    request = asked(obj, resource, lookup, namespace=namespace)
    lifecycle.check_namespace(request, creating=True)
    if request.key == _PODS:
        _admit_pod(obj, request, rng)
    elif request.key == ("", "nodes"):
        nodes.taint_new_node(obj)
    elif request.key == _GROUPS:
        priorities.admit_group_priority(obj, request)
    elif request.key == _CLAIMS:
        storage.default_storage_class(obj, request)
    elif request.key == _INGRESSES:
        _default_ingress_class(obj, request)
    if request.key in storage.PROTECTED:
        storage.protect(obj, resource)


def _admit_pod(pod: Object, request: Asked, rng: random.Random) -> None:
    limits.admit_limits(pod, request)
    accounts.admit_account(pod, request, rng)
    priorities.admit_pod_priority(pod, request)
    tolerations.admit_tolerations(pod)
    runtimes.admit_runtime(pod, request)
    if pod["spec"].get("nodeName"):
        nodes.label_with_topology(pod, pod["spec"]["nodeName"], request)


def _default_ingress_class(ingress: Object, request: Asked) -> None:
    spec = ingress.get("spec") or {}
    if "ingressClassName" in spec or _OLD_INGRESS_CLASS in (ingress["metadata"].get("annotations") or {}):
        return
    name = storage.default_class_name(request.lookup.list(_INGRESS_CLASSES, ""), (_DEFAULT_INGRESS,))
    if name is not None:
        ingress["spec"] = {**spec, "ingressClassName": name}


def validate_create(obj: Object, resource: Resource, lookup: Lookup) -> list[Object]:
    """Look at the finished object, or raise `Denied`.

    What comes back are the ResourceQuotas that it is charged to, with their new status: to be stored with it.
    """
    request = asked(obj, resource, lookup)
    if request.key == _PODS:
        limits.check_pod_limits(obj, request)
        runtimes.check_overhead(obj, request)
    elif request.key == _CLAIMS:
        limits.check_claim_limits(obj, request)
    elif request.key == _GROUPS:
        groups.check_workload(obj, request)
    elif request.key == ("scheduling.k8s.io", "priorityclasses"):
        priorities.check_default_class(obj, request, creating=True)
    return quotas.charge(obj, None, request)


def admit_update(new: Object, old: Object, resource: Resource, lookup: Lookup, *, subresource: str = "") -> None:
    """Complete an object that is to be updated, or raise `Denied`."""
    request = asked(old, resource, lookup, subresource=subresource)
    lifecycle.check_namespace(request, creating=False)
    if request.key == _PODS and not subresource:
        priorities.keep_pod_priority(new, old)
        tolerations.admit_tolerations(new)


def validate_update(
    new: Object, old: Object, resource: Resource, lookup: Lookup, *, subresource: str = ""
) -> list[Object]:
    """Look at the finished object of an update, or raise `Denied`; the quotas that it is charged to come back."""
    request = asked(old, resource, lookup, subresource=subresource)
    if request.key == _PODS:
        if subresource == "resize":
            if not old["metadata"].get("deletionTimestamp"):
                limits.check_pod_limits(new, request)
            resizing.check_resize(new, old, request)
    elif request.key == _CLAIMS and not subresource:
        if not old["metadata"].get("deletionTimestamp"):
            limits.check_claim_limits(new, request)
        storage.check_growth(new, old, request)
    elif request.key == ("scheduling.k8s.io", "priorityclasses"):
        priorities.check_default_class(new, request, creating=False)
    return quotas.charge(new, old, request)


def admit_subresource_create(
    obj: Object, resource: Resource, subresource: str, lookup: Lookup, *, namespace: str, name: str
) -> None:
    """Complete what is posted to a subresource (`binding`, `eviction`, `token`) of an object, or raise `Denied`."""
    request = Asked(resource, namespace, name, lookup, subresource)
    lifecycle.check_namespace(request, creating=True)
    target = obj.get("target") or {}
    if request.key == _PODS and subresource == "binding" and target.get("kind") == "Node":
        nodes.label_with_topology(obj, target.get("name", ""), request)


def admit_delete(resource: Resource, name: str) -> None:
    """Refuse to delete what must stay: raise `Denied`."""
    lifecycle.check_deletion(resource, name)
