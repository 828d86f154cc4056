"""The reference scheduler at work: follows nodes and pods, decides in cycles, binds."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Informer
from kubedyno.client.rest import Client
from kubedyno.controllers.engine import all_of
from kubedyno.controllers.events import Recorder
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, POD_GROUPS, PODS
from kubedyno.schedulers.reference import fitting
from kubedyno.schedulers.reference.deciding import Pending, Placement, Refusal, decide, pending_of
from kubedyno.schedulers.reference.fitting import Amounts
from kubedyno.schedulers.reference.volumes import Key, Volumes

NAMES = frozenset({"default-scheduler", "kubedyno"})
"""The `schedulerName`s it answers to: it is the only scheduler of its lab, so it is the default one."""

_COMPONENT = "kubedyno-scheduler"

_VOLUMES_WITHIN_S = 600.0
"""How long a pod with a node waits for its volumes before it is placed anew, as in kube-scheduler."""


async def schedule(client: Client, *, clock: Clock, seed: int, cycle_s: float) -> None:
    """Schedule until cancelled; a cycle takes `cycle_s` on the clock at least, and is begun by any change."""
    async with tasks.owning() as group:
        rng = randomness.stream(seed, "reference scheduler")
        recorder = Recorder(client, clock)
        nodes, pods, gangs = (Informer(client, resource, rng=rng) for resource in (NODES, PODS, POD_GROUPS))
        changed = asyncio.Event()
        volumes = Volumes(client, rng=rng, changed=changed.set)
        scheduler = _Scheduler(client, recorder, nodes, pods, gangs, volumes=volumes, changed=changed, group=group)
        async with nodes, pods, gangs, AsyncExitStack() as stack:
            await volumes.follow(stack)
            group.create_task(recorder.run(), name="events of the scheduler")
            while True:
                await changed.wait()
                changed.clear()
                await clock.sleep(cycle_s)
                await scheduler.cycle()


class _Awaiting(msgspec.Struct):
    """A pod with a node whose claims are being bound for that node; `told` are those that know of it."""

    placement: Placement
    due_ns: int
    told: set[Key]


class _Scheduler:
    """What it knows: kept up to date by every change, so that a cycle looks at no pod that did not change."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        nodes: Informer,
        pods: Informer,
        gangs: Informer,
        *,
        volumes: Volumes,
        changed: asyncio.Event,
        group: asyncio.TaskGroup,
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._recorder = recorder
        self._nodes = nodes
        self._pods = pods
        self._gangs = gangs
        self._volumes = volumes
        self._group = group
        self._free: dict[str, Amounts] = {}
        self._held: dict[str, dict[Key, Amounts]] = {}
        self._pending: dict[Key, Pending] = {}
        self._assumed: dict[Key, str] = {}
        self._awaiting: dict[Key, _Awaiting] = {}
        self._started: Counter[Key] = Counter()
        self._changed = changed
        nodes.subscribe(self._node_changed)
        pods.subscribe(self._pod_changed)
        gangs.subscribe(lambda _change: self._changed.set())

    def _node_changed(self, change: Change) -> None:
        name = change.key[1]
        if change.new is None:
            self._free.pop(name, None)
        else:
            self._free[name] = fitting.allocatable_of(change.new)
            for amounts in self._held.get(name, {}).values():
                _subtract(self._free[name], amounts)
        self._changed.set()

    def _pod_changed(self, change: Change) -> None:
        key, pod = change.key, change.new
        if pod is not None:
            _forget_unneeded(pod)
        if change.old is not None and fitting.is_holding(change.old):
            self._release(key, change.old)
        if pod is None:
            self._pending.pop(key, None)
            self._forget(key)
            self._changed.set()
            return
        if fitting.is_holding(pod):
            self._forget(key)
            self._hold(key, pod["spec"]["nodeName"], fitting.requests_of(pod), _gang_of(pod))
            self._pending.pop(key, None)
        elif self._is_ours(pod):
            if key not in self._assumed and key not in self._pending:
                self._pending[key] = pending_of(pod)
                self._changed.set()
        else:
            self._pending.pop(key, None)
            self._changed.set()

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
        self._changed.set()

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
        """Decide for all pods that wait, then bind them side by side; volumes that wait for a node come first."""
        nodes = {key["metadata"]["name"]: key for key in self._nodes.items}
        gangs = {(one["metadata"]["namespace"], one["metadata"]["name"]): _least(one) for one in self._gangs.items}
        bound = await self._settle(nodes)
        pending, unbound, refusals = self._ready(len(nodes))
        decisions = decide(nodes, self._free, pending, gangs, self._started)
        for placement in decisions.placements:
            key = placement.pod.key
            del self._pending[key]
            self._assumed[key] = placement.node
            self._hold(key, placement.node, dict(placement.pod.needs.requests), placement.pod.gang)
        await self._tell_claims([one for one in decisions.placements if one.pod.key in unbound], unbound)
        at_once = [one for one in decisions.placements if one.pod.key not in unbound]
        await self._carry_out((*bound, *at_once), (*refusals, *decisions.refusals))

    def _ready(self, nodes: int) -> tuple[list[Pending], dict[Key, tuple[Key, ...]], list[Refusal]]:
        """The pods that can be placed, those of their claims that wait for a node, and pods that claims hold up."""
        pending: list[Pending] = []
        unbound: dict[Key, tuple[Key, ...]] = {}
        refusals: list[Refusal] = []
        for pod in self._pending.values():
            if not pod.claims:
                pending.append(pod)
                continue
            wishes = self._volumes.wishes(pod.claims)
            if wishes.refusal:
                refusals.append(Refusal(pod, f"0/{nodes} nodes are available: {wishes.refusal}."))
                continue
            needs = msgspec.structs.replace(pod.needs, volumes=wishes.nodes)
            pending.append(msgspec.structs.replace(pod, needs=needs))
            if wishes.unbound:
                unbound[pod.key] = wishes.unbound
        return pending, unbound, refusals

    async def _tell_claims(self, placements: Sequence[Placement], unbound: Mapping[Key, tuple[Key, ...]]) -> None:
        """Tell claims the node of their first consumer; the pods are bound when the claims are."""
        chosen: dict[Key, str] = {}
        due_ns = self._clock.monotonic_ns() + round(_VOLUMES_WITHIN_S * NS_PER_S)
        for placement in placements:
            self._awaiting[placement.pod.key] = _Awaiting(placement, due_ns, set())
            for claim in unbound[placement.pod.key]:
                if not self._volumes.is_told(claim):
                    chosen.setdefault(claim, placement.node)
        if placements:
            self._group.create_task(self._look_again_after(_VOLUMES_WITHIN_S), name="patience with volumes")
        # A claim that could not be told is found out about when its pods' time is over.
        await all_of([partial(self._volumes.tell, claim, node) for claim, node in chosen.items()])

    async def _look_again_after(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)
        self._changed.set()

    async def _settle(self, nodes: Mapping[str, Object]) -> list[Placement]:
        """Of the pods that wait for their volumes: those that can be bound now; others go back to the queue."""
        bound: list[Placement] = []
        for key, awaiting in list(self._awaiting.items()):
            if key not in self._assumed:
                del self._awaiting[key]
                continue
            wishes = self._volumes.wishes(awaiting.placement.pod.claims)
            node = nodes.get(awaiting.placement.node)
            is_over = self._clock.monotonic_ns() >= awaiting.due_ns
            now_told = {claim for claim in wishes.unbound if self._volumes.is_told(claim)}
            is_lost = any(claim in awaiting.told and claim not in now_told for claim in wishes.unbound)
            awaiting.told |= now_told
            if wishes.refusal or node is None or is_over or is_lost or not fitting.reaches(node, wishes.nodes):
                del self._awaiting[key]
                self._take_back(awaiting.placement)
                if is_over or node is None:
                    await all_of([partial(self._volumes.tell, claim, None) for claim in wishes.unbound])
            elif not wishes.unbound:
                del self._awaiting[key]
                bound.append(awaiting.placement)
        return bound

    def _take_back(self, placement: Placement) -> None:
        """What was decided cannot be: the pod waits again."""
        self._forget(placement.pod.key)
        pod = self._pods.get(placement.pod.key)
        if pod is not None and self._is_ours(pod):
            self._pending[placement.pod.key] = placement.pod
            self._changed.set()

    async def _carry_out(self, placements: Sequence[Placement], refusals: Sequence[Refusal]) -> None:
        failures = await all_of([partial(self._bind, one) for one in placements])
        for placement, failure in zip(placements, failures, strict=True):
            pod = self._pods.get(placement.pod.key)
            if failure is not None:
                self._take_back(placement)
            elif pod is not None:
                said = f"Successfully assigned {'/'.join(placement.pod.key)} to {placement.node}"
                self._recorder.record(_COMPONENT, pod, "Normal", "Scheduled", said)
        await all_of([partial(self._refuse, one) for one in refusals])

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
    if "volumes" in spec:
        spec["volumes"] = [volume for volume in spec["volumes"] if "persistentVolumeClaim" in volume]
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for name in [name for name in container if name not in {"name", "resources", "restartPolicy"}]:
            del container[name]
    if spec.get("nodeName"):
        for name in ("tolerations", "affinity", "volumes", "securityContext", "nodeSelector"):
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
