"""NodeResourceTopology objects as exporters of the field write them."""

import importlib.resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.definitions import defined
from tests.labs import lab_in_process
from tests.numanodes import GIB, GPU, kubelet, node, pod

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, NODE_RESOURCE_TOPOLOGIES, NODES
from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.model.numa.podresources import Devices, Holding, Host, Memory, Pod, View
from kubedyno.model.numa.zones import Amount
from kubedyno.schedulers.reference.zones import report_of
from kubedyno.sim.exporters.accounting import Zone, zones_of
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.exporters.writing import fingerprint_of, written
from kubedyno.sim.kubelet.ledger import NodeLedger

pytestmark = pytest.mark.unit

NODE: Object = {"metadata": {"name": "n", "uid": "1-2"}}
NAMESPACE: Object = {"metadata": {"name": "nfd", "uid": "3-4"}}
HOST = Host(cpus={0: (0,)}, policy="single-numa-node", scope="pod")
ZONES = (
    Zone(
        "node-0",
        costs={"node-0": 10, "node-1": 21},
        resources={"cpu": Amount(16, 14, 12), "memory": Amount(20 * 10**9, 16 * GIB, 0)},
    ),
    Zone("node-1"),
)
WRITTEN_ZONES = [
    {
        "name": "node-0",
        "type": "Node",
        "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 21}],
        "resources": [
            {"name": "cpu", "capacity": "16", "allocatable": "14", "available": "12"},
            # Numbers of bytes, printed as Go prints them: with a decimal suffix where one fits.
            {"name": "memory", "capacity": "20G", "allocatable": "17179869184", "available": "0"},
        ],
    },
    {"name": "node-1", "type": "Node"},
]


def test_the_resource_topology_exporter_writes_attributes_annotations_and_the_node_as_owner() -> None:
    assert written(NODE, ZONES, HOST, Settings(), fingerprint="pfp0v001ab", reason="reactive") == {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n",
            "annotations": {
                "topology.node.k8s.io/fingerprint": "pfp0v001ab",
                "k8stopoawareschedwg/rte-update": "reactive",
            },
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1-2"}],
        },
        "zones": WRITTEN_ZONES,
        "attributes": [
            {"name": "nodeTopologyPodsFingerprint", "value": "pfp0v001ab"},
            {"name": "nodeTopologyPodsFingerprintMethod", "value": "with-exclusive-resources"},
            {"name": "topologyManagerScope", "value": "pod"},
            {"name": "topologyManagerPolicy", "value": "single-numa-node"},
        ],
    }


def test_node_feature_discovery_writes_the_older_policy_too_and_a_namespace_as_owner() -> None:
    found = written(NODE, ZONES, HOST, Settings(style="nfd"), fingerprint="pfp0v001ab", namespace=NAMESPACE)
    assert found == {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": "n",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": "nfd", "uid": "3-4"}],
        },
        "topologyPolicies": ["SingleNUMANodePodLevel"],
        "zones": WRITTEN_ZONES,
        "attributes": [
            {"name": "topologyManagerPolicy", "value": "single-numa-node"},
            {"name": "topologyManagerScope", "value": "pod"},
            {"name": "nodeTopologyPodsFingerprint", "value": "pfp0v001ab"},
        ],
    }


def test_the_older_version_has_policies_instead_of_attributes() -> None:
    old = Settings(api_version="v1alpha1")
    found = written(NODE, ZONES, HOST, old, fingerprint="pfp0v001ab")
    assert found["apiVersion"] == "topology.node.k8s.io/v1alpha1"
    assert found["topologyPolicies"] == ["SingleNUMANodePodLevel"]
    assert "attributes" not in found
    assert found["metadata"]["annotations"]["topology.node.k8s.io/fingerprint"] == "pfp0v001ab"
    found = written(NODE, ZONES, HOST, Settings(style="nfd", api_version="v1alpha1"), fingerprint="pfp0v001ab")
    assert found.keys() == {"apiVersion", "kind", "metadata", "topologyPolicies", "zones"}
    assert found["metadata"] == {"name": "n"}


def test_without_a_fingerprint_there_is_nothing_of_it() -> None:
    found = written(NODE, ZONES, HOST, Settings())
    assert [one["name"] for one in found["attributes"]] == ["topologyManagerScope", "topologyManagerPolicy"]
    assert found["metadata"]["annotations"] == {"k8stopoawareschedwg/rte-update": "periodic"}


def test_without_a_uid_there_is_no_owner() -> None:
    assert "ownerReferences" not in written({"metadata": {"name": "n"}}, ZONES, HOST, Settings())["metadata"]
    assert "ownerReferences" not in written(NODE, ZONES, HOST, Settings(style="nfd"))["metadata"]


