"""Playing the kubelets of all nodes: bound pods run, work, end and go; nodes are ready and renew their leases."""

import asyncio
from contextlib import suppress

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Informer, Key
from kubedyno.client.rest import Client
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_text
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import NS_PER_S, Clock, parse_rfc3339_ns, rfc3339
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import LEASES, NODES, PODS
from kubedyno.sim.kubelet import nodestates, podstates

_WORKERS = 16
_RENEWALS_PER_DURATION = 4
_NODE_ADDRESS = "127.0.0.1"


async def play_kubelets(client: Client, *, clock: Clock, seed: int, lease_s: int) -> None:
    """Play until cancelled. Leases of `lease_s` are renewed four times as often."""
    async with tasks.owning() as group:
        kubelets = _Kubelets(client, clock, group, lease_s)
        rng = randomness.stream(seed, "kubelets")
        nodes = Informer(client, NODES, rng=rng)
        pods = Informer(client, PODS, field_selector="spec.nodeName!=", rng=rng)
        kubelets.follow(nodes, pods)
        async with nodes, pods:
            for number in range(_WORKERS):
                group.create_task(kubelets.work_on_pods(), name=f"kubelets {number}")
                group.create_task(kubelets.work_on_nodes(), name=f"nodes {number}")
            group.create_task(kubelets.renew(), name="leases")
            await asyncio.Event().wait()


class _Kubelets:
    """The shared memory of all kubelets."""

    def __init__(self, client: Client, clock: Clock, group: asyncio.TaskGroup, lease_s: int) -> None:
        self._client = client
        self._clock = clock
        self._lease_s = lease_s
        self._pod_keys: WorkQueue[Key] = WorkQueue(clock, group.create_task)
        self._node_keys: WorkQueue[Key] = WorkQueue(clock, group.create_task)
        self._addresses: dict[str, int] = {}
        self._leased: dict[Key, Object] = {}

    def follow(self, nodes: Informer, pods: Informer) -> None:
        self._nodes = nodes
        self._pods = pods
        pods.subscribe(self._pod_changed)
        nodes.subscribe(self._node_changed)

    def _pod_changed(self, change: Change) -> None:
        if change.new is not None:
            podstates.forget_unneeded(change.new)
            self._pod_keys.add(change.key)

    def _node_changed(self, change: Change) -> None:
        if change.new is not None:
            change.new["metadata"].pop("managedFields", None)
        if change.new is None:
            self._leased.pop(change.key, None)
        elif change.old is None or nodestates.needs_report(change.new):
            self._node_keys.add(change.key)
            if change.old is None:
                # Its pods may have been bound before it was known here.
                for pod in self._pods.items:
                    if pod["spec"].get("nodeName") == change.key[1]:
                        self._pod_keys.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    async def work_on_pods(self) -> None:
        """Work off the pods that changed."""
        while True:
            key = await self._pod_keys.get()
            try:
                await self._step(key)
            except ApiError as error:
                if not (error.is_not_found or error.is_conflict):
                    self._pod_keys.retry(key)
            else:
                self._pod_keys.forget(key)
            finally:
                self._pod_keys.done(key)

    async def _step(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        node = self._nodes.get(("", pod["spec"]["nodeName"]))
        if node is None:
            return
        step, after_s = podstates.next_step(pod)
        left_s = self._left_s(pod, after_s) if after_s else 0.0
        if left_s > 0:
            self._pod_keys.add_after(key, left_s)
            return
        now = seconds_text(self._clock.wall_ns())
        match step:
            case "run":
                await self._report(key, podstates.running(pod, now=now, host_ip=_NODE_ADDRESS, pod_ip=self._ip(node)))
            case "succeed":
                await self._report(key, podstates.succeeded(pod, now=now))
            case "delete":
                uid = pod["metadata"]["uid"]
                await self._client.delete(PODS, key[1], namespace=key[0], grace_s=0, uid=uid)

    def _left_s(self, pod: Object, after_s: float) -> float:
        begun_ns = parse_rfc3339_ns(pod["status"]["startTime"])
        return after_s - (self._clock.wall_ns() - begun_ns) / NS_PER_S

    async def _report(self, key: Key, status: Object) -> None:
        patch = {"status": status}
        await self._client.patch(PODS, key[1], patch, kind="merge", namespace=key[0], subresource="status")

    def _ip(self, node: Object) -> str:
        name = node["metadata"]["name"]
        index = self._addresses.get(name, 0)
        self._addresses[name] = index + 1
        return podstates.pod_address((node.get("spec") or {}).get("podCIDR") or "10.255.0.0/16", index)

    async def work_on_nodes(self) -> None:
        """Make new and unready nodes ready."""
        while True:
            key = await self._node_keys.get()
            try:
                await self._greet(key)
            except ApiError:
                self._node_keys.retry(key)
            else:
                self._node_keys.forget(key)
            finally:
                self._node_keys.done(key)

    async def _greet(self, key: Key) -> None:
        node = self._nodes.get(key)
        if node is None:
            return
        now_ns = self._clock.wall_ns()
        if key not in self._leased:
            await self._renew(key, node)
        if nodestates.needs_report(node):
            status = nodestates.ready(node, now=seconds_text(now_ns), address=_NODE_ADDRESS)
            await self._client.patch(NODES, key[1], {"status": status}, kind="strategic", subresource="status")

    async def renew(self) -> None:
        """Renew the leases, spread over their period."""
        while True:
            keys = list(self._leased)
            pause_s = self._lease_s / _RENEWALS_PER_DURATION / max(len(keys), 1)
            for key in keys:
                await self._clock.sleep(pause_s)
                node = self._nodes.get(key)
                if node is not None:
                    with suppress(ApiError):  # the next renewal comes soon enough
                        await self._renew(key, node)
            if not keys:
                await self._clock.sleep(self._lease_s / _RENEWALS_PER_DURATION)

    async def _renew(self, key: Key, node: Object) -> None:
        """Write the lease: created once, then replaced as it was last seen."""
        known = self._leased.get(key)
        wanted = nodestates.lease(node, duration_s=self._lease_s, renewed=rfc3339(self._clock.wall_ns()))
        if known is None:
            try:
                self._leased[key] = await self._client.create(LEASES, wanted)
            except ApiError as error:
                if not error.is_already_exists:
                    raise
                self._leased[key] = await self._client.get(LEASES, key[1], namespace=nodestates.LEASE_NAMESPACE)
            return
        self._leased[key] = await self._client.update(LEASES, {**known, "spec": wanted["spec"]})
