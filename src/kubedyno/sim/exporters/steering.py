"""How the exporter of one node is steered: by an annotation of the node, from wherever it is written.

`kubectl annotate node numa-3 kubedyno/exporter='{"frozen": true}'` works as well as a scenario. Parts can be combined.
"""

import functools
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim import marks
from kubedyno.sim.exporters import distorting
from kubedyno.sim.exporters.distorting import Distortion

_LEAST_CRASH_LOOP_S: Final = 0.1
_MOST_CRASH_LOOP_S: Final = 1e6
_REFUSALS: Final = frozenset({409, 429, *range(500, 600)})


class Steering(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """What an exporter does otherwise than usual."""

    frozen: bool = False
    """It looks, and writes nothing."""
    crashed: bool = False
    """It does nothing, and what it remembered is lost."""
    crash_loop_s: float | None = msgspec.field(default=None, name="crashLoopSeconds")
    """It ends after each write and is there again so many seconds later, without memory."""
    refused_with: int | None = None
    """The API server answers what it asks with this HTTP status: 409 (to writes alone), 429, or 500 to 599."""
    distortions: tuple[Distortion, ...] = ()
    """What is wrong with all that it writes."""

    def __bool__(self) -> bool:
        """Whether there is anything unusual."""
        return self != USUAL


USUAL: Final = Steering()

_decoder: Final = msgspec.json.Decoder(Steering)


def written(steering: Steering) -> str | None:
    """The annotation's text; None for none: the exporter does as usual."""
    return msgspec.json.encode(steering).decode() if steering else None


@functools.lru_cache(maxsize=4096)
def read(text: str) -> Steering:
    """Steering from the annotation's text; nodes that are steered alike share one object."""
    with located(f"annotation {marks.EXPORTER}", msgspec.MsgspecError):
        fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        for name in fields:
            if name not in _FIELDS:
                raise UsageError(f"there is no field {name!r}: {suggestion(name, _FIELDS)}")
        if "distortions" in fields:
            distorting.check_kinds(msgspec.json.decode(fields["distortions"], type=list[dict[str, msgspec.Raw]]))
        return check(_decoder.decode(text))


def check(steering: Steering) -> Steering:
    """The same, when its values make sense; UsageError otherwise."""
    pause_s = steering.crash_loop_s
    if pause_s is not None and not _LEAST_CRASH_LOOP_S <= pause_s <= _MOST_CRASH_LOOP_S:
        raise UsageError(f"crashLoopSeconds {pause_s:g} must be {_LEAST_CRASH_LOOP_S:g} to {_MOST_CRASH_LOOP_S:g}")
    if steering.refused_with is not None and steering.refused_with not in _REFUSALS:
        raise UsageError(f"refusedWith {steering.refused_with} must be 409, 429 or 500 to 599")
    distorting.check(steering.distortions)
    return steering


def of(node: Object) -> Steering:
    """How the exporter of a node is steered."""
    text = meta.annotations(node).get(marks.EXPORTER)
    return read(text) if text else USUAL


def annotated(steering: Steering) -> dict[str, Any]:
    """The merge patch of a node that steers its exporter so."""
    return {"metadata": {"annotations": {marks.EXPORTER: written(steering)}}}


_FIELDS: Final = tuple(field.encode_name for field in msgspec.structs.fields(Steering))