@pytest.mark.parametrize(
    ("policy", "scope", "expected"),
    [
        ("single-numa-node", "container", "SingleNUMANodeContainerLevel"),
        ("restricted", "pod", "RestrictedPodLevel"),
        ("best-effort", "container", "BestEffortContainerLevel"),
        ("none", "pod", "None"),
        ("restricted", "galaxy", "None"),
    ],
)
def test_policy_and_scope_are_one_word_where_there_are_no_attributes(policy: str, scope: str, expected: str) -> None:
    host = Host(cpus={}, policy=policy, scope=scope)
    assert written(NODE, (), host, Settings(style="nfd"))["topologyPolicies"] == [expected]


SHARED = Pod("d", "shared", {"app": Holding()})
PINNED = Pod("d", "pinned", {"sidecar": Holding(), "app": Holding(cpus=(1,))})
WITH_MEMORY = Pod("d", "memory", {"app": Holding(memory=(Memory("memory", 1, (0,)),))})
WITH_DEVICE = Pod("d", "device", {"app": Holding(devices=(Devices(GPU, ("0",), (1,)),))})
NOWHERE = Pod(
    "d", "nowhere", {"app": Holding((), (Memory("memory", 1, (-1,)),), (Devices(GPU, ("0",)), Devices(GPU, (), (0,))))}
)
EVERY = (SHARED, PINNED, WITH_MEMORY, WITH_DEVICE, NOWHERE)


@pytest.mark.parametrize(
    ("settings", "counted"),
    [
        ({"fingerprint": "all"}, EVERY),
        ({"fingerprint": "with-exclusive-resources"}, (PINNED, WITH_MEMORY, WITH_DEVICE)),
        ({"fingerprint": "with-exclusive-resources", "style": "nfd"}, EVERY),
    ],
)
def test_fingerprints_are_of_all_pods_or_of_those_that_hold_something_for_themselves(
    settings: dict[str, Any], counted: tuple[Pod, ...]
) -> None:
    expected = fingerprint((one.namespace, one.name) for one in counted)
    assert fingerprint_of(View(EVERY), Settings(**settings)) == expected


def test_no_pods_have_a_fingerprint_in_one_style_and_none_in_the_other() -> None:
    assert fingerprint_of(View(), Settings()) == "pfp0v001ef46db3751d8e999"
    assert fingerprint_of(View(), Settings(style="nfd")) == ""
    assert fingerprint_of(View(EVERY), Settings(fingerprint="none")) == ""
    assert fingerprint_of(View(EVERY), Settings(style="nfd", fingerprint="none")) == ""


def _busy() -> NodeLedger:
    ledger = NodeLedger(node(kubelet()))
    assert ledger.admit(pod("a", {"cpu": "4", "memory": "4Gi", GPU: "2"})) is None
    return ledger


def test_the_reference_scheduler_reads_what_is_written() -> None:
    ledger = _busy()
    view, host, settings = view_of(ledger), host_of(ledger), Settings()
    found = written(NODE, zones_of(view, host, "rte"), host, settings, fingerprint=fingerprint_of(view, settings))
    report = report_of(found)
    assert report is not None
    assert (report.fingerprint, report.only_exclusive) == (fingerprint([("d", "a")]), True)
    assert report.zones.resources == ("cpu", "memory", GPU)
    truth = [[zone[name].available * 1000 for name in report.zones.resources] for zone in ledger.zones().values()]
    assert [list(row) for row in report.zones.left] == truth


def _definition() -> Any:
    """The minimal definition that labs have, with the older version beside the newer."""
    files = importlib.resources.files("kubedyno.schedulers.reference") / "definitions"
    found = yaml.safe_load((files / "noderesourcetopologies.topology.node.k8s.io.yaml").read_text())
    [newest] = found["spec"]["versions"]
    schema = newest["schema"]["openAPIV3Schema"]
    properties = {name: schema["properties"][name] for name in ("topologyPolicies", "zones")}
    older = {"type": "object", "required": ["topologyPolicies", "zones"], "properties": properties}
    found["spec"]["versions"].append(
        {"name": "v1alpha1", "served": True, "storage": False, "schema": {"openAPIV3Schema": older}}
    )
    return found


@pytest.mark.parametrize("style", ["rte", "nfd"])
async def test_servers_take_what_is_written_in_both_versions(tmp_path: Path, style: Any) -> None:
    ledger = _busy()
    view, host = view_of(ledger), host_of(ledger)
    zones = zones_of(view, host, style)
    async with lab_in_process(tmp_path / "lab", engine="embedded", nodes=1) as lab:
        client = lab.client
        [owner] = (await client.list_all(NODES)).items
        namespace = await client.get(NAMESPACES, "default")
        async with defined(client, _definition()):
            for kind in NODE_RESOURCE_TOPOLOGIES:
                settings = Settings(style=style, api_version=kind.version)  # type: ignore[arg-type] # both are its
                wanted = written(
                    owner,
                    zones,
                    host,
                    settings,
                    fingerprint=fingerprint_of(view, settings),
                    namespace=namespace,
                )
                found = await client.create(kind, wanted, field_validation="Strict")
                kept = {name: found["metadata"][name] for name in wanted["metadata"]}
                assert {**found, "metadata": kept} == wanted
                await client.delete(kind, owner["metadata"]["name"])
