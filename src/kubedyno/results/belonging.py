"""Whose objects are that say of no workload: their topmost owner is one. Pure but for its memory."""

from typing import Final

_WORKLOADS: Final = frozenset({"workload", "job", "pod"})
"""Roles that stand for a workload of their own."""


class Belonging:
    """Told of all objects without a workload, it says which Job or lone pod each belongs to."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str, str | None, str]] = {}
        """Role, owner's uid and title by uid."""

    def note(self, uid: str, role: str, owner: str | None, namespace: str, name: str) -> None:
        """An object was seen; events are none of a workload."""
        if role != "event" and uid not in self._seen:
            self._seen[uid] = role, owner, f"{namespace}/{name}"

    def of(self, uid: str) -> str | None:
        """`namespace/name` of the topmost owner that was seen, or of the object itself; None: it is nobody's."""
        known = self._seen.get(uid)
        passed = {uid}
        while known is not None and known[1] in self._seen and known[1] not in passed:
            passed.add(known[1])
            known = self._seen[known[1]]
        return known[2] if known is not None and known[0] in _WORKLOADS else None
