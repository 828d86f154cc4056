"""The dialects: how workloads are written for a scheduler or an operator, and what shows their way.

One module for each, its templates in `templates/`. `following` says which kinds are watched, `ways` which steps are
looked at.
"""

from kubedyno.kit.registry import Registry
from kubedyno.model.dialects import Dialect
from kubedyno.schedulers.dialects.coscheduling import COSCHEDULING
from kubedyno.schedulers.dialects.job import JOB
from kubedyno.schedulers.dialects.jobset import JOBSET
from kubedyno.schedulers.dialects.kai import KAI
from kubedyno.schedulers.dialects.kube import KUBE
from kubedyno.schedulers.dialects.kueue import KUEUE
from kubedyno.schedulers.dialects.podgroup import PODGROUP
from kubedyno.schedulers.dialects.pods import PODS
from kubedyno.schedulers.dialects.pytorchjob import PYTORCHJOB
from kubedyno.schedulers.dialects.reference import REFERENCE
from kubedyno.schedulers.dialects.runai import RUNAI

DIALECTS: Registry[Dialect] = Registry("dialect")
for _dialect in (KUBE, REFERENCE, KAI, KUEUE, COSCHEDULING, RUNAI, JOB, JOBSET, PYTORCHJOB, PODGROUP, PODS):
    DIALECTS.register(_dialect.name, _dialect)

_SCHEDULERS = {"kube-scheduler": KUBE.name}
"""Schedulers that have another name than their dialect."""


def find(name: str) -> Dialect:
    """The dialect of that name, or the one of the scheduler of that name."""
    return DIALECTS.get(_SCHEDULERS.get(name, name))


__all__ = ["DIALECTS", "Dialect", "find"]
