"""Which stage an object is in: those that match it, and by weight the one that is played.

An expression that fails on an object raises `Unmatchable`: KWOK then plays no stage at all for that object, even if
others match.
"""

from collections.abc import Sequence

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.cel import EvaluationError
from kubedyno.kube.codec import Object
from kubedyno.kube.jq import QueryLimit
from kubedyno.sim.stages import expressions
from kubedyno.sim.stages.stage import Stage


class Unmatchable(UsageError):
    """An expression of a stage has no value for this object; the message names the stage and the field."""


class Candidates(msgspec.Struct, frozen=True):
    """The stages that may be played and the share of each; both empty where none matches."""

    stages: tuple[Stage, ...] = ()
    shares: tuple[int, ...] = ()


def matches(stage: Stage, obj: Object) -> bool:
    """Whether the stage's selector picks the object."""
    selector = stage.selector
    if selector is None:
        return False
    labels, annotations = meta.labels(obj), meta.annotations(obj)
    try:
        return (
            all(labels.get(name) == value for name, value in selector.labels.items())
            and all(annotations.get(name) == value for name, value in selector.annotations.items())
            and all(requirement.matches(obj) for requirement in selector.requirements)
            and all(expressions.holds(condition, obj) for condition in selector.conditions)
        )
    except (EvaluationError, QueryLimit) as error:
        raise Unmatchable(f"{stage}: spec.selector: {error}") from error


def candidates(stages: Sequence[Stage], obj: Object) -> Candidates:
    """The stages that match and may be chosen.

    Those whose weight cannot be read are left out, unless that is true for all. Where all weights are zero each has
    the same share; else those with zero have none.
    """
    found = tuple(stage for stage in stages if matches(stage, obj))
    if len(found) <= 1:
        return Candidates(found, (1,) * len(found))
    weights = [weight(stage, obj) for stage in found]
    readable = [(stage, amount) for stage, amount in zip(found, weights, strict=True) if amount is not None]
    if not readable:
        return Candidates(found, (1,) * len(found))
    heavy = [(stage, amount) for stage, amount in readable if amount > 0]
    if not heavy:
        return Candidates(tuple(stage for stage, _ in readable), (1,) * len(readable))
    return Candidates(tuple(stage for stage, _ in heavy), tuple(amount for _, amount in heavy))


def weight(stage: Stage, obj: Object) -> int | None:
    """The stage's weight for this object; None when its expression gives none that can be read."""
    if stage.weight_from is None:
        return stage.weight
    try:
        return expressions.whole_number(stage.weight_from, obj, stage.weight)
    except (EvaluationError, QueryLimit) as error:
        raise Unmatchable(f"{stage}: spec.weightFrom: {error}") from error


def chosen(among: Candidates, chance: float) -> Stage | None:
    """The one that `chance` (0 up to 1) falls on."""
    left = chance * sum(among.shares)
    for stage, share in zip(among.stages, among.shares, strict=True):
        left -= share
        if left < 0:
            return stage
    return among.stages[-1] if among.stages else None
