"""What a NodePool says of itself: the condition Available with the kwok-operator's reasons."""

from typing import Final, Literal

import msgspec

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim.nodepools.planning import Plan

AVAILABLE: Final = "Available"

Reason = Literal["Reconciling", "ScalingUp", "ScalingDown", "Updating", "Ready", "Deleting"]


class Told(msgspec.Struct, frozen=True):
    """A state of the condition."""

    status: Literal["True", "False", "Unknown"]
    reason: Reason
    message: str


RECONCILING: Final = Told("Unknown", "Reconciling", "Starting to reconcile the NodePool")
READY: Final = Told("True", "Ready", "NodePool is ready")
DELETING: Final = Told("False", "Deleting", "Deleting the NodePool")
_SCALING_UP: Final = Told("False", "ScalingUp", "Scaling up the NodePool")
_SCALING_DOWN: Final = Told("False", "ScalingDown", "Scaling down the NodePool")
_UPDATING: Final = Told("False", "Updating", "Updating the NodePool")


def begun(plan: Plan) -> Told:
    """What is told while a plan is carried out."""
    if plan.create:
        return _SCALING_UP
    return _SCALING_DOWN if plan.delete else _UPDATING


def refused(reason: Reason, message: str) -> Told:
    """What is told when something could not be done."""
    return Told("False", reason, message)


def told(pool: Object) -> Told | None:
    """What the pool says of its present generation; None when it says nothing of that one."""
    found = meta.condition(pool, AVAILABLE)
    if found is None or pool["status"].get("observedGeneration") != pool["metadata"].get("generation"):
        return None
    return Told(found["status"], found["reason"], found.get("message", ""))


def status(pool: Object, what: Told, *, now: str) -> Object:
    """The status of the pool with the condition changed; its time is that of the last change of True and False."""
    before = meta.condition(pool, AVAILABLE)
    stays = before is not None and before["status"] == what.status
    since = before["lastTransitionTime"] if before is not None and stays else now
    condition = {"type": AVAILABLE, **msgspec.to_builtins(what), "lastTransitionTime": since}
    others = [entry for entry in (pool.get("status") or {}).get("conditions") or () if entry.get("type") != AVAILABLE]
    return {"conditions": [*others, condition], "observedGeneration": pool["metadata"].get("generation", 0)}
