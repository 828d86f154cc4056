"""Why the store refused.

    StoreError
    ├── AlreadyExists   a create met an object of the same name
    ├── NotFound        there is no such object (at that revision)
    ├── Conflict        a precondition on revision or uid does not hold
    ├── Expired         the history that was asked for is compacted
    └── TooLarge        the revision that was asked for has not happened yet

A refused write changed nothing and took no revision.
"""

from kubedyno.kit.errors import EngineError
from kubedyno.store.records import Record


class StoreError(EngineError):
    """Base of what the store refuses."""


class AlreadyExists(StoreError):
    """A create met an object of the same name; `record` is that object as it is now."""

    def __init__(self, resource: str, record: Record) -> None:
        self.record = record
        super().__init__(f"{resource} {record.key!r} exists since revision {record.created}: replace it")


class NotFound(StoreError):
    """There is no such object; `key` is what was looked for."""

    def __init__(self, resource: str, key: str) -> None:
        self.key = key
        super().__init__(f"{resource} {key!r} does not exist")


class Conflict(StoreError):
    """A precondition does not hold; `record` is the object as it is now."""

    def __init__(self, resource: str, record: Record, *, problem: str) -> None:
        self.record = record
        super().__init__(f"{resource} {record.key!r} {problem}: read it again")


class Expired(StoreError):
    """History before `oldest` is gone: list anew and go on from there. Kubernetes says 410."""

    def __init__(self, resource: str, *, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        super().__init__(f"revision {revision} of {resource} is compacted: the oldest one left is {oldest}")


class TooLarge(StoreError):
    """The revision lies in the future of `current`: the caller is ahead of this store, or asks another one."""

    def __init__(self, *, revision: int, current: int) -> None:
        self.revision = revision
        self.current = current
        super().__init__(f"revision {revision} has not happened: the newest one is {current}")
