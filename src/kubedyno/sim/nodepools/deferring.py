"""Whether the kwok-operator itself runs in a cluster: then NodePools are its business."""

from typing import Final

from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S, parse_rfc3339_ns
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DEPLOYMENTS, LEASES

_NAME: Final = "kwok-operator"
_LEASE: Final = "2f4ccc1c.run-ai.com"
"""By which its replicas elect a leader, in the namespace where it runs."""


async def operator_at_work(client: Client) -> str | None:
    """Where the kwok-operator was found; None when nothing tells of it."""
    for deployment in (await client.list_all(DEPLOYMENTS)).items:
        if _is_operator(deployment):
            return f"Deployment {deployment['metadata']['namespace']}/{deployment['metadata']['name']}"
    leases = await client.list_all(LEASES, field_selector=f"metadata.name={_LEASE}")
    for lease in leases.items:
        if _is_held(lease, now_ns=client.clock.wall_ns()):
            return f"Lease {lease['metadata']['namespace']}/{_LEASE}"
    return None


def _is_operator(deployment: Object) -> bool:
    wanted: int = deployment["spec"].get("replicas", 1)
    return wanted > 0 and str(deployment["metadata"]["name"]).startswith(_NAME)


def _is_held(lease: Object, *, now_ns: int) -> bool:
    """Leases outlive who held them: only one that was renewed in time tells of somebody."""
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return False
    until_ns = parse_rfc3339_ns(spec["renewTime"]) + (spec.get("leaseDurationSeconds") or 0) * NS_PER_S
    return until_ns > now_ns
