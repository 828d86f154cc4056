"""Rules of replication controllers."""

from collections.abc import Iterator
from typing import Final

from kubedyno.kinds.rules.fields import nonnegative
from kubedyno.kinds.rules.internals import go_json, invalid_printed
from kubedyno.kinds.rules.numbers import not_above, not_negative
from kubedyno.kinds.rules.pod_templates import pod_template_problems
from kubedyno.kinds.rules.rules import Rules
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, not_supported, required

_COUNTS: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


def _create(controller: Object) -> Iterator[Problem]:
    spec = controller.get("spec") or {}
    yield from nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    selector = spec.get("selector") or {}
    if not selector:
        yield required("spec.selector")
    if spec.get("replicas") is None:
        yield required("spec.replicas")
    else:
        yield from nonnegative(spec["replicas"], "spec.replicas")
    if spec.get("template") is None:
        yield required("spec.template")
    else:
        yield from _template_problems(spec["template"], selector)


def _template_problems(template: Object, selector: dict[str, str]) -> Iterator[Problem]:
    labels = (template.get("metadata") or {}).get("labels")
    if not selector.items() <= (labels or {}).items():
        detail = "`selector` does not match template `labels`"
        yield invalid_printed("spec.template.metadata.labels", go_json(labels), detail)
    yield from pod_template_problems(template, "spec.template")
    spec = template.get("spec") or {}
    if spec.get("restartPolicy") != "Always":
        yield not_supported("spec.template.spec.restartPolicy", spec.get("restartPolicy", ""), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = "activeDeadlineSeconds in ReplicationController is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", detail)


def _update(new: Object, _old: Object) -> Iterator[Problem]:
    return _create(new)


def _update_status(new: Object, _old: Object) -> Iterator[Problem]:
    status = new.get("status") or {}
    yield from not_negative(status, "status", *_COUNTS)
    yield from not_above(status, "status", "replicas", "cannot be greater than status.replicas", *_COUNTS[1:4])
    yield from not_above(status, "status", "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas")


RULES: Final = {
    ("", "ReplicationController"): Rules(create=_create, update=_update, update_status=_update_status),
}
