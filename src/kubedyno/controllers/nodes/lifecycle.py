"""The node lifecycle controller: looks at all nodes every few seconds, and at each when it changes."""

import asyncio

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers import podstatus
from kubedyno.controllers.engine import BY_NODE, Engine
from kubedyno.controllers.nodes import health, taints
from kubedyno.controllers.nodes.health import Health
from kubedyno.controllers.podfacts import is_ready, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES, NODES, PODS

COMPONENT = "node-controller"

_LEASES = "kube-node-lease"
_WORKERS = 8
_ATTEMPTS = 5
_AT_A_TIME = 1_000
"""After a look at so many nodes others have their turn: of a hundred thousand all looks take long."""

_OLD_LABELS = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class _Allowance(msgspec.Struct):
    """A bucket of one node: how many may be tainted now."""

    tokens: float
    last_ns: int

    def take(self, per_s: float, now_ns: int) -> bool:
        self.tokens = min(1.0, self.tokens + (now_ns - self.last_ns) / NS_PER_S * per_s)
        self.last_ns = now_ns
        if per_s == 0 or self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class _Look(msgspec.Struct, frozen=True):
    """The last look at a node: while neither it nor its lease changes, only time can make it lost."""

    node: Object
    lease: Object | None
    health: Health
    standing: taints.Standing
    alive_until_ns: int


