"""What scenarios demand of an outcome, and say of it, alike: who runs, who was taken away, and how many for what."""

from collections import Counter
from collections.abc import Iterable

from kubedyno.lab.handles import Workloads
from kubedyno.lab.lab import Lab
from kubedyno.scenarios import sizes

_NAMED = 5


def expect_all_placed(lab: Lab, workloads: Workloads) -> None:
    """Every pod of the workloads holds a node."""
    placed = sum(lab.placed(workloads).values())
    lab.expect("every pod has a node", placed == workloads.pods, f"{placed} of {workloads.pods} have one")


def expect_none_placed(lab: Lab, workloads: Workloads, name: str) -> None:
    """No pod of the workloads holds a node."""
    placed = lab.placement(workloads)
    lab.expect(name, not placed, f"{len(placed)} of {workloads.pods} pods have a node{listed(placed)}")


def expect_full(lab: Lab, singles: Workloads, nodes: int) -> None:
    """One-GPU pods take all GPUs of all nodes, and no node holds more of them than it has."""
    held = Counter(lab.placement(singles).values())
    wrong = sorted(f"{node} holds {count}" for node, count in held.items() if count != sizes.GPUS_PER_NODE)
    detail = f"{len(held)} of {nodes} nodes are in use{listed(wrong)}"
    lab.expect("all GPUs of all nodes are in use", len(held) == nodes and not wrong, detail)


def expect_no_others(lab: Lab, workloads: Workloads) -> None:
    """As many pods as were asked for were ever there: none was lost, none replaced."""
    known = sum(1 for _ in lab.standing.pods(sorted(workloads.names)))
    lab.expect("there were as many pods as submitted", known == workloads.pods, f"{known}, of {workloads.pods}")


def gpus_held(lab: Lab, workloads: Workloads) -> int:
    """GPUs that alike pods of the workloads hold now."""
    return sum(lab.placed(workloads).values()) * workloads.shape.gpus


def expect_reclaimed(lab: Lab, *, victims: Workloads, reclaimers: Workloads, gpus: int) -> None:
    """`gpus` were needed, and came from the victims alone; how many were taken is measured beside it."""
    taken = lab.evicted(victims)
    taken_gpus = sum(one.gpus for one in taken)
    lab.expect("as many GPUs as were needed were reclaimed", taken_gpus >= gpus, f"{taken_gpus:g} of {gpus}")
    expect_untouched(lab, reclaimers, "nobody was taken from the queue that reclaims")
    lab.record("evicted pods", "pods", (len(taken),))
    if gpus:
        lab.record("GPUs evicted for each reclaimed", "GPUs", (taken_gpus / gpus,))


def expect_untouched(lab: Lab, workloads: Workloads, name: str) -> None:
    """The scheduler took no pod of these away."""
    taken = lab.evicted(workloads)
    lab.expect(name, not taken, f"{len(taken)} were taken{listed(one.name for one in taken)}")


async def expect_nothing_idle(lab: Lab, *, victims: Workloads, gpus: int) -> None:
    """Of `gpus` that others leave to the victims, none lies idle in the end: what was taken too much is given back."""
    await lab.settled(quiet_s=_QUIET_S)
    if gpus_held(lab, victims) != gpus:
        await lab.settled(quiet_s=SETTLED_S)
    held = gpus_held(lab, victims)
    lab.expect("no GPU lies idle while victims wait", held == gpus, f"victims hold {held} of the {gpus} left to them")


SETTLED_S = 15.0
"""A Job waits ten seconds before it replaces a pod that was taken from it."""
_QUIET_S = 3.0
"""Longer than a scheduler thinks: where nothing is idle, nobody has to be waited for."""


def told(what: Iterable[str]) -> str:
    """The first few, and how many more there are; empty for none."""
    names = sorted(what)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def listed(what: Iterable[str]) -> str:
    """The same after a colon."""
    text = told(what)
    return f": {text}" if text else ""
