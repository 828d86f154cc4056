"""NodeResourceTopology objects as they are read, good ones and bad ones, and the fingerprint in them."""

from typing import Any

import pytest

from kubedyno.kube.codec import Object
from kubedyno.model.numa.admission import Scope
from kubedyno.model.numa.fingerprints import fingerprint, xxh64
from kubedyno.model.numa.merging import Policy
from kubedyno.schedulers.reference.zones import Report, report_of

pytestmark = pytest.mark.unit

SINGLE = {"topologyManagerPolicy": "single-numa-node"}


def resource(name: str, capacity: Any, allocatable: Any, available: Any) -> Object:
    return {"name": name, "capacity": capacity, "allocatable": allocatable, "available": available}


def zone(name: str, *resources: Object, kind: str = "Node") -> Object:
    return {"name": name, "type": kind, "resources": list(resources)}


def written(*zones: Any, attributes: dict[str, str] | None = None, **more: Any) -> Object:
    told = [{"name": name, "value": value} for name, value in (SINGLE if attributes is None else attributes).items()]
    return {"metadata": {"name": "n", "resourceVersion": "7"}, "attributes": told, "zones": list(zones), **more}


def read(found: Object) -> Report:
    report = report_of(found)
    assert report is not None
    return report


def test_zones_are_read_by_number_with_what_each_lists() -> None:
    found = read(
        written(
            zone("node-1", resource("cpu", 16, 16, 4), resource("nvidia.com/gpu", "4", "4", "1")),
            zone("node-0", resource("cpu", "16", "14", "13"), resource("memory", "2Gi", "1Gi", "1Gi")),
            attributes={**SINGLE, "topologyManagerScope": "pod", "nodeTopologyPodsFingerprint": "pfp0v001aa"},
        )
    )
    zones = found.zones
    gib = 1000 * 2**30
    assert (zones.policy, zones.scope) == (Policy.SINGLE_NUMA_NODE, Scope.POD)
    assert zones.resources == ("cpu", "memory", "nvidia.com/gpu")
    assert zones.capacity == ((16000, 2 * gib, -1), (16000, -1, 4000))
    assert zones.allocatable == ((14000, gib, -1), (16000, -1, 4000))
    assert zones.left == ((13000, gib, 0), (4000, 0, 1000))
    assert (found.version, found.fingerprint, found.only_exclusive) == ("7", "pfp0v001aa", False)


@pytest.mark.parametrize(
    ("policies", "attributes", "expected"),
    [
        (["SingleNUMANodePodLevel"], {}, ("single-numa-node", "pod")),
        (["SingleNUMANodeContainerLevel"], {}, ("single-numa-node", "container")),
        (["RestrictedPodLevel"], {}, ("restricted", "pod")),
        (["RestrictedContainerLevel"], {"topologyManagerScope": "pod"}, ("restricted", "pod")),
        (["BestEffortPodLevel"], {}, None),
        # Attributes go before the older field, unless they say nothing that is known.
        (["RestrictedPodLevel"], SINGLE, ("single-numa-node", "pod")),
        (["SingleNUMANodePodLevel"], {"topologyManagerPolicy": "none"}, None),
        (["SingleNUMANodePodLevel"], {"topologyManagerPolicy": "tight"}, ("single-numa-node", "pod")),
        ([], {**SINGLE, "topologyManagerScope": "socket"}, ("single-numa-node", "container")),
        ([], {"topologyManagerPolicy": "tight"}, None),
        ([], {"topologyManagerPolicy": "best-effort"}, None),
        (["None"], {}, None),
        (["Restricted"], {}, None),
        ([7], {}, None),
        ("SingleNUMANodePodLevel", {}, None),
        (None, {}, None),
    ],
)
def test_policy_and_scope_are_read_from_both_fields(
    policies: Any, attributes: dict[str, str], expected: tuple[str, str] | None
) -> None:
    report = report_of(
        written(zone("node-0", resource("cpu", 4, 4, 4)), attributes=attributes, topologyPolicies=policies)
    )
    assert (report and (report.zones.policy, report.zones.scope)) == expected


@pytest.mark.parametrize(
    "bad",
    [
        written(),
        written(zone("numa-node-0", resource("cpu", 4, 4, 4))),
        written(zone("node--1", resource("cpu", 4, 4, 4)), zone("node-x"), zone("node-"), zone("Node-0")),
        written(zone("node-0", resource("cpu", 4, 4, 4), kind="Socket")),
        written(zone("node-99999999999999999999", resource("cpu", 4, 4, 4))),
        written({"type": "Node"}, "node-0", None, 7),
        {**written(), "zones": None},
        {**written(), "zones": {"name": "node-0"}},
        {**written(zone("node-0")), "attributes": "single-numa-node"},
        {**written(zone("node-0")), "attributes": [None, {"name": None}, {"value": "restricted"}, 3]},
        written(*(zone(f"node-{i}") for i in range(9)), attributes={"topologyManagerPolicy": "restricted"}),
    ],
)
def test_a_node_whose_object_says_nothing_that_counts_is_one_without_zones(bad: Object) -> None:
    assert report_of(bad) is None


def test_what_is_wrong_in_a_zone_is_left_out_and_the_rest_counts() -> None:
    found = read(
        written(
            zone(
                "node-3",
                resource("cpu", 8, 6, 9),
                resource("memory", "1Gi", "much", "1Gi"),
                resource("nvidia.com/gpu", 4, 4, -2),
                {"name": "hugepages-2Mi"},
                {"name": "hugepages-1Gi", "capacity": None, "allocatable": [], "available": True},
            ),
            zone("node-64", resource("cpu", 8, 8, 8)),
            zone("node-3", resource("cpu", 1, 1, 1)),
            {"name": "node-5", "type": "Node", "resources": "cpu"},
        )
    ).zones
    assert found.resources == ("cpu", "nvidia.com/gpu")
    assert found.left == ((6000, 0), (0, 0), (8000, 0))
    assert found.allocatable == ((6000, 4000), (-1, -1), (8000, -1))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([], "pfp0v001ef46db3751d8e999"),
        ([("default", "a")], "pfp0v00173ac1f6debaedf3d"),
        ([("default", "b"), ("default", "a")], "pfp0v001dced628646ab6893"),
        ([("default", "pod-1"), ("kube-system", "pod-2")], "pfp0v0018d47dcc24b63f481"),
    ],
)
def test_fingerprints_are_those_of_the_exporters(pods: list[tuple[str, str]], expected: str) -> None:
    assert fingerprint(pods) == expected


def test_long_input_is_hashed_as_xxhash_does() -> None:
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1
