"""Volumes and claims on them: phases, the time of the last one, and the two names of one data source."""

from kubedyno.kinds.strategies.strategy import Occasion, Strategy
from kubedyno.kube.codec import Object

_SINCE = "lastPhaseTransitionTime"
_OLD_SOURCES = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}


def _create_volume(volume: Object, occasion: Occasion) -> None:
    volume["status"] = {"phase": "Pending", _SINCE: occasion.now}


def _update_volume_status(new: Object, old: Object, occasion: Occasion) -> None:
    status: Object = dict(new.get("status") or {})
    before: Object = old.get("status") or {}
    if status.get("phase") == before.get("phase"):
        if status.get(_SINCE) is None and before.get(_SINCE) is not None:
            status[_SINCE] = before[_SINCE]
    elif status.get(_SINCE) in (None, before.get(_SINCE)):
        status[_SINCE] = occasion.now
    new["status"] = status


VOLUMES = Strategy(starts_at_1=False, bumped_by=(), on_create=_create_volume, on_status=_update_volume_status)


def _create_claim(claim: Object, _occasion: Occasion) -> None:
    claim["status"] = {"phase": "Pending"}
    claim["spec"] = _with_one_source(claim["spec"], had_source=False)


def _update_claim(new: Object, old: Object, _occasion: Occasion) -> None:
    before = old["spec"]
    new["spec"] = _with_one_source(new["spec"], had_source="dataSource" in before or "dataSourceRef" in before)


def _with_one_source(spec: Object, *, had_source: bool) -> Object:
    """The spec whose `dataSource` and `dataSourceRef` say the same where both can."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        # What servers of old did not know as a source they dropped in silence.
        if not had_source and (source.get("apiGroup") or "", source.get("kind")) not in _OLD_SOURCES:
            return {name: value for name, value in spec.items() if name != "dataSource"}
        return {**spec, "dataSourceRef": dict(source)}
    if reference is not None and source is None and not reference.get("namespace"):
        return {**spec, "dataSource": {name: value for name, value in reference.items() if name != "namespace"}}
    return spec


CLAIMS = Strategy(starts_at_1=False, bumped_by=(), on_create=_create_claim, on_update=_update_claim)
