"""Tuning sets: which kinds of load there are, their fields, and how they are written."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from kubedyno.clusterloader.config import (
    GlobalQpsLoad,
    Load,
    ParallelismLimitedLoad,
    Place,
    PoissonLoad,
    QpsLoad,
    RandomizedLoad,
    RandomizedTimeLimitedLoad,
    SteppedLoad,
    TimeLimitedLoad,
    TuningSet,
)
from kubedyno.clusterloader.language.fields import Fields, names
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.located import Node


class Field(msgspec.Struct, frozen=True):
    """A field of a load: how it is written, what it is, and where it goes."""

    name: str
    attribute: str
    kind: str
    """`number`, `whole` or `duration`."""
    can_be_zero: bool = False


class LoadKind(msgspec.Struct, frozen=True):
    """A kind of load: how it is written, and its fields."""

    name: str
    make: Callable[..., Load]
    fields: tuple[Field, ...]


KINDS: Final = (
    LoadKind("qpsLoad", QpsLoad, (Field("qps", "qps", "number"),)),
    LoadKind("randomizedLoad", RandomizedLoad, (Field("averageQps", "average_qps", "number"),)),
    LoadKind(
        "steppedLoad",
        SteppedLoad,
        # Without a delay the bursts follow each other at once, as in ClusterLoader2.
        (Field("burstSize", "burst_size", "whole"), Field("stepDelay", "step_delay_s", "duration", can_be_zero=True)),
    ),
    LoadKind("timeLimitedLoad", TimeLimitedLoad, (Field("timeLimit", "time_limit_s", "duration"),)),
    LoadKind("randomizedTimeLimitedLoad", RandomizedTimeLimitedLoad, (Field("timeLimit", "time_limit_s", "duration"),)),
    LoadKind(
        "parallelismLimitedLoad", ParallelismLimitedLoad, (Field("parallelismLimit", "parallelism_limit", "whole"),)
    ),
    LoadKind("globalQPSLoad", GlobalQpsLoad, (Field("qps", "qps", "number"), Field("burst", "burst", "whole"))),
    LoadKind("poissonLoad", PoissonLoad, (Field("expectedActionsPerSecond", "expected_actions_per_s", "number"),)),
)
_NAMES: Final = {kind.name for kind in KINDS}
_SET: Final = names("name", "initialDelay", *(kind.name for kind in KINDS))
_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {
    kind.name: names(*(field.name for field in kind.fields)) for kind in KINDS
}


class NamedSet(msgspec.Struct, frozen=True):
    """A tuning set as it stands in a config."""

    name: str
    tuning_set: TuningSet | None
    """None: something is wrong with it, which is told already."""
    place: Place


def decode_tuning_set(node: Node, findings: Findings) -> NamedSet:
    """A tuning set: a name, and exactly one kind of load."""
    fields = Fields(node, _SET, findings)
    name = fields.required_text("name", "Uniform")
    if fields.below("initialDelay") is not None:
        findings.remark(
            fields.place("initialDelay"),
            f"{node.path}.initialDelay: nothing reads it, ClusterLoader2 neither; take a step with a Sleep measurement",
        )
    present = [kind for kind in KINDS if fields.below(kind.name) is not None]
    load = None
    if len(present) == 1:
        load = _decode_load(present[0], fields.below(present[0].name) or node, findings)
    elif isinstance(node.value, dict):
        there = " and ".join(kind.name for kind in present) or "none of them"
        findings.problem(
            node.place, f"{node.path}: expected exactly one of {', '.join(sorted(_NAMES))}, but there is {there}"
        )
    return NamedSet(name, TuningSet(name, load) if name and load else None, node.place)


def _decode_load(kind: LoadKind, node: Node, findings: Findings) -> Load | None:
    """None when there is something wrong with it."""
    fields = Fields(node, _FIELDS[kind.name], findings)
    if not isinstance(node.value, dict):
        return None
    values: dict[str, float | int] = {}
    for field in kind.fields:
        value = _decode_field(field, fields)
        if value is not None:
            values[field.attribute] = value
    return kind.make(**values) if len(values) == len(kind.fields) else None


def _decode_field(field: Field, fields: Fields) -> float | int | None:
    """The value of a field; None when there is something wrong with it."""
    if fields.below(field.name) is None and not field.can_be_zero:
        fields.problem(field.name, "is missing; write a value above 0")
        return None
    if fields.below(field.name) is None:
        return 0.0
    # Whatever is not above or at 0 is told where it is read: a negative default marks it.
    value: float
    if field.kind == "whole":
        value = fields.whole(field.name, -1, least=1)
    elif field.kind == "number":
        value = fields.number(field.name, -1.0, above=0.0)
    else:
        value = fields.duration_s(field.name, -1.0, can_be_zero=field.can_be_zero)
    return None if value < 0 else value