class NodeLifecycleController:
    """Finds lost nodes, keeps their taints in step with their conditions, and tells their pods' readiness."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._nodes = engine.informer(NODES)
        self._pods = engine.informer(PODS)
        self._leases = engine.informer(LEASES)
        self._queue: WorkQueue[Key] = engine.queue()
        self._looks: dict[str, _Look] = {}
        self._allowances: dict[str, _Allowance] = {}
        self._nodes.subscribe(self._changed)

    def start(self) -> None:
        """Watch over the nodes."""
        self._engine.work(COMPONENT, self._queue, self._reconcile, workers=_WORKERS)
        self._engine.every(self._engine.settings.node_period_s, self._look_at_all, COMPONENT)

    def _changed(self, change: Change) -> None:
        if change.new is not None:
            self._queue.add(change.key)

    async def _reconcile(self, key: Key) -> None:
        """NoSchedule taints and old labels, as soon as a node changes."""
        node = self._nodes.get(key)
        if node is None:
            return
        wanted = taints.by_conditions(node, now_ns=self._engine.now_ns())
        if wanted is not None:
            await self._write_taints(node, wanted)
            return  # the change that this makes brings us here again
        labels = meta.labels(node)
        old = {
            secondary: labels[primary]
            for primary, secondary in _OLD_LABELS.items()
            if primary in labels and labels.get(secondary) != labels[primary]
        }
        if old:
            await self._patch(node, {"metadata": {"labels": old}})

    async def _look_at_all(self) -> None:
        nodes = list(self._nodes.items)
        looks = []
        for place, node in enumerate(nodes):
            if place % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            looks.append(await self._look_at(node))
        if len(self._looks) > len(nodes):
            self._forget({uid(node) for node in nodes})
        paces = taints.paces(look.standing for look in looks)
        cut_off = bool(paces) and not any(paces.values())
        for look in looks:
            if cut_off or not look.standing.is_untroubled:
                await self._swap_eviction_taints(look.node, paces.get(look.standing.zone, 0.0), cut_off=cut_off)

    def _forget(self, there: set[str]) -> None:
        for key in [key for key in self._looks if key not in there]:
            node = self._looks.pop(key).node
            self._tell(node, "RemovingNode", f"event: Removing Node {name(node)} from Controller")

    async def _look_at(self, node: Object) -> _Look:
        """One node's health; how it is afterwards."""
        key, now_ns = uid(node), self._engine.now_ns()
        lease = self._leases.get((_LEASES, name(node)))
        look = self._looks.get(key)
        if look is None or look.node is not node or look.lease is not lease:
            if look is None:
                self._tell(node, "RegisteredNode", f"event: Registered Node {name(node)} in Controller")
            seen = health.observed(node, lease, look.health if look else None, now_ns=now_ns)
            until_ns = health.alive_until_ns(node, seen, self._engine.settings)
            look = self._looks[key] = _Look(node, lease, seen, taints.standing(node), until_ns)
        if now_ns <= look.alive_until_ns:
            return look
        lost = await self._declare_lost(node, now_ns)
        return look if lost is node else msgspec.structs.replace(look, node=lost, standing=taints.standing(lost))

    async def _declare_lost(self, node: Object, now_ns: int) -> Object:
        """Write that nothing is known of the node any more, once; the node as it is afterwards."""
        conditions = health.lost_conditions(node, now_ns=now_ns)
        if conditions == (node.get("status") or {}).get("conditions"):
            return node
        body = {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}
        try:
            answer = await self._engine.client.update(NODES, body, subresource="status")
        except ApiError as error:
            if error.is_conflict or error.is_not_found:
                return node  # it changed or went meanwhile: the next round sees it
            raise
        if meta.is_condition_true(node, "Ready"):
            self._tell(node, "NodeNotReady", "status is now: NodeNotReady")
            await self._mark_pods(name(node))
        return answer

    async def _mark_pods(self, node_name: str) -> None:
        """Pods on a lost node are not ready, whatever their kubelet said last."""
        for pod in self._pods.by_index(BY_NODE, node_name):
            if not is_ready(pod):
                continue
            entry = {**(meta.condition(pod, "Ready") or {}), "status": "False"}
            entry["lastTransitionTime"] = seconds_text(self._engine.now_ns())
            try:
                await self._engine.client.patch(
                    PODS,
                    name(pod),
                    podstatus.patch(pod, entry),
                    kind="strategic",
                    namespace=pod["metadata"]["namespace"],
                    subresource="status",
                )
            except ApiError as error:
                if not error.is_not_found:
                    raise
                continue
            self._engine.event(
                COMPONENT, {**pod, "apiVersion": "v1", "kind": "Pod"}, "Warning", "NodeNotReady", "Node is not ready"
            )

    async def _swap_eviction_taints(self, node: Object, per_s: float, *, cut_off: bool) -> None:
        now_ns = self._engine.now_ns()
        may_add = False
        if not cut_off and taints.needs_eviction_taint(node):
            allowance = self._allowances.setdefault(taints.zone_of(node), _Allowance(1.0, now_ns))
            may_add = allowance.take(per_s, now_ns)
        # The taint of the same condition that keeps new pods away is written at the same moment, so that a conflict is
        # the rule here; as in Kubernetes it costs another attempt, not another allowance.
        for _ in range(_ATTEMPTS):
            wanted = (
                taints.without_evictions(node) if cut_off else taints.by_readiness(node, may_add=may_add, now_ns=now_ns)
            )
            if wanted is None:
                return
            try:
                await self._write_taints(node, wanted)
            except ApiError as error:
                if not error.is_conflict:
                    raise
            else:
                return
            try:
                node = await self._engine.client.get(NODES, name(node))
            except ApiError as error:
                if not error.is_not_found:
                    raise
                return

    async def _write_taints(self, node: Object, wanted: taints.Taints) -> None:
        version = node["metadata"]["resourceVersion"]
        await self._patch(node, {"metadata": {"resourceVersion": version}, "spec": {"taints": wanted or None}})

    async def _patch(self, node: Object, patch: Object) -> None:
        try:
            await self._engine.client.patch(NODES, name(node), patch, kind="merge")
        except ApiError as error:
            if not error.is_not_found:
                raise

    def _tell(self, node: Object, reason: str, what: str) -> None:
        about = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name(node), "uid": uid(node)},
        }
        self._engine.event(COMPONENT, about, "Normal", reason, f"Node {name(node)} {what}")
