"""All of a gang runs, or none of it."""

from collections.abc import Iterator

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.invariants.facts import GroupFacts, GroupKey
from kubedyno.measure.invariants.rule import Breach, Rule
from kubedyno.measure.invariants.world import Gang, Pod, World


class PartialGang(Rule):
    """A gang that has started in part is watched until it is whole, empty or ended.

    While pods of it are still being bound, it is given the time between two of them; when it had been whole, the longer
    time after which KAI ends it. Where nobody ends such gangs, only evictions are held against the scheduler, unless
    pods of the gang may be evicted one by one.
    """

    name = "partial gang"
    meaning = "Fewer pods of a gang than must run together hold nodes only for as long as it takes to bind the rest."

    def __init__(self) -> None:
        self._since: dict[GroupKey, int] = {}
        self._told: set[GroupKey] = set()

    def bound(self, world: World, pod: Pod, at_ns: int) -> tuple[Breach, ...]:
        """One more."""
        self._look(world, pod, at_ns, is_progress=True)
        return ()

    def yielded(self, world: World, pod: Pod, at_ns: int) -> None:
        """One less."""
        self._look(world, pod, at_ns, is_progress=False)

    def looked(self, world: World, now_ns: int) -> Iterator[Breach]:
        """Whether any has been partial for too long."""
        for key, since_ns in list(self._since.items()):
            group, gang = world.groups.get(key), world.gangs.get(key)
            if group is None or gang is None or key in self._told or not is_judged(group, gang):
                continue
            patience_s = world.patience.stale_s if gang.was_whole else world.patience.filling_s
            if now_ns - since_ns <= patience_s * NS_PER_S:
                continue
            self._told.add(key)
            yield Breach(
                group.title,
                None,
                f"for {(now_ns - since_ns) / NS_PER_S:.0f} s {_figures(group, gang)}"
                + (", after enough of them had" if gang.was_whole else ", and nothing more was bound"),
                at_ns=since_ns,
            )

    def _look(self, world: World, pod: Pod, at_ns: int, *, is_progress: bool) -> None:
        key = pod.facts.group
        group = world.groups.get(key) if key is not None else None
        if key is None or group is None or group.least <= 1:
            return
        if not is_partial(group, world.gangs[key]):
            self._since.pop(key, None)
            self._told.discard(key)
        elif is_progress:
            self._since[key] = at_ns
        else:
            self._since.setdefault(key, at_ns)


def is_partial(group: GroupFacts, gang: Gang) -> bool:
    """Whether some of it hold nodes, but fewer than must."""
    return not gang.finished and bool(gang.counted.total()) and not is_whole(group, gang)


def is_judged(group: GroupFacts, gang: Gang) -> bool:
    """Whether it is its scheduler's business that the gang is partial."""
    if not gang.was_whole or group.ends_stale:
        return True
    return bool(gang.evicted) and not group.may_shrink


def is_whole(group: GroupFacts, gang: Gang) -> bool:
    """Whether as many hold nodes as must."""
    if group.subgroups:
        return all(gang.counted[name] >= one.least for name, one in group.subgroups.items())
    return gang.counted.total() >= group.least


def _figures(group: GroupFacts, gang: Gang) -> str:
    if not group.subgroups:
        return f"{gang.counted.total()} of the gang's pods held nodes where {group.least} must"
    parts = (f"{gang.counted[name]} of {one.least} in {name}" for name, one in sorted(group.subgroups.items()))
    return f"too few of a part of the gang's pods held nodes: {', '.join(parts)}"
