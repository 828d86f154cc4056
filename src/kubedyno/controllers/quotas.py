"""Resource quotas counted anew: admission only ever adds to them, what goes away is taken off here."""

from collections.abc import Iterable, Mapping
from functools import partial

from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import BY_NAMESPACE, Engine
from kubedyno.controllers.podfacts import is_finished
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.serving import Served
from kubedyno.kinds.admission import quotas, totals, usage
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.quantities import Quantity
from kubedyno.kube.resources import BUILT_IN, PODS, RESOURCE_QUOTAS, Resource

COMPONENT = "resourcequota-controller"

_WORKERS = 5
_GATHER_S = 0.1
_IGNORED = frozenset({"events", "events.events.k8s.io", "bindings"})
_BUILT_IN = frozenset(BUILT_IN)
_NEEDED_VERBS = frozenset({"create", "list", "watch", "delete"})


def counted(quota: Object, objects: Mapping[Resource, Iterable[Object]]) -> dict[str, str]:
    """`status.used`: what all these objects use of what the quota limits."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    total = {name: Quantity.parse(0) for name in hard}
    for resource, found in objects.items():
        names = frozenset(usage.concerned(hard, resource))
        for obj in found:
            if quotas.in_scopes(quota, obj, resource):
                used = usage.usage(obj, resource)
                totals.add(total, {name: amount for name, amount in used.items() if name in names})
    return {name: str(amount) for name, amount in total.items()}


class QuotaController:
    """Keeps `status.hard` and `status.used` of quotas."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._quotas = engine.informer(RESOURCE_QUOTAS)
        self._queue: WorkQueue[Key] = engine.queue()
        self._resources = _countable(engine.served)
        self._quotas.subscribe(self._quota_changed)
        for resource in self._resources:
            engine.informer(resource).subscribe(partial(self._changed, resource))

    def start(self) -> None:
        """Work off quotas; all of them now and then."""
        self._engine.work(COMPONENT, self._queue, self._sync, workers=_WORKERS)
        self._engine.every(self._engine.settings.quota_period_s, self._count_all, COMPONENT)

    async def _count_all(self) -> None:
        for quota in self._quotas.items:
            self._queue.add(meta.key(quota))

    def _quota_changed(self, change: Change) -> None:
        if change.new is None:
            return
        if change.old is None or change.old.get("spec") != change.new.get("spec"):
            self._queue.add(change.key)

    def _changed(self, resource: Resource, change: Change) -> None:
        """Only what goes away or ends: what comes was charged when it was created."""
        ended = resource == PODS and change.old is not None and not is_finished(change.old)
        if change.new is None or (ended and is_finished(change.new)):
            for quota in self._quotas.by_index(BY_NAMESPACE, change.key[0]):
                if usage.concerned((quota.get("spec") or {}).get("hard") or {}, resource):
                    self._queue.add_after(meta.key(quota), _GATHER_S)

    async def _sync(self, key: Key) -> None:
        quota = self._quotas.get(key)
        if quota is None:
            return
        hard = (quota.get("spec") or {}).get("hard") or {}
        objects = {
            resource: self._engine.informer(resource).by_index(BY_NAMESPACE, key[0])
            for resource in self._resources
            if usage.concerned(hard, resource)
        }
        status = {"hard": hard, "used": counted(quota, objects)}
        if not hard:
            status = {}
        if status != (quota.get("status") or {}):
            await self._engine.client.update(RESOURCE_QUOTAS, {**quota, "status": status}, subresource="status")


def _countable(resources: Iterable[Served]) -> list[Resource]:
    return [
        entry.resource
        for entry in resources
        if entry.verbs >= _NEEDED_VERBS
        and entry.resource.namespaced
        and entry.resource in _BUILT_IN
        and entry.resource.full_name not in _IGNORED
    ]
