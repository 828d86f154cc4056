"""What to do about pods that wait, where the reason is one that configs with fake nodes and claims run into. Pure."""

import re
from typing import Final

from kubedyno.kube.codec import Object
from kubedyno.sim import marks

_TAINT: Final = f"{marks.FAKE}=fake:NoSchedule"
_CLASS: Final = re.compile(r"device ?class.*(not exist|not found)|could not find.*DeviceClass", re.IGNORECASE)
_CLAIM: Final = re.compile(r"resource ?claim.*(not found|to be created)|to create the resource ?claim", re.IGNORECASE)


def advice(pod: Object, reason: str) -> str:
    """What its author can do, after a semicolon; empty: nothing that is known here."""
    if "taint" in reason and not _tolerates_fake(pod):
        return f"; it does not tolerate {_TAINT}, the taint of fake nodes: give it a toleration"
    if _CLASS.search(reason):
        return "; a DeviceClass comes with the dependency kwok-dra, or from a step before the one that creates the pods"
    if _CLAIM.search(reason):
        names = [
            one["resourceClaimTemplateName"]
            for one in pod.get("spec", {}).get("resourceClaims") or ()
            if one.get("resourceClaimTemplateName")
        ]
        if names:
            return (
                f"; see that the ResourceClaimTemplate {', '.join(names)} is there: create it in a step before the one "
                "that creates the pods"
            )
    return ""


def _tolerates_fake(pod: Object) -> bool:
    """As far as keys go: an empty one tolerates everything."""
    tolerations = pod.get("spec", {}).get("tolerations") or ()
    return any(one.get("key", "") in {"", marks.FAKE} for one in tolerations)
