"""Exporters that write what is not so. Pure.

Each distortion changes one thing and nothing else. They stand in the annotation that steers a node's exporter
(`steering`), as JSON with the kind of each: `{"kind": "more-available", "resource": "cpu", "zone": 0, "by": "4"}`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.sim.exporters.distorting_facts import (
    LateFingerprint,
    MemoryChargedToEach,
    MissingFingerprint,
    TerminalPods,
    WrongFingerprint,
    WrongPolicy,
    WrongScope,
)
from kubedyno.sim.exporters.distorting_zones import (
    LessAvailable,
    MissingResource,
    MoreAvailable,
    NegativeIds,
    ShuffledOrder,
    SparseIds,
    SwappedZones,
    WrongZoneNames,
    WrongZoneType,
)
from kubedyno.sim.exporters.drafting import Draft

__all__ = [
    "KINDS",
    "Distortion",
    "LateFingerprint",
    "LessAvailable",
    "MemoryChargedToEach",
    "MissingFingerprint",
    "MissingResource",
    "MoreAvailable",
    "NegativeIds",
    "ShuffledOrder",
    "SparseIds",
    "SwappedZones",
    "TerminalPods",
    "WrongFingerprint",
    "WrongPolicy",
    "WrongScope",
    "WrongZoneNames",
    "WrongZoneType",
    "check",
    "check_kinds",
    "distorted",
]

Distortion = (
    MoreAvailable
    | LessAvailable
    | SwappedZones
    | MissingResource
    | WrongZoneType
    | ShuffledOrder
    | SparseIds
    | NegativeIds
    | WrongZoneNames
    | WrongPolicy
    | WrongScope
    | WrongFingerprint
    | MissingFingerprint
    | LateFingerprint
    | TerminalPods
    | MemoryChargedToEach
)

KINDS: Final[Mapping[str, type[Distortion]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Distortion)}


def distorted(draft: Draft, distortions: Sequence[Distortion]) -> Draft:
    """The draft with all of them applied; UsageError where one names a zone or resource that is not there."""
    for distortion in sorted(distortions, key=lambda one: one.stage):
        with located(f"distortion {distortion.kind}"):
            draft = distortion.apply(draft)
    return draft


def check(distortions: Sequence[Distortion]) -> None:
    """Raise UsageError for values that make no sense."""
    for distortion in distortions:
        with located(f"distortion {distortion.kind}"):
            distortion.check()


def check_kinds(entries: Sequence[Mapping[str, msgspec.Raw]]) -> None:
    """Raise UsageError for distortions in JSON without a kind, or of one that does not exist."""
    for place, entry in enumerate(entries):
        with located(f"distortions[{place}]", msgspec.MsgspecError):
            if "kind" not in entry:
                raise UsageError(f"the field 'kind' is missing: write one of {', '.join(KINDS)}")
            kind = msgspec.json.decode(entry["kind"], type=str)
            if kind not in KINDS:
                raise UsageError(f"there is no distortion {kind!r}: {suggestion(kind, KINDS)}")
