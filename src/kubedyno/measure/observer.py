"""Who is told of all that a recorder sees of objects, beyond the phases that it records."""

from typing import Protocol

from kubedyno.client.watching import ChangeType
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource


class Observer(Protocol):
    """Told of every change of every kind that is followed, in the order of each kind."""

    def change(
        self, resource: Resource, kind: ChangeType, obj: Object, arrival_ns: int, *, listed: bool = False
    ) -> None:
        """An object was added, changed or deleted; `listed`: a list showed it, nobody saw how it came to be so."""
        ...

    def vanished(self, resource: Resource, uid: str, version: int, arrival_ns: int) -> None:
        """An object is no longer in a list that was made anew at that version."""
        ...
