"""A workload's way: the phases that its objects show, and the steps of the workload that are made of them.

A dialect says which kinds are followed, what each shows, and which steps its users look at. Nothing here compares two
states of an object: what an object shows can be read from any one state, so whoever saw only the last one still learns
most of it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

Role: TypeAlias = Literal["workload", "job", "podgroup", "pod", "decision", "claim", "volume", "event", "other"]
"""What an object is to the workload that it belongs to; `other`: it belongs to none."""

Pick: TypeAlias = Literal["first", "last", "gang"]
"""Which of a workload's objects makes a step: the first, the last, or the one that completes the gang."""

Plot: TypeAlias = Literal["general", "detailed"]
"""Which steps somebody looks at."""


class Shown(msgspec.Struct, frozen=True, gc=False):
    """A phase that an object has reached."""

    phase: str
    stamp: str = ""
    """The server's own time of it, as it is written there: its decimals tell how exact it is. Empty: none."""
    detail: str = ""
    """By whom, why, how many."""


class Followed(msgspec.Struct, frozen=True):
    """A kind that is watched for a workload's sake."""

    resource: Resource
    role: Role
    shows: Callable[[Object], Iterable[Shown]]
    """All phases that the state of an object shows it to have reached, `created` among them; pure."""
    owner: Callable[[Object], str] | None = None
    """The uid of the object that it speaks of, where that is not its controller (an event's subject)."""
    fields: str = ""
    """A field selector: the server leaves all others out. Empty: all."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """A moment on a workload's way."""

    name: str
    title: str
    """As a plot names it."""
    sources: tuple[tuple[Role, str], ...]
    """Roles and phases that make it; of several the one that was seen."""
    pick: Pick = "last"
    after: tuple[str, ...] = ()
    """Steps that cannot come after it, whatever the dialect. Others overlap: a pod may be bound before the next one is
    decided."""


SUBMITTED: Final = "submitted"
ACCEPTED: Final = "accepted"

_DECIDED: Final[tuple[tuple[Role, str], ...]] = (("decision", "created"), ("pod", "nominated"))
_CREATED: Final = (SUBMITTED,)

_STEPS: tuple[Step, ...] = (
    Step(name=SUBMITTED, title="submitted", sources=()),
    Step(name=ACCEPTED, title="accepted", sources=(), after=_CREATED),
    Step(name="workload", title="workload created", sources=(("workload", "created"),), pick="first", after=_CREATED),
    Step(name="job", title="job created", sources=(("job", "created"),), pick="first", after=_CREATED),
    Step(name="podgroup", title="pod group created", sources=(("podgroup", "created"),), after=_CREATED),
    Step(name="first_pod", title="first pod created", sources=(("pod", "created"),), pick="first", after=_CREATED),
    Step(name="last_pod", title="last pod created", sources=(("pod", "created"),), after=("first_pod",)),
    Step(name="gang_ready", title="gang complete", sources=(("pod", "created"),), pick="gang", after=("first_pod",)),
    Step(name="volume_bound", title="volume bound", sources=(("volume", "bound"),), after=_CREATED),
    Step(
        name="queued",
        title="queued",
        sources=(("workload", "queued"), ("podgroup", "queued"), ("pod", "queued")),
        after=_CREATED,
    ),
    Step(name="admitted", title="admitted", sources=(("workload", "admitted"),), after=("workload",)),
    Step(name="first_decided", title="first pod decided", sources=_DECIDED, pick="first", after=("first_pod",)),
    Step(name="last_decided", title="last pod decided", sources=_DECIDED, after=("first_decided",)),
    Step(name="claims_allocated", title="devices allocated", sources=(("claim", "allocated"),), after=_CREATED),
    Step(
        name="first_bound", title="first pod bound", sources=(("pod", "scheduled"),), pick="first", after=("first_pod",)
    ),
    Step(
        name="gang_bound",
        title="gang bound",
        sources=(("pod", "scheduled"),),
        pick="gang",
        after=("first_bound", "gang_ready"),
    ),
    Step(name="last_bound", title="last pod bound", sources=(("pod", "scheduled"),), after=("gang_bound", "last_pod")),
    Step(
        name="first_running",
        title="first pod running",
        sources=(("pod", "running"),),
        pick="first",
        after=("first_bound",),
    ),
    Step(
        name="gang_running",
        title="gang running",
        sources=(("pod", "running"),),
        pick="gang",
        after=("first_running", "gang_bound"),
    ),
    Step(
        name="last_running",
        title="last pod running",
        sources=(("pod", "running"),),
        after=("gang_running", "last_bound"),
    ),
    Step(name="ready", title="all pods ready", sources=(("pod", "ready"),), after=("last_running",)),
    Step(
        name="evicted",
        title="evicted",
        sources=(("workload", "evicted"), ("podgroup", "evicted"), ("pod", "evicted"), ("event", "evicted")),
        pick="first",
        after=_CREATED,
    ),
    Step(name="rescheduled", title="bound again", sources=(), after=("evicted",)),
    Step(
        name="completed",
        title="completed",
        sources=(("workload", "completed"), ("job", "completed")),
        after=("first_running",),
    ),
    Step(
        name="deleted",
        title="deleted",
        sources=(("workload", "deleted"), ("job", "deleted"), ("pod", "deleted")),
        after=_CREATED,
    ),
)

STEPS: Final[Mapping[str, Step]] = {step.name: step for step in _STEPS}
"""All steps, in the order of a workload's way.

`submitted` and `accepted` are the submitter's; `rescheduled` is the first binding after an eviction.
"""


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True):
    """What is followed in a dialect, and which steps its users look at."""

    kinds: tuple[Followed, ...]
    general: tuple[str, ...]
    """Names of the steps of the general plot, in order; the first is `submitted`."""
    detailed: tuple[str, ...]
    """Names of the steps of the detailed plot, in order."""
    only: Mapping[str, frozenset[str]] = {}
    """Steps that not all workloads go through: for each the types that do, or `pvc` for those with a volume."""

    def steps(self, plot: Plot, *, workload_type: str, has_volume: bool) -> tuple[str, ...]:
        """The steps of a plot that such workloads go through, in order."""
        forms = {workload_type, "pvc"} if has_volume else {workload_type}
        names = self.general if plot == "general" else self.detailed
        return tuple(name for name in names if name not in self.only or self.only[name] & forms)
