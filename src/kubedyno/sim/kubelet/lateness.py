"""Statuses of pods that are written late: when each was decided, and when it may be written.

Only writes that wait are remembered. A write that waits is not kept itself: it is decided again for the moment at which
it was decided first, so that its times are true and whatever became of the pod meanwhile is heeded.
"""

import msgspec

from kubedyno.client.informer import Key
from kubedyno.kit.clock import NS_PER_S
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.fault import Faults


class _Waiting(msgspec.Struct, frozen=True, gc=False):
    uid: str
    decided_ns: int
    due_ns: int


class LateWrites:
    """The writes that wait, by pod; all times are wall time in nanoseconds."""

    def __init__(self) -> None:
        self._waiting: dict[Key, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def decided_ns(self, key: Key, uid: str) -> int | None:
        """When the write that waits for the pod was decided; None: none does."""
        found = self._waiting.get(key)
        return found.decided_ns if found is not None and found.uid == uid else None

    def due_ns(self, key: Key, uid: str, faults: Faults, *, decided_ns: int, now_ns: int, at: float) -> int | None:
        """Until when a write has to wait, which is remembered; None: it may go now. `at` (0 to 1) places the draw.

        Without the fault nothing waits: what did so goes at once.
        """
        late_s = fault.status_late_s(faults, now_ns, at=at)
        if not late_s:
            return None
        found = self._waiting.get(key)
        if found is None or found.uid != uid:
            found = self._waiting[key] = _Waiting(uid, decided_ns, decided_ns + round(late_s * NS_PER_S))
        return found.due_ns if found.due_ns > now_ns else None

    def forget(self, key: Key) -> None:
        """The pod's write was done, or is not needed any more."""
        self._waiting.pop(key, None)
