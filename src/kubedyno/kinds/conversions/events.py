"""Events of the core group and those of events.k8s.io: the same objects with other names for their fields."""

from typing import Final

from kubedyno.kube.codec import Object

# (core, events.k8s.io); fields that are in neither list have one name.
_NAMES: Final = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_NEW: Final = dict(_NAMES)
_TO_CORE: Final = {new: core for core, new in _NAMES}
# What the core version never leaves out, and what the other one does not leave out either.
_ALWAYS_CORE: Final[Object] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_ALWAYS_NEW: Final[Object] = {
    "eventTime": None,
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_OMITTED_WHEN_EMPTY: Final = ("reportingController", "reportingInstance")


def as_new_event(event: Object) -> Object:
    """A core event as one of events.k8s.io."""
    renamed = {_TO_NEW.get(name, name): value for name, value in event.items()}
    for name in _OMITTED_WHEN_EMPTY:
        if renamed.get(name) == "":
            del renamed[name]
    return {**_ALWAYS_NEW, **renamed}


def as_core_event(event: Object) -> Object:
    """An event of events.k8s.io as a core one."""
    return {**_ALWAYS_CORE, **{_TO_CORE.get(name, name): value for name, value in event.items()}}
