"""Certificate signing requests: who asks is what authentication says, and conditions are stamped."""

from collections.abc import Mapping
from typing import Any

from kubedyno.kinds.strategies.keeping import keep
from kubedyno.kinds.strategies.strategy import Occasion, Strategy
from kubedyno.kube.codec import Object

_DECISIONS = ("Approved", "Denied")
_STAMPS = ("lastUpdateTime", "lastTransitionTime")
_ASKER = ("username", "uid", "groups", "extra")


UNWRITTEN: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "": (("spec",), ("status",)),
    "status": (("spec",), ("status", "conditions")),
    "approval": (("spec",), ("status", "certificate")),
}
"""The paths that a write does not own, by the subresource that it is sent to."""


def _create(request: Object, occasion: Occasion) -> None:
    user = occasion.user
    asker: dict[str, Any] = {
        "username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": dict(user.extra),
    }  # fmt: skip
    spec = {name: value for name, value in request["spec"].items() if name not in _ASKER}
    request["spec"] = {**spec, **{name: value for name, value in asker.items() if value}}
    request["status"] = {}


def _update(new: Object, old: Object, _occasion: Occasion) -> None:
    keep(new, old, "spec")


def _update_status(new: Object, old: Object, occasion: Occasion) -> None:
    status: Object = dict(new.get("status") or {})
    if status.get("conditions"):
        conditions, before = list(status["conditions"]), _conditions(old)
        for decision in _DECISIONS:
            places = [index for index, entry in enumerate(conditions) if entry.get("type") == decision]
            decided = [entry for entry in before if entry.get("type") == decision]
            # Signers may not change a decision, but one that was added or taken away is for the rules to refuse.
            if len(places) == len(decided):
                for place, entry in zip(places, decided, strict=True):
                    conditions[place] = entry
        status["conditions"] = _stamped(conditions, before, occasion.now)
    new["status"] = status


def update_approval(new: Object, old: Object, now: str) -> None:
    """Of a PUT to `approval`, keep the conditions only."""
    conditions = _stamped(_conditions(new), _conditions(old), now)
    keep(new, old, "spec")
    status: Object = dict(old.get("status") or {})
    status.pop("conditions", None)
    new["status"] = {**status, "conditions": conditions} if conditions else status


def _conditions(request: Object) -> list[Object]:
    return (request.get("status") or {}).get("conditions") or []


def _stamped(conditions: list[Object], before: list[Object], now: str) -> list[Object]:
    """The conditions, each with the time of its last update and transition where it has none yet."""
    known = {
        (entry.get("type"), entry.get("status")): entry["lastTransitionTime"]
        for entry in reversed(before)
        if entry.get("lastTransitionTime")
    }
    stamped = []
    for entry in conditions:
        times = (
            entry.get(_STAMPS[0]) or now,
            entry.get(_STAMPS[1]) or known.get((entry.get("type"), entry.get("status")), now),
        )
        stamped.append({**entry, **dict(zip(_STAMPS, times, strict=True))})
    return stamped


REQUESTS = Strategy(starts_at_1=False, bumped_by=(), on_create=_create, on_update=_update, on_status=_update_status)
