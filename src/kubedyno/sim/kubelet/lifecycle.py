"""What a kubelet does next about one pod: a function of the pod's object, its plan and the time.

    decision = decide(pod, plan, now_ns=..., addresses=...)

Nothing is remembered, so whoever comes next goes on where the pod is. After a `Write` was applied, the same question
has another answer, until nothing is left to do.

Objects keep whole seconds. Whoever remembers when the present step began (`Write.is_step`, or when the pod's deletion
was first seen) gives it as `step_ns`, and times are exact; without it they end up to a second early.

A pod starts in `start_s`: without a delay in one write; else it is accepted first. Init containers take equal turns of
that time, after one for images and network; that the first of them runs is written if the start takes a second or more.
"""

from typing import Final

import msgspec

from kubedyno.controllers.podfacts import FINISHED
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.sim.kubelet import containers, podstates
from kubedyno.sim.kubelet.containers import exactly_ns, second_text, stamp_ns
from kubedyno.sim.kubelet.plans import Plan
from kubedyno.sim.kubelet.podstates import Addresses

__all__ = ["Addresses", "Decision", "Delete", "Wait", "Write", "decide"]

_DEADLINE_REASON: Final = "DeadlineExceeded"
_DEADLINE_MESSAGE: Final = "Pod was active on the node longer than the specified deadline"
_USUAL_GRACE_S: Final = 30
_TURNS_SHOWN_FROM_S: Final = 1.0


class Write(msgspec.Struct, frozen=True):
    """Patch the pod's `status` (strategic merge)."""

    status: Object
    is_step: bool = True
    """Whether a new step begins with it; else it only sets right what others changed."""


class Delete(msgspec.Struct, frozen=True):
    """Delete the pod without grace, if it still has this uid."""


class Wait(msgspec.Struct, frozen=True):
    """Nothing happens by itself before this wall time."""

    until_ns: int


Decision = Write | Delete | Wait | None
"""None: nothing happens until the pod's object changes."""


