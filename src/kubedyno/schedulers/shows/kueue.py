"""What Kueue's Workload shows."""

from typing import Final

from kubedyno.kube.codec import Object
from kubedyno.model.lifecycles import Shown
from kubedyno.schedulers.shows.conditions import created, since

_NOT_LOOKED_AT: Final = "Inadmissible"


def kueue_workload(obj: Object) -> list[Shown]:
    """Created, queued and unschedulable while it has no quota, admitted, evicted with the reason, completed or failed.

    One that is inadmissible was not looked at yet: its queue is not known, or not active.
    """
    found = [created(obj)]
    for condition in (obj.get("status") or {}).get("conditions") or ():
        kind, is_true = condition["type"], condition.get("status") == "True"
        reason = condition.get("reason") or ""
        if kind == "QuotaReserved" and not is_true and reason != _NOT_LOOKED_AT:
            found += (Shown(phase, since(condition), reason) for phase in ("queued", "unschedulable"))
        elif kind == "Admitted" and is_true:
            found.append(Shown("admitted", since(condition)))
        elif kind == "Evicted" and is_true:
            found.append(Shown("evicted", since(condition), f"{reason} by Kueue"))
        elif kind == "Finished" and is_true:
            found.append(Shown("failed" if reason == "Failed" else "completed", since(condition), reason))
    return found
