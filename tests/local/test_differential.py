"""The same situations on the reference scheduler and on real KAI: who runs, who waits, who was evicted for whom.

Which pod is on which node is nobody's promise, and is not compared. Where KAI comes to something else, a situation says
so in `on_kai`, and docs/schedulers-differences.md says why; a difference that is gone fails the test. What KAI comes to
in the catalogue is looked at where the catalogue is.
"""

import functools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.labs import lab_in_process
from tests.local.test_catalogue import FIGURES, ON_KAI
from tests.situations import (
    Changed,
    Ended,
    Lost,
    Pace,
    Played,
    Situation,
    Submitted,
    Thinned,
    Together,
    play_in_virtual_time,
    play_on_shared,
    preferred,
    required,
)
from tests.trials import expect_passed, played

from kubedyno.lab.shapes import device, distributed, elastic, fraction, inference, interactive, training
from kubedyno.lab.starting import RunningLab
from kubedyno.measure.records import Verdict
from kubedyno.model.workloads import Group
from kubedyno.scenarios import SCENARIOS
from kubedyno.sim.pools import Gpus, Pool

pytestmark = pytest.mark.local

ALIKE = {"max-consolidation-preemptees": "16", "default-staleness-grace-period": "3s"}
"""What both schedulers are set to."""
KAI = {
    "scheduler": {**ALIKE, "schedule-period": "500ms"},
    # Several hands take the reservations of each other's fractions away.
    "binder": {"max-concurrent-reconciles": "1"},
}

HALF = {"quota": 4}
TWO_HALVES = {"lender": HALF, "owner": HALF}
ONE_QUEUE: dict[str, dict[str, Any]] = {"team": {}}


def jobs(name: str, queue: str, count: int, gpus: int = 1, *, over_s: float | None = None, **more: str) -> Submitted:
    """Jobs of one pod."""
    return Submitted(name=name, shape=training(gpus=gpus, **more), queue=queue, count=count, over_s=over_s)


def gang(name: str, queue: str, workers: int, gpus: int = 1, **more: Any) -> Submitted:
    """A gang that starts whole."""
    return Submitted(name=name, shape=distributed(workers=workers, gpus=gpus, **more), queue=queue)


