"""The `eviction` subresource: a pod goes if the disruption budget that covers it has something left."""

from collections.abc import Iterable

import msgspec

from kubedyno.kinds.admission.attributes import Denied
from kubedyno.kinds.strategies.pods import set_condition
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.selectors import LabelSelector
from kubedyno.kube.status import Cause, failure

_MOST_UNCONFIRMED = 2000
_VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
_RETRY_S = 10
_SYNC_FAILED = "SyncFailed"


class Eviction(msgspec.Struct, frozen=True):
    """What an allowed eviction does: store both objects, then delete the pod."""

    pod: Object
    """The pod with the condition that says why it goes."""
    budget: Object | None
    """The budget with one disruption less and the pod noted; None if none is charged."""
    must_be_unchanged: bool
    """Whether the pod may only be deleted in the version that was judged; a conflict is `still_processed`."""


def decide_eviction(pod: Object, budgets: Iterable[Object], *, now: str) -> Eviction:
    """Whether the pod may be evicted: what is to be done, or `Denied`.

    `budgets` are those of the namespace; which one covers the pod is found out here. Nothing is changed in place.
    """
    phase = (pod.get("status") or {}).get("phase")
    leaving = bool(pod["metadata"].get("deletionTimestamp"))
    if leaving or phase in ("Succeeded", "Failed", "Pending"):
        # It disrupts nobody; but a pending pod may start in between.
        return Eviction(_condemned(pod, now), None, must_be_unchanged=phase == "Pending" and not leaving)
    covering = [budget for budget in budgets if _covers(budget, pod)]
    if not covering:
        return Eviction(_condemned(pod, now), None, must_be_unchanged=False)
    if len(covering) > 1:
        told = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise Denied(failure(500, told, reason=""))
    budget = covering[0]
    if not meta.is_condition_true(pod, "Ready") and _spares_unhealthy(budget):
        return Eviction(_condemned(pod, now), None, must_be_unchanged=True)
    return Eviction(_condemned(pod, now), _charged(budget, pod["metadata"]["name"], now), must_be_unchanged=False)


def still_processed(budget_name: str) -> Denied:
    """The 429 of a budget that cannot be judged yet; also when the pod changed while it was judged."""
    told = f"The disruption budget {budget_name} is still being processed by the server."
    return _too_many(told, retry_s=_RETRY_S)


def _covers(budget: Object, pod: Object) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    return selector is not None and LabelSelector.from_object(selector).matches(meta.labels(pod))


def _spares_unhealthy(budget: Object) -> bool:
    """Whether a pod that is not ready may go without being charged."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _condemned(pod: Object, now: str) -> Object:
    status = dict(pod.get("status") or {})
    set_condition(
        status, "DisruptionTarget", now,
        status="True", reason="EvictionByEvictionAPI", message="Eviction API: evicting",
    )  # fmt: skip
    return {**pod, "status": status}


def _charged(budget: Object, pod_name: str, now: str) -> Object:
    name = budget["metadata"]["name"]
    status = dict(budget.get("status") or {})
    left, unconfirmed = status.get("disruptionsAllowed", 0), status.get("disruptedPods") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise still_processed(name)
    if left < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(unconfirmed) > _MOST_UNCONFIRMED:
        raise _forbidden(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if left == 0:
        raise _too_many(_why_nothing_is_left(name, status, meta.condition(budget, "DisruptionAllowed")))
    status["disruptionsAllowed"] = left - 1
    status["disruptedPods"] = {**unconfirmed, pod_name: now}
    if left == 1:
        status["conditions"] = _exhausted(status, now)
    return {**budget, "status": status}


def _why_nothing_is_left(name: str, status: Object, condition: Object | None) -> str:
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    said = (condition or {}).get("message") if (condition or {}).get("status") == "False" else None
    reason = (condition or {}).get("reason", "")
    if said and reason == _SYNC_FAILED:
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {said}"
    if healthy <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
    if said:
        return f"The disruption budget {name} does not allow evicting pods currently ({reason}): {said}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _exhausted(status: Object, now: str) -> list[Object]:
    """The conditions, of which one says that nothing is left."""
    conditions: list[Object] = list(status.get("conditions") or ())
    place = next((i for i, each in enumerate(conditions) if each.get("type") == "DisruptionAllowed"), len(conditions))
    before = conditions[place] if place < len(conditions) else {}
    since = before.get("lastTransitionTime") if before.get("status") == "False" else now
    condition = {"type": "DisruptionAllowed", "status": "False"}
    if status.get("observedGeneration"):
        condition["observedGeneration"] = status["observedGeneration"]
    condition |= {"lastTransitionTime": since or now, "reason": "InsufficientPods", "message": ""}
    conditions[place : place + 1] = [condition]
    return conditions


def _too_many(told: str, *, retry_s: int = 0) -> Denied:
    cause = Cause("DisruptionBudget", told)
    return Denied(failure(429, _VIOLATES, causes=(cause,), retry_after_seconds=retry_s))


def _forbidden(name: str, why: str) -> Denied:
    told = f'poddisruptionbudget.policy "{name}" is forbidden: {why}'
    return Denied(failure(403, told, name=name, group="policy", resource="poddisruptionbudget"))
