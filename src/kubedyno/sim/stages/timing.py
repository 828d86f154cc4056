"""How long a stage waits, from the moment since when the object is in it.

Unlike KWOK, which begins to wait anew with every change of the object, a wait is counted from when the stage was
chosen: a label that somebody adds does not keep a pod from getting ready.
"""

import msgspec

from kubedyno.kube.cel.times import read_duration, read_timestamp
from kubedyno.kube.codec import Object
from kubedyno.kube.jq import Query
from kubedyno.sim.stages.expressions import evaluated, first_output, nanoseconds
from kubedyno.sim.stages.stage import Stage


class Bound(msgspec.Struct, frozen=True):
    """An end of a wait in nanoseconds: after the stage was chosen, or `absolute` since the epoch."""

    ns: int
    absolute: bool = False

    def at_ns(self, since_ns: int) -> int:
        """The moment, when the stage was chosen at `since_ns`."""
        return self.ns if self.absolute else since_ns + self.ns


class Wait(msgspec.Struct, frozen=True):
    """What a stage says of its delay for one object; equal waits are the same wait."""

    duration: Bound
    jitter: Bound | None = None

    def due_ns(self, since_ns: int, chance: float) -> int:
        """When the stage is played: between both ends, or at the second where it comes before the first, as in KWOK."""
        first, *second = self.span_ns(since_ns)
        return first + int((second[0] - first) * chance) if second else first

    def span_ns(self, since_ns: int) -> tuple[int, ...]:
        """The moments between which the stage is played, or the one at which it is."""
        first = self.duration.at_ns(since_ns)
        if self.jitter is None:
            return (first,)
        last = self.jitter.at_ns(since_ns)
        return (last,) if last <= first else (first, last)


def wait_of(stage: Stage, obj: Object) -> Wait | None:
    """The stage's wait for this object; None: it is played at once. `EvaluationError` where CEL gives no duration."""
    delay = stage.delay
    if delay is None:
        return None
    otherwise = Bound(delay.duration_ns)
    source = delay.duration_from
    if source is None:
        duration: Bound | None = otherwise
    elif source.cel is not None:
        duration = Bound(nanoseconds(evaluated(source.cel, obj)))
    else:
        duration = _bound(source.jq, obj, otherwise)
    if duration is None:
        return None
    jitter = None if delay.jitter_ns is None else Bound(delay.jitter_ns)
    if delay.jitter_from is not None:
        jitter = _bound(delay.jitter_from.jq, obj, jitter)
    return Wait(duration, jitter)


def _bound(query: Query | None, obj: Object, otherwise: Bound | None) -> Bound | None:
    """A time or a duration that a query gives as a text; an empty text says that there is no such end."""
    found = None if query is None else first_output(query, obj)
    if not isinstance(found, str):
        return otherwise
    if not found:
        return None
    if moment := read_timestamp(found):
        return Bound(moment.nanos, absolute=True)
    length = read_duration(found)
    return otherwise if length is None else Bound(length.nanos)
