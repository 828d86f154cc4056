"""NamespaceLifecycle: nothing comes into a namespace that is not there or on its way out, and three stay forever."""

from kubedyno.kinds.admission.attributes import Asked, Denied, forbidden
from kubedyno.kube.resources import NAMESPACES, PRIORITY_CLASSES, Resource
from kubedyno.kube.status import Cause, failure

_IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_SYSTEM_CLASSES = frozenset({"system-node-critical", "system-cluster-critical"})
_EXEMPT = ("authorization.k8s.io", "localsubjectaccessreviews")


def check_namespace(request: Asked, *, creating: bool) -> None:
    """Refuse what is written into a missing namespace, and what is created in a terminating one."""
    if not request.namespace or request.key == _EXEMPT:
        return
    namespace = request.lookup.get(NAMESPACES, "", request.namespace)
    if namespace is None:
        name = request.namespace
        raise Denied(failure(404, f'namespaces "{name}" not found', name=name, resource="namespaces"))
    if creating and (namespace.get("status") or {}).get("phase") == "Terminating":
        name = request.namespace
        cause = Cause("NamespaceTerminating", f"namespace {name} is being terminated", "metadata.namespace")
        why = f"unable to create new content in namespace {name} because it is being terminated"
        raise forbidden(request, why, causes=(cause,))


def check_deletion(resource: Resource, name: str) -> None:
    """Refuse to delete the namespaces and priority classes that a cluster cannot be without."""
    if resource == PRIORITY_CLASSES and name in _SYSTEM_CLASSES:
        why = "this is a system priority class and cannot be deleted"
        told = f'{resource.full_name} "{name}" is forbidden: {why}'
        raise Denied(failure(403, told, name=name, group=resource.group, resource=resource.plural))
    if (resource.group, resource.plural) == ("", "namespaces") and name in _IMMORTAL:
        told = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
        raise Denied(failure(403, told, name=name, resource="namespaces"))
