"""The reference scheduler at work: follows nodes and pods, decides in cycles, binds."""

import asyncio
from collections import Counter

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.controllers.engine import all_of
from kubedyno.controllers.events import Recorder
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, POD_GROUPS, PODS
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.deciding import Decisions, Key, Pending, Placement, Refusal, decide, pending_of
from kubedyno.schedulers.reference.fitting import Amounts

NAMES = frozenset({"default-scheduler", "kubedyno"})
"""The `schedulerName`s it answers to: it is the only scheduler of its lab, so it is the default one."""

_COMPONENT = "kubedyno-scheduler"


async def schedule(client: Client, *, clock: Clock, seed: int, cycle_s: float) -> None:
    """Schedule until cancelled; a cycle takes `cycle_s` on the clock at least, and is begun by any change."""
    async with tasks.owning() as group:
        rng = randomness.stream(seed, "reference scheduler")
        recorder = Recorder(client, clock)
        nodes, pods, gangs = (Informer(client, resource, rng=rng) for resource in (NODES, PODS, POD_GROUPS))
        scheduler = _Scheduler(client, recorder, nodes, pods, gangs)
        async with nodes, pods, gangs:
            group.create_task(recorder.run(), name="events of the scheduler")
            while True:
                await scheduler.changed.wait()
                scheduler.changed.clear()
                await clock.sleep(cycle_s)
                await scheduler.cycle()


