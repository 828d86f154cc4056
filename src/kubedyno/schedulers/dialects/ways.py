"""The steps that users of the dialects look at: as few as tell the story, and all on the way.

Steps that only some workloads go through (queued, evicted) are in the samples, but not in a plot of all.
"""

from collections.abc import Mapping
from typing import Final

from kubedyno.model.lifecycles import ACCEPTED, SUBMITTED, Followed, Lifecycle

SINGLE: Final = frozenset({"training", "interactive"})
"""Types of one pod."""
SEVERAL: Final = frozenset({"distributed"})
"""Types of many pods: one alone is its own first and last."""

_ONLY: Final[Mapping[str, frozenset[str]]] = {
    "volume_bound": frozenset({"pvc"}),
    **dict.fromkeys(("last_pod", "gang_ready", "first_decided", "first_bound", "first_running"), SEVERAL),
}

_PLACED: Final = ("last_bound", "last_running")
_PLACED_IN_DETAIL: Final = ("first_bound", "last_bound", "first_running", "last_running")
DECIDED: Final = ("first_decided", "last_decided")


def way_of_groups(kinds: tuple[Followed, ...]) -> Lifecycle:
    """Where single pods have Jobs and gangs have PodGroups."""
    return way(
        kinds,
        made=("job", "podgroup"),
        general=("first_pod",),
        detailed=("first_pod", "gang_ready", "volume_bound"),
        only={"job": SINGLE, "podgroup": SEVERAL},
    )


def way(
    kinds: tuple[Followed, ...],
    *,
    made: tuple[str, ...],
    general: tuple[str, ...],
    detailed: tuple[str, ...],
    only: Mapping[str, frozenset[str]] | None = None,
) -> Lifecycle:
    """A way from the submission to running pods; `general` and `detailed` are the steps between, in each plot.

    `made` is the creation of the object that the workload is: it comes before the answer that says so.
    """
    begun = (SUBMITTED, *made, ACCEPTED)
    return Lifecycle(
        kinds=kinds,
        general=(*begun, *general, *_PLACED),
        detailed=(*begun, *detailed, *_PLACED_IN_DETAIL),
        only={**_ONLY, **(only or {})},
    )
