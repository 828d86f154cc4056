"""Which submitted workload each object belongs to. Pure.

An object belongs where its owners lead. Where they lead nowhere, it belongs to the workload that its label names, and a
decision to its pod's, which has its name. One recording may hold several submissions: an object of a workload's kind
and name that is not the one that was submitted is a namesake, and nothing of it is counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kubedyno.measure.sightings import Identity, Sightings
from kubedyno.model.submissions import SubmittedWorkload

NOBODY: Final = -1
_NEVER_NS: Final = 2**63 - 1
_UNKNOWN: Final = -2
"""Nothing decides: neither that it belongs to a workload of ours, nor that it does not."""

Members = dict[int, dict[str, list[str]]]
"""By the position of a workload: the uids of its objects, by role."""


def attribute(sightings: Sightings, workloads: Sequence[SubmittedWorkload]) -> Members:
    """The objects of each workload. Those of others are left out."""
    attributing = _Attributing(sightings, workloads)
    members: Members = {}
    for role, uid in sightings.uids():
        place = attributing.place(uid, role)
        if place != NOBODY:
            members.setdefault(place, {}).setdefault(role, []).append(uid)
    return members


class _Attributing:
    """Remembers what it found: most objects share their owners with others."""

    def __init__(self, sightings: Sightings, workloads: Sequence[SubmittedWorkload]) -> None:
        self._sightings = sightings
        self._workloads = workloads
        self._by_uid = {workload.uid: place for place, workload in enumerate(workloads) if workload.uid}
        self._by_name = {(workload.namespace, workload.name): place for place, workload in enumerate(workloads)}
        self._found: dict[str, int] = {}
        self._pods: Mapping[tuple[str, str], str] | None = None
        self._spans = _spans(sightings, workloads, self._by_name)

    def place(self, uid: str, role: str) -> int:
        """The position of the workload that an object belongs to, or NOBODY."""
        place = self._by_owners(uid)
        if place == _UNKNOWN and role == "decision":
            identity = self._sightings.identity(uid)
            pod = self._pods_by_name().get((identity.namespace, identity.name))
            place = self._by_owners(pod) if pod is not None else NOBODY
        return max(place, NOBODY)

    def _by_owners(self, uid: str) -> int:
        """Follow owners until one is known to belong somewhere; all on the way belong there, too."""
        way: list[str] = []
        while True:
            place = self._known(uid)
            if place is None and uid in self._sightings and uid not in way:
                way.append(uid)
                identity = self._sightings.identity(uid)
                if self._is_namesake(identity):
                    place = NOBODY
                elif identity.owner:
                    uid = identity.owner
                    continue
            break
        result = _UNKNOWN if place is None else place
        for passed in reversed(way):
            if result == _UNKNOWN:
                result = self._by_label(passed)
            self._found[passed] = result
        return result

    def _known(self, uid: str) -> int | None:
        found = self._by_uid.get(uid)
        return self._found.get(uid) if found is None else found

    def _is_namesake(self, identity: Identity) -> bool:
        place = self._by_name.get((identity.namespace, identity.name))
        if place is None or self._workloads[place].kind != identity.kind:
            return False
        return not _is_under_way(self._workloads[place])

    def _by_label(self, uid: str) -> int:
        """Where its label says, unless it was made for a namesake of that workload."""
        identity = self._sightings.identity(uid)
        place = self._by_name.get((identity.namespace, identity.workload)) if identity.workload else None
        if place is None:
            return _UNKNOWN
        workload, span = self._workloads[place], self._spans.get(place)
        if workload.uid is None and not _is_under_way(workload):
            return NOBODY
        created = self._sightings.instant(uid, "created") if span is not None else None
        if span is None or created is None:
            return place
        since_ns, until_ns = span
        return place if created.upper_ns >= since_ns and created.lower_ns < until_ns else NOBODY

    def _pods_by_name(self) -> Mapping[tuple[str, str], str]:
        if self._pods is None:
            self._pods = {(who.namespace, who.name): uid for uid, who in _of_role(self._sightings, "pod")}
        return self._pods


def _of_role(sightings: Sightings, role: str) -> Iterator[tuple[str, Identity]]:
    for its_role, uid in sightings.uids():
        if its_role == role:
            yield uid, sightings.identity(uid)


def _is_under_way(workload: SubmittedWorkload) -> bool:
    """Whether its request was sent and not answered yet: what is there under its name may be it."""
    return workload.uid is None and workload.error is None


def _spans(
    sightings: Sightings, workloads: Sequence[SubmittedWorkload], by_name: Mapping[tuple[str, str], int]
) -> dict[int, tuple[int, int]]:
    """From when until when things were made for a workload, by position; only for those that have namesakes."""
    spans: dict[int, tuple[int, int]] = {}
    for _, uid in sightings.uids():
        identity = sightings.identity(uid)
        place = by_name.get((identity.namespace, identity.name))
        if place is None or workloads[place].kind != identity.kind or workloads[place].uid in {None, uid}:
            continue
        since_ns, until_ns = spans.get(place, (workloads[place].t_submit, _NEVER_NS))
        created = sightings.instant(uid, "created")
        if created is not None and created.lower_ns > since_ns:
            until_ns = min(created.lower_ns, until_ns)
        spans[place] = since_ns, until_ns
    return spans
