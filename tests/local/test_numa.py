"""The eight points of failure on real scheduler-plugins: what is documented of its NUMA plugin shows up so."""

import contextlib
import itertools
import platform
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.trials import expect_passed, measured, played_on

from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import TrialRecord
from kubedyno.plane.ports import free_ports
from kubedyno.scenarios import SCENARIOS
from kubedyno.scenarios.numa import extender, waking, wrong_node
from kubedyno.scenarios.numa.kubelet_down import kubelet_down

pytestmark = [pytest.mark.local, pytest.mark.timeout(300)]

BELIEVED = "the {} cache believes a report that is out of date"
UNREADABLE = "zones that it cannot read count as zones without anything"
NO_MEMORY = "memory that no zone lists is memory that no zone has"
SPREAD = "the resource-topology-exporter charges memory of several zones to each of them"
UNCOUNTED = "sidecars are looked at, but not counted"
PARTS = "a part of a CPU must fit a zone, though kubelets do not align it"
BELIEVES_EXTENDERS = "an extender that is told whole nodes may give back one that was filtered out, and is believed"
DIVIDES = "scoring ends the process: pod-level resources"
INDEXES = (
    "scoring ends the process: numbers of zones left out",
    "filtering ends the process: one zone has the number 64",
)
DEATHS = (DIVIDES, *INDEXES)
BELOW_ZERO = "scoring falls below zero, and then no node is chosen: {}"
NO_NUMBER = (
    BELOW_ZERO.format("pod-level resources, and containers that ask for CPUs alone"),
    BELOW_ZERO.format("pod-level resources"),
)
OF_STRATEGIES: dict[str, tuple[str, ...]] = {
    "MostAllocated": DEATHS,
    # What is no number becomes a score below zero on these processors only.
    "BalancedAllocation": (*(NO_NUMBER if platform.machine() == "x86_64" else ()), *INDEXES),
    "LeastNUMANodes": (BELOW_ZERO.format("a node of 11 zones, of which the pod would need 10"), *INDEXES),
}

SMALL: dict[str, dict[str, Any]] = {
    "numa/side-effects": {"slowdown": 50},
    "numa/stale": {"frozen_s": 6},
    "numa/wrong-node": {"pods": 6},
    "numa/scheduler-down": {"down_s": 4},
    "numa/exporter-crash": {"down_s": 4},
}
ON_PASSTHROUGH: dict[str, tuple[str, ...]] = {
    "numa/side-effects": (NO_MEMORY,),
    "numa/stale": (BELIEVED.format("passthrough"),),
    "numa/exporter-accounting": (UNREADABLE, NO_MEMORY, SPREAD),
    "numa/wrong-node": (UNCOUNTED, PARTS, *DEATHS),
    "numa/kubelet-misreports": (),
    "numa/kubelet-down": (),
    "numa/scheduler-down": (BELIEVED.format("passthrough"),),
    "numa/exporter-crash": (BELIEVED.format("passthrough"),),
}
ON_OVER_RESERVE: dict[str, tuple[str, ...]] = {
    "numa/side-effects": ("the over-reserving cache closes a node to which somebody else has brought a pod", NO_MEMORY),
    "numa/stale": (
        "the over-reserving cache never looks again at a node without pods",
        "the over-reserving cache counts pods that were refused, which no exporter does",
        "the over-reserving cache hears of no policy any more once its watch has ended",
    ),
    "numa/exporter-accounting": (UNREADABLE, NO_MEMORY, SPREAD),
    "numa/wrong-node": (
        "the over-reserving cache ignores reports that are created after its start",
        UNCOUNTED,
        PARTS,
        *DEATHS,
    ),
    "numa/kubelet-misreports": (),
    "numa/kubelet-down": (),
    "numa/exporter-crash": (),
}
"""What is known of the plugin, and expected; that waiting pods are not woken depends on the moment."""


@contextlib.asynccontextmanager
async def lab_with(
    folder: Path, cache: str, *, scoring: str = "LeastAllocated", **options: Any
) -> AsyncIterator[RunningLab]:
    """A lab whose plugin has that cache; its settings are those of `numa/wrong-node`, which are all that any needs."""
    needed = wrong_node.settings({"cache": cache, "scoring": scoring})["plugins"]
    settings = {"plugins": {path.removeprefix("plugins."): value for path, value in needed.items()}}
    async with lab_in_process(
        folder / "lab", scheduler="plugins", settings=settings, heartbeats=kubelet_down.heartbeats, **options
    ) as lab:
        yield lab


