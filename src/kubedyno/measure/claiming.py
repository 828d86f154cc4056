"""The claims of a trial as rows of its table. Pure."""

from collections.abc import Iterator

from kubedyno.measure.columns import ClaimRow
from kubedyno.measure.lives import Allocation, ClaimLife, Lives, PodLife


def claim_rows(lives: Lives) -> Iterator[ClaimRow]:
    """One row for each claim, in the order of their creation."""
    pods = {pod.uid: pod for pod in lives.pods} if lives.claims else {}
    for claim in lives.claims:
        yield _row(claim, claim.allocations[0] if claim.allocations else None, pods.get(claim.pod or ""))


def _row(claim: ClaimLife, given: Allocation | None, pod: PodLife | None) -> ClaimRow:
    devices = given.devices if given is not None else ()
    return ClaimRow(
        uid=claim.uid,
        namespace=claim.namespace,
        name=claim.name,
        pod=pod.name if pod is not None else None,
        node=pod.node if pod is not None else None,
        driver=",".join(dict.fromkeys(driver for driver, _, _ in devices)) or None,
        devices=",".join(f"{pool}/{device}" for _, pool, device in devices) or None,
        count=len(devices),
        created_ns=claim.created_ns,
        allocated_ns=given.since_ns if given is not None else None,
        reserved_ns=claim.reserved_ns,
        released_ns=given.until_ns if given is not None else None,
    )
