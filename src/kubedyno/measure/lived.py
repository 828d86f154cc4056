"""What lived during a trial, as rows of its tables. Pure."""

from collections.abc import Iterator

from kubedyno.measure.columns import ClaimRow, Lived, NodeRow, PodRow
from kubedyno.measure.lives import Allocation, ClaimLife, Lives, NodeLife, PodLife


def lived(lives: Lives) -> Lived:
    """All rows: pods and claims in the order of their creation, nodes as they came."""
    return Lived(
        pods=tuple(_pod(life) for life in lives.pods),
        nodes=tuple(_node(life, lives.levels) for life in lives.nodes),
        claims=tuple(claim_rows(lives)),
    )


def _pod(life: PodLife) -> PodRow:
    return PodRow(
        uid=life.uid,
        namespace=life.namespace,
        name=life.name,
        workload=life.workload,
        gang=life.group,
        job=life.job,
        queue=life.queue,
        gpus=life.gpus,
        priority=life.priority,
        node=life.node,
        created_ns=life.created_ns,
        unschedulable_ns=life.unschedulable_ns,
        bound_ns=life.bound_ns,
        running_ns=life.running_ns,
        ended_ns=life.ended_ns,
        end=life.end,
    )


def _node(life: NodeLife, levels: tuple[str, ...]) -> NodeRow:
    # The last level of a topology may be the node itself, which is no place to stand in.
    labels = [life.labels.get(level) for level in levels]
    places = [label for label in labels if label is not None and label != life.name]
    return NodeRow(
        name=life.name,
        gpus=life.gpus,
        place="/".join(places) or None,
        seen_ns=life.seen_ns,
        gone_ns=life.gone_ns,
    )


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
