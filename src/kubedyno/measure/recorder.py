"""The recorder: a row for each phase that an object is first seen in, stamped on arrival, with bounds for the truth.

It is told of states, decides what is new in them, and hands rows to its sinks. Of an object it remembers no more than a
few words. Rows wait until the next probe is written, which bounds the time that they were written at. Pure but for its
memory: times come with what it is told.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from kubedyno.client.watching import ChangeType
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.measure.bounds import Bounds, Contradiction, bounds, read_stamp
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.kept import Kept
from kubedyno.measure.lags import Lags
from kubedyno.measure.observer import Observer
from kubedyno.model.keys import WORKLOAD_LABEL
from kubedyno.model.lifecycles import Followed, Shown
from kubedyno.model.samples import Source

DELETED: Final = Shown("deleted")

Sink: TypeAlias = Callable[[ObjectRow], None]


class _Known(msgspec.Struct, gc=False):
    """What is remembered of an object that showed something."""

    seen: int
    """Bits of the phases that it has shown."""
    version: str
    namespace: str
    name: str
    owner: str | None
    workload: str | None
    node: str | None


class _When(msgspec.Struct, frozen=True, gc=False):
    """What is known of the time of a state."""

    arrival_ns: int
    after: int
    """It was written after this version was, or as this version."""
    at: int
    """It was written before this version was, or as this version."""
    source: Source = "watch"


class _Held(msgspec.Struct, gc=False):
    """A row that waits for its bounds."""

    row: ObjectRow
    stamp: tuple[int, int] | None
    when: _When
    place: object


class Recorder:
    """All that was seen so far. Ask for a `track` of each kind, and tell it what happens.

    With `lags` rows wait until `settle` is called; else they go to the sinks at once. Where time is virtual, news takes
    none: `is_instant`. With `only` rows are of objects in those namespaces, and of those that are in none.
    """

    def __init__(
        self,
        *,
        sinks: Sequence[Sink] = (),
        lags: Lags | None = None,
        is_instant: bool = False,
        only: Collection[str] | None = None,
    ) -> None:
        self.kept = Kept()
        self.contradictions: Counter[Contradiction] = Counter()
        self.rows = 0
        self._sinks = tuple(sinks)
        self._lags = lags
        self._is_instant = is_instant
        self._only = only
        self._held: deque[_Held] = deque()
        self.bits: dict[str, int] = {}
        self._workloads: dict[str, str] = {}

    def track(self, followed: Followed, observer: Observer | None = None) -> "Track":
        """Where to tell of the objects of a kind; the observer is told of all that is."""
        return Track(self, followed, observer)

    @property
    def held(self) -> int:
        """How many rows wait for their bounds."""
        return len(self._held)

    def oldest_held_ns(self) -> float:
        """When the first of them arrived, ns since the epoch; infinite if none waits."""
        return self._held[0].when.arrival_ns if self._held else math.inf

    def settle(self, until_ns: int | None = None) -> None:
        """Give rows their bounds that arrived until then (None: all), and hand them to the sinks."""
        held = self._held
        if not held or (until_ns is not None and held[0].when.arrival_ns > until_ns):
            return
        while held and (until_ns is None or held[0].when.arrival_ns <= until_ns):
            one = held.popleft()
            lower_ns, upper_ns, contradiction = self._bounds(one)
            if contradiction is not None:
                self.contradictions[contradiction] += 1
            # Nobody has seen the row yet: it is as good as new.
            msgspec.structs.force_setattr(one.row, "lower_ns", lower_ns)
            msgspec.structs.force_setattr(one.row, "upper_ns", upper_ns)
            self.kept.settle(one.place, lower_ns, upper_ns)  # type: ignore[arg-type] # as `add` gave it
            for sink in self._sinks:
                sink(one.row)

    def hold_no_longer(self) -> None:
        """No probe will come any more: rows go to the sinks at once from now on."""
        self.settle()
        self._lags = None

    def new_bit(self, phase: str) -> int:
        """The bit that stands for a phase from now on."""
        return self.bits.setdefault(phase, 1 << len(self.bits))

    def workload_of(self, uid: str) -> str | None:
        """The workload of an object that has been seen to have one."""
        return self._workloads.get(uid)

    def belongs(self, uid: str, workload: str) -> None:
        """An object that may own others belongs to a workload."""
        self._workloads[uid] = workload

    def emit(self, followed: Followed, uid: str, known: _Known, shown: Shown, when: _When) -> None:
        """Record that an object has reached a phase, if it concerns us."""
        if self._only is not None and known.namespace and known.namespace not in self._only:
            return
        stamp = read_stamp(shown.stamp)
        row = ObjectRow(
            uid,
            followed.resource.kind,
            followed.role,
            known.namespace,
            known.name,
            known.owner,
            known.workload,
            known.node,
            shown.phase,
            shown.detail or None,
            when.arrival_ns,
            None if stamp is None else stamp[0],
            None,
            when.arrival_ns,
            when.source,
        )
        self.rows += 1
        self._held.append(_Held(row, stamp, when, self.kept.add(row)))

    def is_due(self) -> bool:
        """Whether rows need not wait."""
        return self._lags is None

    def _bounds(self, held: _Held) -> Bounds:
        when = held.when
        if when.source == "server":
            return bounds(when.arrival_ns, held.stamp)
        if self._is_instant:
            return bounds(when.arrival_ns, held.stamp, after_ns=when.arrival_ns)
        if self._lags is None or held.row.role == "event":
            # Clusters may keep events in a store of their own, whose versions compare to nothing.
            return bounds(when.arrival_ns, held.stamp)
        return bounds(
            when.arrival_ns,
            held.stamp,
            after_ns=self._lags.written_after(when.after),
            before_ns=self._lags.written_before(when.at),
        )


class Track:
    """The objects of one kind, told of by a list and then change by change."""

    def __init__(self, recorder: Recorder, followed: Followed, observer: Observer | None = None) -> None:
        self.followed = followed
        self._observer = observer
        selector = followed.fields
        self.name = f"{followed.resource.full_name} with {selector}" if selector else followed.resource.full_name
        self.version = 0
        """The newest version that was seen."""
        self.gone: set[str] | None = None
        """Objects that were deleted since somebody began to collect them."""
        self._recorder = recorder
        self._states: dict[str, _Known | str] = {}
        self._listed: set[str] = set()
        self._is_first_list = True

    def __len__(self) -> int:
        return len(self._states)

    def version_of(self, uid: str) -> str | None:
        """The newest version of an object; None: it is not there."""
        state = self._states.get(uid)
        return state.version if isinstance(state, _Known) else state

    def uids(self) -> Iterable[str]:
        """The objects that are there."""
        return self._states.keys()

    def change(self, kind: ChangeType, obj: Object, arrival_ns: int) -> None:
        """An object was added, changed or deleted."""
        version = number(obj["metadata"]["resourceVersion"])
        self.version = max(self.version, version)
        when = _When(arrival_ns, version, version)
        self._see(obj, when)
        if kind == "DELETED":
            uid = obj["metadata"]["uid"]
            self._delete(uid, when, obj)
        if self._observer is not None:
            self._observer.change(self.followed.resource, kind, obj, arrival_ns)
        if self._recorder.is_due():
            self._recorder.settle()

    def page(self, items: Iterable[Object], arrival_ns: int, *, is_first: bool) -> None:
        """A part of a list. What the first list has was there before anybody looked."""
        if is_first:
            self._listed.clear()
        source: Source = "server" if self._is_first_list else "watch"
        for obj in items:
            metadata = obj["metadata"]
            self._listed.add(metadata["uid"])
            when = _When(arrival_ns, self.version, number(metadata["resourceVersion"]), source)
            if self.version_of(metadata["uid"]) != metadata["resourceVersion"]:
                self._see(obj, when)
                if self._observer is not None:
                    self._observer.change(self.followed.resource, "ADDED", obj, arrival_ns, listed=True)

    def listed(self, version: str, arrival_ns: int) -> None:
        """The list is complete: what it does not have is gone."""
        when = _When(arrival_ns, self.version, number(version))
        for uid in [uid for uid in self._states if uid not in self._listed]:
            self._delete(uid, when, None)
            if self._observer is not None:
                self._observer.vanished(self.followed.resource, uid, when.at, arrival_ns)
        self._listed.clear()
        self._is_first_list = False
        self.version = number(version)
        if self._recorder.is_due():
            self._recorder.settle()

    def _see(self, obj: Object, when: _When) -> None:
        """Record what an object shows that it did not show before."""
        metadata = obj["metadata"]
        uid: str = metadata["uid"]
        state = self._states.get(uid)
        known = state if isinstance(state, _Known) else None
        recorder = self._recorder
        for shown in self.followed.shows(obj):
            bit = recorder.bits.get(shown.phase) or recorder.new_bit(shown.phase)
            if known is None:
                known = self._states[uid] = self._first_seen(obj)
            elif known.seen & bit:
                continue
            known.seen |= bit
            known.node = (obj.get("spec") or {}).get("nodeName") or known.node
            recorder.emit(self.followed, uid, known, shown, when)
        if known is None:
            self._states[uid] = metadata["resourceVersion"]
        else:
            known.version = metadata["resourceVersion"]

    def _first_seen(self, obj: Object) -> _Known:
        metadata = obj["metadata"]
        owner = self.followed.owner(obj) if self.followed.owner is not None else _controller(obj)
        workload = meta.labels(obj).get(WORKLOAD_LABEL)
        if workload is None and owner:
            workload = self._recorder.workload_of(owner)
        if workload is not None and self.followed.role not in {"pod", "event"}:
            self._recorder.belongs(metadata["uid"], workload)
        return _Known(
            0,
            "",
            metadata.get("namespace") or "",
            metadata["name"],
            owner or None,
            workload,
            None,
        )

    def _delete(self, uid: str, when: _When, obj: Object | None) -> None:
        state = self._states.pop(uid, None)
        if self.gone is not None:
            self.gone.add(uid)
        if self.followed.role in {"event", "other"}:
            return  # that the server forgets an event is no news of its subject
        if isinstance(state, _Known):
            self._recorder.emit(self.followed, uid, state, DELETED, when)
        elif obj is not None:
            self._recorder.emit(self.followed, uid, self._first_seen(obj), DELETED, when)


def number(version: str) -> int:
    """A version as a number, so that it can be compared; 0 for one that is none: then nothing follows from it."""
    return int(version) if version.isdecimal() else 0


def _controller(obj: Object) -> str | None:
    owner = meta.controller_owner(obj)
    return None if owner is None else owner.get("uid")
