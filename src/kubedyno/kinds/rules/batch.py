"""Rules of the group batch: Job and CronJob."""

from collections.abc import Iterator
from typing import Any, Final

from kubedyno.kinds.rules.domains import domain_prefixed_path_problems
from kubedyno.kinds.rules.internals import go_json, immutable, internal, invalid_printed, label_selector
from kubedyno.kinds.rules.job_policies import failure_policy_problems, success_policy_problems
from kubedyno.kinds.rules.job_status import job_status_problems
from kubedyno.kinds.rules.numbers import not_negative
from kubedyno.kinds.rules.pod_templates import pod_template_problems
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kinds.rules.schedules import schedule_problems, zone_problems
from kubedyno.kinds.rules.selectors import compiled, has_impossible_value, selector_problems
from kubedyno.kinds.rules.texts import byte_length, dns1123_label
from kubedyno.kinds.rules.workload_templates import template_labels, unmatched_labels
from kubedyno.kinds.strategies.workloads import JOB_NAME_LABELS, JOB_UID_LABELS
from kubedyno.kube.codec import Object
from kubedyno.kube.meta import copied, is_condition_true
from kubedyno.kube.problems import Problem, invalid, not_supported, required, too_long

_INDEXED: Final = "Indexed"
_MOST_INDEXED: Final = 100_000
_MANY_COMPLETIONS: Final = 100_000
_MOST_WITH_MANY: Final = 10_000
_MANAGED_BY_LIMIT: Final = 63
_CRON_JOB_NAME_LIMIT: Final = 52


# --- Job ------------------------------------------------------------------------------------------------------


def _job(obj: Object) -> Iterator[Problem]:
    return _whole_job(obj, prefixed=True, any_value=False)


def _whole_job(obj: Object, *, prefixed: bool, any_value: bool) -> Iterator[Problem]:
    spec = obj.get("spec") or {}
    yield from _generated_selector(obj, spec, prefixed=prefixed)
    yield from _job_spec_with_selector(spec, any_value=any_value)
    completions, name = spec.get("completions") or 0, obj["metadata"].get("name", "")
    if spec.get("completionMode") == _INDEXED and completions > 0:
        longest = f"{name}-{completions - 1}"
        if dns1123_label(longest):
            said = f"will not able to create pod with invalid DNS label: {longest}"
            yield invalid("metadata.name", name, said)


def _generated_selector(obj: Object, spec: Object, *, prefixed: bool) -> Iterator[Problem]:
    """A selector that the server made must still be the one it would make."""
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    metadata = obj["metadata"]
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    if not uid:
        yield required("metadata.uid")
    kinds = (0, 1) if prefixed else (0,)
    expected = {
        label: value for kind in kinds for label, value in ((JOB_UID_LABELS[kind], uid), (JOB_NAME_LABELS[kind], name))
    }
    labels = template_labels(spec)
    for label, value in expected.items():
        path = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            yield required(path, f"must be '{value}'")
        elif labels[label] != value:
            yield invalid_printed(path, go_json(labels), f"must be '{value}'")
    matcher = compiled(selector)
    if matcher is not None and not matcher.matches(expected):
        yield invalid_printed("spec.selector", label_selector(selector), "`selector` not auto-generated")


def _job_spec_with_selector(spec: Object, *, any_value: bool) -> Iterator[Problem]:
    yield from _job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from selector_problems(selector, "spec.selector", any_value=any_value)
    matcher = compiled(selector)
    if matcher is not None and not matcher.matches(template_labels(spec)):
        yield unmatched_labels(spec)


