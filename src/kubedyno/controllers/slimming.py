"""Leaving out what no controller reads: with many thousands of pods, memory is what they cost.

An informer's objects are decoded for it alone, so they may be cut down as they come in. Pods are never written back
as a whole; of everything else only the field managers go, which a server keeps when an update does not tell them.
"""

from kubedyno.client.informer import Change
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, Resource

_POD_SPEC = frozenset(
    {
        "activeDeadlineSeconds",
        "containers",
        "initContainers",
        "nodeName",
        "overhead",
        "priorityClassName",
        "resourceClaims",
        "resources",
        "terminationGracePeriodSeconds",
        "tolerations",
        "volumes",
    }
)
_CONTAINER = frozenset({"name", "resources", "restartPolicy"})
_OF_CLAIMS = frozenset({"persistentVolumeClaim", "ephemeral"})


def slim(resource: Resource, obj: Object) -> None:
    """Cut an object of the resource down, in place."""
    obj["metadata"].pop("managedFields", None)
    spec = obj.get("spec")
    if resource != PODS or not spec:
        return
    for field in [field for field in spec if field not in _POD_SPEC]:
        del spec[field]
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            for field in [field for field in container if field not in _CONTAINER]:
                del container[field]
    if "volumes" in spec:
        spec["volumes"] = [volume for volume in spec["volumes"] if not _OF_CLAIMS.isdisjoint(volume)]


def slimmed(resource: Resource, change: Change) -> None:
    """The first subscriber of an informer: all later ones see slim objects."""
    if change.new is not None:
        slim(resource, change.new)