def decide(pod: Object, plan: Plan, *, now_ns: int, addresses: Addresses, step_ns: int | None = None) -> Decision:
    """What to do now about a pod that was bound to a node and admitted there."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return _end(pod, plan, now_ns, step_ns)
    phase = status.get("phase")
    if phase in FINISHED:
        return None
    if phase != "Running" or not status.get("containerStatuses"):
        return _start(pod, plan, now_ns, addresses, step_ns)
    return _work(pod, plan, now_ns, step_ns)


def is_final(pod: Object, plan: Plan, write: Write) -> bool:
    """Whether nothing follows by itself when a write has been applied to the pod: it runs until others change it."""
    spec = pod["spec"]
    return (
        write.status.get("phase") == "Running"
        and plan.work_s is None
        and spec.get("activeDeadlineSeconds") is None
        and not spec.get("readinessGates")
    )


def _start(pod: Object, plan: Plan, now_ns: int, addresses: Addresses, step_ns: int | None) -> Decision:
    if (pod.get("status") or {}).get("startTime"):
        return _past_deadline(pod, plan, now_ns) or _prepare(pod, plan, now_ns, addresses, step_ns)
    now = second_text(now_ns // NS_PER_S)
    if plan.start_s > 0:
        return Write(podstates.accepted(pod, now=now, addresses=addresses))
    turns = [now for _ in pod["spec"].get("initContainers") or ()]
    return Write(podstates.running(pod, now=now, addresses=addresses, turns=turns))


def _prepare(pod: Object, plan: Plan, now_ns: int, addresses: Addresses, step_ns: int | None) -> Decision:
    """What to do for an accepted pod: the first turn is for images and network, then one for each init container."""
    status, count = pod["status"], len(pod["spec"].get("initContainers") or ())
    now, turn_ns = second_text(now_ns // NS_PER_S), round(plan.start_s * NS_PER_S) // (count + 1)
    first = _first_turn(status)
    if first is not None:
        turns_ns = exactly_ns(first, step_ns)
    else:
        turns_ns = exactly_ns(status["startTime"], step_ns) + turn_ns
        if count and plan.start_s >= _TURNS_SHOWN_FROM_S:
            if now_ns < turns_ns:
                return _wait(pod, turns_ns)
            return Write(podstates.initialising(pod, now=now, addresses=addresses))
    runs_ns = turns_ns + turn_ns * count
    if now_ns < runs_ns:
        return _wait(pod, runs_ns)
    turns = [second_text(min(turns_ns + turn_ns * number, now_ns) // NS_PER_S) for number in range(count)]
    return Write(podstates.running(pod, now=now, addresses=addresses, turns=turns))


def _first_turn(status: Object) -> str | None:
    """When the first init container began to run, if it does."""
    for one in status.get("initContainerStatuses") or ():
        if began := one["state"].get("running"):
            found: str = began["startedAt"]
            return found
    return None


def _work(pod: Object, plan: Plan, now_ns: int, step_ns: int | None) -> Decision:
    spec, status = pod["spec"], pod["status"]
    policy, deadline_ns = spec.get("restartPolicy", "Always"), _deadline_ns(pod)
    due, next_ns = [], None
    for one in status["containerStatuses"]:
        at_ns = containers.changes_ns(one, plan, policy, step_ns)
        if at_ns is None:
            continue
        if at_ns <= now_ns and (deadline_ns is None or at_ns < deadline_ns):
            due.append(one["name"])
        elif next_ns is None or at_ns < next_ns:
            next_ns = at_ns
    now = second_text(now_ns // NS_PER_S)
    if due:
        return Write(podstates.worked(pod, plan, frozenset(due), now=now))
    if deadline_ns is not None and (ended := _past_deadline(pod, plan, now_ns)) is not None:
        return ended
    if (correction := podstates.corrected(pod, now=now)) is not None:
        return Write(correction, is_step=False)
    return None if next_ns is None and deadline_ns is None else _wait(pod, next_ns)


def _deadline_ns(pod: Object) -> int | None:
    """When the pod has been on the node for as long as it may."""
    allowed_s, began = pod["spec"].get("activeDeadlineSeconds"), pod["status"].get("startTime")
    return None if allowed_s is None or not began else stamp_ns(began) + allowed_s * NS_PER_S


def _past_deadline(pod: Object, plan: Plan, now_ns: int) -> Decision:
    """What the pod's deadline asks for now; None: nothing yet."""
    deadline_ns = _deadline_ns(pod)
    if deadline_ns is None or now_ns < deadline_ns:
        return None
    if podstates.is_anything_running(pod["status"]):
        # Containers are asked to end then, and may take their time.
        grace_s = pod["spec"].get("terminationGracePeriodSeconds", _USUAL_GRACE_S)
        ends_ns = deadline_ns + round(min(plan.stop_s, grace_s) * NS_PER_S)
        if now_ns < ends_ns:
            return Wait(ends_ns)
    return Write(
        podstates.stopped(
            pod,
            code=containers.SIGKILLED,
            now=second_text(now_ns // NS_PER_S),
            reason=_DEADLINE_REASON,
            message=_DEADLINE_MESSAGE,
        )
    )


def _wait(pod: Object, until_ns: int | None) -> Wait:
    """Wait for the time given or for the pod's deadline; one of them there must be."""
    return Wait(min(at_ns for at_ns in (until_ns, _deadline_ns(pod)) if at_ns is not None))


def _end(pod: Object, plan: Plan, now_ns: int, step_ns: int | None) -> Decision:
    metadata, status = pod["metadata"], pod.get("status") or {}
    grace_s = metadata.get("deletionGracePeriodSeconds") or 0
    # An object that is still there after its grace went to zero waits for others to take off their finalizers.
    is_held = bool(metadata.get("finalizers"))
    if status.get("phase") in FINISHED:
        return None if is_held and grace_s == 0 else Delete()
    if plan.stop_s > 0 and podstates.is_anything_running(status):
        asked_ns = stamp_ns(metadata["deletionTimestamp"]) - grace_s * NS_PER_S
        if step_ns is not None and 0 <= step_ns - asked_ns < NS_PER_S:
            asked_ns = step_ns
        ends_ns = asked_ns + round(min(plan.stop_s, grace_s) * NS_PER_S)
        if now_ns < ends_ns:
            return Wait(ends_ns)
    elif not is_held:
        return Delete()
    code = containers.SIGTERMED if plan.stop_s <= grace_s else containers.SIGKILLED
    # Who waits with a finalizer wants to see how the pod ended.
    return Write(podstates.stopped(pod, code=code, now=second_text(now_ns // NS_PER_S)))
