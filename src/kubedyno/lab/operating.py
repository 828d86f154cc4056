"""The simulated operators of a lab: what each is called, what must be there for it, and how it is run.

They are for labs of ours only: a cluster has real ones, or none.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final

import msgspec

from kubedyno.controllers.operators import kinds, pytorch, runai, running
from kubedyno.controllers.volumes import provisioning
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PYTORCH_JOBS, Resource
from kubedyno.plane.activity import Activity, Ground

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated operator."""

    option: str
    """Its name on the command line."""
    activity: Activity
    kinds: tuple[Resource, ...] = ()
    """Custom kinds that it needs the server to have."""
    objects: Callable[[], list[Object]] = list
    """Objects that must be there."""


NAMES: Final = {"training": pytorch.NAME, "runai": runai.NAME, "volumes": provisioning.NAME}
"""The operators: on the command line, and as a lab names its parts."""


def operators(options: Collection[str], *, scheduler_name: str) -> tuple[Operator, ...]:
    """The operators that were chosen; `scheduler_name` is the lab's scheduler to pods."""

    async def train(ground: Ground) -> None:
        await running.run_training_operator(ground.client, clock=ground.clock, seed=ground.seed)

    async def play_runai(ground: Ground) -> None:
        await running.run_runai_operator(
            ground.client, clock=ground.clock, seed=ground.seed, scheduler_name=scheduler_name
        )

    async def provision(ground: Ground) -> None:
        await provisioning.run_provisioner(ground.client, clock=ground.clock, seed=ground.seed)

    part = partial(Activity, role="operator")
    known = (
        Operator(
            option="training",
            activity=part(name=pytorch.NAME, run=train, program="training-operator"),
            kinds=(PYTORCH_JOBS,),
        ),
        Operator(
            option="runai",
            activity=part(name=runai.NAME, run=play_runai, program="runai-operator"),
            kinds=(*kinds.RUNAI_WORKLOADS, PYTORCH_JOBS),
            objects=runai.priority_classes,
        ),
        Operator(
            option="volumes",
            activity=part(name=provisioning.NAME, run=provision, program="kubedyno-provisioner"),
            objects=provisioning.storage_classes,
        ),
    )
    return tuple(one for one in known if one.option in options)


def definitions(chosen: Iterable[Operator]) -> list[Object]:
    """The CustomResourceDefinitions that operators need, each once."""
    return kinds.definitions(tuple(dict.fromkeys(kind for one in chosen for kind in one.kinds)))


def objects(chosen: Iterable[Operator]) -> list[Object]:
    """The objects that operators need."""
    return [obj for one in chosen for obj in one.objects()]


def simulated(parts: Iterable[str]) -> tuple[str, ...]:
    """Of the parts of a lab, by their names in its status, those that only simulate an operator."""
    known = set(NAMES.values())
    return tuple(name for name in parts if name in known)
