"""The NodeResourceTopology object of a node, as exporters of the field write it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES
from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.model.numa.podresources import Holding, Host, Pod, View
from kubedyno.sim.exporters.accounting import Zone
from kubedyno.sim.exporters.settings import Settings

Reason = Literal["periodic", "reactive"]
"""Why an exporter looked: its time had come, or something happened."""

FIELD_MANAGER: Final = "node-feature-discovery-topology-updater"
"""Under this name `nfd` applies."""
FINGERPRINT: Final = "nodeTopologyPodsFingerprint"
METHOD: Final = "nodeTopologyPodsFingerprintMethod"
POLICY: Final = "topologyManagerPolicy"
SCOPE: Final = "topologyManagerScope"
FINGERPRINT_ANNOTATION: Final = "topology.node.k8s.io/fingerprint"
UPDATE_ANNOTATION: Final = "k8stopoawareschedwg/rte-update"

_NANOS_PER_UNIT: Final = 10**9
_LEVELS: Final = {"container": "ContainerLevel", "pod": "PodLevel"}
_OLD_NAMES: Final = {
    "single-numa-node": "SingleNUMANode",
    "restricted": "Restricted",
    "best-effort": "BestEffort",
}


def fingerprint_of(view: View, settings: Settings) -> str:
    """The fingerprint of the pods that the exporter has counted; empty where it writes none.

    `nfd` takes all pods whatever the settings, and writes none where there are no pods.
    """
    if settings.fingerprint == "none" or (settings.style == "nfd" and not view.pods):
        return ""
    every = settings.style == "nfd" or settings.fingerprint == "all"
    return fingerprint((pod.namespace, pod.name) for pod in view.pods if every or _is_exclusive(pod))


def _is_exclusive(pod: Pod) -> bool:
    """Whether it holds anything of a NUMA node for itself; a NUMA node below zero is none."""
    return any(map(_holds_places, pod.containers.values()))


def _holds_places(held: Holding) -> bool:
    memory = any(number >= 0 for one in held.memory for number in one.nodes)
    devices = any(number >= 0 for one in held.devices if one.ids for number in one.nodes)
    return bool(held.cpus) or memory or devices


def written(
    node: Object,
    zones: Sequence[Zone],
    host: Host,
    settings: Settings,
    *,
    fingerprint: str = "",
    reason: Reason = "periodic",
    namespace: Object | None = None,
) -> Object:
    """The whole object of a node, of which name and uid are read.

    `rte` makes the node its owner, `nfd` the `namespace` that it runs in, of which the same is read. Without a uid
    there is no owner. In v1alpha1 there are no attributes: the policy stands in the field of that time, and the
    fingerprint of `rte` in its annotation alone.
    """
    rte = settings.style == "rte"
    metadata: Object = {"name": node["metadata"]["name"]}
    if rte:
        told = {FINGERPRINT_ANNOTATION: fingerprint} if fingerprint else {}
        metadata["annotations"] = {**told, UPDATE_ANNOTATION: reason}
    if owner := _owner("Node", node) if rte else _owner("Namespace", namespace):
        metadata["ownerReferences"] = [owner]
    group = NODE_RESOURCE_TOPOLOGIES[0]
    found: Object = {
        "apiVersion": f"{group.group}/{settings.api_version}",
        "kind": group.kind,
        "metadata": metadata,
        "zones": [_zone(zone) for zone in zones],
    }
    newest = settings.api_version == group.version
    if not rte or not newest:
        found["topologyPolicies"] = [_old_name(host)]
    if newest:
        found["attributes"] = [
            {"name": name, "value": value} for name, value in _attributes(host, settings, fingerprint).items()
        ]
    return found


def _owner(kind: str, owner: Object | None) -> Object | None:
    metadata: Mapping[str, Any] = (owner or {}).get("metadata") or {}
    if not metadata.get("uid"):
        return None
    return {"apiVersion": "v1", "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}


def _attributes(host: Host, settings: Settings, fingerprint: str) -> dict[str, str]:
    """In the order in which each exporter has them."""
    if settings.style == "nfd":
        return {POLICY: host.policy, SCOPE: host.scope, **({FINGERPRINT: fingerprint} if fingerprint else {})}
    counted = {FINGERPRINT: fingerprint, METHOD: settings.fingerprint} if fingerprint else {}
    return {**counted, SCOPE: host.scope, POLICY: host.policy}


def _old_name(host: Host) -> str:
    """Policy and scope in one word, as they were told before there were attributes."""
    policy, level = _OLD_NAMES.get(host.policy), _LEVELS.get(host.scope)
    return f"{policy}{level}" if policy and level else "None"


def _zone(zone: Zone) -> Object:
    found: Object = {"name": zone.name, "type": zone.type}
    if zone.costs:
        found["costs"] = [{"name": name, "value": value} for name, value in zone.costs.items()]
    if zone.resources:
        found["resources"] = [
            {
                "name": name,
                "capacity": _quantity(amount.capacity),
                "allocatable": _quantity(amount.allocatable),
                "available": _quantity(amount.available),
            }
            for name, amount in zone.resources.items()
        ]
    return found


def _quantity(amount: int) -> str:
    """As Go prints a number of units: `17179869184`, `20G`."""
    return str(Quantity(amount * _NANOS_PER_UNIT))
