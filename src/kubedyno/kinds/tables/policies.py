"""Rows of what governs requests: roles, admission, certificates, priority and fairness, API services."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubedyno.kinds.tables.ages import human
from kubedyno.kinds.tables.printing import AGE, NAME, Cell, Printer, at, condition_status, count, number, printer, text
from kubedyno.kube.codec import Object

_SECOND_NS = 10**9
_NO_PRECEDENCE = 0


def _role(binding: Object, _now_ns: int) -> str:
    role = binding.get("roleRef") or {}
    return f"{role.get('kind') or ''}/{role.get('name') or ''}"


def _subjects(kind: str) -> Cell:
    def cell(binding: Object, _now_ns: int) -> str:
        return ", ".join(
            f"{entry.get('namespace') or ''}/{entry['name']}" if kind == "ServiceAccount" else entry["name"]
            for entry in binding.get("subjects") or ()
            if entry.get("kind") == kind
        )

    return cell


def _param_kind(policy: Object, _now_ns: int) -> str:
    found = at(policy, "spec.paramKind")
    return "<unset>" if found is None else f"{found.get('apiVersion') or ''}/{found.get('kind') or ''}"


def _param_ref(binding: Object, _now_ns: int) -> str:
    found = at(binding, "spec.paramRef") or {}
    if found.get("name"):
        return f"{found.get('namespace') or '*'}/{found['name']}"
    return _go_selector(found["selector"]) if found.get("selector") is not None else "<unset>"


def _go_selector(selector: Mapping[str, Any]) -> str:
    """A selector as Go's protocol buffers print it, which is what the server shows here."""
    matched = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{entry['key']},Operator:{entry['operator']},"
        f"Values:[{' '.join(entry.get('values') or ())}],}},"
        for entry in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{matched}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _requested(request: Object, _now_ns: int) -> str:
    seconds = at(request, "spec.expirationSeconds")
    return "<none>" if seconds is None else human(seconds * _SECOND_NS)


def _request_status(request: Object, _now_ns: int) -> str:
    types = {entry.get("type") for entry in at(request, "status.conditions") or ()}
    said = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    said += ",Failed" if "Failed" in types else ""
    return f"{said},Issued" if at(request, "status.certificate") else said


def _service(api_service: Object, _now_ns: int) -> str:
    found = at(api_service, "spec.service")
    return "Local" if found is None else f"{found.get('namespace') or ''}/{found.get('name') or ''}"


def _available(api_service: Object, _now_ns: int) -> str:
    conditions = at(api_service, "status.conditions") or ()
    found = next((entry for entry in conditions if entry.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    status, reason = found.get("status") or "", found.get("reason")
    return f"{status} ({reason})" if status != "True" and reason else status


def _missing_level(schema: Object, _now_ns: int) -> str:
    found = condition_status(schema, "Dangling")
    return "?" if found is None else found


def _by_precedence(schemas: Iterable[Object]) -> list[Object]:
    """Flow schemas are told in the order in which they are tried."""
    return sorted(
        schemas,
        key=lambda entry: (at(entry, "spec.matchingPrecedence") or _NO_PRECEDENCE, at(entry, "metadata.name") or ""),
    )


def _limited(path: str) -> Cell:
    """A number of a limited priority level; a level without queues has none of theirs."""

    def cell(level: Object, _now_ns: int) -> Any:
        parent = at(level, path.rpartition(".")[0])
        return "<none>" if parent is None else at(level, path) or 0

    return cell


_BINDING = printer(
    NAME,
    ("Role", _role),
    AGE,
    ("Users+", _subjects("User")),
    ("Groups+", _subjects("Group")),
    ("ServiceAccounts+", _subjects("ServiceAccount")),
)
_WEBHOOKS = printer(NAME, ("Webhooks:integer", count("webhooks")), AGE)
_POLICY_BINDING = printer(NAME, ("PolicyName", text("spec.policyName")), ("ParamRef", _param_ref), AGE)

PRINTERS: Mapping[str, Printer] = {
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingadmissionpolicies.admissionregistration.k8s.io": printer(
        NAME, ("Validations:integer", count("spec.validations")), ("ParamKind", _param_kind), AGE
    ),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": printer(
        NAME, ("Mutations:integer", count("spec.mutations")), ("ParamKind", _param_kind), AGE
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _POLICY_BINDING,
    "certificatesigningrequests.certificates.k8s.io": printer(
        NAME,
        AGE,
        ("SignerName", text("spec.signerName", "<none>")),
        ("Requestor", text("spec.username")),  # codespell:ignore - the column is called so
        ("RequestedDuration", _requested),
        ("Condition", _request_status),
    ),
    "apiservices.apiregistration.k8s.io": printer(NAME, ("Service", _service), ("Available", _available), AGE),
    "flowschemas.flowcontrol.apiserver.k8s.io": msgspec.structs.replace(
        printer(
            NAME,
            ("PriorityLevel", text("spec.priorityLevelConfiguration.name")),
            ("MatchingPrecedence", number("spec.matchingPrecedence")),
            ("DistinguisherMethod", text("spec.distinguisherMethod.type", "<none>")),
            AGE,
            ("MissingPL", _missing_level),
        ),
        order=_by_precedence,
    ),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": printer(
        NAME,
        ("Type", text("spec.type")),
        ("NominalConcurrencyShares", _limited("spec.limited.nominalConcurrencyShares")),
        ("Queues", _limited("spec.limited.limitResponse.queuing.queues")),
        ("HandSize", _limited("spec.limited.limitResponse.queuing.handSize")),
        ("QueueLengthLimit", _limited("spec.limited.limitResponse.queuing.queueLengthLimit")),
        AGE,
    ),
}
