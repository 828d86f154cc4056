"""Pools as the data and the YAML that `reading` reads."""

from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from kubedyno.sim.pools.pool import Pool, Topology


def document(pool: Pool) -> dict[str, Any]:
    """The pool as a mapping of `pools.yaml`, without what goes without saying."""
    written: dict[str, Any] = msgspec.to_builtins(pool, str_keys=True)
    if pool.topology is not None:
        written["topology"] = _topology(pool.topology)
    return written


def _topology(topology: Topology) -> dict[str, Any]:
    usual = all(not level.label for level in topology.levels) and "levels" not in {
        level.level for level in topology.levels
    }
    levels: Any = [msgspec.to_builtins(level) for level in topology.levels]
    if usual:
        levels = {level.level: level.count for level in topology.levels}
    if topology.name:
        return {"name": topology.name, "levels": levels}
    return levels if usual else {"levels": levels}


def text(pools: Iterable[Pool]) -> str:
    """A whole file."""
    document_ = {"pools": [document(pool) for pool in pools]}
    return yaml.dump(document_, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Writes what is equal in two places twice: anchors are for machines."""

    def ignore_aliases(self, data: Any) -> bool:
        """Always."""
        del data
        return True
