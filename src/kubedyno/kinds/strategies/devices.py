"""Claims on devices and rules that taint them."""

from collections.abc import Iterable

from kubedyno.kinds.strategies.strategy import KEPT_FOR_STATUS, Occasion, Strategy
from kubedyno.kube.codec import Object

_Device = tuple[str, str, str, str]


def _update_claim_status(new: Object, old: Object, _occasion: Occasion) -> None:
    """Forget what drivers said of devices that the claim no longer has."""
    status: Object = dict(new.get("status") or {})
    if "devices" in status:
        gone = set(_allocated(old.get("status") or {})) - set(_allocated(status))
        status["devices"] = [device for device in status["devices"] if _identity(device) not in gone]
        if not status["devices"]:
            del status["devices"]
    new["status"] = status


def _allocated(status: Object) -> Iterable[_Device]:
    results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return map(_identity, results)


def _identity(device: Object) -> _Device:
    return device["driver"], device["pool"], device["device"], device.get("shareID", "")


CLAIMS = Strategy(starts_at_1=False, bumped_by=(), kept_by_status=KEPT_FOR_STATUS, on_status=_update_claim_status)


def _update_taint_rule(new: Object, old: Object, occasion: Occasion) -> None:
    """A taint that got another effect counts as added now, unless the user says when."""
    taint, before = new["spec"]["taint"], old["spec"]["taint"]
    if taint.get("effect") != before.get("effect") and taint.get("timeAdded") == before.get("timeAdded"):
        new["spec"] = {**new["spec"], "taint": {**taint, "timeAdded": occasion.now}}


TAINT_RULES = Strategy(kept_by_status=KEPT_FOR_STATUS, on_update=_update_taint_rule)
