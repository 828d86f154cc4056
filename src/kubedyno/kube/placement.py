"""Which nodes a pod may be on: node selectors and required node affinity, taints and tolerations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube.selectors import Operator, Requirement

_OPERATORS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}
_FIELD_OPERATORS: Final = {"In": Operator.IN, "NotIn": Operator.NOT_IN}


class NodeTerm(msgspec.Struct, frozen=True):
    """One way to be allowed: all requirements on the node's labels and on its fields (`metadata.name`) hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
        """Whether a node with these labels and fields is allowed."""
        return all(one.matches(labels) for one in self.labels) and all(one.matches(fields) for one in self.fields)


class NodeSelector(msgspec.Struct, frozen=True):
    """`NodeSelector` of the API, read once: a node is selected when any of its terms matches."""

    terms: tuple[NodeTerm, ...]

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> "NodeSelector":
        """The selector of an object. A term that is empty or cannot be read matches nothing, as in kube-scheduler."""
        return cls(tuple(filter(None, map(_term, written.get("nodeSelectorTerms") or ()))))

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node of that name with these labels is selected."""
        fields = {"metadata.name": name}
        return any(term.matches(labels, fields) for term in self.terms)


def required_affinity(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The node affinity that a pod's spec insists on, as it is written; None where it has none."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required: Mapping[str, Any] | None = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required


def taint_identity(taint: Mapping[str, Any]) -> tuple[str, str]:
    """Key and effect: a node has each such pair once."""
    return taint.get("key", ""), taint.get("effect", "")


def tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Whether a toleration covers a taint; one without a key covers those of all keys."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return bool(operator == "Exists")


def is_tolerated(taint: Mapping[str, Any], tolerations: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of the tolerations covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def _term(written: Mapping[str, Any]) -> NodeTerm | None:
    labels, fields = written.get("matchExpressions") or (), written.get("matchFields") or ()
    if not (labels or fields):
        return None
    try:
        return NodeTerm(_requirements(labels, _OPERATORS), _field_requirements(fields))
    except (KeyError, UsageError):
        return None


def _requirements(written: Sequence[Mapping[str, Any]], operators: Mapping[str, Operator]) -> tuple[Requirement, ...]:
    return tuple(Requirement.of(one["key"], operators[one["operator"]], one.get("values") or ()) for one in written)


def _field_requirements(written: Sequence[Mapping[str, Any]]) -> tuple[Requirement, ...]:
    """Fields are compared with one value each; names of nodes may be longer than values of labels."""
    if any(len(one.get("values") or ()) != 1 for one in written):
        raise UsageError("a field of a node is compared with exactly one value")
    return tuple(Requirement(one["key"], _FIELD_OPERATORS[one["operator"]], tuple(one["values"])) for one in written)
