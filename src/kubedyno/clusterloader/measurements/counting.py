"""Objects counted by how they stand, along with their changes; and waits for such counts."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from kubedyno.client.errors import Overdue
from kubedyno.client.informer import Change, Key
from kubedyno.clusterloader.measurements.following import follow
from kubedyno.clusterloader.measurements.measuring import Scene
from kubedyno.clusterloader.measurements.params import Selector
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

S = TypeVar("S", bound=Hashable)


class Tally(Generic[S]):
    """How many objects stand in which way; a change costs the same however many there are."""

    def __init__(self, standing: Callable[[Object], S]) -> None:
        self.counts: Counter[S] = Counter()
        self._standing = standing
        self._known: dict[Key, S] = {}

    def changed(self, change: Change) -> None:
        """News of an object."""
        # How it stood is remembered and not asked again: the old state of a deleted object is its last, not the one
        # that was counted.
        before = self._known.pop(change.key, None)
        if before is not None:
            self.counts[before] -= 1
        if change.new is not None:
            now = self._known[change.key] = self._standing(change.new)
            self.counts[now] += 1


async def awaited(
    scene: Scene,
    resource: Resource,
    selector: Selector,
    standing: Callable[[Object], S],
    reached: Callable[[Counter[S]], bool],
    *,
    timeout_s: float,
    told: Callable[[Counter[S], Iterable[Object]], str],
) -> str:
    """Wait until what a selector means stands as wanted; else what is to be said about it, after the timeout."""
    tally = Tally(standing)
    follower = await follow(scene, resource, selector, on_change=tally.changed)
    try:
        await follower.informer.wait_until(lambda _: reached(tally.counts), timeout_s=timeout_s, what=resource.plural)
    except Overdue:
        return f"{told(tally.counts, list(follower.informer.items))} after {timeout_s:g} s ({selector})"
    finally:
        await follower.stop()
    return ""
