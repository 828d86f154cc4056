"""Run:ai's workloads as data: their fields, what is made of them, and how they stand.

A field is an object with a `value`, or with `items` that have one each. A training or an interactive workload becomes a
Job, a distributed one a PyTorchJob whose master differs from the workers in what `masterSpec` says.
"""

import shlex
from collections.abc import Mapping
from typing import Any, Final

from kubedyno.controllers.podcontrol import controller_reference
from kubedyno.controllers.podfacts import is_deleting
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DISTRIBUTED_WORKLOADS, INTERACTIVE_WORKLOADS, JOBS, PYTORCH_JOBS
from kubedyno.model.keys import FRACTION_ANNOTATION, QUEUE_LABEL

WORKLOAD_KIND: Final = "workloadKind"
WORKLOAD_NAME: Final = "workloadName"
"""Labels of what is made for a workload."""

PRIORITIES: Final = {"train": 50, "build": 100}
"""Priority classes of batch and of interactive work, with the values that KAI gives them."""

CREATING: Final = "Creating"
PENDING: Final = "Pending"
RUNNING: Final = "Running"
COMPLETED: Final = "Completed"
FAILED: Final = "Failed"
DELETING: Final = "Deleting"
FINAL: Final = frozenset({COMPLETED, FAILED})

_GPU = "nvidia.com/gpu"
_QUEUE_LABELS = (QUEUE_LABEL, "runai/queue")
_PROJECT = "project"
_NAMESPACE_PREFIX = "runai-"
_BACKOFF_LIMIT = 6
_OWN_SCHEDULER = "runai-scheduler"
"""Run:ai's own, which a lab does not have: the lab's scheduler plays its part."""
_CONTAINER = "pytorch"
"""By this name the training operator knows the container that it looks at."""


def value(spec: Mapping[str, Any], field: str, default: Any = None) -> Any:
    """The value of a field; a plain one may be written without `value`."""
    written = spec.get(field)
    if isinstance(written, Mapping):
        return written.get("value", default)
    return default if written is None else written


def items(spec: Mapping[str, Any], field: str) -> dict[str, Any]:
    """The values of a field's items by their names."""
    written = spec.get(field)
    found = written.get("items") if isinstance(written, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {key: entry["value"] for key, entry in found.items() if isinstance(entry, Mapping) and "value" in entry}


def queue_of(workload: Object) -> str | None:
    """The queue of a workload: by its labels, its project, or its namespace; None: nobody says."""
    labels = meta.labels(workload)
    for label in (*_QUEUE_LABELS, _PROJECT):
        if labels.get(label):
            return labels[label]
    namespace: str = workload["metadata"]["namespace"]
    return namespace.removeprefix(_NAMESPACE_PREFIX) if namespace.startswith(_NAMESPACE_PREFIX) else None


def name_of(workload: Object) -> str:
    """The name of what is made for a workload."""
    return str(value(workload.get("spec") or {}, "name") or workload["metadata"]["name"])


def is_active(workload: Object) -> bool:
    """Whether it may run: one that is not active is suspended."""
    return bool(value(workload.get("spec") or {}, "active", default=True))


def seconds_to_live(workload: Object) -> float | None:
    """How long it stays after its end; None: for ever."""
    field = "autoDeletionTimeAfterCompletionSeconds"
    written = value(workload.get("spec") or {}, field)
    return None if written is None else _number(written, field)


def child_of(workload: Object, *, scheduler_name: str) -> Object:
    """The object that is made for a workload; UsageError when a field cannot be understood."""
    spec = workload.get("spec") or {}
    seconds_to_live(workload)  # what is wrong with it is told now, not after the end
    metadata: Object = {
        "name": name_of(workload),
        "namespace": workload["metadata"]["namespace"],
        "labels": _labels(workload),
        "ownerReferences": [controller_reference(workload)],
    }
    if workload["kind"] == DISTRIBUTED_WORKLOADS.kind:
        return {
            "apiVersion": PYTORCH_JOBS.api_version,
            "kind": PYTORCH_JOBS.kind,
            "metadata": metadata,
            "spec": _pytorch_spec(workload, spec, scheduler_name),
        }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": metadata,
        "spec": {
            "parallelism": round(_number(value(spec, "parallelism", 1), "parallelism")),
            "completions": round(_number(value(spec, "completions", 1), "completions")),
            "backoffLimit": round(_number(value(spec, "backoffLimit", _BACKOFF_LIMIT), "backoffLimit")),
            "suspend": not is_active(workload),
            "template": _template(workload, spec, scheduler_name, restart_policy="Never"),
        },
    }


def _pytorch_spec(workload: Object, spec: Object, scheduler_name: str) -> Object:
    workers = round(_number(value(spec, "numWorkers", value(spec, "workers", 1)), "numWorkers"))
    policy: Object = {"cleanPodPolicy": value(spec, "cleanPodPolicy", "Running"), "suspend": not is_active(workload)}
    if value(spec, "backoffLimit") is not None:
        policy["backoffLimit"] = round(_number(value(spec, "backoffLimit"), "backoffLimit"))

    def replicas(count: int, own: Object) -> Object:
        return {
            "replicas": count,
            "restartPolicy": "OnFailure",
            "template": _template(workload, own, scheduler_name, restart_policy=None),
        }

    members = {"Master": replicas(1, {**spec, **(workload.get("masterSpec") or {})})}
    if workers:
        members["Worker"] = replicas(workers, spec)
    return {"runPolicy": policy, "pytorchReplicaSpecs": members}


