"""Pods wait until their ResourceClaims are theirs."""

from typing import Any

import pytest

from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet.claims import claim_names, claims_ready

pytestmark = pytest.mark.unit

ALLOCATION = {"devices": {"results": [{"driver": "gpu.nvidia.com", "device": "gpu-0", "pool": "n", "request": "gpu"}]}}
PREFIX = "Failed to prepare dynamic resources: prepare dynamic resources: "


def _pod(*claims: dict[str, str], **status: Any) -> Object:
    return {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {"resourceClaims": list(claims)},
        "status": status,
    }


def _claim(*, user: str = "u", owner: str = "u", allocation: Any = ALLOCATION) -> Object:
    return {
        "metadata": {
            "name": "c",
            "uid": "claim-uid",
            "ownerReferences": [{"kind": "Pod", "name": "p", "uid": owner, "controller": True}],
        },
        "status": {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": "p", "uid": user}]},
    }


NAMED = _pod({"name": "gpu", "resourceClaimName": "c"})
MADE = _pod(
    {"name": "gpu", "resourceClaimTemplateName": "t"},
    resourceClaimStatuses=[{"name": "gpu", "resourceClaimName": "c"}],
)


@pytest.mark.parametrize(
    ("pod", "claims", "fault"),
    [
        (NAMED, {}, 'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found'),
        (NAMED, {"c": _claim(user="other")}, "pod p (u) is not allowed to use ResourceClaim c (claim-uid)"),
        (NAMED, {"c": _claim(allocation=None)}, "ResourceClaim c: not allocated"),
        (NAMED, {"c": _claim(owner="other")}, None),
        (MADE, {"c": _claim(owner="other")}, "ResourceClaim d/c was not created for Pod d/p (Pod is not owner)"),
        (MADE, {"c": _claim()}, None),
        (_pod({"name": "gpu", "resourceClaimTemplateName": "t"}), {}, 'pod "d/p": ResourceClaim not created yet'),
        (_pod(extendedResourceClaimStatus={"resourceClaimName": "c"}), {"c": _claim(user="x")}, "is not allowed"),
        (_pod(), {}, None),
    ],
)
def test_what_keeps_a_pod_from_starting_is_told_as_the_kubelet_tells_it(
    pod: Object, claims: dict[str, Object], fault: str | None
) -> None:
    told = claims_ready(pod, claims)
    if fault is None:
        assert told is None
    else:
        assert told is not None
        assert told.startswith(PREFIX)
        assert fault in told


def test_the_driver_must_be_there() -> None:
    assert claims_ready(NAMED, {"c": _claim()}, {"gpu.nvidia.com"}) is None
    assert claims_ready(NAMED, {"c": _claim()}, set()) == f"{PREFIX}DRA driver gpu.nvidia.com is not registered"


def test_a_claim_that_was_not_needed_is_not_waited_for() -> None:
    pod = _pod({"name": "gpu", "resourceClaimTemplateName": "t"}, resourceClaimStatuses=[{"name": "gpu"}])
    assert claims_ready(pod, {}) is None
    assert claim_names(pod) == []


def test_the_claims_of_a_pod_are_found_by_name() -> None:
    pod = _pod(
        {"name": "a", "resourceClaimName": "named"},
        {"name": "b", "resourceClaimTemplateName": "t"},
        {"name": "c", "resourceClaimTemplateName": "t"},
        resourceClaimStatuses=[{"name": "b", "resourceClaimName": "made"}],
        extendedResourceClaimStatus={"resourceClaimName": "extended"},
    )
    assert claim_names(pod) == ["named", "made", "extended"]