def _job_spec(spec: Object, path: str) -> Iterator[Problem]:
    """What Jobs and the templates of CronJobs share."""
    yield from not_negative(
        spec,
        path,
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    )
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        yield from domain_prefixed_path_problems(spec["managedBy"], f"{path}.managedBy")
        if byte_length(spec["managedBy"]) > _MANAGED_BY_LIMIT:
            yield too_long(f"{path}.managedBy", _MANAGED_BY_LIMIT)
    yield from _completion_mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        yield from failure_policy_problems(spec, f"{path}.podFailurePolicy")
    yield from _success_policy(spec, f"{path}.successPolicy")
    yield from _replacement_policy(spec, f"{path}.podReplacementPolicy")
    yield from pod_template_problems(spec.get("template") or {}, f"{path}.template")
    yield from _restart_policy(spec, f"{path}.template.spec.restartPolicy")


def _completion_mode(spec: Object, path: str) -> Iterator[Problem]:
    mode = spec.get("completionMode")
    if mode not in {None, "NonIndexed", _INDEXED}:
        yield not_supported(f"{path}.completionMode", mode, ["NonIndexed", _INDEXED])
    if mode == _INDEXED:
        yield from _indexed(spec, path)
    elif mode in {None, "NonIndexed"}:
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _indexed(spec: Object, path: str) -> Iterator[Problem]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    most_failed = spec.get("maxFailedIndexes")
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > _MOST_INDEXED:
        said = f"must be less than or equal to {_MOST_INDEXED} when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", parallelism, said)
    if completions is not None and most_failed is not None and most_failed > completions:
        yield invalid(f"{path}.maxFailedIndexes", most_failed, "must be less than or equal to completions")
    if (most_failed or 0) > _MOST_INDEXED:
        yield invalid(f"{path}.maxFailedIndexes", most_failed, f"must be less than or equal to {_MOST_INDEXED}")
    if (completions or 0) <= _MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    if most_failed is None:
        said = f"must be specified when completions is above {_MANY_COMPLETIONS}"
        yield required(f"{path}.maxFailedIndexes", said)
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", most_failed or 0)):
        if value > _MOST_WITH_MANY:
            yield invalid(
                f"{path}.{name}",
                value,
                f"must be less than or equal to {_MOST_WITH_MANY} when completions are above {_MANY_COMPLETIONS} "
                "and used with backoff limit per index",
            )


def _success_policy(spec: Object, path: str) -> Iterator[Problem]:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") == _INDEXED:
        yield from success_policy_problems(spec, path)
    else:
        yield invalid_printed(path, internal("batch.SuccessPolicy", policy), "requires indexed completion mode")


def _replacement_policy(spec: Object, path: str) -> Iterator[Problem]:
    policy = spec.get("podReplacementPolicy")
    supported = ["Failed"] if spec.get("podFailurePolicy") is not None else ["Failed", "TerminatingOrFailed"]
    if policy is not None and policy not in supported:
        yield not_supported(path, policy, supported)


def _restart_policy(spec: Object, path: str) -> Iterator[Problem]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    # Always is the default, so it counts as not given.
    if policy in {"", "Always"}:
        yield required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield not_supported(path, policy, ["OnFailure", "Never"])
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        yield invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _job_update(new: Object, old: Object) -> Iterator[Problem]:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    had = template_labels(before)
    prefixed = JOB_UID_LABELS[1] in had and JOB_NAME_LABELS[1] in had
    any_value = has_impossible_value(before.get("selector"))
    yield from _whole_job(new, prefixed=prefixed, any_value=any_value)
    # The server goes over the spec twice.
    yield from _job_spec_with_selector(spec, any_value=any_value)
    yield from _completions_update(spec, before)
    yield from immutable("spec.selector", spec.get("selector"), before.get("selector"), "LabelSelector")
    yield from _template_update(spec, old)
    for name, type_name in (
        ("completionMode", ""),
        ("podFailurePolicy", "batch.PodFailurePolicy"),
        ("backoffLimitPerIndex", ""),
        ("managedBy", ""),
        ("successPolicy", "batch.SuccessPolicy"),
    ):
        yield from immutable(f"spec.{name}", spec.get(name), before.get(name), type_name)


