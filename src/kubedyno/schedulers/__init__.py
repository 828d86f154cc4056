"""One module per scheduler: its components, its dialect, its base objects, how its settings are read back.

Nothing here submits load, measures, or starts a process itself.
"""

from kubedyno.kit.registry import Registry
from kubedyno.schedulers.kai import KAI
from kubedyno.schedulers.kube import KUBE_SCHEDULER
from kubedyno.schedulers.kueue import KUEUE
from kubedyno.schedulers.plugins import PLUGINS
from kubedyno.schedulers.reference import REFERENCE
from kubedyno.schedulers.scheduler import Scheduler

SCHEDULERS: Registry[Scheduler] = Registry("scheduler")
for _scheduler in (KAI, KUBE_SCHEDULER, KUEUE, PLUGINS, REFERENCE):
    SCHEDULERS.register(_scheduler.name, _scheduler)

__all__ = ["SCHEDULERS", "Scheduler"]
