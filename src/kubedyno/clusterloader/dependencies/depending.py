"""What a dependency is: something that a test needs around it, set up before its steps and torn down after them."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

import msgspec

from kubedyno.client.rest import Client
from kubedyno.clusterloader.measurements.measuring import Background
from kubedyno.clusterloader.measurements.params import Params
from kubedyno.sim.kubelet.plans import USUAL_TIMES, JobTimes


def _nobody(_: Iterable[str]) -> None:
    """Whoever plays nodes here plays all of them."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What dependencies work with."""

    client: Client
    background: Background
    """For what goes on as long as they are there."""
    run_id: str
    """On the objects that they make: so it is known whose they are."""
    job_times: JobTimes = USUAL_TIMES
    """How long pods work by their label `job-type`."""
    is_foreign: bool = False
    """Whether the cluster is no lab of ours: then what others have there is not touched."""
    drives_nodes: bool = False
    """Whether this process plays the kubelets of the test's nodes, since nobody else does."""
    own_nodes: Callable[[Iterable[str]], None] = _nobody
    """Told of the names of nodes before they are made: they are the test's."""
    remarks: list[str] = msgspec.field(default_factory=list)
    """Gets what was done otherwise than the config says."""


class Dependency(Protocol):
    """One dependency of a test. Whatever it has made when its set-up ends or is ended, it can take away again."""

    async def set_up(self, params: Params) -> None:
        """Make the cluster have it; re-runs change what is there. UsageError when the parameters are wrong."""
        ...

    async def tear_down(self) -> None:
        """Take all of it away, and return when it is gone."""
        ...


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of dependency by what it takes and what makes one."""

    make: Callable[[Surroundings], Dependency]
    params: Collection[str]
    brings_nodes: Callable[[Params], int]
    """How many nodes it makes with these parameters."""