@pytest.fixture(scope="module")
async def passthrough(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_with(tmp_path_factory.mktemp("passthrough"), "passthrough") as lab:
        yield lab


@pytest.fixture(scope="module")
async def over_reserve(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_with(tmp_path_factory.mktemp("over-reserve"), "over-reserve") as lab:
        yield lab


@pytest.fixture(scope="module")
async def discard_reserved(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    async with lab_with(tmp_path_factory.mktemp("discard-reserved"), "discard-reserved") as lab:
        yield lab


async def played_with(lab: RunningLab, name: str, cache: str, folder: Path) -> TrialRecord:
    record = await played_on(lab, SCENARIOS.get(name), folder, cache=cache, **SMALL.get(name, {}))
    expect_passed(record, {})
    return record


def findings(record: TrialRecord) -> tuple[str, ...]:
    """The known faults that showed up, each once after another, but for one that depends on the moment."""
    found = (case.finding for case in record.cases if case.finding not in {"", waking.UNWOKEN})
    return tuple(finding for finding, _ in itertools.groupby(found))


@pytest.mark.parametrize("name", ON_PASSTHROUGH)
async def test_it_comes_out_as_documented_without_a_cache(name: str, passthrough: RunningLab, tmp_path: Path) -> None:
    record = await played_with(passthrough, name, "passthrough", tmp_path)
    assert findings(record) == ON_PASSTHROUGH[name]
    if name in {"numa/stale", "numa/exporter-crash"}:
        assert measured(record)["pods refused for their alignment"] > 0


@pytest.mark.long
@pytest.mark.parametrize("name", ON_OVER_RESERVE)
async def test_it_comes_out_as_documented_with_the_over_reserving_cache(
    name: str, over_reserve: RunningLab, tmp_path: Path
) -> None:
    record = await played_with(over_reserve, name, "over-reserve", tmp_path)
    assert findings(record) == ON_OVER_RESERVE[name]
    if name in {"numa/stale", "numa/exporter-crash"}:
        assert measured(record)["pods refused for their alignment"] == 0


@pytest.mark.long
async def test_a_cache_that_discards_reserved_nodes_believes_old_reports_too(
    discard_reserved: RunningLab, tmp_path: Path
) -> None:
    record = await played_with(discard_reserved, "numa/stale", "discard-reserved", tmp_path)
    assert findings(record) == (BELIEVED.format("discard-reserved"),)


@pytest.mark.long
@pytest.mark.parametrize("scoring", OF_STRATEGIES)
async def test_every_strategy_chooses_as_the_oracle_does_and_trips_as_documented(scoring: str, tmp_path: Path) -> None:
    async with lab_with(tmp_path, "passthrough", scoring=scoring) as lab:
        scenario = SCENARIOS.get("numa/wrong-node")
        record = await played_on(lab, scenario, tmp_path, cache="passthrough", scoring=scoring)
    expect_passed(record, {})
    assert findings(record) == (UNCOUNTED, PARTS, *OF_STRATEGIES[scoring])
    assert "with true reports a node of the highest score is chosen" in {check.name for check in record.checks}


@pytest.mark.long
@pytest.mark.parametrize("cache", ["passthrough", "over-reserve"])
async def test_an_extender_misleads_the_scheduler_as_documented(cache: str, tmp_path: Path) -> None:
    config = extender.configuration(free_ports()())
    async with lab_with(tmp_path, cache, scheduler_config=config) as lab:
        record = await played_on(lab, SCENARIOS.get("numa/wrong-node"), tmp_path, cache=cache, pods=1, deadly=False)
    expect_passed(record, {})
    found = {case.failure: case.expected for case in record.cases if case.component == "extender"}
    waits = "the pod waits, none is refused, and says: {}; it runs as soon as the extender is right"
    assert found.pop("gives all points to a node that would not be chosen").startswith("the pod runs on numa-")
    assert found == {
        "names a node that does not exist": waits.format("not found in the input node list"),
        "names a node that does not exist, and is ignorable": "the pod runs",
        "names only a node without room": waits.format("not found in the input node list"),
        "is told whole nodes, and gives back only one without room": (
            "the kubelet of that node refuses the pod; right would be: the pod waits, none is refused"
        ),
        "does not answer": waits.format("deadline exceeded"),
        "does not answer, and is ignorable": "the pod runs",
    }
    assert BELIEVES_EXTENDERS in findings(record)


@pytest.mark.long
@pytest.mark.parametrize("cache", ["passthrough", "over-reserve"])
async def test_the_other_scheduler_takes_over_when_the_leader_is_killed(cache: str, tmp_path: Path) -> None:
    async with lab_with(tmp_path, cache, ha="stacked") as lab:
        record = await played_on(lab, SCENARIOS.get("numa/scheduler-down"), tmp_path, cache=cache, nodes=4, down_s=4)
    expect_passed(record, {})
    [case] = [case for case in record.cases if case.failure == "the leader of two is killed while pods come"]
    assert case.expected == "the other takes over when the lease is over, and all run"
    assert "16 running" in case.observed
    assert "time until the other scheduler took over" in measured(record)


async def test_the_settings_of_the_plugin_are_read_back(over_reserve: RunningLab) -> None:
    told = {one.field.rpartition("args.")[2]: one.value for one in over_reserve.settings if "args." in one.field}
    assert (told["cacheResyncPeriodSeconds"], told["discardReservedNodes"]) == ("5", "false")
    assert told["scoringStrategy.type"] == "LeastAllocated"
