"""What a node's ledger says, as plain data: the truth about its NUMA nodes and pods, to check others by."""

from collections.abc import Mapping
from typing import Final

import msgspec

from kubedyno.model.numa.podresources import Holding
from kubedyno.model.numa.zones import Amount
from kubedyno.sim.exporters.viewing import view_of
from kubedyno.sim.kubelet.ledger import NodeLedger

LEDGER_PAGE: Final = "/ledger"


class PodHolding(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that its kubelet has taken: what it is charged (CPUs in thousandths), and what its containers have."""

    uid: str
    namespace: str
    name: str
    amounts: Mapping[str, int] = {}
    containers: Mapping[str, Holding] = {}


class LedgerState(msgspec.Struct, frozen=True, kw_only=True):
    """The ledger of a node at one moment. `overlaps` are sentences on what two pods hold at once."""

    zones: Mapping[int, Mapping[str, Amount]] = {}
    pods: tuple[PodHolding, ...] = ()
    overlaps: tuple[str, ...] = ()


def state_of(ledger: NodeLedger) -> LedgerState:
    """All of it, now."""
    told = {(pod.namespace, pod.name): pod.containers for pod in view_of(ledger).pods}
    return LedgerState(
        zones=ledger.zones(),
        pods=tuple(
            PodHolding(
                uid=uid,
                namespace=charge.namespace,
                name=charge.name,
                amounts=dict(charge.needs.amounts),
                containers=told.get((charge.namespace, charge.name), {}),
            )
            for uid, charge in ledger.pods.items()
        ),
        overlaps=tuple(ledger.overlaps()),
    )
