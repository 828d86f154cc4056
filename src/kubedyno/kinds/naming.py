"""What discovery tells of each kind beside its URL: other names, categories, verbs, and its subresources' kinds.

The tables hold the exceptions: nearly every built-in kind is called like its kind in small letters and knows all
verbs.
"""

from collections.abc import Iterable, Mapping

import msgspec

from kubedyno.kube.resources import Resource

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""The same verbs in the order in which the server tells them of custom resources."""

TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
"""What custom resources still know while their definition is being deleted."""

_WRITE_PART = ("get", "patch", "update")
_PROXY = ("create", "delete", "get", "patch", "update")

_SHORT_NAMES: Mapping[str, tuple[str, ...]] = {
    "componentstatuses": ("cs",),
    "configmaps": ("cm",),
    "endpoints": ("ep",),
    "events": ("ev",),
    "limitranges": ("limits",),
    "namespaces": ("ns",),
    "nodes": ("no",),
    "persistentvolumeclaims": ("pvc",),
    "persistentvolumes": ("pv",),
    "pods": ("po",),
    "replicationcontrollers": ("rc",),
    "resourcequotas": ("quota",),
    "serviceaccounts": ("sa",),
    "services": ("svc",),
    "daemonsets.apps": ("ds",),
    "deployments.apps": ("deploy",),
    "replicasets.apps": ("rs",),
    "statefulsets.apps": ("sts",),
    "cronjobs.batch": ("cj",),
    "horizontalpodautoscalers.autoscaling": ("hpa",),
    "certificatesigningrequests.certificates.k8s.io": ("csr",),
    "poddisruptionbudgets.policy": ("pdb",),
    "priorityclasses.scheduling.k8s.io": ("pc",),
    "storageclasses.storage.k8s.io": ("sc",),
    "volumeattributesclasses.storage.k8s.io": ("vac",),
    "events.events.k8s.io": ("ev",),
    "customresourcedefinitions.apiextensions.k8s.io": (
        "crd",
        "crds",
    ),
    "ingresses.networking.k8s.io": ("ing",),
    "ipaddresses.networking.k8s.io": ("ip",),
    "networkpolicies.networking.k8s.io": ("netpol",),
}

_IN_ALL = frozenset(
    [
        "pods",
        "replicationcontrollers",
        "services",
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "horizontalpodautoscalers.autoscaling",
    ]
)
_API_EXTENSION_GROUPS = frozenset({"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"})

_VERBS: Mapping[str, tuple[str, ...]] = {
    "bindings": ("create",),
    "componentstatuses": ("get", "list"),
    # Deleting all namespaces at once is not offered.
    "namespaces": tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
}
_REVIEW_GROUPS = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an object with a URL of its own. An empty group and version are those of the resource."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """A resource as discovery describes it."""

    resource: Resource
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    is_custom: bool = False
    """Aggregated discovery spells out the group and version of custom kinds; those of built-in ones stay empty."""


_SCALE = Subresource(name="scale", kind="Scale", verbs=_WRITE_PART, group="autoscaling", version="v1")

# By subresource, or by resource and subresource where kinds differ; what is not here is read and written as the
# kind itself.
_PARTS: Mapping[str, Subresource] = {
    "scale": _SCALE,
    "binding": Subresource(name="binding", kind="Binding", verbs=("create",)),
    "eviction": Subresource(name="eviction", kind="Eviction", verbs=("create",), group="policy", version="v1"),
    "token": Subresource(
        name="token", kind="TokenRequest", verbs=("create",), group="authentication.k8s.io", version="v1"
    ),
    "attach": Subresource(name="attach", kind="PodAttachOptions", verbs=("create", "get")),
    "exec": Subresource(name="exec", kind="PodExecOptions", verbs=("create", "get")),
    "portforward": Subresource(name="portforward", kind="PodPortForwardOptions", verbs=("create", "get")),
    "log": Subresource(name="log", kind="Pod", verbs=("get",)),
    "finalize": Subresource(name="finalize", kind="Namespace", verbs=("update",)),
}


def built_in(resource: Resource) -> Served:
    """A kind of `kube.resources.BUILT_IN` as the real server's discovery describes it."""
    name = resource.full_name
    categories = ("all",) if name in _IN_ALL else ()
    if resource.group in _API_EXTENSION_GROUPS:
        categories = ("api-extensions",)
    return Served(
        resource=resource,
        singular=resource.kind.lower(),
        short_names=_SHORT_NAMES.get(name, ()),
        categories=categories,
        verbs=("create",) if resource.group in _REVIEW_GROUPS else _VERBS.get(name, ALL_VERBS),
        subresources=tuple(_part(resource, part) for part in sorted(resource.subresources)),
    )


def custom(
    resource: Resource,
    *,
    singular: str,
    short_names: Iterable[str] = (),
    categories: Iterable[str] = (),
    is_terminating: bool = False,
) -> Served:
    """A custom kind; `resource.subresources` tells which of `status` and `scale` it has."""
    status = Subresource(name="status", kind=resource.kind, verbs=_WRITE_PART)
    return Served(
        resource=resource,
        singular=singular,
        short_names=tuple(short_names),
        categories=tuple(categories),
        verbs=TERMINATING_VERBS if is_terminating else CUSTOM_VERBS,
        subresources=tuple(part for part in (status, _SCALE) if part.name in resource.subresources),
        is_custom=True,
    )


def _part(resource: Resource, name: str) -> Subresource:
    if name == "proxy":
        return Subresource(name=name, kind=f"{resource.kind}ProxyOptions", verbs=_PROXY)
    return _PARTS.get(name) or Subresource(name=name, kind=resource.kind, verbs=_WRITE_PART)
