"""Exporters that write what is not so: one thing each, and nothing else."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.numanodes import GIB, GPU, kubelet, node, pod

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.model.numa.podresources import Holding, Memory, Pod, View
from kubedyno.sim.exporters import distorting as d
from kubedyno.sim.exporters.distorting import Distortion
from kubedyno.sim.exporters.drafting import MOST_REMEMBERED, Draft, Past, drafted, remembered
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.viewing import host_of, view_of
from kubedyno.sim.exporters.writing import written
from kubedyno.sim.kubelet.ledger import NodeLedger

pytestmark = pytest.mark.unit

NODE = node(kubelet())
LEDGER = NodeLedger(NODE)
assert LEDGER.admit(pod("a", {"cpu": "4", "memory": "4Gi", GPU: "1"})) is None
VIEW, HOST = view_of(LEDGER), host_of(LEDGER)
# A pod whose memory lies on both NUMA nodes, and one that was there at the last look and ended.
WIDE = Pod("d", "wide", {"app": Holding(memory=(Memory("memory", 33 * GIB, (0, 1)),))})
ENDED = Pod("d", "ended", {"app": Holding(cpus=(8, 9))})
PAST = Past(fingerprints=("oldest", "older", "old"), pods=(*VIEW.pods, ENDED))
RTE, NFD = Settings(), Settings(style="nfd")
STRAIGHT = drafted(VIEW, HOST, RTE, PAST)


def told(draft: Draft) -> Object:
    return written(NODE, draft.zones, draft.host, draft.settings, fingerprint=draft.fingerprint)


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """Whatever is not a list or mapping, by its path; zones, costs, resources and attributes go by their names."""
    if isinstance(value, dict):
        return {at: leaf for name, entry in value.items() for at, leaf in leaves(entry, f"{path}.{name}").items()}
    if isinstance(value, list):
        keys = [entry.get("name", place) if isinstance(entry, dict) else place for place, entry in enumerate(value)]
        pairs = zip(keys, value, strict=True)
        return {at: leaf for key, entry in pairs for at, leaf in leaves(entry, f"{path}[{key}]").items()}
    return {path: value}


def changes(distortion: Distortion, draft: Draft = STRAIGHT) -> dict[str, Any]:
    """What is written otherwise, by its path; None for what is not written any more."""
    before, after = leaves(told(draft)), leaves(told(d.distorted(draft, [distortion])))
    return {path: after.get(path) for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def available(zone: int, resource: str) -> str:
    return f".zones[node-{zone}].resources[{resource}].available"


PRINT = ".attributes[nodeTopologyPodsFingerprint].value"
COPY = ".metadata.annotations.topology.node.k8s.io/fingerprint"
NONE_AT_ALL = {
    COPY: None,
    **{
        f".attributes[{name}].{field}": None
        for name in ("nodeTopologyPodsFingerprint", "nodeTopologyPodsFingerprintMethod")
        for field in ("name", "value")
    },
}
NOBODY = fingerprint([("kubedyno", "nobody")])

CHANGES: list[tuple[Distortion, dict[str, Any]]] = [
    (d.MoreAvailable(resource="cpu", zone=0, by="3"), {available(0, "cpu"): "13"}),
    (
        d.MoreAvailable(resource="memory", by="1Gi"),
        {available(0, "memory"): str(28 * GIB), available(1, "memory"): str(32 * GIB)},
    ),
    (d.LessAvailable(resource=GPU, zone=1, by="3"), {available(1, GPU): "1"}),
    (d.LessAvailable(resource="cpu", zone=0, by="99"), {available(0, "cpu"): "0"}),
    (d.WrongPolicy(policy="none"), {".attributes[topologyManagerPolicy].value": "none"}),
    (d.WrongPolicy(policy="no-such"), {".attributes[topologyManagerPolicy].value": "no-such"}),
    (d.WrongScope(scope="pod"), {".attributes[topologyManagerScope].value": "pod"}),
    (d.WrongFingerprint(), {PRINT: NOBODY, COPY: NOBODY}),
    (d.WrongFingerprint(value="pfp?"), {PRINT: "pfp?", COPY: "pfp?"}),
    (d.LateFingerprint(), {PRINT: "old", COPY: "old"}),
    (d.LateFingerprint(by=2), {PRINT: "older", COPY: "older"}),
    (d.LateFingerprint(by=9), {PRINT: "oldest", COPY: "oldest"}),
    (d.WrongZoneType(), {".zones[node-0].type": "Socket", ".zones[node-1].type": "Socket"}),
    (
        d.SwappedZones(),
        {
            # Two CPUs of the first one are reserved.
            ".zones[node-0].resources[cpu].allocatable": "16",
            ".zones[node-1].resources[cpu].allocatable": "14",
            available(0, "cpu"): "16",
            available(1, "cpu"): "10",
            available(0, "memory"): str(31 * GIB),
            available(1, "memory"): str(27 * GIB),
            available(0, GPU): "4",
            available(1, GPU): "3",
        },
    ),
    # The style that counts so anyway.
    (d.MemoryChargedToEach(), {}),
    (
        d.TerminalPods(),
        {
            available(1, "cpu"): "14",
            PRINT: fingerprint([("d", "a"), ("d", "ended")]),
            COPY: fingerprint([("d", "a"), ("d", "ended")]),
        },
    ),
]


@pytest.mark.parametrize(("distortion", "expected"), CHANGES)
def test_one_thing_is_written_otherwise_and_nothing_else(distortion: Distortion, expected: dict[str, Any]) -> None:
    assert changes(distortion) == expected


def test_a_fingerprint_that_is_missing_takes_its_method_along() -> None:
    assert changes(d.MissingFingerprint()) == NONE_AT_ALL
    first_look = msgspec.structs.replace(STRAIGHT, past=Past())
    assert changes(d.LateFingerprint(), first_look) == NONE_AT_ALL


@pytest.mark.parametrize(("zone", "numbers"), [(1, [1]), (None, [0, 1])])
def test_a_missing_resource_is_in_one_zone_or_in_none(zone: int | None, numbers: list[int]) -> None:
    expected = {
        f".zones[node-{number}].resources[{GPU}].{field}": None
        for number in numbers
        for field in ("name", "capacity", "allocatable", "available")
    }
    assert changes(d.MissingResource(resource=GPU, zone=zone)) == expected


@pytest.mark.parametrize(
    ("distortion", "name"),
    [
        (d.WrongZoneNames(), lambda number: f"numa-node-{number}"),
        (d.WrongZoneNames(prefix="zone"), lambda number: f"zone{number}"),
        (d.SparseIds(), lambda number: f"node-{2 * number}"),
        (d.SparseIds(step=40), lambda number: f"node-{40 * number}"),
        (d.NegativeIds(), lambda number: f"node--{number + 1}"),
    ],
)
def test_zones_are_renamed_also_where_costs_name_them(distortion: Distortion, name: Callable[[int], str]) -> None:
    before, after = told(STRAIGHT), told(d.distorted(STRAIGHT, [distortion]))
    for number, zone in enumerate(before["zones"]):
        zone["name"] = name(number)
        for other, cost in enumerate(zone["costs"]):
            cost["name"] = name(other)
    assert after == before


@pytest.mark.parametrize("seed", range(6))
def test_shuffled_zones_are_the_same_in_another_order(seed: int) -> None:
    zones = d.distorted(STRAIGHT, [d.ShuffledOrder(seed=seed)]).zones
    assert zones == STRAIGHT.zones[::-1]
    wide = drafted(VIEW, host_of(NodeLedger(node(kubelet(zones=4)))), RTE)
    shuffled = d.distorted(wide, [d.ShuffledOrder(seed=seed)])
    assert shuffled.zones != wide.zones
    assert sorted(shuffled.zones, key=lambda zone: zone.name) == list(wide.zones)
    assert shuffled == d.distorted(wide, [d.ShuffledOrder(seed=seed)])


def test_a_single_zone_cannot_be_shuffled() -> None:
    single = msgspec.structs.replace(STRAIGHT, zones=STRAIGHT.zones[:1])
    assert d.distorted(single, [d.ShuffledOrder()]) == single


def test_memory_is_charged_to_each_numa_node_where_the_style_does_not() -> None:
    view = View((*VIEW.pods, WIDE, Pod("d", "unseen", WIDE.containers, guaranteed=False)), VIEW.allocatable)
    straight = drafted(view, HOST, NFD)
    assert [zone.resources["memory"].available // GIB for zone in straight.zones] == [0, 25]
    # 27 GiB are left of one and 31 of the other: each is charged 33. A pod that it does not count stays uncounted.
    assert changes(d.MemoryChargedToEach(), straight) == {available(1, "memory"): "0"}


def test_pods_that_have_ended_count_in_the_order_that_zones_are_in() -> None:
    rng = random.Random(2)  # noqa: S311 # no secret
    straight = drafted(VIEW, HOST, NFD, PAST, rng)
    counted = d.distorted(straight, [d.TerminalPods()])
    assert [zone.name for zone in counted.zones] == [zone.name for zone in straight.zones]
    assert {zone.name: zone.resources["cpu"].available for zone in counted.zones} == {"node-0": 10, "node-1": 14}


def test_distortions_find_zones_whatever_order_they_are_listed_in() -> None:
    less, names = d.LessAvailable(resource="cpu", zone=1, by="1"), d.WrongZoneNames()
    both = d.distorted(STRAIGHT, [names, d.SparseIds(), d.ShuffledOrder(), less, d.TerminalPods()])
    assert [zone.name for zone in both.zones] == ["numa-node-2", "numa-node-0"]
    assert both.zones[0].resources["cpu"].available == 13


def test_exporters_remember_fingerprints_and_pods_that_have_ended() -> None:
    past = Past()
    for names in ("a", "ab", "b", "ac"):
        view = View(tuple(Pod("d", name) for name in names))
        past = remembered(drafted(view, HOST, Settings(fingerprint="all"), past))
    assert [pod.name for pod in past.pods] == ["a", "c"]
    # The first one came back.
    assert [pod.name for pod in past.ended] == ["b"]
    assert past.fingerprints[0] == fingerprint([("d", "a")])
    for _ in range(MOST_REMEMBERED):
        past = remembered(drafted(View(), HOST, RTE, past))
    assert past.fingerprints == (fingerprint([]),) * MOST_REMEMBERED
    assert {pod.name for pod in past.ended} == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("distortion", "sentence"),
    [
        (
            d.MoreAvailable(resource="cpu", zone=7, by="1"),
            "distortion more-available: there is no zone 7: the node has node-0, node-1",
        ),
        (d.SwappedZones(zones=(0, 2)), "distortion swapped-zones: there is no zone 2: the node has node-0, node-1"),
        (
            d.LessAvailable(resource="cpus", zone=0, by="1"),
            "distortion less-available: zone 0 does not list the resource 'cpus': did you mean 'cpu'?",
        ),
        (
            d.MissingResource(resource="hugepages-1Gi"),
            (
                "distortion missing-resource: no zone lists the resource 'hugepages-1Gi': "
                "known are: cpu, memory, nvidia.com/gpu"
            ),
        ),
    ],
)
def test_zones_and_resources_that_are_not_there_are_told(distortion: Distortion, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        d.distorted(STRAIGHT, [distortion])
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("distortion", "sentence"),
    [
        (
            d.MoreAvailable(resource="cpu", by="0"),
            "distortion more-available: by: '0' is not above zero: write a quantity like 2 or 1Gi",
        ),
        (
            d.LessAvailable(resource="cpu", by="-1"),
            "distortion less-available: by: '-1' is not above zero: write a quantity like 2 or 1Gi",
        ),
        (
            d.SwappedZones(zones=(1, 1)),
            "distortion swapped-zones: zones names 1 twice: write two zones that differ, like [0, 1]",
        ),
        (d.SparseIds(step=1), "distortion sparse-ids: step 1 must be 2 to 1000"),
        (d.LateFingerprint(by=0), "distortion late-fingerprint: by 0 must be 1 to 64"),
        (
            d.WrongZoneNames(prefix="node-"),
            "distortion wrong-zone-names: prefix 'node-' is the right one: write another, like 'numa-node-'",
        ),
    ],
)
def test_values_that_make_no_sense_are_told(distortion: Distortion, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        d.check([distortion])
    assert str(caught.value) == sentence


def test_a_quantity_that_is_none_is_told_with_its_field() -> None:
    with pytest.raises(UsageError, match=r"^distortion more-available: by: .*lots"):
        d.check([d.MoreAvailable(resource="cpu", by="lots")])


def test_every_kind_is_in_the_tables_above() -> None:
    tried = {distortion.kind for distortion, _ in CHANGES}
    assert set(d.KINDS) == tried | {
        "missing-fingerprint",
        "missing-resource",
        "negative-ids",
        "shuffled-order",
        "sparse-ids",
        "wrong-zone-names",
    }
