"""How intent is written for one scheduler or one operator, and how what becomes of it is read."""

from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from kubedyno.kube.resources import Resource
from kubedyno.model.lifecycles import Lifecycle
from kubedyno.model.queues import Queue
from kubedyno.model.workloads import Workload

Form: TypeAlias = Literal["training", "distributed", "interactive", "pvc"]
"""What a template makes: a workload of a type, or the volume claim that goes before it."""


class Place(msgspec.Struct, frozen=True):
    """Where the workloads of a project go."""

    namespace: str
    queue: str | None = None


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What queues are written for, where a scheduler does not find it out itself."""

    namespace: str = "default"
    """Where the workloads of the queues go."""
    gpus: float | None = None
    """How many GPUs the nodes have; None: nobody counted."""
    topology: str | None = None
    """Name of the Topology object of the nodes, where they have one."""
    suffix: str = ""
    """Of the names of what the queues have in common, where others have the same."""


ANYWHERE: Final = Surroundings()


class Dialect(Protocol):
    """How workloads are written for one scheduler, and what shows their way."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def scheduler_name(self) -> str:
        """What its pods say in `spec.schedulerName`, unless told otherwise."""
        ...

    @property
    def lifecycle(self) -> Lifecycle:
        """Which kinds are followed, and which steps are looked at."""
        ...

    @property
    def holds_pods_back(self) -> bool:
        """Whether the pods of a workload are made only when the scheduler has decided for it."""
        ...

    @property
    def project_kind(self) -> Resource:
        """What a project is: there must be such an object for each, named `project_name`."""
        ...

    def project_name(self, project: str) -> str:
        """The name of the object that a project is."""
        ...

    def place(self, project: str | None) -> Place:
        """Where the workloads of a project go; None: those of no project."""
        ...

    def template(self, form: Form) -> str:
        """The text of the template of a form: YAML with Jinja values."""
        ...

    def queues(self, queues: tuple[Queue, ...], around: Surroundings = ANYWHERE) -> list[dict[str, Any]]:
        """The objects that make these queues, parents first; empty where the scheduler knows no queues.

        `queues` are all that there are so far: what one is made of may depend on whether others are below it.
        """
        ...

    def objects(self, workload: Workload) -> list[dict[str, Any]]:
        """The objects of a workload, in the order in which they are created."""
        ...