# There are two nodes of four GPUs unless a situation says otherwise.
SITUATIONS: dict[str, Situation] = {
    # What is over quota.
    "over-quota-by-weight": Situation(
        queues={"light": {"quota": 2, "weight": 1}, "heavy": {"quota": 2, "weight": 3}},
        steps=(Together(all=(jobs("light", "light", 8), jobs("heavy", "heavy", 8))),),
        ends={"light": "3 of 8 run", "heavy": "5 of 8 run"},
    ),
    "over-quota-by-weight-taken-back": Situation(
        queues={"light": {"quota": 2, "weight": 1}, "heavy": {"quota": 2, "weight": 3}},
        steps=(jobs("light", "light", 8), jobs("heavy", "heavy", 8)),
        ends={"light": "3 of 8 run, 5 evicted", "heavy": "5 of 8 run"},
    ),
    "over-quota-by-priority-of-queues": Situation(
        queues={"later": {"quota": 2, "priority": 100}, "first": {"quota": 2, "priority": 200}},
        steps=(Together(all=(jobs("later", "later", 8), jobs("first", "first", 8))),),
        ends={"later": "2 of 8 run", "first": "6 of 8 run"},
    ),
    "hierarchical-split": Situation(
        queues={
            "science": {"quota": 2},
            "product": {"quota": 2},
            "small": {"parent": "science", "quota": 0, "weight": 1},
            "large": {"parent": "science", "quota": 0, "weight": 3},
            "only": {"parent": "product", "quota": 0},
        },
        steps=(Together(all=(jobs("small", "small", 6), jobs("large", "large", 6), jobs("only", "only", 6))),),
        ends={"small": "1 of 6 run", "large": "3 of 6 run", "only": "4 of 6 run"},
    ),
    "no-weight-is-no-part-of-what-is-over": Situation(
        queues={"none": {"quota": 2, "weight": 0}, "some": {"quota": 2, "weight": 1}},
        steps=(jobs("none", "none", 8), jobs("some", "some", 8)),
        ends={"none": "2 of 8 run, 6 evicted", "some": "6 of 8 run"},
    ),
    "quotas-beyond-the-cluster": Situation(
        queues={"first": {"quota": 6}, "second": {"quota": 6}},
        steps=(jobs("first", "first", 8), jobs("second", "second", 8)),
        ends={"first": "6 of 8 run, 2 evicted", "second": "2 of 8 run"},
    ),
    # Limits.
    "limit-of-a-queue": Situation(
        queues={"team": {"quota": 2, "limit": 5}},
        steps=(jobs("some", "team", 6),),
        ends={"some": "5 of 6 run"},
    ),
    "limit-of-a-department": Situation(
        queues={
            "science": {"quota": 4, "limit": 4},
            "first": {"parent": "science", "quota": 2},
            "second": {"parent": "science", "quota": 2},
        },
        steps=(jobs("first", "first", 5), jobs("second", "second", 3)),
        ends={"first": "2 of 5 run, 2 evicted", "second": "2 of 3 run"},
    ),
    "preemption-at-the-limit": Situation(
        queues={"team": {"quota": 4, "limit": 4}},
        steps=(jobs("usual", "team", 4), jobs("urgent", "team", 2, priority="build-preemptible")),
        ends={"usual": "2 of 4 run, 2 evicted", "urgent": "2 of 2 run"},
    ),
    # Reclaim.
    "reclaim-in-a-department": Situation(
        queues={
            "science": {"quota": 8},
            "lender": {"parent": "science", "quota": 4},
            "owner": {"parent": "science", "quota": 4},
        },
        steps=(jobs("borrowed", "lender", 8), jobs("owned", "owner", 5)),
        ends={"borrowed": "4 of 8 run, 4 evicted", "owned": "4 of 5 run"},
    ),
    "reclaim-across-departments": Situation(
        queues={
            "science": {"quota": 4},
            "product": {"quota": 4},
            "quiet": {"parent": "science", "quota": 2},
            "loud": {"parent": "science", "quota": 2},
            "owner": {"parent": "product", "quota": 4},
        },
        steps=(jobs("quiet", "quiet", 2), jobs("loud", "loud", 6), jobs("owned", "owner", 4)),
        ends={"quiet": "2 of 2 run", "loud": "2 of 6 run, 4 evicted", "owned": "4 of 4 run"},
    ),
    "quota-of-an-idle-sibling-stays-in-the-department": Situation(
        queues={
            "science": {"quota": 4},
            "product": {"quota": 4},
            "idle": {"parent": "science", "quota": 2},
            "busy": {"parent": "science", "quota": 2},
            "owner": {"parent": "product", "quota": 4},
        },
        steps=(jobs("busy", "busy", 8), jobs("owned", "owner", 8)),
        ends={"busy": "4 of 8 run, 4 evicted", "owned": "4 of 8 run"},
    ),
    "reclaim-of-more-than-its-share": Situation(
        queues=TWO_HALVES,
        steps=(jobs("borrowed", "lender", 8), gang("owned", "owner", 3, gpus=2)),
        ends={"borrowed": "8 of 8 run", "owned": "0 of 3 run"},
    ),
    "reclaim-of-big-units": Situation(
        queues={"lender": {"quota": 2}, "owner": {"quota": 2}},
        steps=(jobs("borrowed", "lender", 2, gpus=4), jobs("owned", "owner", 1, gpus=2)),
        ends={"borrowed": "1 of 2 run, 1 evicted", "owned": "1 of 1 run"},
    ),
    "several-reclaimers-at-once": Situation(
        queues={"lender": {"quota": 2}, "one": {"quota": 2}, "two": {"quota": 2}, "three": {"quota": 2}},
        steps=(
            jobs("borrowed", "lender", 8),
            Together(all=(gang("one", "one", 1, gpus=2), gang("two", "two", 2), jobs("three", "three", 2))),
        ),
        ends={
            "borrowed": "2 of 8 run, 6 evicted",
            "one": "1 of 1 run",
            "two": "2 of 2 run",
            "three": "2 of 2 run",
        },
    ),
    "reclaim-beside-what-is-not-preemptible": Situation(
        queues=TWO_HALVES,
        steps=(
            Submitted(name="kept", shape=interactive(gpus=1), queue="lender", count=4),
            jobs("borrowed", "lender", 4),
            jobs("owned", "owner", 4),
        ),
        ends={"kept": "4 of 4 run", "borrowed": "0 of 4 run, 4 evicted", "owned": "4 of 4 run"},
    ),
    "reclaim-before-preemption": Situation(
        queues=TWO_HALVES,
        steps=(
            jobs("low", "owner", 1, gpus=2),
            jobs("borrowed", "lender", 6),
            jobs("urgent", "owner", 1, gpus=2, priority="build-preemptible"),
        ),
        ends={"low": "1 of 1 run", "borrowed": "4 of 6 run, 2 evicted", "urgent": "1 of 1 run"},
    ),
    "reclaim-by-what-is-not-preemptible": Situation(
        queues={"lender": {"quota": 4}, "owner": {"quota": 2}},
        steps=(
            jobs("borrowed", "lender", 8),
            Submitted(name="held", shape=interactive(gpus=1), queue="owner", count=3),
        ),
        ends={"borrowed": "6 of 8 run, 2 evicted", "held": "2 of 3 run"},
    ),
    "quota-changes-while-running": Situation(
        queues={"lender": {"quota": 6}, "owner": {"quota": 2}},
        steps=(
            Together(all=(jobs("borrowed", "lender", 8), jobs("owned", "owner", 8))),
            Changed(figures={"lender": {"quota": 2}, "owner": {"quota": 6}}),
        ),
        ends={"borrowed": "2 of 8 run, 4 evicted", "owned": "6 of 8 run"},
    ),
    # Whose turn it is to go.
    "victims-the-newest": Situation(
        queues=TWO_HALVES,
        steps=(jobs("borrowed", "lender", 4, gpus=2, over_s=4.4), jobs("owned", "owner", 2, gpus=2)),
        ends={"borrowed": "2 of 4 run, 2 evicted of 2 3", "owned": "2 of 2 run"},
    ),
    "victims-of-the-lowest-priority": Situation(
        queues=TWO_HALVES,
        steps=(
            jobs("low", "lender", 2, gpus=2, over_s=2.2),
            jobs("high", "lender", 2, gpus=2, priority="build-preemptible"),
            jobs("owned", "owner", 2, gpus=2),
        ),
        ends={"low": "0 of 2 run, 2 evicted of 0 1", "high": "2 of 2 run", "owned": "2 of 2 run"},
    ),
    "victims-beyond-the-least-number-first": Situation(
        queues=TWO_HALVES,
        steps=(
            Submitted(name="elastic", shape=elastic(workers=4, least=1, gpus=1), queue="lender"),
            gang("rigid", "lender", 4),
            gang("owned", "owner", 2),
        ),
        ends={"elastic": "2 of 4 run, 2 evicted", "rigid": "4 of 4 run", "owned": "2 of 2 run"},
    ),
    "victims-the-whole-elastic-gang": Situation(
        queues=TWO_HALVES,
        steps=(
            Submitted(name="elastic", shape=elastic(workers=8, least=6, gpus=1), queue="lender"),
            gang("owned", "owner", 4),
        ),
        ends={"elastic": "0 of 8 run, 8 evicted", "owned": "4 of 4 run"},
    ),
    "victims-whole-gangs": Situation(
        queues=TWO_HALVES,
        steps=(
            Submitted(name="rigid", shape=distributed(workers=2, gpus=1), queue="lender", count=4, over_s=4.4),
            gang("owned", "owner", 3),
        ),
        ends={"rigid": "4 of 8 run, 4 evicted of 2 3", "owned": "3 of 3 run"},
    ),
    # Priorities within a queue.
    "preemption-in-a-queue": Situation(
        queues=ONE_QUEUE,
        steps=(
            jobs("usual", "team", 4, gpus=2, over_s=4.4),
            gang("same", "team", 1, gpus=4),
            gang("urgent", "team", 2, gpus=2, priority="build-preemptible"),
        ),
        ends={"usual": "2 of 4 run, 2 evicted of 2 3", "same": "0 of 1 run", "urgent": "2 of 2 run"},
    ),
    "no-preemption-across-queues": Situation(
        queues={"lender": {"quota": 8}, "other": {"quota": 0}},
        steps=(jobs("usual", "lender", 8), jobs("urgent", "other", 1, priority="build-preemptible")),
        ends={"usual": "8 of 8 run", "urgent": "0 of 1 run"},
    ),
    "not-preemptible-within-quota": Situation(
        queues={"team": {"quota": 3}, "other": {"quota": 5}},
        steps=(Submitted(name="held", shape=interactive(gpus=1), queue="team", count=4), jobs("more", "team", 4)),
        ends={"held": "3 of 4 run", "more": "4 of 4 run"},
    ),
    "not-preemptible-gang-over-quota": Situation(
        queues={"team": {"quota": 2}, "other": {"quota": 6}},
        steps=(
            Submitted(
                name="served",
                shape=inference(
                    groups=(Group(name="prefill", pods=1), Group(name="decode", pods=2)), priority="inference"
                ),
                queue="team",
            ),
        ),
        ends={"served": "0 of 3 run"},
    ),
    "not-preemptible-takes-from-its-own-queue": Situation(
        queues={"team": {"quota": 8}},
        steps=(jobs("usual", "team", 8), Submitted(name="held", shape=interactive(gpus=2), queue="team")),
        ends={"usual": "6 of 8 run, 2 evicted", "held": "1 of 1 run"},
    ),
    # Gangs.
    "gang-that-does-not-fit": Situation(
        queues=ONE_QUEUE,
        steps=(gang("gang", "team", 3, gpus=4), jobs("small", "team", 4, gpus=2)),
        ends={"gang": "0 of 3 run", "small": "4 of 4 run"},
    ),
    "elastic-gang-grows": Situation(
        queues=ONE_QUEUE,
        steps=(
            jobs("first", "team", 1, gpus=4),
            Submitted(name="elastic", shape=elastic(workers=6, least=2, gpus=2), queue="team"),
            Ended(name="first"),
        ),
        ends={"first": "0 of 1 run", "elastic": "4 of 6 run"},
    ),
    "elastic-gang-shrinks": Situation(
        queues=TWO_HALVES,
        steps=(
            Submitted(name="elastic", shape=elastic(workers=4, least=1, gpus=2), queue="lender"),
            gang("owned", "owner", 2, gpus=2),
        ),
        ends={"elastic": "2 of 4 run, 2 evicted", "owned": "2 of 2 run"},
    ),
    "stale-gang": Situation(
        queues=ONE_QUEUE,
        steps=(gang("gang", "team", 4), Lost(name="gang"), jobs("next", "team", 4, gpus=2)),
        ends={"gang": "0 of 4 run, 4 evicted", "next": "4 of 4 run"},
    ),
    "sub-groups-all-or-none": Situation(
        queues=ONE_QUEUE,
        steps=(
            Submitted(
                name="too-large",
                shape=inference(groups=(Group(name="prefill", pods=1), Group(name="decode", pods=2, gpus=4))),
                queue="team",
            ),
            Submitted(
                name="with-a-floor",
                shape=inference(groups=(Group(name="prefill", pods=1), Group(name="decode", pods=2, least=1, gpus=4))),
                queue="team",
            ),
        ),
        ends={"too-large": "0 of 3 run", "with-a-floor": "2 of 3 run"},
    ),
    # Topology: racks of two nodes.
    "required-rack": Situation(
        racks=2,
        queues=ONE_QUEUE,
        steps=(
            gang("fits", "team", 2, gpus=4, closeness=required()),
            gang("half", "team", 3, gpus=2, closeness=required()),
            gang("wide", "team", 3, gpus=4, closeness=required()),
        ),
        ends={"fits": "2 of 2 run, 1 racks", "half": "3 of 3 run, 1 racks", "wide": "0 of 3 run"},
    ),
    "required-rack-of-each-group": Situation(
        racks=2,
        queues=ONE_QUEUE,
        steps=(
            Submitted(
                name="served",
                shape=inference(
                    groups=(
                        Group(name="prefill", pods=2, gpus=4, closeness=required()),
                        Group(name="decode", pods=2, gpus=4, closeness=required()),
                    )
                ),
                queue="team",
            ),
        ),
        ends={"served": "4 of 4 run, 2 racks"},
    ),
    "preferred-rack": Situation(
        racks=3,
        queues=ONE_QUEUE,
        steps=(
            gang("fits", "team", 2, gpus=4, closeness=preferred()),
            gang("wide", "team", 3, gpus=4, closeness=preferred()),
        ),
        ends={"fits": "2 of 2 run, 1 racks", "wide": "3 of 3 run, 2 racks"},
    ),
    "reclaim-for-a-required-rack": Situation(
        racks=2,
        queues={"lender": {"quota": 8}, "owner": {"quota": 8}},
        steps=(jobs("borrowed", "lender", 4, gpus=4), gang("owned", "owner", 2, gpus=4, closeness=required())),
        ends={"borrowed": "2 of 4 run, 2 evicted", "owned": "2 of 2 run, 1 racks"},
        on_kai={"borrowed": "4 of 4 run", "owned": "0 of 2 run"},
    ),
    "reclaim-for-a-preferred-rack": Situation(
        racks=2,
        queues={"lender": {"quota": 8}, "owner": {"quota": 8}},
        steps=(jobs("borrowed", "lender", 4, gpus=4), gang("owned", "owner", 2, gpus=4, closeness=preferred())),
        ends={"borrowed": "2 of 4 run, 2 evicted", "owned": "2 of 2 run, 1 racks"},
        on_kai={"borrowed": "4 of 4 run", "owned": "0 of 2 run"},
    ),
    # Moving together.
    "consolidation": Situation(
        nodes=4,
        queues=ONE_QUEUE,
        steps=(jobs("scattered", "team", 8, gpus=2), Thinned(name="scattered"), gang("whole", "team", 2, gpus=4)),
        ends={"scattered": "4 of 4 run, 2 evicted", "whole": "2 of 2 run"},
    ),
    "no-consolidation-of-what-is-not-preemptible": Situation(
        queues=ONE_QUEUE,
        steps=(
            Submitted(name="scattered", shape=interactive(gpus=2), queue="team", count=4),
            Thinned(name="scattered"),
            jobs("whole", "team", 1, gpus=4),
        ),
        ends={"scattered": "2 of 2 run", "whole": "0 of 1 run"},
    ),
    # Sizes and parts.
    "big-behind-small": Situation(
        queues=ONE_QUEUE,
        steps=(jobs("first", "team", 3, gpus=2), jobs("big", "team", 1, gpus=4), jobs("small", "team", 4)),
        ends={"first": "3 of 3 run", "big": "0 of 1 run", "small": "2 of 4 run"},
    ),
    "fractions": Situation(
        nodes=1,
        gpus=2,
        queues=ONE_QUEUE,
        steps=(
            Submitted(name="halves", shape=fraction(0.5), queue="team", count=3),
            Submitted(name="most", shape=fraction(0.7), queue="team"),
            Submitted(name="rest", shape=fraction(0.25), queue="team", count=3),
        ),
        ends={"halves": "3 of 3 run", "most": "0 of 1 run", "rest": "2 of 3 run"},
    ),
    "fractions-taken-back": Situation(
        nodes=1,
        gpus=2,
        queues={"lender": {"quota": 1}, "owner": {"quota": 1}},
        steps=(
            Submitted(name="borrowed", shape=fraction(0.5), queue="lender", count=4),
            Submitted(name="owned", shape=fraction(0.5), queue="owner", count=2),
        ),
        ends={"borrowed": "2 of 4 run, 2 evicted", "owned": "2 of 2 run"},
    ),
    "devices": Situation(
        pool=Pool(name="nodes", count=1, gpus=Gpus(model="H100", count=8, show=("dra",))),
        queues=ONE_QUEUE,
        steps=(Submitted(name="claimed", shape=device(3), queue="team", count=3),),
        ends={"claimed": "2 of 3 run"},
    ),
    "devices-beyond-a-limit": Situation(
        pool=Pool(name="nodes", count=1, gpus=Gpus(model="H100", count=8, show=("dra",))),
        queues={"team": {"quota": 3, "limit": 3}},
        steps=(Submitted(name="claimed", shape=device(2), queue="team", count=2),),
        ends={"claimed": "1 of 2 run"},
        on_kai={"claimed": "2 of 2 run"},
    ),
}


