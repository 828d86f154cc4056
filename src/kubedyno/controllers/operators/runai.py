"""Run:ai's operator, simulated: makes a Job or a PyTorchJob for each workload, and tells how it stands."""

from functools import partial
from typing import Final

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Change, Informer, Key
from kubedyno.controllers.engine import BY_CONTROLLER, Engine
from kubedyno.controllers.expecting import Expectations, Written
from kubedyno.controllers.operators import workloads
from kubedyno.controllers.operators.kinds import RUNAI_WORKLOADS
from kubedyno.controllers.podfacts import controller_of, is_deleting, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_since
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DISTRIBUTED_WORKLOADS, JOBS, PRIORITY_CLASSES, PYTORCH_JOBS, Resource

NAME: Final = "simulated Run:ai operator"
COMPONENT: Final = "runai-workload-controller"

_WORKERS = 16
_MOST_RETRY_S = 8.0
_KINDS = {kind.kind: kind for kind in RUNAI_WORKLOADS}

Item = tuple[Resource, Key]


def priority_classes() -> list[Object]:
    """The priority classes that its pods have."""
    return [
        {
            "apiVersion": PRIORITY_CLASSES.api_version,
            "kind": PRIORITY_CLASSES.kind,
            "metadata": {"name": called},
            "value": priority,
        }
        for called, priority in workloads.PRIORITIES.items()
    ]


class RunaiOperator:
    """Looks after workloads of all three kinds; `scheduler_name` is for pods whose workload names no scheduler."""

    def __init__(self, engine: Engine, *, scheduler_name: str) -> None:
        self._engine = engine
        self._scheduler_name = scheduler_name
        self._workloads: dict[Resource, Informer] = {kind: engine.informer(kind) for kind in RUNAI_WORKLOADS}
        self._children: dict[Resource, Informer] = {
            kind: engine.informer(kind, label_selector=workloads.WORKLOAD_KIND) for kind in (JOBS, PYTORCH_JOBS)
        }
        self._queue: WorkQueue[Item] = engine.queue(most_s=_MOST_RETRY_S)
        self._expectations = Expectations(engine.clock)
        self._written = Written()
        for kind, informer in self._workloads.items():
            informer.subscribe(partial(self._workload_changed, kind))
        for informer in self._children.values():
            informer.subscribe(self._child_changed)

    def start(self) -> None:
        """Work off workloads."""
        self._engine.work(NAME, self._queue, self._sync, workers=_WORKERS)

    def _workload_changed(self, kind: Resource, change: Change) -> None:
        if change.new is None or (change.old is not None and uid(change.old) != uid(change.new)):
            self._expectations.forget((kind, change.key))
            self._written.forget((kind, change.key))
        if change.new is not None:
            self._queue.add((kind, change.key))

    def _child_changed(self, change: Change) -> None:
        owner = controller_of(change.object)
        kind = _KINDS.get(owner["kind"]) if owner is not None else None
        if owner is None or kind is None:
            return
        item = (kind, (change.key[0], owner["name"]))
        if change.type == "ADDED":
            self._expectations.created(item)
        self._queue.add(item)

    async def _sync(self, item: Item) -> None:
        kind, key = item
        found = self._workloads[kind].get(key)
        if found is None or self._written.is_newer_than(item, found):
            return
        workload = {**found, "apiVersion": kind.api_version, "kind": kind.kind}
        child_kind = PYTORCH_JOBS if kind == DISTRIBUTED_WORKLOADS else JOBS
        child = next(iter(self._children[child_kind].by_index(BY_CONTROLLER, uid(workload))), None)
        phase = workloads.phase_of(workload, child)
        if phase in workloads.FINAL and await self._expire(item, workload):
            return
        try:
            if child is None and phase == workloads.CREATING and self._expectations.are_met(item):
                await self._make(item, child_kind, workload)
            elif child is not None and phase not in workloads.FINAL:
                await self._steer(child_kind, child, workload)
        except UsageError as error:
            await self._tell(item, workload, workloads.FAILED, message=str(error))
        except ApiError:
            await self._tell(item, workload, phase)
            raise
        else:
            await self._tell(item, workload, phase)

    async def _tell(self, item: Item, workload: Object, phase: str, *, message: str = "") -> None:
        status = workloads.status_of(workload, phase, now_ns=self._engine.now_ns(), message=message)
        if status != (workload.get("status") or {}):
            answer = await self._engine.client.update(item[0], {**workload, "status": status}, subresource="status")
            self._written.note(item, answer)

    async def _make(self, item: Item, child_kind: Resource, workload: Object) -> None:
        body = workloads.child_of(workload, scheduler_name=self._scheduler_name)
        self._expectations.expect_creations(item, 1)
        try:
            made = await self._engine.client.create(child_kind, body)
        except (ApiError, Unreachable) as error:
            self._expectations.created(item)
            text = f"Error creating {child_kind.kind} {name(body)}: {error}"
            self._engine.event(COMPONENT, workload, "Warning", "FailedCreate", text)
            raise
        self._engine.event(COMPONENT, workload, "Normal", "SuccessfulCreate", f"Created {child_kind.kind} {name(made)}")

    async def _steer(self, child_kind: Resource, child: Object, workload: Object) -> None:
        """Suspend or resume what was made, as the workload is active or not."""
        wanted = not workloads.is_active(workload)
        policy = child["spec"] if child_kind == JOBS else child["spec"].get("runPolicy") or {}
        if bool(policy.get("suspend")) == wanted or is_deleting(child):
            return
        change = {"suspend": wanted} if child_kind == JOBS else {"runPolicy": {"suspend": wanted}}
        patch = {"metadata": {"uid": uid(child)}, "spec": change}
        namespace, called = meta.key(child)
        await self._engine.client.patch(child_kind, called, patch, kind="merge", namespace=namespace)

    async def _expire(self, item: Item, workload: Object) -> bool:
        """Delete a workload whose time after its end is over; whether it was."""
        try:
            ttl_s = workloads.seconds_to_live(workload)
        except UsageError:
            return False  # told when it was made
        ended = (workload.get("status") or {}).get("completionTime")
        if ttl_s is None or not ended:
            return False
        left_s = ttl_s - seconds_since(ended, self._engine.now_ns())
        if left_s > 0:
            self._queue.add_after(item, left_s)
            return False
        kind, (namespace, called) = item
        try:
            await self._engine.client.delete(
                kind, called, namespace=namespace, propagation="Background", uid=uid(workload)
            )
        except ApiError as error:
            if not error.is_not_found:
                raise
        return True
