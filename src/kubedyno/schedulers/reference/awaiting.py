"""Pods whose volumes come first: some hold their pods back, some are made for the node that a pod has been given."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from kubedyno.client.rest import Client
from kubedyno.controllers.engine import all_of
from kubedyno.kit.clock import NS_PER_S
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.claiming import Claiming
from kubedyno.schedulers.reference.jobs import Key, Placement, Refusal
from kubedyno.schedulers.reference.known import Known
from kubedyno.schedulers.reference.volumes import Volumes

_WITHIN_S: Final = 600.0
"""How long a pod with a node waits for its volumes before it is placed anew, as in kube-scheduler."""


class _Awaited(msgspec.Struct):
    """A pod with a node whose claims are being bound for that node; `told` are those that know of it."""

    placement: Placement
    due_ns: int
    told: set[Key]


class Awaiting:
    """What pods with claims wait for."""

    def __init__(
        self, client: Client, known: Known, volumes: Volumes, *, claiming: Claiming, look_again: Callable[[float], None]
    ) -> None:
        self._clock = client.clock
        self._known = known
        self._volumes = volumes
        self._look_again = look_again
        self._claiming = claiming
        self._awaited: dict[str, _Awaited] = {}

    def hold_up(self) -> list[Refusal]:
        """Find out what claims ask of the nodes of waiting pods; those that cannot be placed yet, and why."""
        refusals: list[Refusal] = []
        for pod in self._known.with_claims():
            wishes = self._volumes.wishes(pod.claims)
            asked = self._claiming.asked(pod)
            refusal = wishes.refusal or asked.refusal
            self._known.hold_back(pod, held=bool(refusal))
            if refusal:
                nodes = len(self._known.room.table)
                refusals.append(Refusal(pod.job, "NotReady", f"0/{nodes} nodes are available: {refusal}."))
            else:
                self._known.wish(pod, (*wishes.nodes, *asked.nodes), asked.devices, asked.claimed)
        return refusals

    async def tell(self, placements: Sequence[Placement]) -> list[Placement]:
        """Tell claims the node of their first consumer; those whose claims are bound already come back."""
        ready: list[Placement] = []
        chosen: dict[Key, str] = {}
        due_ns = self._clock.monotonic_ns() + round(_WITHIN_S * NS_PER_S)
        awaited = False
        for placement in placements:
            unbound = self._volumes.wishes(placement.task.claims).unbound if placement.task.claims else ()
            if not unbound:
                ready.append(placement)
                continue
            awaited = True
            self._awaited[placement.task.uid] = _Awaited(placement, due_ns, set())
            for claim in unbound:
                if not self._volumes.is_told(claim):
                    chosen.setdefault(claim, placement.node)
        if awaited:
            self._look_again(_WITHIN_S)
            # A claim that could not be told is found out about when its pods' time is over.
            await all_of([partial(self._volumes.tell, claim, node) for claim, node in chosen.items()])
        return ready

    async def settle(self) -> list[Placement]:
        """Of the pods that wait for their volumes: those that can be bound now; others are to be placed anew."""
        bound: list[Placement] = []
        for uid, awaited in list(self._awaited.items()):
            placement = awaited.placement
            pod = self._known.pods.get(placement.task.key)
            if pod is None or pod.uid != uid or self._known.assumed.get(uid) != placement.node:
                del self._awaited[uid]
                continue
            wishes = self._volumes.wishes(pod.claims)
            is_over = self._clock.monotonic_ns() >= awaited.due_ns
            now_told = {claim for claim in wishes.unbound if self._volumes.is_told(claim)}
            is_lost = any(claim in awaited.told and claim not in now_told for claim in wishes.unbound)
            awaited.told |= now_told
            is_gone = placement.node not in self._known.room.table.slot_of
            if wishes.refusal or is_gone or is_over or is_lost or not self._reaches(placement.node, wishes.nodes):
                del self._awaited[uid]
                self._known.forget(pod)
                if is_over or is_gone:
                    await all_of([partial(self._volumes.tell, claim, None) for claim in wishes.unbound])
            elif not wishes.unbound:
                del self._awaited[uid]
                bound.append(placement)
        return bound

    def _reaches(self, node: str, volumes: tuple[bytes, ...]) -> bool:
        table = self._known.room.table
        labels = table.facts(table.slot_of[node]).labels
        return fitting.reaches({"metadata": {"name": node, "labels": labels}}, volumes)
