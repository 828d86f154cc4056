"""The simulated operators of a lab: chosen, named, and prepared without touching what is there."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.errors import UsageError
from kubedyno.kit.progress import Quiet
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube import meta
from kubedyno.kube.resources import CRDS, PRIORITY_CLASSES, STORAGE_CLASSES
from kubedyno.lab import installing, operating, planning
from kubedyno.lab.programs import Provided
from kubedyno.lab.spec import OPERATORS, LabSpec, check, parse_operators
from kubedyno.lab.starting import RunningLab, started
from kubedyno.plane.ports import counted_ports
from kubedyno.server.embedding import new_api
from kubedyno.server.inprocess import InProcess

pytestmark = pytest.mark.unit

OURS = "kubedyno/simulated=true"


def chosen(*options: str) -> tuple[operating.Operator, ...]:
    return operating.operators(options, scheduler_name="mine")


def names(objects: list[dict[str, object]]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]  # type: ignore[index] # objects of the API


def test_every_operator_is_named_as_simulated() -> None:
    found = chosen(*OPERATORS)
    assert {one.option: one.activity.name for one in found} == operating.NAMES
    assert all(name.startswith("simulated ") for name in operating.NAMES.values())


@pytest.mark.parametrize(
    ("options", "crds", "objects"),
    [
        (("training",), ["pytorchjobs.kubeflow.org"], []),
        (("volumes",), [], ["kubedyno-immediate", "kubedyno-wait"]),
        (
            ("runai", "training"),
            [
                "pytorchjobs.kubeflow.org",
                "trainingworkloads.run.ai",
                "interactiveworkloads.run.ai",
                "distributedworkloads.run.ai",
            ],
            ["train", "build"],
        ),
        ((), [], []),
    ],
)
def test_an_operator_brings_what_it_needs(options: tuple[str, ...], crds: list[str], objects: list[str]) -> None:
    assert names(operating.definitions(chosen(*options))) == crds
    assert names(operating.objects(chosen(*options))) == objects


@pytest.mark.parametrize(
    ("text", "options"),
    [("all", OPERATORS), ("none", ()), ("volumes", ("volumes",)), ("runai,,training,runai", ("runai", "training"))],
)
def test_operators_as_they_are_written(text: str, options: tuple[str, ...]) -> None:
    assert parse_operators(text) == options


def test_an_operator_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="--operators ray: known are: runai, training, volumes"):
        check(LabSpec(name="lab", operators=("ray",)))


def test_which_parts_of_a_lab_are_simulated() -> None:
    parts = ("server", "simulated training operator", "kubelets", "simulated volume provisioner")
    assert operating.simulated(parts) == ("simulated training operator", "simulated volume provisioner")


def in_lab(play: Callable[[RunningLab], Awaitable[None]], *operators: str) -> None:
    async def main() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        spec = check(LabSpec(name="v", scheduler="reference", time="virtual", operators=operators))
        plan = planning.plan(spec, folder=Path("nowhere"), draw_port=counted_ports(1))
        async with started(plan, provided=Provided(found={}, crd_folders=()), clock=clock, progress=Quiet()) as lab:
            await play(lab)

    tasks.run(main, virtual=True)


def test_a_lab_has_its_operators_and_what_they_need() -> None:
    async def play(lab: RunningLab) -> None:
        assert operating.simulated(lab.activities.running) == tuple(operating.NAMES.values())
        crds = (await lab.client.list_all(CRDS, label_selector=OURS)).items
        assert len(crds) == 4
        assert all(meta.is_condition_true(crd, "Established") for crd in crds)
        assert names((await lab.client.list_all(STORAGE_CLASSES)).items) == ["kubedyno-immediate", "kubedyno-wait"]
        assert {"train", "build"} <= set(names((await lab.client.list_all(PRIORITY_CLASSES)).items))

    in_lab(play, *OPERATORS)


def test_a_lab_without_operators_has_nothing_of_them() -> None:
    async def play(lab: RunningLab) -> None:
        assert operating.simulated(lab.activities.running) == ()
        assert (await lab.client.list_all(CRDS, label_selector=OURS)).items == []
        assert (await lab.client.list_all(STORAGE_CLASSES)).items == []

    in_lab(play)


def test_what_is_there_already_is_left_as_it_is() -> None:
    async def main() -> None:
        clock = LoopClock(asyncio.get_running_loop())
        client = Client(InProcess(new_api(clock=clock, seed=1), clock=clock), clock=clock)
        (theirs,) = operating.definitions(chosen("training"))
        theirs["metadata"]["labels"] = {"theirs": "yes"}
        await client.create(CRDS, theirs)
        everything = chosen(*OPERATORS)
        await installing.create_missing(client, operating.definitions(everything))
        await installing.create_missing(client, operating.definitions(everything))
        await installing.await_crds(client, operating.definitions(everything))
        found = {crd["metadata"]["name"]: meta.labels(crd) for crd in (await client.list_all(CRDS)).items}
        assert found["pytorchjobs.kubeflow.org"] == {"theirs": "yes"}
        assert found["trainingworkloads.run.ai"] == {"kubedyno/simulated": "true"}

    tasks.run(main, virtual=True)
