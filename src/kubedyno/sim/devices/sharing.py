"""Shared GPUs as KAI and the fake GPU operator know them: pods that reserve a GPU for the fractions of others.

The binder creates a reservation pod per shared GPU on the node of its choice, and waits until the pod says by an
annotation which GPU it got: its UUID. All fractions of that GPU carry the reservation's group as a label.
"""

from collections.abc import Collection
from typing import Final

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.devices.identity import gpu_uuid

APPS: Final = ("kai-resource-reservation", "runai-reservation")
"""Label `app` of reservation pods: KAI's today, and its name of before."""
SELECTOR: Final = f"app in ({','.join(APPS)})"
RESERVED: Final = "run.ai/reserve_for_gpu_index"
"""Annotation of a reservation pod: the UUID of its GPU, whatever the name says."""


def waits_for_gpu(pod: Object) -> bool:
    """Whether a reservation pod runs and has not said yet which GPU it has."""
    return (
        (pod.get("status") or {}).get("phase") == "Running"
        and RESERVED not in meta.annotations(pod)
        and not pod["metadata"].get("deletionTimestamp")
    )


def is_simulated(node: Object) -> bool:
    """Whether nobody but us can say which GPU a pod has there."""
    annotations = meta.annotations(node)
    return marks.DEVICES in annotations or marks.FAKE in annotations


def chosen_gpu(node: str, count: int, taken: Collection[str]) -> str | None:
    """The GPU of a new reservation, given the UUIDs of the others; None when there is none left.

    From the last one on: pods with whole GPUs are given the first ones, so both meet only on a full node.
    """
    return next((own for index in reversed(range(count)) if (own := gpu_uuid(node, index)) not in taken), None)
