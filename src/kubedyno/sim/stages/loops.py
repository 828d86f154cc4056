"""Objects that run in a circle: stages without delay that lead into each other again and again.

Two signs: the object comes back to a state that it had, by our own writes only and with nothing to wait for on the
way; or it goes through more than a hundred stages within a second, whoever writes in between.
"""

import hashlib
from collections import deque
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import codec
from kubedyno.kube.codec import Object

PLAYS_PER_S: Final = 100
_PLAIN_LINKS: Final = 3
"""So many stages in a row are no suspicion, and states are not yet compared."""


class Trail:
    """The stages that one object went through lately."""

    __slots__ = ("_links", "_names", "_states", "_times_ns", "_version")

    def __init__(self) -> None:
        self._times_ns: deque[int] = deque(maxlen=PLAYS_PER_S)
        self._names: deque[str] = deque(maxlen=PLAYS_PER_S)
        self._states: dict[bytes, int] = {}
        self._links = 0
        self._version = ""

    def circle(self, stage: str, obj: Object, *, at_once: bool, certain: bool, now_ns: int) -> tuple[str, ...]:
        """Note that a stage is about to be played; the stages of the circle if the object runs in one, else nothing.

        `at_once` says that the stage had no delay, `certain` that no other could have been chosen: where chance
        decides, a state that comes back is no circle yet.
        """
        if at_once and certain and obj["metadata"].get("resourceVersion") == self._version:
            self._links += 1
        else:
            self._links = 0
            self._states.clear()
        self._times_ns.append(now_ns)
        self._names.append(stage)
        if len(self._times_ns) == PLAYS_PER_S and now_ns - self._times_ns[0] < NS_PER_S:
            return tuple(dict.fromkeys(self._names))
        if self._links > _PLAIN_LINKS:
            state = _digest(obj)
            before = self._states.setdefault(state, self._links)
            if before != self._links:
                return tuple(self._names)[before - self._links - 1 : -1]
        return ()

    def answered(self, version: str) -> None:
        """The server's answer to the last write has this version: if the next stage finds it, nobody else wrote."""
        self._version = version


def _digest(obj: Object) -> bytes:
    """The state of an object without what every write changes."""
    metadata = {
        name: value
        for name, value in obj["metadata"].items()
        if name not in {"resourceVersion", "generation", "managedFields"}
    }
    return hashlib.blake2b(codec.encode({**obj, "metadata": metadata}), digest_size=16).digest()
