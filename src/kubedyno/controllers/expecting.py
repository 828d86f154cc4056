"""What was written and has not come back through the watch yet: until then a controller would do it twice."""

from collections.abc import Hashable, Iterable

from kubedyno.kit.clock import NS_PER_S, Clock

EXPIRY_S = 300
"""As in Kubernetes: after a lost change the controller goes on by itself."""


class Expectations:
    """Per controlled object the number of creations and the uids of deletions that must still be seen.

    They are raised before the write, so that a watch that is faster than the answer lowers what is there.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._creations: dict[Hashable, int] = {}
        self._deletions: dict[Hashable, dict[str, None]] = {}
        self._raised_ns: dict[Hashable, int] = {}

    def expect_creations(self, key: Hashable, count: int) -> None:
        """`count` objects are about to be created."""
        if count:
            self._raised_ns[key] = self._clock.monotonic_ns()
            self._creations[key] = self._creations.get(key, 0) + count

    def expect_deletions(self, key: Hashable, uids: Iterable[str]) -> None:
        """These objects are about to be deleted."""
        wanted = dict.fromkeys(uids)
        if wanted:
            self._raised_ns[key] = self._clock.monotonic_ns()
            self._deletions.setdefault(key, {}).update(wanted)

    def created(self, key: Hashable, count: int = 1) -> None:
        """Creations were seen, or failed and will not be."""
        left = self._creations.get(key, 0) - count
        if left > 0:
            self._creations[key] = left
        else:
            self._creations.pop(key, None)

    def deleted(self, key: Hashable, uid: str) -> None:
        """A deletion was seen, or failed."""
        waiting = self._deletions.get(key)
        if waiting is not None:
            waiting.pop(uid, None)
            if not waiting:
                del self._deletions[key]

    def are_met(self, key: Hashable) -> bool:
        """Whether all was seen, or too long ago to be waited for."""
        if key not in self._creations and key not in self._deletions:
            return True
        return self._clock.monotonic_ns() - self._raised_ns.get(key, 0) > EXPIRY_S * NS_PER_S

    def forget(self, key: Hashable) -> None:
        """The controlled object is gone."""
        self._creations.pop(key, None)
        self._deletions.pop(key, None)
        self._raised_ns.pop(key, None)


class Written:
    """The resource versions that we wrote: an older copy in an informer must not be decided upon."""

    def __init__(self) -> None:
        self._versions: dict[Hashable, tuple[str, int]] = {}

    def note(self, key: Hashable, obj: dict[str, object]) -> None:
        """Remember the answer of a write."""
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)  # noqa: S101 - an answer of the API
        self._versions[key] = (metadata["uid"], int(metadata["resourceVersion"]))

    def is_newer_than(self, key: Hashable, obj: dict[str, object]) -> bool:
        """Whether `obj` is from before our last write to it."""
        noted = self._versions.get(key)
        if noted is None:
            return False
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)  # noqa: S101 - an object of the API
        if noted[0] == metadata["uid"] and int(metadata["resourceVersion"]) < noted[1]:
            return True
        del self._versions[key]
        return False

    def forget(self, key: Hashable) -> None:
        """The object is gone."""
        self._versions.pop(key, None)