class _Scheduler:
    """What it knows: kept up to date by every change, so that a cycle looks at no pod that did not change."""

    def __init__(self, client: Client, recorder: Recorder, nodes: Informer, pods: Informer, gangs: Informer) -> None:
        self._client = client
        self._clock = client.clock
        self._recorder = recorder
        self._nodes = nodes
        self._pods = pods
        self._gangs = gangs
        self._free: dict[str, Amounts] = {}
        self._held: dict[str, dict[Key, Amounts]] = {}
        self._pending: dict[Key, Pending] = {}
        self._assumed: dict[Key, str] = {}
        self._started: Counter[Key] = Counter()
        self.changed = asyncio.Event()
        nodes.subscribe(self._node_changed)
        pods.subscribe(self._pod_changed)
        gangs.subscribe(lambda _change: self.changed.set())

    def _node_changed(self, change: Change) -> None:
        name = change.key[1]
        if change.new is None:
            self._free.pop(name, None)
        else:
            self._free[name] = fitting.allocatable_of(change.new)
            for amounts in self._held.get(name, {}).values():
                _subtract(self._free[name], amounts)
        self.changed.set()

    def _pod_changed(self, change: Change) -> None:
        key, pod = change.key, change.new
        if pod is not None:
            _forget_unneeded(pod)
        if change.old is not None and fitting.is_holding(change.old):
            self._release(key, change.old)
        if pod is None:
            self._pending.pop(key, None)
            self._forget(key)
            self.changed.set()
            return
        if fitting.is_holding(pod):
            self._forget(key)
            self._hold(key, pod["spec"]["nodeName"], fitting.requests_of(pod), _gang_of(pod))
            self._pending.pop(key, None)
        elif self._is_ours(pod):
            if key not in self._assumed and key not in self._pending:
                self._pending[key] = pending_of(pod)
                self.changed.set()
        else:
            self._pending.pop(key, None)
            self.changed.set()

    def _is_ours(self, pod: Object) -> bool:
        spec, metadata = pod["spec"], pod["metadata"]
        return (
            not spec.get("nodeName")
            and spec.get("schedulerName") in NAMES
            and not spec.get("schedulingGates")
            and not metadata.get("deletionTimestamp")
            and (pod.get("status") or {}).get("phase") == "Pending"
        )

    def _hold(self, key: Key, node: str, amounts: Amounts, gang: Key | None) -> None:
        self._held.setdefault(node, {})[key] = amounts
        if node in self._free:
            _subtract(self._free[node], amounts)
        if gang is not None:
            self._started[gang] += 1

    def _release(self, key: Key, pod: Object) -> None:
        self._give_back(key, pod["spec"]["nodeName"], _gang_of(pod))
        self.changed.set()

    def _give_back(self, key: Key, node: str, gang: Key | None) -> None:
        amounts = self._held.get(node, {}).pop(key, None)
        if amounts is None:
            return
        if node in self._free:
            free = self._free[node]
            for name, amount in amounts.items():
                free[name] = free.get(name, 0) + amount
        if gang is not None:
            self._started[gang] -= 1

    def _forget(self, key: Key) -> None:
        """Take back what was assumed of a pod: its real state is known now."""
        node = self._assumed.pop(key, None)
        if node is not None:
            pod = self._pods.get(key)
            self._give_back(key, node, _gang_of(pod) if pod is not None else None)

    async def cycle(self) -> None:
        """Decide for all pods that wait, then bind them side by side."""
        nodes = {key["metadata"]["name"]: key for key in self._nodes.items}
        gangs = {(one["metadata"]["namespace"], one["metadata"]["name"]): _least(one) for one in self._gangs.items}
        decisions = decide(nodes, self._free, self._pending.values(), gangs, self._started)
        for placement in decisions.placements:
            del self._pending[placement.pod.key]
            self._assumed[placement.pod.key] = placement.node
            self._hold(placement.pod.key, placement.node, dict(placement.pod.needs.requests), placement.pod.gang)
        await self._carry_out(decisions)

    async def _carry_out(self, decisions: Decisions) -> None:
        failures = await all_of([lambda one=one: self._bind(one) for one in decisions.placements])  # type: ignore[misc] # mypy cannot type the default
        for placement, failure in zip(decisions.placements, failures, strict=True):
            pod = self._pods.get(placement.pod.key)
            if failure is not None:
                self._forget(placement.pod.key)
                if pod is not None and self._is_ours(pod):
                    self._pending[placement.pod.key] = placement.pod
                    self.changed.set()
            elif pod is not None:
                said = f"Successfully assigned {'/'.join(placement.pod.key)} to {placement.node}"
                self._recorder.record(_COMPONENT, pod, "Normal", "Scheduled", said)
        await all_of([lambda one=one: self._refuse(one) for one in decisions.refusals])  # type: ignore[misc] # as above

    async def _bind(self, placement: Placement) -> None:
        namespace, name = placement.pod.key
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": placement.pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": placement.node},
        }
        await self._client.create(PODS, binding, namespace=namespace, name=name, subresource="binding")

    async def _refuse(self, refusal: Refusal) -> None:
        """Tell in the pod's status why it waits, once for each reason."""
        pod = self._pods.get(refusal.pod.key)
        if pod is None or _said(pod) == refusal.message:
            return
        namespace, name = refusal.pod.key
        now = seconds_text(self._clock.wall_ns())
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": refusal.message,
            "lastTransitionTime": now,
        }
        patch = {"status": {"conditions": [condition]}}
        try:
            await self._client.patch(PODS, name, patch, kind="strategic", namespace=namespace, subresource="status")
        except ApiError as error:
            if not error.is_not_found:
                raise
        self._recorder.record(_COMPONENT, pod, "Warning", "FailedScheduling", refusal.message)


def _forget_unneeded(pod: Object) -> None:
    """Cut a pod down to what the scheduler reads, in place: there may be many thousands."""
    pod["metadata"].pop("managedFields", None)
    spec = pod["spec"]
    spec.pop("volumes", None)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for name in [name for name in container if name not in {"name", "resources", "restartPolicy"}]:
            del container[name]
    if spec.get("nodeName"):
        for name in ("tolerations", "affinity", "securityContext", "nodeSelector"):
            spec.pop(name, None)
        status = pod.get("status") or {}
        pod["status"] = {"phase": status.get("phase")}


def _said(pod: Object) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def _gang_of(pod: Object) -> Key | None:
    group = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return (pod["metadata"]["namespace"], group) if group else None


def _least(group: Object) -> int:
    """How many pods a PodGroup needs at least; without a gang policy one is enough."""
    gang = ((group.get("spec") or {}).get("schedulingPolicy") or {}).get("gang") or {}
    return int(gang.get("minCount", 1))


def _subtract(free: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        free[name] = free.get(name, 0) - amount