def _completions_update(spec: Object, before: Object) -> Iterator[Problem]:
    completions = spec.get("completions")
    if spec.get("completionMode") != _INDEXED:
        yield from immutable("spec.completions", completions, before.get("completions"))
    elif completions not in {None, before.get("completions"), spec.get("parallelism")}:
        yield invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")


def _template_update(spec: Object, old: Object) -> Iterator[Problem]:
    """The template is fixed, but for what a suspended Job without pods may still change."""
    before, status = old.get("spec") or {}, old.get("status") or {}
    settled = status.get("startTime") is None or is_condition_true(old, "Suspended")
    template, former = spec.get("template") or {}, before.get("template") or {}
    if not (before.get("suspend") and settled and not status.get("active")):
        yield from immutable("spec.template", template, former, "PodTemplateSpec")
        return
    pod = template.get("spec") or {}
    allowed = _with_allowed_changes(copied(former.get("spec") or {}), pod)
    yield from immutable("spec.template.spec", pod, allowed, "PodSpec")


def _with_allowed_changes(former: Object, pod: Object) -> Object:
    """The pod before, with what may change as it is now: where it can run, and what its containers ask for."""
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        _take(former, pod, name)
    affinity, wanted = former.get("affinity"), pod.get("affinity")
    if wanted is None and affinity is not None:
        affinity.pop("nodeAffinity", None)
        if not affinity:
            del former["affinity"]
    elif wanted is not None:
        _take(former.setdefault("affinity", {}), wanted, "nodeAffinity")
    for name in ("containers", "initContainers"):
        ours, theirs = former.get(name) or [], pod.get(name) or []
        if len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                if one.get("name") == other.get("name"):
                    _take(one, other, "resources")
    return former


def _take(target: Object, source: Object, name: str) -> None:
    target.pop(name, None)
    if name in source:
        target[name] = source[name]


# --- CronJob --------------------------------------------------------------------------------------------------


def _cron_job(obj: Object) -> Iterator[Problem]:
    yield from _cron_job_spec(obj.get("spec") or {}, None)
    name = obj["metadata"].get("name", "")
    if byte_length(name) > _CRON_JOB_NAME_LIMIT:
        yield invalid("metadata.name", name, f"must be no more than {_CRON_JOB_NAME_LIMIT} characters")


def _cron_job_update(new: Object, old: Object) -> Iterator[Problem]:
    return _cron_job_spec(new.get("spec") or {}, old.get("spec") or {})


def _cron_job_spec(spec: Object, before: Object | None) -> Iterator[Problem]:
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        yield required("spec.schedule")
    else:
        zone_inside = before is not None and "TZ" in before.get("schedule", "")
        yield from schedule_problems(schedule, zone, "spec.schedule", zone_inside=zone_inside)
    yield from not_negative(spec, "spec", "startingDeadlineSeconds")
    if before is None or before.get("timeZone") != zone:
        yield from zone_problems(zone, "spec.timeZone")
    policy = spec.get("concurrencyPolicy", "")
    if not policy:
        yield required("spec.concurrencyPolicy")
    elif policy not in {"Allow", "Forbid", "Replace"}:
        yield not_supported("spec.concurrencyPolicy", policy, ["Allow", "Forbid", "Replace"])
    yield from _job_template(spec.get("jobTemplate") or {})
    yield from not_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _job_template(template: Object) -> Iterator[Problem]:
    path = "spec.jobTemplate.spec"
    job: dict[str, Any] = template.get("spec") or {}
    yield from _job_spec(job, path)
    if job.get("selector") is not None:
        printed = label_selector(job["selector"])
        yield invalid_printed(f"{path}.selector", printed, "`selector` will be auto-generated")
    if job.get("manualSelector"):
        yield not_supported(f"{path}.manualSelector", value=True, supported=["nil", "false"])


RULES: Final[dict[tuple[str, str], Rules]] = {
    ("batch", "Job"): Rules(create=_job, update=_job_update, update_status=job_status_problems),
    ("batch", "CronJob"): Rules(create=_cron_job, update=_cron_job_update),
}
"""By group and kind."""
