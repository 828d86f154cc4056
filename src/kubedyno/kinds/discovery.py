"""The discovery documents: which groups, versions and resources a server has, in the old and the aggregated form.

All are made from a sequence of described resources (`naming.Served`); which those are is the server's choice. Hashes
of storage versions are left out: they only help to migrate storage.
"""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubedyno.kinds.naming import Served, Subresource
from kubedyno.kube.codec import Object

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The content type of aggregated discovery."""

# The order in which the real server tells its own groups; others follow.
_GROUPS = [
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
]
_RANKS: Mapping[str, int] = {group: rank for rank, group in enumerate(_GROUPS)}

_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def core_versions(server_address: str) -> Object:
    """`/api`; the address is `host:port`."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    }


def groups(served: Iterable[Served]) -> Object:
    """`/apis`: all groups but the core one.

    The server goes by its APIService objects, whose names begin with the version: so do custom groups here.
    """
    versions = _versions(served)
    order = sorted(
        (name for name in versions if name),
        key=lambda name: (_rank(name), min(f"{version}.{name}" for version in versions[name])),
    )
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, versions[name]) for name in order],
    }


def group(served: Iterable[Served], name: str) -> Object | None:
    """`/apis/<group>`; None when nothing of that group is served."""
    versions = _versions(served).get(name) if name else None
    return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def resource_list(served: Iterable[Served], api_version: str) -> Object | None:
    """`/api/v1` or `/apis/<group>/<version>`; None when nothing of that version is served."""
    found = _of_version(served, api_version)
    if not found:
        return None
    resources = [described for item in found for described in _described(item)]
    # The core list has always been without its own apiVersion.
    head = {"kind": "APIResourceList"} if api_version == "v1" else {"kind": "APIResourceList", "apiVersion": "v1"}
    return {**head, "groupVersion": api_version, "resources": resources}


def aggregated(served: Sequence[Served], *, core: bool) -> Object:
    """`/api` (core) or `/apis` as one document with everything in it; sent as `AGGREGATED`."""
    versions = _versions(served)
    names = sorted((name for name in versions if (not name) is core), key=lambda name: (_rank(name), name))
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": name} if name else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [
                            _discovered(item) for item in _of_version(served, f"{name}/{version}" if name else version)
                        ],
                        "freshness": "Current",
                    }
                    for version in versions[name]
                ],
            }
            for name in names
        ],
    }


def by_preference(versions: Iterable[str]) -> list[str]:
    """Versions as Kubernetes prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name."""
    return sorted(versions, key=functools.cmp_to_key(_compare), reverse=True)


def _compare(left: str, right: str) -> int:
    one, two = _VERSION.fullmatch(left), _VERSION.fullmatch(right)
    if one is None or two is None:
        # Names that are no versions come last, in the order of the alphabet.
        return (one is not None) - (two is not None) or (left < right) - (left > right)
    key_one, key_two = _version_key(one), _version_key(two)
    return (key_one > key_two) - (key_one < key_two)


def _version_key(match: re.Match[str]) -> tuple[int, int, int]:
    return _STABILITY[match[2]], int(match[1]), int(match[3] or 0)


def _rank(name: str) -> int:
    return _RANKS.get(name, len(_RANKS))


def _versions(served: Iterable[Served]) -> dict[str, list[str]]:
    """The versions of every group, preferred ones first."""
    found: dict[str, dict[str, None]] = {}
    for item in served:
        found.setdefault(item.resource.group, {})[item.resource.version] = None
    return {name: by_preference(versions) for name, versions in found.items()}


def _of_version(served: Iterable[Served], api_version: str) -> list[Served]:
    return sorted(
        (item for item in served if item.resource.api_version == api_version), key=lambda item: item.resource.plural
    )


def _group(name: str, versions: Sequence[str]) -> Object:
    told = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": told, "preferredVersion": told[0]}


def _described(item: Served) -> list[Object]:
    """A resource and its subresources as entries of an APIResourceList."""
    resource = item.resource
    described: Object = {
        "name": resource.plural,
        "singularName": item.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(item.verbs),
        **_other_names(item),
    }
    return [described, *(_described_part(item, part) for part in item.subresources)]


def _described_part(item: Served, part: Subresource) -> Object:
    elsewhere = {"group": part.group, "version": part.version} if part.version else {}
    return {
        "name": f"{item.resource.plural}/{part.name}",
        "singularName": "",
        "namespaced": item.resource.namespaced,
        **elsewhere,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }


def _discovered(item: Served) -> Object:
    """A resource with its subresources as an entry of aggregated discovery."""
    resource = item.resource
    own = {"group": "", "version": ""}
    if item.is_custom:
        own = {"group": resource.group, "version": resource.version}
    found: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": {**own, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": item.singular,
        "verbs": list(item.verbs),
        **_other_names(item),
    }
    if item.subresources:
        found["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": {
                    **({"group": part.group, "version": part.version} if part.version else own),
                    "kind": part.kind,
                },
                "verbs": list(part.verbs),
            }
            for part in item.subresources
        ]
    return found


def _other_names(item: Served) -> Object:
    found: Object = {}
    if item.short_names:
        found["shortNames"] = list(item.short_names)
    if item.categories:
        found["categories"] = list(item.categories)
    return found
