"""The ways of workloads through a trial: waiting, partly bound, wholly bound, over; and their evictions. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Final, Literal, TypeAlias

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.report.run_reading import Mark, TrialRead

State: TypeAlias = Literal["waiting", "partly", "whole"]

_ENDED: Final = frozenset({"succeeded", "failed", "deleted"})
_TELLING: Final = ("pod", "podgroup", "workload", "event")
"""Who tells of evictions; several may tell of the same one, and the first of these knows best when it was."""


class Stretch(msgspec.Struct, frozen=True):
    """A time in one state, seconds since the first pod was created."""

    state: State
    since_s: float
    until_s: float


class GangWay(msgspec.Struct, frozen=True, kw_only=True):
    """A workload's way; times are seconds since the first pod of the trial was created, None: never."""

    name: str
    pods: int
    """How many it began with."""
    stretches: tuple[Stretch, ...]
    evictions_s: tuple[float, ...]
    """When one or several of its pods were taken away; at each moment once."""
    ended_s: float | None
    """None: it was still there."""

    @property
    def created_s(self) -> float:
        """When its first pod was."""
        return self.stretches[0].since_s

    @property
    def first_bound_s(self) -> float | None:
        """When its first pod was."""
        return next((one.since_s for one in self.stretches if one.state != "waiting"), None)

    @property
    def whole_s(self) -> float | None:
        """When all of its pods were bound at once."""
        return next((one.since_s for one in self.stretches if one.state == "whole"), None)


def gang_ways(trial: TrialRead) -> tuple[GangWay, ...]:
    """Of all workloads that had pods, in the order of their creation."""
    created = trial.pods("created")
    if not created:
        return ()
    begun_ns = min(created.values())
    last_ns = max(mark.at_ns for marks in trial.workloads.values() for mark in marks)
    made = (_way(name, marks, begun_ns, last_ns) for name, marks in trial.workloads.items())
    return tuple(sorted((way for way in made if way is not None), key=attrgetter("created_s")))


def chosen(ways: Sequence[GangWay], most: int) -> tuple[GangWay, ...]:
    """At most so many of them, in their order: those that were evicted first, then evenly of the others."""
    if len(ways) <= most:
        return tuple(ways)
    evicted = _evenly([way for way in ways if way.evictions_s], most)
    others = _evenly([way for way in ways if not way.evictions_s], most - len(evicted))
    return tuple(sorted((*evicted, *others), key=attrgetter("created_s")))


def _evenly(ways: Sequence[GangWay], most: int) -> list[GangWay]:
    if len(ways) <= most:
        return list(ways)
    return [ways[place * len(ways) // most] for place in range(most)]


def _way(name: str, marks: Iterable[Mark], begun_ns: int, last_ns: int) -> GangWay | None:
    pods: dict[str, dict[str, int]] = {}
    told: dict[str, set[int]] = {}
    for mark in marks:
        if mark.phase == "evicted":
            told.setdefault(mark.role, set()).add(mark.at_ns)
        if mark.role == "pod":
            phase = "ended" if mark.phase in _ENDED else mark.phase
            pods.setdefault(mark.uid, {}).setdefault(phase, mark.at_ns)
    pods = {uid: at for uid, at in pods.items() if "created" in at}
    if not pods:
        return None
    evictions = next((told[role] for role in _TELLING if role in told), set())
    lost_ns = min((*evictions, *(at["ended"] for at in pods.values() if "ended" in at)), default=last_ns)
    first = sum(at["created"] <= lost_ns for at in pods.values())
    stretches, ended_ns = _stretches(list(pods.values()), first, begun_ns, last_ns)
    return GangWay(
        name=name,
        pods=first,
        stretches=stretches,
        evictions_s=tuple((at_ns - begun_ns) / NS_PER_S for at_ns in sorted(evictions)),
        ended_s=None if ended_ns is None else (ended_ns - begun_ns) / NS_PER_S,
    )


def _stretches(
    pods: Sequence[dict[str, int]], wanted: int, begun_ns: int, last_ns: int
) -> tuple[tuple[Stretch, ...], int | None]:
    """The states between the changes, and when the last pod was gone; None: some are there."""
    found: list[Stretch] = []
    state: State | None = None
    since_ns = alive = bound = 0
    for at_ns, born, held in sorted(_changes(pods), key=itemgetter(0)):
        alive, bound = alive + born, bound + held
        now: State | None = None
        if alive:
            now = "waiting" if not bound else "whole" if bound >= wanted else "partly"
        if now == state:
            continue
        if state is not None and at_ns > since_ns:
            found.append(Stretch(state, (since_ns - begun_ns) / NS_PER_S, (at_ns - begun_ns) / NS_PER_S))
        state, since_ns = now, at_ns
    if state is None:
        return tuple(found), since_ns
    found.append(Stretch(state, (since_ns - begun_ns) / NS_PER_S, (last_ns - begun_ns) / NS_PER_S))
    return tuple(found), None


def _changes(pods: Iterable[dict[str, int]]) -> Iterator[tuple[int, int, int]]:
    """When one more or fewer was there, and when one more or fewer was bound."""
    for at in pods:
        yield at["created"], 1, 0
        if "scheduled" in at:
            yield at["scheduled"], 0, 1
        if "ended" in at:
            yield at["ended"], -1, -1 if "scheduled" in at else 0
