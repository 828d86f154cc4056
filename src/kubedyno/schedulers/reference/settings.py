"""What can be set of the reference scheduler: `--set reference.placement=spread` and its like."""

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kit.units import parse_duration_s

COMPONENT = "reference"

Placement = Literal["binpack", "spread"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How it decides."""

    placement: Placement = "binpack"
    """Fill nodes up one after another, or use them evenly."""
    consolidation_preemptees: int = 16
    """So many running pods at most are moved for one job; 0: none ever, -1: as many as it takes."""
    staleness_grace_s: float = 60.0
    """So long a gang may be below its least number before the rest of it is evicted."""


FIELDS: Mapping[str, str] = {
    "placement": "placement",
    "max-consolidation-preemptees": "consolidation_preemptees",
    "default-staleness-grace-period": "staleness_grace_s",
}
"""What users write, which is KAI's word where it has one, and the field that it is."""


def read(written: Mapping[str, str], *, tuned: bool = False) -> Settings:
    """The settings of a lab; `tuned` is the `scale` profile, in which consolidation is off."""
    wanted: dict[str, object] = {"consolidation_preemptees": 0} if tuned else {}
    for name, text in written.items():
        if name not in FIELDS:
            raise UsageError(
                f"--set {COMPONENT}.{name}: the reference scheduler has no such setting; {suggestion(name, FIELDS)}"
            )
        wanted[FIELDS[name]] = _value(name, text)
    return msgspec.convert(wanted, Settings)


def _value(name: str, text: str) -> object:
    match FIELDS[name]:
        case "placement":
            if text not in get_args(Placement):
                raise UsageError(f"--set {COMPONENT}.{name}={text}: {suggestion(text, get_args(Placement))}")
            return text
        case "consolidation_preemptees":
            if not text.removeprefix("-").isdigit() or int(text) < -1:
                raise UsageError(f"--set {COMPONENT}.{name}={text}: write a number of pods; 0 is off, -1 without limit")
            return int(text)
    try:
        return parse_duration_s(text)
    except UsageError as error:
        raise UsageError(f"--set {COMPONENT}.{name}={text}: {error}") from None


def told(settings: Settings) -> dict[str, str]:
    """The settings as users write them."""
    values = msgspec.structs.asdict(settings)
    return {
        name: f"{values[field]:g}s" if field.endswith("_s") else str(values[field]) for name, field in FIELDS.items()
    }
