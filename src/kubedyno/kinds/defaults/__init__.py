"""The defaults that the API server sets on objects it reads, and what it keeps in step between fields of one object.

`apply` comes after `kube.normalizing`. What depends on the user, on other objects or on the clock is not here:
admission and strategies set it. One exception asks for the time: `stamp`.
"""

from kubedyno.kinds.defaults import (
    admissionregistration,
    apiextensions,
    apiregistration,
    apps,
    authentication,
    autoscaling,
    batch,
    core,
    discovery,
    flowcontrol,
    images,
    networking,
    pods,
    rbac,
    resource,
    scheduling,
    storage,
)
from kubedyno.kinds.defaults.walking import Walker
from kubedyno.kube.codec import Object

_WALKER = Walker(
    constants={
        **admissionregistration.CONSTANTS,
        **apiextensions.CONSTANTS,
        **apiregistration.CONSTANTS,
        **authentication.CONSTANTS,
        **autoscaling.CONSTANTS,
        **apps.CONSTANTS,
        **batch.CONSTANTS,
        **core.CONSTANTS,
        **discovery.CONSTANTS,
        **flowcontrol.CONSTANTS,
        **networking.CONSTANTS,
        **pods.CONSTANTS,
        **rbac.CONSTANTS,
        **resource.CONSTANTS,
        **scheduling.CONSTANTS,
        **storage.CONSTANTS,
    },
    functions={
        **apiextensions.FUNCTIONS,
        **apps.FUNCTIONS,
        **autoscaling.FUNCTIONS,
        **batch.FUNCTIONS,
        **core.FUNCTIONS,
        **images.FUNCTIONS,
        **networking.FUNCTIONS,
        **pods.FUNCTIONS,
        **rbac.FUNCTIONS,
        **resource.FUNCTIONS,
    },
)


def apply(obj: Object, api_version: str, kind: str) -> None:
    """Set the defaults of a normalised object in place; kinds that are not Kubernetes' own stay as they are."""
    _WALKER.apply(obj, api_version, kind)


def stamp(obj: Object, api_version: str, kind: str, now: str) -> None:
    """Set the one default that is a time (`2026-01-02T03:04:05Z`): since when devices are tainted."""
    if api_version.startswith("resource.k8s.io/"):
        resource.stamp(obj, kind, now)
