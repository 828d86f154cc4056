"""What is remembered of one object between its changes: the stage it is in, since when, and how far it was played."""

from collections.abc import Callable, Sequence

import msgspec

from kubedyno.kube.cel import EvaluationError
from kubedyno.kube.codec import Object
from kubedyno.kube.jq import QueryLimit
from kubedyno.sim.stages import expressions, selecting, timing
from kubedyno.sim.stages.loops import Trail
from kubedyno.sim.stages.selecting import Candidates
from kubedyno.sim.stages.stage import Stage
from kubedyno.sim.stages.timing import Wait

Draw = Callable[[str], float]
"""A number from 0 up to 1 for a purpose, always the same for the same purpose."""


class Track(msgspec.Struct):
    """The memory of one object. Times are nanoseconds since the epoch, versions are resource versions."""

    uid: str
    candidates: Candidates = Candidates()
    stage: Stage | None = None
    wait: Wait | None = None
    since_ns: int = 0
    due_ns: int = 0
    step: int = 0
    """The step of the stage that comes next; those before it were done."""
    subject: Object | None = None
    """The object as it was when its stage began to be played: all steps are about this one."""
    answer: Object | None = None
    """The object as the server last answered, until the watch has shown it."""
    done: str = ""
    """The version for which there is nothing more to do."""
    plays: int = 0
    played_ns: int = 0
    """When a stage was last begun."""
    failures: int = 0
    not_before_ns: int = 0
    """A failed stage is not tried again before."""
    trail: Trail | None = None
    rest_version: str = ""
    """The version that the object was left alone at, because it ran in a circle."""
    rest_until_ns: int = 0
    """Whoever changes it: it is not looked at before."""
    problem: str = ""
    """What is wrong with the stage's delay, which is none then."""


def decide(track: Track, stages: Sequence[Stage], obj: Object, *, now_ns: int, draw: Draw) -> None:
    """Find the stage that the object is in and when it is due: `stage` is None where there is none.

    A stage that stays chosen keeps its time: only a delay that now reads differently is counted anew, from when the
    stage was chosen. A stage some of whose steps were done goes on as long as no other takes its place, because they
    may be the reason that it does not match any more.
    """
    moment = expressions.Moment(now_ns, lambda: draw(f"chance {track.plays}"))
    with expressions.at(moment):
        found = selecting.candidates(stages, obj)
        if track.step and not found.stages:
            return
        stage = track.stage
        if stage is None or found != track.candidates:
            stage = selecting.chosen(found, draw(f"stage {track.plays}"))
        wait = None if stage is None else _wait(track, stage, obj)
    track.candidates = found
    if stage != track.stage:
        track.stage, track.since_ns, track.step, track.subject = stage, now_ns, 0, None
        track.failures = track.not_before_ns = 0
    elif wait == track.wait:
        return
    track.wait = wait
    track.due_ns = track.since_ns if wait is None else wait.due_ns(track.since_ns, draw(f"delay {track.plays}"))


def _wait(track: Track, stage: Stage, obj: Object) -> Wait | None:
    """The stage's wait; one that cannot be evaluated is none, as in KWOK, and a problem."""
    try:
        return timing.wait_of(stage, obj)
    except (EvaluationError, QueryLimit) as error:
        track.problem = f"{stage}: spec.delay: {error}; the stage is played without delay"
        return None


def finish(track: Track, version: str) -> None:
    """All steps were done, or cannot be: the object is left alone until it is another version."""
    track.candidates, track.stage, track.wait = Candidates(), None, None
    track.step, track.subject = 0, None
    track.failures = track.not_before_ns = 0
    track.plays += 1
    track.done = version


def is_older(version: str, other: str) -> bool:
    """Whether a resource version is before another; the server counts them."""
    try:
        return int(version) < int(other)
    except ValueError:
        return False
