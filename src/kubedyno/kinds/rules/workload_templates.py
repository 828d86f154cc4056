"""What the kinds that make pods share: a selector, and a template whose labels it must match."""

from collections.abc import Iterator

from kubedyno.kinds.rules.internals import go_json, invalid_printed, label_selector
from kubedyno.kinds.rules.selectors import is_empty, selector_problems
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem, forbidden, not_supported, required


def required_selector_problems(spec: Object, kind: str) -> Iterator[Problem]:
    """What is wrong with a selector that must select by something."""
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from selector_problems(selector, "spec.selector")
    if is_empty(selector):
        yield invalid_printed("spec.selector", label_selector(selector), f"empty selector is invalid for {kind}")


def template_labels(spec: Object) -> Object:
    """The labels of the template."""
    labels: Object = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return labels


def unmatched_labels(spec: Object) -> Problem:
    """The template makes pods that the selector does not select."""
    return invalid_printed(
        "spec.template.metadata.labels",
        go_json(template_labels(spec) or None),
        "`selector` does not match template `labels`",
    )


def long_running_problems(spec: Object, kind: str) -> Iterator[Problem]:
    """Pods of these kinds run until somebody ends them."""
    pod = (spec.get("template") or {}).get("spec") or {}
    policy = pod.get("restartPolicy", "")
    if policy != "Always":
        yield not_supported("spec.template.spec.restartPolicy", policy, ["Always"])
    if pod.get("activeDeadlineSeconds") is not None:
        yield forbidden("spec.template.spec.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported")
