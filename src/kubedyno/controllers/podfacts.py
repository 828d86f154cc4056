"""What controllers ask of a pod: active, terminating, ready, since when, who controls it."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubedyno.controllers.stamps import ns_of
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

FINISHED = frozenset({"Succeeded", "Failed"})

JOB_UID = "batch.kubernetes.io/controller-uid"

_PHASE_RANK = {"Pending": 0, "Unknown": 1, "Running": 2}


def phase(pod: Mapping[str, Any]) -> str:
    """`status.phase`, empty when it is not set."""
    text: str = (pod.get("status") or {}).get("phase") or ""
    return text


def uid(obj: Mapping[str, Any]) -> str:
    """`metadata.uid`."""
    text: str = obj["metadata"].get("uid", "")
    return text


def name(obj: Mapping[str, Any]) -> str:
    """`metadata.name`."""
    text: str = obj["metadata"]["name"]
    return text


def is_deleting(obj: Mapping[str, Any]) -> bool:
    """Whether somebody has asked for its deletion."""
    return obj["metadata"].get("deletionTimestamp") is not None


def is_finished(pod: Mapping[str, Any]) -> bool:
    """Whether no container of it will run again."""
    return phase(pod) in FINISHED


def is_active(pod: Mapping[str, Any]) -> bool:
    """Whether it runs or may still run, and nobody wants it gone."""
    return not is_finished(pod) and not is_deleting(pod)


def is_terminating(pod: Mapping[str, Any]) -> bool:
    """Whether it is asked to go and has not finished yet."""
    return not is_finished(pod) and is_deleting(pod)


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether its Ready condition is true."""
    return meta.is_condition_true(pod, "Ready")


def ready_since_ns(pod: Mapping[str, Any]) -> int:
    """When it became ready; 0 while it is not, or nobody wrote it down."""
    entry = meta.condition(pod, "Ready")
    if entry is None or entry.get("status") != "True":
        return 0
    return ns_of(entry.get("lastTransitionTime")) or 0


def has_finalizer(obj: Mapping[str, Any], finalizer: str) -> bool:
    """Whether `finalizer` keeps the object."""
    return finalizer in (obj["metadata"].get("finalizers") or ())


def controller_of(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """The owner reference with `controller: true`."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: dict[str, Any] = reference
            return found
    return None


def controller_uid(obj: Mapping[str, Any]) -> Iterable[str]:
    """The uid of the controller, as an index has it: none or one."""
    reference = controller_of(obj)
    return (reference["uid"],) if reference is not None else ()


def orphanages(obj: Mapping[str, Any]) -> Iterable[str]:
    """Where an object that nobody controls is looked for: its namespace, and the uid of the Job in its labels."""
    if controller_of(obj) is not None:
        return ()
    where = obj["metadata"].get("namespace") or ""
    of_job = meta.labels(obj).get(JOB_UID)
    return (where, of_job) if of_job else (where,)


def namespace(obj: Mapping[str, Any]) -> Iterable[str]:
    """The namespace of an object, as an index has it."""
    return (obj["metadata"].get("namespace") or "",)


def volume_claims(pod: Mapping[str, Any]) -> list[str]:
    """`namespace/name` of the volume claims that a pod mounts, as an index has it."""
    where = pod["metadata"].get("namespace")
    found = []
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(f"{where}/{volume['persistentVolumeClaim']['claimName']}")
        elif "ephemeral" in volume:
            found.append(f"{where}/{pod['metadata']['name']}-{volume['name']}")
    return found


def node_name(pod: Mapping[str, Any]) -> Iterable[str]:
    """The node of a bound pod, as an index has it."""
    bound = (pod.get("spec") or {}).get("nodeName")
    return (bound,) if bound else ()


def most_restarts(pod: Mapping[str, Any]) -> int:
    """The largest restart count of its containers."""
    return max(
        (entry.get("restartCount", 0) for entry in (pod.get("status") or {}).get("containerStatuses") or ()), default=0
    )


def removal_order(pod: Object) -> tuple[Any, ...]:
    """Sort key: the pods that are missed least come first.

    Not bound, then not running, not ready, ready for the shortest time, restarted most, youngest.
    """
    since = ready_since_ns(pod)
    return (
        bool((pod.get("spec") or {}).get("nodeName")),
        _PHASE_RANK.get(phase(pod), 0),
        is_ready(pod),
        -since if since else float("-inf"),
        -most_restarts(pod),
        -(ns_of(pod["metadata"].get("creationTimestamp")) or 0),
        name(pod),
    )
