"""Where the rules of `metadata` stand among those of a kind: the server asks some of them more than once.

Every problem is one cause of the answer, so an update with a bad label is told as often as its kind asks for labels.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

STATE: Final = "state"
CHANGE: Final = "change"
RULES: Final = "rules"


class Steps(msgspec.Struct, frozen=True):
    """In which order a kind asks: for the state of the metadata, for its change, for the kind's own rules."""

    create: tuple[str, ...] = (STATE, RULES)
    update: tuple[str, ...] = (CHANGE, RULES)
    update_status: tuple[str, ...] = (CHANGE, RULES)
    standard_finalizers: bool = True
    """Whether finalizers without a domain must be Kubernetes' own."""


_BOTH: Final = Steps(update=(CHANGE, STATE, RULES))
_STATE_FIRST: Final = Steps(update=(STATE, RULES, CHANGE))
_STATE_AND_CHANGE: Final = Steps(update=(STATE, CHANGE, RULES))
_STATE_ONLY: Final = Steps(update=(STATE, RULES))
_RULES_ONLY: Final = Steps(create=(RULES,), update=(RULES,), update_status=(RULES,))
_GENERIC: Final = Steps(standard_finalizers=False)
_GENERIC_STATE_ONLY: Final = Steps(update=(STATE, RULES), standard_finalizers=False)

_RBAC: Final = "rbac.authorization.k8s.io"
_WEBHOOKS: Final = "admissionregistration.k8s.io"
_STEPS: Final[Mapping[tuple[str, str], Steps]] = {
    ("", "Pod"): _BOTH,
    ("", "PersistentVolumeClaim"): _BOTH,
    ("", "ServiceAccount"): _BOTH,
    ("", "Endpoints"): _BOTH,
    ("", "ConfigMap"): _BOTH,
    ("", "Secret"): _BOTH,
    ("", "Namespace"): _STATE_FIRST,
    ("", "Node"): _STATE_AND_CHANGE,
    ("", "PersistentVolume"): Steps(update=(STATE, STATE, RULES)),
    ("", "LimitRange"): _STATE_ONLY,
    ("", "Event"): _RULES_ONLY,
    ("apps", "ControllerRevision"): _BOTH,
    ("policy", "PodDisruptionBudget"): _RULES_ONLY,
    ("certificates.k8s.io", "CertificateSigningRequest"): _STATE_FIRST,
    ("resource.k8s.io", "ResourceClaim"): _STATE_AND_CHANGE,
    ("resource.k8s.io", "DeviceClass"): _STATE_AND_CHANGE,
    ("storage.k8s.io", "VolumeAttachment"): _STATE_ONLY,
    ("storage.k8s.io", "CSINode"): _STATE_ONLY,
    ("discovery.k8s.io", "EndpointSlice"): _STATE_ONLY,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _STATE_ONLY,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _STATE_ONLY,
    ("networking.k8s.io", "Ingress"): _BOTH,
    (_RBAC, "Role"): _STATE_AND_CHANGE,
    (_RBAC, "ClusterRole"): _STATE_AND_CHANGE,
    (_RBAC, "RoleBinding"): _STATE_AND_CHANGE,
    (_RBAC, "ClusterRoleBinding"): _STATE_AND_CHANGE,
    ("coordination.k8s.io", "Lease"): _GENERIC,
    ("node.k8s.io", "RuntimeClass"): _GENERIC,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _GENERIC,
    ("apiregistration.k8s.io", "APIService"): _GENERIC,
    (_WEBHOOKS, "ValidatingWebhookConfiguration"): _GENERIC_STATE_ONLY,
    (_WEBHOOKS, "MutatingWebhookConfiguration"): _GENERIC_STATE_ONLY,
    (_WEBHOOKS, "ValidatingAdmissionPolicy"): _GENERIC_STATE_ONLY,
    (_WEBHOOKS, "ValidatingAdmissionPolicyBinding"): _GENERIC_STATE_ONLY,
    (_WEBHOOKS, "MutatingAdmissionPolicy"): _GENERIC_STATE_ONLY,
    (_WEBHOOKS, "MutatingAdmissionPolicyBinding"): _GENERIC_STATE_ONLY,
}
_USUAL: Final = Steps()


def steps_of(group: str, kind: str, *, built_in: bool) -> Steps:
    """The steps of a kind; those of custom resources are all alike."""
    return _STEPS.get((group, kind), _USUAL if built_in else _GENERIC)
