"""Defaults of NetworkPolicies and IngressClasses."""

from kubedyno.kinds.defaults.walking import Constants, Functions
from kubedyno.kube.codec import Object

CONSTANTS: Constants = {
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "networking.v1.IngressClassParametersReference": {"scope": "Cluster"},
}


def _policy_spec(spec: Object) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


FUNCTIONS: Functions = {"networking.v1.NetworkPolicySpec": _policy_spec}
