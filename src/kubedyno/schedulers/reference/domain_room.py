"""How much room the domains of a topology have, and which of them to try first."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from kubedyno.schedulers.reference.fitting import GPU, Needs
from kubedyno.schedulers.reference.jobs import Task
from kubedyno.schedulers.reference.nodes_table import NOWHERE, Numbers, Slots
from kubedyno.schedulers.reference.packing import Packing


def room_of_domains(
    packing: Packing, tasks: Sequence[Task], of_slot: Slots, area: Slots | None, *, later: bool
) -> Numbers:
    """How many of the tasks each domain has room for within an area; where they differ, at most."""
    domains = of_slot if area is None else of_slot[area]
    size = int(of_slot.max(initial=NOWHERE)) + 1
    inside = domains != NOWHERE
    wanted: dict[Needs, int] = {}
    for task in tasks:
        wanted[task.needs] = wanted.get(task.needs, 0) + 1
    caps = np.zeros(size, np.int64)
    for needs, count in wanted.items():
        counts = np.minimum(packing.counts(packing.kind(needs), area, later=later), count)
        found = np.bincount(domains[inside], counts[inside], size).astype(np.int64)
        caps += np.minimum(found, count) if len(wanted) > 1 else found
    if len(wanted) > 1:
        table = packing.table
        row, slots = table.row(GPU), slice(None) if area is None else area
        free = table.free[row, slots] + (table.leaving[row, slots] if later else 0)
        gpus = np.bincount(domains[inside], np.maximum(free, 0)[inside], size).astype(np.int64)
        caps = np.minimum(caps, _share_of_gpus(wanted, gpus))
    return caps


def _share_of_gpus(wanted: Mapping[Needs, int], gpus: Numbers) -> Numbers:
    """How many of tasks that differ each domain has GPUs for, were they all alike."""
    total, count = sum(needs.gpus * many for needs, many in wanted.items()), sum(wanted.values())
    if not total:
        return np.full(len(gpus), count, np.int64)
    return np.minimum(gpus * count // total, count)


def by_room(caps: Numbers, wanted: int, least: int) -> Iterable[int]:
    """Domains with room for at least so many: first those for all that are wanted, the fullest first; then the rest."""
    all_of_them = np.flatnonzero(caps >= wanted)
    some = np.flatnonzero((caps < wanted) & (caps >= least))
    yield from all_of_them[np.argsort(caps[all_of_them], kind="stable")].tolist()
    yield from some[np.argsort(-caps[some], kind="stable")].tolist()


def fewest(caps: Numbers, domains: Slots, wanted: int) -> int:
    """How many of these domains so many tasks need at least."""
    together = np.cumsum(np.sort(caps[np.unique(domains[domains != NOWHERE])])[::-1])
    return int(np.searchsorted(together, wanted)) + 1
