"""Rows of what makes pods: controllers' replicas, jobs, autoscalers, budgets, pod groups."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.kinds.tables.ages import human, since, stamp_ns
from kubedyno.kinds.tables.printing import (
    AGE,
    NAME,
    ago,
    at,
    condition_status,
    containers,
    count,
    given,
    labels,
    number,
    printer,
    selector,
    selector_text,
    text,
)
from kubedyno.kube.codec import Object

_METRICS_SHOWN = 2
_JOB_STATES = (
    # The first of these conditions that is true tells the state; a job that is being deleted comes in between.
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _ready(obj: Object, _now_ns: int) -> str:
    return f"{at(obj, 'status.readyReplicas') or 0}/{at(obj, 'spec.replicas') or 0}"


def _deployment_selector(obj: Object, _now_ns: int) -> str:
    found = selector_text(at(obj, "spec.selector"))
    return "<invalid>" if found == "<error>" else found


def _job_status(job: Object, _now_ns: int) -> str:
    if condition_status(job, "Complete") == "True":
        return "Complete"
    if condition_status(job, "Failed") == "True":
        return "Failed"
    if at(job, "metadata.deletionTimestamp"):
        return "Terminating"
    return next((said for type_, said in _JOB_STATES if condition_status(job, type_) == "True"), "Running")


def _completions(job: Object, _now_ns: int) -> str:
    succeeded, wanted = at(job, "status.succeeded") or 0, at(job, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    # A work queue: any success ends it, however many pods work on it.
    parallelism = at(job, "spec.parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Object, now_ns: int) -> str:
    started, ended = at(job, "status.startTime"), at(job, "status.completionTime")
    if not started:
        return ""
    return human(stamp_ns(ended) - stamp_ns(started)) if ended else since(started, now_ns)


def _suspend(cron_job: Object, _now_ns: int) -> str:
    found = at(cron_job, "spec.suspend")
    return "<unset>" if found is None else str(bool(found))


def _controller(revision: Object, _now_ns: int) -> str:
    owners = at(revision, "metadata.ownerReferences") or ()
    owner = next((entry for entry in owners if entry.get("controller")), None)
    if owner is None:
        return "<none>"
    group = owner["apiVersion"].rpartition("/")[0]
    kind = f"{owner['kind']}.{group}" if group else owner["kind"]
    return f"{kind.lower()}/{owner['name']}"


def _scale_target(obj: Object, _now_ns: int) -> str:
    target = at(obj, "spec.scaleTargetRef") or {}
    return f"{target.get('kind') or ''}/{target.get('name') or ''}"


def _metrics(obj: Object, _now_ns: int) -> str:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    wanted, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    if spec.get("targetCPUUtilizationPercentage") is not None:
        # autoscaling/v1 has a field for the one metric that everybody uses.
        target = {"averageUtilization": spec["targetCPUUtilizationPercentage"]}
        wanted = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
        if status.get("currentCPUUtilizationPercentage") is not None:
            used = {"averageUtilization": status["currentCPUUtilizationPercentage"]}
            current = [{"type": "Resource", "resource": {"name": "cpu", "current": used}}]
    told = [_metric(entry, current[index] if index < len(current) else {}) for index, entry in enumerate(wanted)]
    more = f" + {len(told) - _METRICS_SHOWN} more..." if len(told) > _METRICS_SHOWN else ""
    return ", ".join(told[:_METRICS_SHOWN]) + more or "<none>"


def _metric(wanted: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """One metric as `current/target`."""
    type_ = wanted.get("type") or ""
    field = type_[:1].lower() + type_[1:]
    source, found = wanted.get(field), current.get(field)
    if source is None:
        return "<unknown type>"
    target = source.get("target") or {}
    used = None if found is None else found.get("current") or {}
    if type_ in {"Resource", "ContainerResource"}:
        if "averageValue" in target:
            value = "<unknown>" if used is None else used.get("averageValue") or "0"
            return f"{source['name']}: {value}/{target['averageValue']}"
        value = f"{used['averageUtilization']}%" if used and "averageUtilization" in used else "<unknown>"
        aim = f"{target['averageUtilization']}%" if "averageUtilization" in target else "<auto>"
        return f"{source['name']}: {value}/{aim}"
    if type_ != "Pods" and "averageValue" in target:
        return f"{(used or {}).get('averageValue') or '<unknown>'}/{target['averageValue']} (avg)"
    kind = "averageValue" if type_ == "Pods" else "value"
    return f"{'<unknown>' if used is None else used.get(kind) or '0'}/{target.get(kind) or '0'}"


def _pod_group_policy(group: Object, _now_ns: int) -> str:
    return "Gang" if at(group, "spec.schedulingPolicy.gang") is not None else "Basic"


def _pod_group_status(group: Object, _now_ns: int) -> str:
    found = {entry.get("type"): entry for entry in at(group, "status.conditions") or ()}
    if "DisruptionTarget" in found:
        return str(found["DisruptionTarget"].get("reason") or "")
    if "PodGroupScheduled" in found:
        return "Scheduled" if found["PodGroupScheduled"].get("status") == "True" else "Unschedulable"
    return "Pending"


_REPLICAS = (
    NAME,
    ("Desired:integer", number("spec.replicas")),
    ("Current:integer", number("status.replicas")),
    ("Ready:integer", number("status.readyReplicas")),
    AGE,
    *containers("spec.template"),
)

_SCALE = printer(
    NAME, ("Desired:integer", number("spec.replicas")), ("Available:integer", number("status.replicas")), AGE
)

PRINTERS = {
    "replicationcontrollers": printer(*_REPLICAS, ("Selector+", labels("spec.selector"))),
    "replicasets.apps": printer(*_REPLICAS, ("Selector+", selector("spec.selector"))),
    "deployments.apps": printer(
        NAME,
        ("Ready", _ready),
        ("Up-to-date", number("status.updatedReplicas")),
        ("Available", number("status.availableReplicas")),
        AGE,
        *containers("spec.template"),
        ("Selector+", _deployment_selector),
    ),
    "statefulsets.apps": printer(NAME, ("Ready", _ready), AGE, *containers("spec.template")),
    "daemonsets.apps": printer(
        NAME,
        ("Desired:integer", number("status.desiredNumberScheduled")),
        ("Current:integer", number("status.currentNumberScheduled")),
        ("Ready:integer", number("status.numberReady")),
        ("Up-to-date:integer", number("status.updatedNumberScheduled")),
        ("Available:integer", number("status.numberAvailable")),
        ("Node Selector", labels("spec.template.spec.nodeSelector")),
        AGE,
        *containers("spec.template"),
        ("Selector+", selector("spec.selector")),
    ),
    "controllerrevisions.apps": printer(NAME, ("Controller", _controller), ("Revision", number("revision")), AGE),
    "jobs.batch": printer(
        NAME,
        ("Status", _job_status),
        ("Completions", _completions),
        ("Duration", _job_duration),
        AGE,
        *containers("spec.template"),
        ("Selector+", selector("spec.selector")),
    ),
    "cronjobs.batch": printer(
        NAME,
        ("Schedule", text("spec.schedule")),
        ("Timezone", given("spec.timeZone", "<none>")),
        ("Suspend:boolean", _suspend),
        ("Active:integer", count("status.active")),
        ("Last Schedule", ago("status.lastScheduleTime", "<none>")),
        AGE,
        *containers("spec.jobTemplate.spec.template"),
        ("Selector+", selector("spec.jobTemplate.spec.selector")),
    ),
    "horizontalpodautoscalers.autoscaling": printer(
        NAME,
        ("Reference", _scale_target),
        ("Targets", _metrics),
        ("MinPods", given("spec.minReplicas", "<unset>")),
        ("MaxPods", number("spec.maxReplicas")),
        ("Replicas", number("status.currentReplicas")),
        AGE,
    ),
    "poddisruptionbudgets.policy": printer(
        NAME,
        ("Min Available", given("spec.minAvailable", "N/A")),
        ("Max Unavailable", given("spec.maxUnavailable", "N/A")),
        ("Allowed Disruptions:integer", number("status.disruptionsAllowed")),
        AGE,
    ),
    # The server does not mark this name as one.
    "scales.autoscaling": msgspec.structs.replace(
        _SCALE, columns=(msgspec.structs.replace(_SCALE.columns[0], format=""), *_SCALE.columns[1:])
    ),
    "workloads.scheduling.k8s.io": printer(NAME, AGE),
    "podgroups.scheduling.k8s.io": printer(
        NAME,
        ("Policy", _pod_group_policy),
        ("Workload", given("spec.podGroupTemplateRef.workload.workloadName", "<none>")),
        ("Status", _pod_group_status),
        AGE,
    ),
}
