"""What schedulers can and cannot express. A scenario names what it needs; a scheduler says what it lacks, and why."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, get_args

Feature: TypeAlias = Literal[
    "gangs",
    "elastic-gangs",
    "sub-groups",
    "quotas",
    "reclaim",
    "preemption",
    "non-preemptible",
    "consolidation",
    "required-topology",
    "preferred-topology",
    "fractions",
    "devices",
    "numa",
]
"""`gangs`: all pods start or none; `elastic-gangs`: a least number must, the rest may; `sub-groups`: gangs within a
gang; `quotas`: queues with quota, weight and limit in a hierarchy; `reclaim`: a queue gets its share back from others;
`preemption`: by priority within a queue or cluster; `non-preemptible`: work that is never a victim;
`consolidation`: running pods are moved to make room; topology: pods of a gang within one domain, or as few as can be;
`fractions`: several pods on one GPU; `devices`: DRA claims; `numa`: pods go where their NUMA zones have room."""

FEATURES: tuple[Feature, ...] = get_args(Feature)


def missing(needs: Iterable[Feature], lacks: Mapping[Feature, str]) -> list[str]:
    """Why a scheduler that lacks these cannot do what is needed, a sentence part each; empty: it can."""
    return [f"{need}: {lacks[need]}" for need in needs if need in lacks]
