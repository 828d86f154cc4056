"""Exporting metrics of all simulated GPUs: who uses them and how much, as it is when somebody asks."""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from kubedyno.client.informer import Key
from kubedyno.client.rest import Client
from kubedyno.client.watching import Event, Listed
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kube import meta
from kubedyno.kube.resources import NODES, PODS, Resource, by_kind
from kubedyno.sim.devices import inventory, metrics, occupying
from kubedyno.sim.devices.inventory import Inventory
from kubedyno.sim.devices.metrics import GpuState, Use
from kubedyno.sim.devices.occupying import Account, GivenGpus, GpuPod, Holder, Holding
from kubedyno.sim.devices.plugin import gpu_share
from kubedyno.sim.devices.versions import served_version
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.fault import Faults
from kubedyno.sim.following import follow, present

_log = Log("sim.devices")


class GpuExporter:
    """The metrics page of all simulated GPUs. Nothing is followed, and nothing costs, before it is asked for.

    `given` knows which GPUs the kubelets gave to pods; without it pods get the first ones that are free.
    """

    def __init__(self, client: Client, *, clock: Clock, seed: int, given: GivenGpus | None = None) -> None:
        self._client = client
        self._seed = seed
        self._usage = Usage(clock=clock, seed=seed, given=given)
        self._asked = asyncio.Event()
        self._known = asyncio.Event()
        self._missing = {NODES.plural, PODS.plural}

    async def run(self) -> None:
        """Follow nodes, pods and claims from the first question on, until cancelled."""
        await self._asked.wait()
        rng = randomness.stream(self._seed, "gpu metrics")
        usage, client = self._usage, self._client
        async with tasks.owning() as group:
            version = await served_version(client)
            if version is not None:
                claims = by_kind(version, "ResourceClaim")
                self._missing.add(claims.plural)
                heard = self._heard(claims, usage.hear_claims)
                group.create_task(follow(client, claims, heard, rng=rng), name="claims of GPUs")
            nodes = follow(client, NODES, self._heard(NODES, usage.hear_nodes), rng=rng)
            group.create_task(nodes, name="nodes with GPUs")
            heard = self._heard(PODS, usage.hear_pods)
            bound = follow(client, PODS, heard, rng=rng, field_selector="spec.nodeName!=")
            group.create_task(bound, name="pods with GPUs")

    def _heard(self, resource: Resource, listen: Callable[[Event], None]) -> Callable[[Event], None]:
        def hear(event: Event) -> None:
            listen(event)
            if isinstance(event, Listed):
                self._missing.discard(resource.plural)
                if not self._missing:
                    self._known.set()

        return hear

    async def page(self) -> Iterator[str]:
        """The page, complete."""
        self._asked.set()
        await self._known.wait()
        return metrics.render(self._usage.states())


class Usage:
    """What is known of nodes with GPUs, of the pods that have something to do with them, and of claims."""

    def __init__(self, *, clock: Clock, seed: int, given: GivenGpus | None = None) -> None:
        self._clock = clock
        self._seed = seed
        self._given = given
        self._nodes: dict[str, tuple[Inventory, Faults]] = {}
        self._pods: dict[Key, GpuPod] = {}
        self._on: dict[str, dict[Key, None]] = {}
        self._claims: dict[Key, list[tuple[str, int, Key]]] = {}
        self._account = Account()

    def hear_nodes(self, event: Event) -> None:
        """Take over news of nodes."""
        for node in present(event, self._nodes, self._node_gone, lambda node: str(node["metadata"]["name"])):
            name = node["metadata"]["name"]
            try:
                found = inventory.of(node)
                faults = fault.of(node)
            except UsageError as error:
                _log.warning(f"node {name}: {error}")
                continue
            if found is None or found.plain is not None:
                self._node_gone(name)
                continue
            self._nodes[name] = (found, faults)
            for key in self._on.get(name, ()):
                self._account.take(key, self._pods[key], found)

    def _node_gone(self, name: str) -> None:
        self._nodes.pop(name, None)

    def hear_pods(self, event: Event) -> None:
        """Take over news of bound pods."""
        for obj in present(event, self._pods, self._pod_gone, meta.key):
            key, pod = meta.key(obj), occupying.gpu_pod(obj)
            known = self._pods.get(key)
            if known is not None and (pod is None or known.uid != pod.uid):
                self._pod_gone(key)
            if pod is None:
                continue
            self._pods[key] = pod
            self._on.setdefault(pod.node, {})[key] = None
            if pod.node in self._nodes:
                self._account.take(key, pod, self._nodes[pod.node][0])

    def _pod_gone(self, key: Key) -> None:
        pod = self._pods.pop(key, None)
        if pod is not None:
            self._on[pod.node].pop(key, None)
            if not self._on[pod.node]:
                del self._on[pod.node]
            self._account.release(key)

    def hear_claims(self, event: Event) -> None:
        """Take over news of ResourceClaims."""
        for claim in present(event, self._claims, self._claim_gone, meta.key):
            found = occupying.claimed(claim)
            if found:
                self._claims[meta.key(claim)] = found
            else:
                self._claim_gone(meta.key(claim))

    def _claim_gone(self, key: Key) -> None:
        self._claims.pop(key, None)

    def states(self) -> Iterator[GpuState]:
        """Every GPU as it is now, but for lost ones."""
        now_ns = self._clock.wall_ns()
        by_claim: dict[str, dict[int, list[Holder]]] = {}
        for node, index, key in (one for found in self._claims.values() for one in found):
            if key in self._pods:
                holder = Holder(*key, self._pods[key].container)
                by_claim.setdefault(node, {}).setdefault(index, []).append(holder)
        for name, (found, faults) in sorted(self._nodes.items()):
            lost = fault.lost_gpus(faults, now_ns)
            holders = self._given(name) if self._given is not None else self._account.holders(name)
            gpu = found.gpu
            for index in range(found.count):
                if index in lost:
                    continue
                part = 1 / max(1, sum(gpu_share(found, index).values()))
                shares = self._shares(holders.get(index, ()), part)
                for claimer in by_claim.get(name, {}).get(index, ()):
                    shares.setdefault((claimer.namespace, claimer.pod, claimer.container), 1.0)
                uses = tuple(self._use(who, share, gpu.memory_mib, now_ns) for who, share in shares.items())
                yield GpuState(name, index, gpu.product, gpu.memory_mib, uses)

    def _shares(self, holders: Sequence[Holding], part: float) -> dict[tuple[str, str, str], float]:
        """By container, how much of a GPU is its; the fractions of a reserved GPU stand for its reservation."""
        shares: dict[tuple[str, str, str], float] = {}
        for one in holders:
            pod = self._pods.get((one.namespace, one.pod))
            if pod is None:
                continue
            if not pod.is_reservation:
                who = (one.namespace, one.pod, one.container)
                shares[who] = shares.get(who, 0.0) + part
                continue
            for key in self._on.get(pod.node, ()):
                other = self._pods[key]
                if other.group == pod.group and not other.is_reservation:
                    shares[*key, other.container] = other.fraction
        return shares

    def _use(self, who: tuple[str, str, str], share: float, memory_mib: int, now_ns: int) -> Use:
        pod = self._pods[who[:2]]
        share = min(share, 1.0)
        percent = metrics.percent_used(pod, share, seed=self._seed, now_ns=now_ns)
        return Use(*who, percent, round(memory_mib * share))
