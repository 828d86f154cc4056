"""Why no node takes a pod, counted over all nodes, in the words of kube-scheduler and its plugins."""

from typing import Final

import numpy as np

from kubedyno.model.numa.admission import Scope
from kubedyno.schedulers.reference.fitting import DEVICES, GPU, PODS, Needs
from kubedyno.schedulers.reference.packing import Packing

_SAID_AT_MOST: Final = 2000

UNALIGNED: Final = {Scope.POD: "cannot align pod", Scope.CONTAINER: "cannot align container"}
"""NodeResourceTopologyMatch's words for nodes whose NUMA zones do not admit a pod."""


class Reasons:
    """What was said is said again as long as no node changes."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._table = packing.table
        self._said: dict[Needs, tuple[int, str]] = {}

    def of(self, needs: Needs) -> str:
        """Why no node takes a pod with these needs."""
        now = self._table.shed + len(self._table.changes)
        said = self._said.get(needs)
        if said is not None and said[0] == now:
            return said[1]
        text = self._counted(needs)
        if len(self._said) > _SAID_AT_MOST:
            self._said.clear()
        self._said[needs] = (now, text)
        return text

    def _counted(self, needs: Needs) -> str:
        if not len(self._table):
            return "no nodes available to schedule pods"
        kind = self._packing.kind(needs)
        reasons = self._table.refusals(kind.terms)
        allowed = self._table.mask(kind.terms)
        by_row = {row: name for name, row in self._table.rows.items()}
        enough = allowed.copy()
        for row, amount in kind.pairs:
            lacking = self._table.free[row] < amount
            short = int(np.count_nonzero(lacking[allowed]))
            if short:
                reasons[_lacking(by_row[row])] = short
            enough &= ~lacking
        for slot in np.flatnonzero(enough).tolist() if self._packing.zones.reports else ():
            if text := self._unaligned(needs, self._table.names[slot]):
                reasons[text] = reasons.get(text, 0) + 1
        if needs.is_shared and not reasons:
            reasons[f"Insufficient {GPU}"] = int(np.count_nonzero(allowed))
        told = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        return f"0/{len(self._table)} nodes are available: {told or 'not enough room for the whole pod group'}."

    def _unaligned(self, needs: Needs, node: str) -> str:
        zones = self._packing.zones
        return "" if zones.admits(node, needs.demand) else UNALIGNED[zones.reports[node].zones.scope]


def _lacking(resource: str) -> str:
    """kube-scheduler's words for a node that has too little of a resource."""
    if resource.startswith(DEVICES):
        return "cannot allocate all claims"
    return "Too many pods" if resource == PODS else f"Insufficient {resource}"
