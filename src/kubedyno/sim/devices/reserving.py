"""Telling reservation pods on simulated nodes which GPU they have."""

from collections.abc import Callable
from typing import Final

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Key
from kubedyno.client.rest import Client
from kubedyno.client.retrying import may_pass
from kubedyno.client.watching import Event
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.logs import Log
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES, PODS
from kubedyno.sim.devices import inventory, sharing
from kubedyno.sim.devices.identity import gpu_uuid
from kubedyno.sim.devices.occupying import GivenGpus
from kubedyno.sim.following import follow, present

_WORKERS: Final = 8
_MOST_BACKOFF_S: Final = 5.0
_log = Log("sim.devices")


async def reserve_gpus(
    client: Client,
    *,
    clock: Clock,
    seed: int,
    manages: Callable[[str], bool] | None = None,
    given: GivenGpus | None = None,
) -> None:
    """Annotate until cancelled every running reservation pod on a simulated node.

    `manages` says by name which nodes are ours; without it all are. `given` knows which GPUs the kubelets gave to pods.
    """
    async with tasks.owning() as group:
        queue: WorkQueue[Key] = WorkQueue(clock, group.create_task, most_s=_MOST_BACKOFF_S)
        reservations = _Reservations(client, queue, manages or (lambda _: True), given)
        rng = randomness.stream(seed, "reservations")
        pods = follow(client, PODS, reservations.hear, rng=rng, label_selector=sharing.SELECTOR)
        group.create_task(pods, name="reservation pods")
        for number in range(_WORKERS):
            group.create_task(reservations.work(), name=f"reservations {number}")


class _Reservations:
    """All reservation pods: on which node, of which uid, with which GPU."""

    def __init__(
        self, client: Client, keys: WorkQueue[Key], manages: Callable[[str], bool], given: GivenGpus | None
    ) -> None:
        self._client = client
        self._keys = keys
        self._manages = manages
        self._given = given
        self._waiting: dict[Key, tuple[str, str]] = {}
        """Node and uid of pods that do not know their GPU."""
        self._taken: dict[Key, tuple[str, str]] = {}
        """Node and GPU of pods that do, from the moment when it was chosen."""

    def hear(self, event: Event) -> None:
        for pod in present(event, self._taken | self._waiting, self._gone, meta.key):
            self._seen(pod)

    def _gone(self, key: Key) -> None:
        self._waiting.pop(key, None)
        self._taken.pop(key, None)

    def _seen(self, pod: Object) -> None:
        key, node = meta.key(pod), (pod.get("spec") or {}).get("nodeName", "")
        told = meta.annotations(pod).get(sharing.RESERVED)
        if told:
            self._waiting.pop(key, None)
            self._taken[key] = (node, told)
        elif sharing.waits_for_gpu(pod):
            self._waiting[key] = (node, pod["metadata"]["uid"])
            self._keys.add(key)

    async def work(self) -> None:
        """Work off the pods that wait, until cancelled."""
        while True:
            key = await self._keys.get()
            try:
                await self._reserve(key)
            except (ApiError, Unreachable) as error:
                self._taken.pop(key, None)
                gone = isinstance(error, ApiError) and error.is_not_found
                if not gone and not may_pass(error):
                    _log.warning(f"reservation pod {key[1]} gets no GPU: {error}")
                if not gone:
                    self._keys.retry(key)
            except UsageError as error:
                _log.warning(f"reservation pod {key[1]} gets no GPU: {error}")
            else:
                self._keys.forget(key)
            finally:
                self._keys.done(key)

    async def _reserve(self, key: Key) -> None:
        if key not in self._waiting:
            return
        name, uid = self._waiting[key]
        if not self._manages(name):
            return
        node = await self._client.get(NODES, name, resource_version="0")
        if not sharing.is_simulated(node):
            return
        # From here to the note of it nothing is awaited: two pods never choose the same GPU.
        index = self._index(name, key)
        taken = {gpu for at, gpu in self._taken.values() if at == name}
        gpu = sharing.chosen_gpu(name, inventory.gpu_count(node), taken) if index is None else gpu_uuid(name, index)
        if gpu is None:
            _log.warning(f"reservation pod {key[1]} gets no GPU: all of node {name} are reserved")
            return
        self._taken[key] = (name, gpu)
        patch = {"metadata": {"uid": uid, "annotations": {sharing.RESERVED: gpu}}}
        await self._client.patch(PODS, key[1], patch, kind="merge", namespace=key[0])

    def _index(self, node: str, key: Key) -> int | None:
        """The GPU that the kubelet gave to the pod; None where it does not tell."""
        holders = self._given(node) if self._given is not None else {}
        return next(
            (index for index, found in holders.items() if any((one.namespace, one.pod) == key for one in found)), None
        )
