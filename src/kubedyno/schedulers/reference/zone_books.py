"""What the NUMA zones of nodes have left, between what their exporters report and what was placed since.

A pod that is not in a report yet is taken off every zone where it could have gone. It is in the report when the
fingerprint there is that of the pods that the node has; without a fingerprint, when a report came since it got its node
and it runs. One that runs when it is first heard of counts as reported, too: the scheduler may have been started late.

Nodes without zones are not in the books and cost nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from kubedyno.model.numa.fingerprints import fingerprint
from kubedyno.schedulers.reference.aligning import (
    UNLIMITED,
    covers,
    emptied,
    fits,
    holds_any,
    looseness,
    remaining,
    takes,
    takes_beside,
)
from kubedyno.schedulers.reference.demands import Demand
from kubedyno.schedulers.reference.holding import Held
from kubedyno.schedulers.reference.nodes_table import Numbers
from kubedyno.schedulers.reference.zones import Report, Zones


def is_complete(report: Report, pods: Iterable[Held]) -> bool:
    """Whether a report has counted exactly these pods."""
    keys = []
    for held in pods:
        demand = held.kind.needs.demand
        if report.only_exclusive and (demand is None or not holds_any(report.zones, demand)):
            continue
        if held.key is None:
            return False
        keys.append(held.key)
    return fingerprint(keys) == report.fingerprint


class ZoneBooks:
    """By name of the node: its report, and who is not in it."""

    def __init__(self, on_node: Callable[[str], Mapping[str, Held]]) -> None:
        self.reports: dict[str, Report] = {}
        self._on_node = on_node
        """The pods of a node by uid, without those that are merely tried."""
        self._since: dict[str, dict[str, Held]] = {}
        """By uid: pods that are in no report, those that are merely tried among them."""
        self._heirs: dict[str, dict[str, frozenset[str]]] = {}
        """By uid: pods that fit only because others go, and the uids of those."""
        self._left: dict[str, Zones] = {}
        self._leaving: Counter[str] = Counter()

    # What is.

    def put(self, node: str, report: Report | None) -> None:
        """A report came, or there is none any more."""
        self._left.pop(node, None)
        if report is not None:
            self.reports[node] = report
            self.recount(node)
        elif self.reports.pop(node, None) is not None:
            self._since.pop(node, None)
            self._heirs.pop(node, None)

    def recount(self, node: str) -> bool:
        """See which pods of a node are in its report by now; whether more are."""
        report, pods = self.reports[node], self._on_node(node)
        if report.fingerprint:
            found = list(pods.values()) if is_complete(report, pods.values()) else []
        else:
            found = [held for held in pods.values() if held.is_running and held.since != report.version]
        for held in found:
            held.is_reported = True
        before = len(self._since.get(node, ()))
        since = self._since[node] = {
            uid: held for uid, held in pods.items() if not held.is_reported and held.kind.needs.demand is not None
        }
        self._left.pop(node, None)
        heirs = self._heirs.pop(node, {})
        self._heirs[node] = {uid: gone for uid, gone in heirs.items() if uid in since}
        return len(since) < before

    # Pods that get nodes, and lose them.

    def settle(self, uid: str, held: Held) -> None:
        """A pod gets a node."""
        report, demand = self.reports.get(held.node), held.kind.needs.demand
        if report is None:
            return
        held.since = held.since or report.version
        if demand is None or held.is_reported:
            return
        if not self.admits(held.node, demand):
            self._inherit(uid, held.node, demand)
        self._since.setdefault(held.node, {})[uid] = held
        self._left.pop(held.node, None)

    def leaves(self, node: str, sign: int) -> None:
        """A pod is about to leave a node (1), or is not any more, or has left (-1)."""
        self._leaving[node] += sign
        if not self._leaving[node]:
            del self._leaving[node]

    def unsettle(self, uid: str, held: Held) -> None:
        """A pod loses its node."""
        if held.node in self.reports:
            self._since.get(held.node, {}).pop(uid, None)
            self._heirs.get(held.node, {}).pop(uid, None)
            self._left.pop(held.node, None)

    def _inherit(self, uid: str, node: str, demand: Demand) -> None:
        """A pod fits only in the place of others that go: of one like it, or else of all of them."""
        going = self._going(node)
        if going:
            places = self._places(node, demand, going)
            self._heirs.setdefault(node, {})[uid] = frozenset(places[:1] or going)

    def is_given(self, uid: str, node: str) -> bool:
        """Whether the place of a pod that goes was given to another."""
        return uid in self._given(node)

    # What could be.

    def left(self, node: str) -> Zones:
        """What the zones of a node have left."""
        found = self._left.get(node)
        if found is None:
            since = _demands(self._since.get(node, {}).values())
            found = self._left[node] = remaining(self.reports[node].zones, since)
        return found

    def admits(self, node: str, demand: Demand | None, *, later: bool = False) -> bool:
        """Whether the zones of a node, if it has any, have room for one such pod."""
        if demand is None or node not in self.reports:
            return True
        if later or self._is_mixed(node, demand):
            return self.takes(node, demand, later=later) > 0
        return fits(self.left(node), demand)

    def limit(self, counts: Numbers, nodes: Sequence[str], demand: Demand | None, *, later: bool) -> None:
        """Lower how many such pods each of these nodes takes to what its zones do."""
        for place in np.flatnonzero(counts > 0).tolist():
            if nodes[place] in self.reports:
                counts[place] = min(counts.item(place), self.takes(nodes[place], demand, later=later))

    def takes(self, node: str, demand: Demand | None, *, later: bool) -> int:
        """How many such pods there is room for on a node's zones; `later`: when all have left that are about to."""
        if demand is None or node not in self.reports:
            return UNLIMITED
        zones, heirs = self.reports[node].zones, self._heirs.get(node)
        if not self._is_mixed(node, demand):
            now = takes(self.left(node), demand)
        elif heirs:
            # Whoever is not like them might be given what they wait for.
            return 0
        else:
            now = takes_beside(zones, _demands(self._since[node].values()), demand)
        going = self._going(node) if later and node in self._leaving else {}
        if not going:
            return now
        now += len(self._places(node, demand, going))
        if heirs:
            return now
        staying = [held for held in self._on_node(node).values() if held.is_reported and not held.going]
        since = [held for held in self._since.get(node, {}).values() if not held.going]
        return max(now, takes_beside(emptied(zones, _demands(staying)), _demands(since), demand))

    def _is_mixed(self, node: str, demand: Demand) -> bool:
        """Whether others than such pods were placed since."""
        return any(held.kind.needs.demand != demand for held in self._since.get(node, {}).values())

    def _places(self, node: str, demand: Demand, going: Mapping[str, Demand]) -> list[str]:
        """Of the pods that go those whose places are surely enough for such a pod, and are not given away."""
        if self._is_mixed(node, demand):
            return []
        zones, given = self.reports[node].zones, self._given(node)
        return [uid for uid, gone in going.items() if uid not in given and covers(zones, gone, demand)]

    def looseness(self, node: str, demand: Demand | None) -> int:
        """How much of a zone a pod would leave over; of nodes without zones nothing is."""
        if demand is None or node not in self.reports:
            return 0
        return looseness(self.left(node), demand)

    def _going(self, node: str) -> dict[str, Demand]:
        return {
            uid: demand
            for uid, held in self._on_node(node).items()
            if held.going and (demand := held.kind.needs.demand) is not None
        }

    def _given(self, node: str) -> frozenset[str]:
        return frozenset[str]().union(*self._heirs.get(node, {}).values())


def _demands(pods: Iterable[Held]) -> list[Demand]:
    return [held.kind.needs.demand for held in pods if held.kind.needs.demand is not None]