@pytest.fixture(scope="module")
async def kai(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """One lab with real KAI for all situations, which leave it as they found it."""
    folder = tmp_path_factory.mktemp("differential") / "lab"
    async with lab_in_process(folder, scheduler="kai", profile="unthrottled", settings=KAI) as lab:
        yield lab


@functools.cache
def on_reference(name: str) -> Played:
    return play_in_virtual_time(name, SITUATIONS[name], ALIKE)


@pytest.fixture
def pace(name: str) -> Pace:
    """Each step is given the time to come to what it came to with the reference scheduler, or is known to."""
    stages, on_kai = on_reference(name).stages, SITUATIONS[name].on_kai
    if on_kai is None:
        return Pace(quiet_s=1.5, quiet_between_s=0.8, awaited=stages)
    # That nothing happens is seen at once; it is the difference only if it stays so.
    return Pace(quiet_s=4.0, quiet_between_s=0.8, awaited=(*stages[:-1], on_kai))


@pytest.mark.parametrize("name", SITUATIONS)
def test_it_ends_so_with_the_reference_scheduler(name: str) -> None:
    came_to = on_reference(name)
    assert (came_to.ends, came_to.violations) == (SITUATIONS[name].ends, ())


@pytest.mark.parametrize("name", SITUATIONS)
async def test_it_ends_so_with_kai(name: str, kai: RunningLab, pace: Pace, tmp_path: Path) -> None:
    """A KAI that is late to hear of its own bindings over-commits nodes on its way, which is for other tests to catch.

    It has races of its own with fractions and claims, after which somebody waits who need not: what ends in another way
    is played once more. A difference that is no chance shows twice.
    """
    wanted = SITUATIONS[name].on_kai or SITUATIONS[name].ends
    came_to = await play_on_shared(name, SITUATIONS[name], kai, folder=tmp_path / "once", pace=pace)
    if came_to.ends != wanted:
        came_to = await play_on_shared(f"{name}-again", SITUATIONS[name], kai, folder=tmp_path / "again", pace=pace)
    assert came_to.ends == wanted


@pytest.mark.parametrize("name", ON_KAI)
def test_what_kai_passes_of_the_catalogue_the_reference_scheduler_passes_with_the_same_figures(name: str) -> None:
    record = played(SCENARIOS.get(name), **ON_KAI[name])
    expect_passed(record, FIGURES.get(name, {}))


def test_without_consolidation_nothing_is_moved_by_the_reference_scheduler_either() -> None:
    settings = {"reference": {"max-consolidation-preemptees": "0"}}
    record = played(SCENARIOS.get("kai/consolidate"), settings=settings, nodes=4)
    assert record.verdict == Verdict.FAILED
    assert "pods were not scheduled, and nothing happened to them" in record.message
