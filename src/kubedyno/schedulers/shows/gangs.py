"""What shows that pods belong together, and what was decided for them: PodGroups and BindRequests."""

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import UNSCHEDULABLE, created, since


def kai_pod_group(obj: Object) -> list[Shown]:
    """A PodGroup of scheduling.run.ai: created, with how many of its pods must start together; queued, unschedulable.

    KAI never takes the condition back that says that it could not be placed: it means that it once was queued.
    """
    found = [created(obj, str(obj["spec"].get("minMember") or 1))]
    for condition in (obj.get("status") or {}).get("schedulingConditions") or ():
        if condition.get("type") == "UnschedulableOnNodePool" and condition.get("status") == "True":
            reasons = condition.get("reasons") or ()
            told = reasons[0].get("reason") if reasons else condition.get("reason")
            found += (Shown(phase, since(condition), told or "") for phase in ("queued", "unschedulable"))
            break
    return found


def native_pod_group(obj: Object) -> list[Shown]:
    """A PodGroup of scheduling.k8s.io: created, with how many of its pods must start together.

    Also queued, and unschedulable where that is why; evicted.
    """
    gang = (obj["spec"].get("schedulingPolicy") or {}).get("gang") or {}
    found = [created(obj, str(gang.get("minCount") or 1))]
    for condition in (obj.get("status") or {}).get("conditions") or ():
        told = condition["type"], condition.get("status")
        if told == ("PodGroupScheduled", "False"):
            reason = condition.get("reason") or ""
            found.append(Shown("queued", since(condition), reason))
            if reason == UNSCHEDULABLE:
                found.append(Shown("unschedulable", since(condition), reason))
        elif told == ("DisruptionTarget", "True"):
            found.append(Shown("evicted", since(condition), condition.get("reason") or ""))
    return found


def bind_request(obj: Object) -> list[Shown]:
    """KAI's decision for one pod, with the node that it is for."""
    return [created(obj, obj["spec"].get("selectedNode") or "")]


def first_owner(obj: Object) -> str:
    """The uid of its first owner: KAI marks none of them as the controller."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        uid: str = reference.get("uid") or ""
        return uid
    return ""
