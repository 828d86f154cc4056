"""A stage: what it applies to, when it is played, and what it then does; expressions and templates are compiled."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from kubedyno.kube.cel import Program
from kubedyno.kube.gotemplate.template import Template
from kubedyno.kube.jq import Query
from kubedyno.kube.jq.kwok import Requirement

PatchKind = Literal["json", "merge", "strategic"]
ApplyKind = Literal["apply", "merge", "strategic"]
EventType = Literal["Normal", "Warning"]


class Kind(NamedTuple):
    """The objects that a stage is for."""

    api_version: str
    name: str


POD: Final = Kind("v1", "Pod")
NODE: Final = Kind("v1", "Node")


class Selector(msgspec.Struct, frozen=True):
    """All must hold; an empty one picks every object."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    conditions: tuple[Program, ...]


class Expression(msgspec.Struct, frozen=True):
    """A value from the object. CEL goes before jq where a stage has both."""

    cel: Program | None = None
    jq: Query | None = None


class Delay(msgspec.Struct, frozen=True):
    """How long a stage waits: between `duration` and `jitter`, each a constant or read from the object."""

    duration_ns: int
    duration_from: Expression | None
    jitter_ns: int | None
    jitter_from: Expression | None


class Event(msgspec.Struct, frozen=True):
    """An event about the object."""

    type: EventType
    reason: str
    message: str


class Finalizers(msgspec.Struct, frozen=True):
    """What becomes of the object's finalizers."""

    add: tuple[str, ...]
    remove: tuple[str, ...]
    empty: bool


class Patch(msgspec.Struct, frozen=True):
    """A patch of the object; without `kind` strategic for pods and nodes, merge for all others."""

    template: Template
    root: str
    subresource: str
    kind: PatchKind | None
    field: str
    """Where the template stands, for messages."""


class Apply(msgspec.Struct, frozen=True):
    """Another object that is created, or patched where it exists; with a subresource it must exist."""

    template: Template
    subresource: str
    kind: ApplyKind
    field: str
    """Where the template stands, for messages."""


class Step(msgspec.Struct, frozen=True):
    """What is done together, in this order; whoever repeats a step repeats all of it."""

    event: Event | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patch: Patch | None = None
    apply: Apply | None = None


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage. `source` is the file it was read from, or `the cluster`."""

    name: str
    source: str
    kind: Kind
    selector: Selector | None
    """None never picks an object."""
    weight: int
    weight_from: Expression | None
    delay: Delay | None
    steps: tuple[Step, ...]
    immediate: bool
    """Whether the next stage is looked for in the answer to a patch, without waiting for the watch to tell of it."""

    def __str__(self) -> str:
        return f"{self.source}: stage {self.name}"


def kinds(stages: Iterable[Stage]) -> frozenset[Kind]:
    """The kinds that the stages cover: nothing else should drive these."""
    return frozenset(stage.kind for stage in stages)
