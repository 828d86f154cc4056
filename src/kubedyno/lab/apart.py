"""Keeping a run and a cluster that was there before apart. Pure.

The nodes of the run are for its own pods, or others' would be played there and vanish with them; and its pods go to no
other nodes, where somebody might really run them.
"""

import msgspec

from kubedyno.lab.creating import RUN_LABEL
from kubedyno.model.workloads import Workload
from kubedyno.sim.pools import Pool, Taint

_EFFECT = "NoSchedule"


def pool_of(pool: Pool, run_id: str) -> Pool:
    """The pool with nodes that only pods of the run may use."""
    taint = Taint(key=RUN_LABEL, value=run_id, effect=_EFFECT)
    return msgspec.structs.replace(pool, labels={**pool.labels, RUN_LABEL: run_id}, taints=(*pool.taints, taint))


def workload_of(workload: Workload, run_id: str) -> Workload:
    """The workload whose pods go to nodes of the run only."""
    tolerated = {"key": RUN_LABEL, "operator": "Equal", "value": run_id, "effect": _EFFECT}
    return msgspec.structs.replace(
        workload,
        node_selector={**workload.node_selector, RUN_LABEL: run_id},
        tolerations=(*workload.tolerations, tolerated),
    )