def _labels(workload: Object) -> dict[str, str]:
    """Those of the workload, and whose it is: schedulers look for the queue on pods and on their owners."""
    labels = {key: text for key, text in meta.labels(workload).items() if text}
    labels |= {WORKLOAD_KIND: workload["kind"], WORKLOAD_NAME: workload["metadata"]["name"]}
    queue = queue_of(workload)
    return labels if queue is None else {_PROJECT: queue, **dict.fromkeys(_QUEUE_LABELS, queue), **labels}


def _template(workload: Object, spec: Object, scheduler_name: str, *, restart_policy: str | None) -> Object:
    default_class = "build" if workload["kind"] == INTERACTIVE_WORKLOADS.kind else "train"
    given = {key: str(text) for key, text in items(spec, "labels").items()}
    annotations = {key: str(text) for key, text in items(spec, "annotations").items()}
    asked = value(spec, "schedulerName")
    container, sharing = _container(spec)
    annotations |= sharing
    pod: Object = {
        "schedulerName": scheduler_name if asked in {None, "", _OWN_SCHEDULER} else str(asked),
        "priorityClassName": meta.labels(workload).get("priorityClassName") or default_class,
        "containers": [container],
    }
    if restart_policy is not None:
        pod["restartPolicy"] = restart_policy
    _mount(pod, container, spec)
    metadata: Object = {"labels": {**_labels(workload), **given}}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": pod}


def _container(spec: Object) -> tuple[Object, dict[str, str]]:
    """The one container, and the annotations by which it shares a GPU."""
    requests = {key: str(text) for key in ("cpu", "memory") if (text := value(spec, key)) is not None}
    limits = {key: str(text) for key in ("cpu", "memory") if (text := value(spec, f"{key}Limit")) is not None}
    gpus = _number(value(spec, "gpu", value(spec, "gpuDevices", 0)), "gpu")
    sharing: dict[str, str] = {}
    if gpus.is_integer() and gpus > 0:
        limits[_GPU] = str(int(gpus))
    elif 0 < gpus < 1:
        sharing[FRACTION_ANNOTATION] = f"{gpus:g}"
    elif gpus:
        raise UsageError(f"spec.gpu.value is {gpus:g}: write a whole number, or a part of one GPU")
    container: Object = {"name": _CONTAINER, "image": str(value(spec, "image") or "none")}
    resources = {key: amounts for key, amounts in (("requests", requests), ("limits", limits)) if amounts}
    if resources:
        container["resources"] = resources
    for field, ours in (("command", "command"), ("arguments", "args")):
        text = value(spec, field)
        if text is not None:
            container[ours] = _words(text, field)
    for field in ("workingDir", "imagePullPolicy"):
        if value(spec, field):
            container[field] = str(value(spec, field))
    environment = items(spec, "environment")
    if environment:
        container["env"] = [{"name": key, "value": str(text)} for key, text in environment.items()]
    return container, sharing


def _mount(pod: Object, container: Object, spec: Object) -> None:
    claims = [claim for claim in items(spec, "pvcs").values() if isinstance(claim, Mapping) and claim.get("claimName")]
    if not claims:
        return
    pod["volumes"] = [
        {"name": f"volume-{index}", "persistentVolumeClaim": {"claimName": claim["claimName"]}}
        for index, claim in enumerate(claims)
    ]
    container["volumeMounts"] = [
        {
            "name": f"volume-{index}",
            "mountPath": claim.get("path") or f"/mnt/{claim['claimName']}",
            **({"readOnly": True} if claim.get("readOnly") else {}),
        }
        for index, claim in enumerate(claims)
    ]


def _words(text: Any, field: str) -> list[str]:
    if isinstance(text, list):
        return [str(word) for word in text]
    try:
        return shlex.split(str(text))
    except ValueError as error:
        raise UsageError(f"spec.{field}.value cannot be split into words: {error}") from None


def _number(written: Any, field: str) -> float:
    try:
        number = float(written)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < float(1 << 31):
        raise UsageError(f"spec.{field}.value is {written!r}: write a number that is not negative")
    return number


def phase_of(workload: Object, child: Object | None) -> str:
    """How a workload stands: as what was made for it stands; what has ended stays so when that is gone."""
    if is_deleting(workload):
        return DELETING
    before = (workload.get("status") or {}).get("phase")
    if before in FINAL:
        return str(before)
    if child is None:
        return CREATING
    for type_, phase in (("Failed", FAILED), ("Complete", COMPLETED), ("Succeeded", COMPLETED), ("Running", RUNNING)):
        if meta.is_condition_true(child, type_):
            return phase
    status = child.get("status") or {}
    # When its last pods have ended a Job needs a moment to be over.
    if status.get("ready") or (before == RUNNING and not status.get("active")):
        return RUNNING
    return PENDING if status.get("active") or status.get("startTime") else CREATING


def status_of(workload: Object, phase: str, *, now_ns: int, message: str = "") -> Object:
    """The status in a phase: one condition for each phase that it has been in, the present one true."""
    before = meta.copied(workload.get("status") or {})
    if before.get("phase") == phase:
        return dict(before)
    now = seconds_text(now_ns)
    kept = [
        {**one, "status": "False", "lastTransitionTime": now if one["status"] == "True" else one["lastTransitionTime"]}
        for one in before.get("conditions") or ()
        if one["type"] != phase
    ]
    fresh = {"type": phase, "status": "True", "reason": phase, "message": message, "lastTransitionTime": now}
    status = {**before, "phase": phase, "conditions": [*kept, fresh]}
    if phase in FINAL:
        status.setdefault("completionTime", now)
    return status
