"""Node pools: what they are, the nodes they have, and how a cluster is made to have them.

`pool` is the data and `reading` its YAML; `nodes` makes Node objects; `changing` decides what must change in a
cluster and `applying` does it; `snapshotting` goes the other way, from a cluster's nodes to pools.
"""

from kubedyno.sim.pools.pool import Gpus, Level, Pool, Taint, Topology, base

__all__ = ["Gpus", "Level", "Pool", "Taint", "Topology", "base"]
