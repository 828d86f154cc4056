"""Namespaces with their finalizer and label, service accounts whose secrets are names only."""

from kubedyno.kinds.strategies.keeping import keep
from kubedyno.kinds.strategies.strategy import Occasion, Strategy
from kubedyno.kube.codec import Object

_FINALIZER = "kubernetes"
_NAME_LABEL = "kubernetes.io/metadata.name"


def _create_namespace(namespace: Object, _occasion: Occasion) -> None:
    namespace["status"] = {"phase": "Active"}
    spec = namespace.get("spec") or {}
    finalizers = spec.get("finalizers") or []
    if _FINALIZER not in finalizers:
        namespace["spec"] = {**spec, "finalizers": [*finalizers, _FINALIZER]}
    label_namespace(namespace)


def label_namespace(namespace: Object) -> None:
    """Have the label by which others select a namespace by its name."""
    metadata = namespace["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), _NAME_LABEL: metadata.get("name", "")}


def _update_namespace(new: Object, old: Object, _occasion: Occasion) -> None:
    spec = dict(new.get("spec") or {})
    keep(spec, old.get("spec") or {}, "finalizers")
    new["spec"] = spec
    label_namespace(new)


def _update_namespace_status(new: Object, _old: Object, _occasion: Occasion) -> None:
    label_namespace(new)


NAMESPACES = Strategy(
    starts_at_1=False,
    bumped_by=(),
    on_create=_create_namespace,
    on_update=_update_namespace,
    on_status=_update_namespace_status,
)


def finalize_namespace(new: Object, old: Object) -> None:
    """Of a PUT to `finalize`, let the finalizers in the spec be changed."""
    keep(new, old, "status")
    label_namespace(new)


def _create_account(account: Object, _occasion: Occasion) -> None:
    if "secrets" in account:
        account["secrets"] = [{"name": secret["name"]} if "name" in secret else {} for secret in account["secrets"]]


def _update_account(new: Object, _old: Object, occasion: Occasion) -> None:
    _create_account(new, occasion)


ACCOUNTS = Strategy(
    starts_at_1=False, bumped_by=(), has_status=False, on_create=_create_account, on_update=_update_account
)


def _create_node(node: Object, _occasion: Occasion) -> None:
    """Kubelets register with a status; only what a removed feature left behind goes."""
    for part, field in (("spec", "configSource"), ("status", "config")):
        if field in (node.get(part) or {}):
            node[part] = {name: value for name, value in node[part].items() if name != field}


NODES = Strategy(starts_at_1=False, bumped_by=(), on_create=_create_node)
