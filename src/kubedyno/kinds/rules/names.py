"""Which names the objects of a kind may have."""

from collections.abc import Iterator, Mapping
from typing import Final

from kubedyno.kinds.rules import addresses, texts
from kubedyno.kinds.rules.texts import Format
from kubedyno.kube.problems import Problem, invalid
from kubedyno.kube.resources import Resource

_RBAC: Final = "rbac.authorization.k8s.io"


def _anything(_text: str) -> tuple[str, ...]:
    return ()


# What is not here is named by a DNS subdomain, custom resources too.
_FORMATS: Final[Mapping[tuple[str, str], Format]] = {
    ("", "Namespace"): texts.dns1123_label,
    ("", "Service"): texts.dns1123_label,
    ("", "Event"): _anything,
    ("", "ReplicationController"): texts.long_name,
    ("apps", "StatefulSet"): texts.dns1123_label,
    ("policy", "PodDisruptionBudget"): _anything,
    ("certificates.k8s.io", "CertificateSigningRequest"): _anything,
    ("resource.k8s.io", "DeviceClass"): texts.long_name,
    ("networking.k8s.io", "IPAddress"): addresses.canonical_ip,
    # Their rules compare the name with the spec; what it consists of is checked there.
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _anything,
    ("apiregistration.k8s.io", "APIService"): texts.path_segment,
    (_RBAC, "Role"): texts.path_segment,
    (_RBAC, "RoleBinding"): texts.path_segment,
    (_RBAC, "ClusterRole"): texts.path_segment,
    (_RBAC, "ClusterRoleBinding"): texts.path_segment,
}

# These kinds look at names alone, also where the name was made from `generateName`.
_BLIND_TO_PREFIX: Final = {
    ("", "ReplicationController"),
    ("resource.k8s.io", "DeviceClass"),
}


def name_problems(resource: Resource, name: str, field: str = "metadata.name") -> Iterator[Problem]:
    """What is wrong with the name of an object of that kind."""
    for told in _format(resource)(name):
        yield invalid(field, name, told)


def prefix_problems(resource: Resource, prefix: str, field: str = "metadata.generateName") -> Iterator[Problem]:
    """What is wrong with the beginning of a name; it may end in a dash, because more comes after it."""
    if (resource.group, resource.kind) in _BLIND_TO_PREFIX:
        return
    for told in _format(resource)(_without_trailing_dash(prefix)):
        yield invalid(field, prefix, told)


def _format(resource: Resource) -> Format:
    return _FORMATS.get((resource.group, resource.kind), texts.dns1123_subdomain)


def _without_trailing_dash(prefix: str) -> str:
    # As in Kubernetes, the sign before the dash goes with it.
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
