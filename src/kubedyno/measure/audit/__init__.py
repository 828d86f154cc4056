"""The audit: figures of components, host and instrument become lines, findings and a judgement. Pure.

`metrics` reads what components serve and `histories` keeps it over time; `clients` finds throttled clients, `hosts` a
machine with nothing left, `instrument` what the instrument itself did not manage; `outcome` is all of it together,
and `differing` says what else differs between contenders. What it means for the verdict of a trial, `lab.judging` says.
"""

from kubedyno.measure.audit.differing import Difference, differences
from kubedyno.measure.audit.outcome import Audit

__all__ = ["Audit", "Difference", "differences"]
