"""Whether a pod may go to a node, and what is left there: pure functions on objects and numbers."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.selectors import Operator, Requirement

GPU = "nvidia.com/gpu"
PODS = "pods"

Amounts = dict[str, int]
"""Resources in thousandths of their units."""

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}
_ENDED = frozenset({"Succeeded", "Failed"})


class Needs(msgspec.Struct, frozen=True):
    """What a pod asks of a node. Pods of one template have equal needs: they are found once for all."""

    requests: tuple[tuple[str, int], ...]
    selector: tuple[tuple[str, str], ...]
    affinity: bytes
    """The required node affinity as JSON; empty: none."""
    tolerations: bytes
    """As JSON."""

    @property
    def gpus(self) -> int:
        """Thousandths of GPUs."""
        return dict(self.requests).get(GPU, 0)


def needs_of(pod: Object) -> Needs:
    """The needs of a pod."""
    spec = pod["spec"]
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return Needs(
        tuple(sorted(requests_of(pod).items())),
        tuple(sorted((spec.get("nodeSelector") or {}).items())),
        msgspec.json.encode(affinity) if affinity else b"",
        msgspec.json.encode(spec.get("tolerations") or []),
    )


def requests_of(pod: Object) -> Amounts:
    """What a pod takes of its node, and one place.

    The sum of its containers and of the init containers that stay beside them, or more if an init container needs
    more while it runs.
    """
    spec = pod["spec"]
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _requests(container))
    staying: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        needed = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(staying, needed)
            needed = {}
        for name, amount in _sum(staying, needed).items():
            peak[name] = max(peak.get(name, 0), amount)
    _add(total, staying)
    for name, amount in peak.items():
        total[name] = max(total.get(name, 0), amount)
    for name, written in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, 0) + Quantity.parse(written).milli()
    total[PODS] = 1000
    return total


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _sum(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    _add(total, other)
    return total


def _requests(container: Mapping[str, Any]) -> Amounts:
    asked = (container.get("resources") or {}).get("requests") or {}
    return {name: Quantity.parse(written).milli() for name, written in asked.items()}


def allocatable_of(node: Object) -> Amounts:
    """What a node has for pods."""
    return {
        name: Quantity.parse(written).milli()
        for name, written in ((node.get("status") or {}).get("allocatable") or {}).items()
    }


def is_holding(pod: Object) -> bool:
    """Whether a pod takes up its node: it is bound and has not ended."""
    return bool(pod["spec"].get("nodeName")) and (pod.get("status") or {}).get("phase") not in _ENDED


def admits(node: Object, needs: Needs) -> str:
    """Why a node may not be used, whatever is left on it, in kube-scheduler's words; empty: it may."""
    spec, labels = node.get("spec") or {}, meta.labels(node)
    if spec.get("unschedulable"):
        return "node(s) were unschedulable"
    tolerations = msgspec.json.decode(needs.tolerations)
    for taint in spec.get("taints") or ():
        if taint["effect"] in {"NoSchedule", "NoExecute"} and not any(tolerates(one, taint) for one in tolerations):
            return "node(s) had untolerated taint(s)"
    if any(labels.get(name) != value for name, value in needs.selector):
        return "node(s) didn't match Pod's node affinity/selector"
    if needs.affinity and not _matches_affinity(node, msgspec.json.decode(needs.affinity)):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether a toleration covers a taint."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return not toleration.get("key") or bool(toleration["key"] == taint["key"])
    same_value = toleration.get("value", "") == taint.get("value", "")
    return bool(toleration.get("key") == taint["key"] and same_value)


def _matches_affinity(node: Object, affinity: Mapping[str, Any]) -> bool:
    """Whether any term matches; a term without requirements matches nothing."""
    fields = {"metadata.name": node["metadata"]["name"]}
    for term in affinity.get("nodeSelectorTerms") or ():
        labelled, named = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if not (labelled or named):
            continue
        if _all_match(labelled, meta.labels(node)) and _all_match(named, fields):
            return True
    return False


def _all_match(expressions: Iterable[Mapping[str, Any]], values: Mapping[str, str]) -> bool:
    try:
        return all(
            Requirement.of(one["key"], _OPERATORS[one["operator"]], one.get("values") or ()).matches(values)
            for one in expressions
        )
    except UsageError:
        return False


def fits(free: Amounts, needs: Needs) -> bool:
    """Whether what is left is enough."""
    return all(amount <= free.get(name, 0) for name, amount in needs.requests if amount)


def lacking(free: Amounts, needs: Needs) -> list[str]:
    """The resources of which too little is left, in kube-scheduler's words."""
    return [
        "Too many pods" if name == PODS else f"Insufficient {name}"
        for name, amount in needs.requests
        if amount > free.get(name, 0)
    ]
