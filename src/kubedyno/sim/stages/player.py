"""The player of one kind: looks at objects that changed or are due, and plays the stage that each is in."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from kubedyno.client.errors import ApiError, Malformed, Unreachable, shortened
from kubedyno.client.informer import Change, Informer, Key
from kubedyno.client.rest import Client
from kubedyno.controllers.events import EventType
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kit import draws
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.timetable import Timetable
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.gotemplate.functions import Functions
from kubedyno.kube.resources import Resource
from kubedyno.sim.stages import sending, steps, tracking
from kubedyno.sim.stages.loops import Trail
from kubedyno.sim.stages.selecting import Unmatchable
from kubedyno.sim.stages.stage import Event, Kind, Stage
from kubedyno.sim.stages.tracking import Track

_WORKERS: Final = 16
_FIRST_RETRY_S: Final = 0.2
_PASSING_RETRY_S: Final = 10.0
"""The longest time between two attempts when the server is away or busy."""
_REFUSED_RETRY_S: Final = 300.0
"""The same when it refuses: what it says seldom changes."""
_REST_S: Final = 30.0
_LARGEST_EXPONENT: Final = 30

COMPONENT: Final = "kwok_controller"
"""Whom events name as their source, as KWOK does."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """What a player works with."""

    client: Client
    clock: Clock
    seed: int
    functions: Functions
    is_ours: Callable[[Object], bool]
    """Whether an object is played here at all."""
    appeared: Callable[[Object], None]
    gone: Callable[[Object], None]
    rendering: Callable[[Object], None]
    """Called before templates are rendered for an object."""
    record: Callable[[str, Object, EventType, str, str], None]
    tell: Callable[[str, str], None]
    """Says a sentence, once for each key that is its second argument."""


class Player:
    """Plays the stages of one kind. `start` gives it its tasks, `follow` its objects."""

    def __init__(self, kind: Kind, world: World, stages: Sequence[Stage]) -> None:
        self._kind = kind
        self._world = world
        self._stages = tuple(stages)
        self._plain = steps.plain_kind(kind)
        self._tracks: dict[Key, Track] = {}
        self._resource: Resource | None = None
        self._objects: Informer | None = None

    def start(self, group: asyncio.TaskGroup) -> None:
        """Begin to work; nothing is known yet."""
        self._queue: WorkQueue[Key] = WorkQueue(self._world.clock, group.create_task)
        self._due: Timetable[Key] = Timetable(self._world.clock, group.create_task)
        group.create_task(self._wake(), name=f"timers of {self._kind.name}")
        for number in range(_WORKERS):
            group.create_task(self._work(), name=f"{self._kind.name} {number}")

    def follow(self, resource: Resource, objects: Informer) -> None:
        """Play these objects from now on."""
        self._resource = resource
        self._objects = objects
        objects.subscribe(self._changed)

    def forget(self) -> None:
        """Nothing is known any more: another watch begins."""
        self._objects = None
        for key in self._tracks:
            self._due.drop(key)
        self._tracks.clear()

    def change_stages(self, stages: Sequence[Stage]) -> None:
        """Other stages for the same kind: every object is looked at again."""
        if self._stages == tuple(stages):
            return
        self._stages = tuple(stages)
        for key, track in self._tracks.items():
            track.done = ""
            self._queue.add(key)

    def look_at(self, obj: Object) -> None:
        """Something around the object has changed."""
        if not self._world.is_ours(obj):
            return
        key = meta.key(obj)
        track = self._tracks.get(key)
        if track is None or track.uid != obj["metadata"].get("uid", ""):
            self._tracks[key] = Track(uid=obj["metadata"].get("uid", ""))
            self._world.appeared(obj)
        self._queue.add(key)

    def _changed(self, change: Change) -> None:
        if change.new is None:
            self._tracks.pop(change.key, None)
            self._due.drop(change.key)
            self._world.gone(change.object)
            return
        change.new["metadata"].pop("managedFields", None)
        # Items of a list do not say what they are; templates and expressions may ask.
        change.new.setdefault("apiVersion", self._kind.api_version)
        change.new.setdefault("kind", self._kind.name)
        self.look_at(change.new)

    async def _wake(self) -> None:
        """Objects whose time has come are looked at."""
        while True:
            key, _ = await self._due.take()
            self._queue.add(key)

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._look(key)
            finally:
                self._queue.done(key)

    async def _look(self, key: Key) -> None:
        """Find out what an object waits for, and do what is due."""
        track = self._tracks.get(key)
        obj = None if track is None else self._newest(key, track)
        if track is None or obj is None or not self._world.is_ours(obj):
            return
        version = obj["metadata"].get("resourceVersion", "")
        if version in {track.done, track.rest_version}:
            return
        now_ns = self._world.clock.wall_ns()
        try:
            tracking.decide(track, self._stages, obj, now_ns=now_ns, draw=lambda what: self._draw(key, what))
        except Unmatchable as error:
            self._world.tell(str(error), str(error))
            tracking.finish(track, version)
            return
        if track.problem:
            self._world.tell(track.problem, track.problem)
            track.problem = ""
        if track.stage is None:
            self._due.drop(key)
            return
        due_ns = max(track.due_ns, track.not_before_ns, track.rest_until_ns)
        if due_ns > now_ns:
            self._due.put(key, self._world.clock.monotonic_ns() + due_ns - now_ns)
            return
        if not self._runs_in_circles(key, track, track.stage, obj, now_ns):
            await self._try_to_play(key, track, track.stage, obj)

    def _newest(self, key: Key, track: Track) -> Object | None:
        """The object as the watch or the server's last answer has it, whichever is newer."""
        shown = None if self._objects is None else self._objects.get(key)
        if shown is None or shown["metadata"].get("uid", "") != track.uid:
            return None
        if track.answer is not None:
            if tracking.is_older(_version(shown), _version(track.answer)):
                return track.answer
            track.answer = None
        return shown

    def _runs_in_circles(self, key: Key, track: Track, stage: Stage, obj: Object, now_ns: int) -> bool:
        """Whether the object comes back to where it was: then it is left alone until somebody else changes it."""
        if track.step or track.failures:
            return False  # it was asked when the stage began
        # Most objects are played seldom: only those that come again soon are remembered.
        soon = now_ns - track.played_ns < NS_PER_S
        track.played_ns = now_ns
        track.trail = (track.trail or Trail()) if soon else None
        if track.trail is None:
            return False
        circle = track.trail.circle(
            stage.name,
            obj,
            at_once=track.due_ns <= track.since_ns,
            certain=len(track.candidates.stages) == 1,
            now_ns=now_ns,
        )
        if not circle:
            return False
        names = " -> ".join((*circle, circle[0]))
        what = f"{self._kind.name} {'/'.join(filter(None, key))}"
        self._world.tell(
            f"{stage.source}: stages run in a circle without delay ({names}), as for {what}: such objects are left "
            "alone until somebody else changes them; give one a delay, or a selector that does not match its result",
            f"circle {' '.join(sorted(set(circle)))}",
        )
        track.trail = None
        tracking.finish(track, "")
        track.rest_version = _version(obj)
        track.rest_until_ns = now_ns + round(_REST_S * NS_PER_S)
        return True

    async def _try_to_play(self, key: Key, track: Track, stage: Stage, obj: Object) -> None:
        try:
            await self._play(key, track, stage, obj)
        except steps.Unrenderable as error:
            problem = shortened(str(error))
            self._world.tell(f"{stage}: {problem}", f"{stage} {problem.partition(': ')[0]}")  # once for each field
            if isinstance(error, steps.Wanting):
                self._put_off(key, track, _PASSING_RETRY_S)
            else:
                tracking.finish(track, _version(obj))
        except (Unreachable, Malformed):
            self._put_off(key, track, _PASSING_RETRY_S)
        except (ApiError, UsageError) as error:
            if isinstance(error, ApiError) and sending.may_pass(error):
                self._put_off(key, track, _PASSING_RETRY_S)
                return
            self._world.tell(f"{stage}: {error}", f"{stage} {getattr(error, 'reason', error)}")
            track.step, track.subject = 0, None
            self._put_off(key, track, _REFUSED_RETRY_S)

    async def _play(self, key: Key, track: Track, stage: Stage, obj: Object) -> None:
        """Do the steps that are left. What is done stays done when a later one fails."""
        assert self._resource is not None  # noqa: S101 - `follow` came before the objects
        if track.step == 0 or track.subject is None:
            track.subject = obj
        subject = track.subject
        answer: Object | None = None
        deleted = False
        for index in range(track.step, len(stage.steps)):
            track.step = index
            step = stage.steps[index]
            if deleted:
                if step.event is not None:
                    self._record(subject, step.event)
                continue
            self._world.rendering(subject)
            for request in steps.requests(step, subject, self._world.functions, plain=self._plain):
                if isinstance(request, Event):
                    self._record(subject, request)
                    continue
                sent = await sending.send(self._world.client, self._resource, self._kind, subject, request)
                deleted = isinstance(request, steps.DeleteRequest)
                answer = None if deleted else sent or answer
                self._world.rendering(subject)  # others have rendered since
        self._conclude(key, track, stage, subject, answer)

    def _conclude(self, key: Key, track: Track, stage: Stage, subject: Object, answer: Object | None) -> None:
        if self._tracks.get(key) is not track:
            return  # gone while the server worked
        tracking.finish(track, _version(subject))
        if answer is None:
            return
        answer["metadata"].pop("managedFields", None)
        if track.trail is not None:
            track.trail.answered(_version(answer))
        if tracking.is_older(_version(subject), _version(answer)):
            track.answer = answer
        elif not stage.immediate:
            return  # the server found nothing to change, and the watch will tell nothing
        else:
            track.done = ""
        self._queue.add(key)

    def _record(self, subject: Object, event: Event) -> None:
        self._world.record(COMPONENT, sending.about(self._kind, subject), event.type, event.reason, event.message)

    def _put_off(self, key: Key, track: Track, most_s: float) -> None:
        """Try again after a time that doubles with every failure in a row."""
        wait_s = min(most_s, _FIRST_RETRY_S * 2.0 ** min(track.failures, _LARGEST_EXPONENT))
        wait_s *= 1 + self._draw(key, f"retry {track.plays} {track.failures}") / 5  # not all at once
        track.failures += 1
        track.not_before_ns = self._world.clock.wall_ns() + round(wait_s * NS_PER_S)
        if self._tracks.get(key) is track:
            self._due.put(key, self._world.clock.monotonic_ns() + round(wait_s * NS_PER_S))

    def _draw(self, key: Key, what: str) -> float:
        """Chance that depends on the seed, the object's name and what it decides: a run can be repeated."""
        return draws.unit(self._world.seed, f"{self._kind.name} {key[0]}/{key[1]} {what}")


def _version(obj: Object) -> str:
    return str(obj["metadata"].get("resourceVersion", ""))
