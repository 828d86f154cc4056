"""The training operator, simulated: follows PyTorchJobs and their pods, and carries out what is judged of them."""

from typing import Final

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import BY_CONTROLLER, Engine
from kubedyno.controllers.expecting import Expectations, Written
from kubedyno.controllers.operators import judging, replicas
from kubedyno.controllers.operators.judging import Judgement
from kubedyno.controllers.podcontrol import PodControl
from kubedyno.controllers.podfacts import controller_of, is_deleting, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS, PYTORCH_JOBS

NAME: Final = "simulated training operator"

_MANAGERS = frozenset({None, "", "kubeflow.org/training-operator"})
_WORKERS = 16
_MOST_RETRY_S = 8.0
"""A pod's name may be taken by one of an earlier job that is on its way out: that takes seconds, not minutes."""


class TrainingOperator:
    """Creates, replaces and counts the pods of PyTorchJobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs = engine.informer(PYTORCH_JOBS)
        self._pods = engine.informer(PODS, label_selector=f"{replicas.OPERATOR_NAME}={replicas.OPERATOR}")
        self._queue: WorkQueue[Key] = engine.queue(most_s=_MOST_RETRY_S)
        self._expectations = Expectations(engine.clock)
        self._control = PodControl(engine, replicas.OPERATOR, self._expectations)
        self._written = Written()
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)

    def start(self) -> None:
        """Work off jobs."""
        self._engine.work(NAME, self._queue, self._sync, workers=_WORKERS)

    def _job_changed(self, change: Change) -> None:
        if change.new is None or (change.old is not None and uid(change.old) != uid(change.new)):
            self._expectations.forget(change.key)
            self._written.forget(change.key)
        if change.new is not None:
            self._queue.add(change.key)

    def _pod_changed(self, change: Change) -> None:
        owner = controller_of(change.object)
        if owner is None or owner["kind"] != PYTORCH_JOBS.kind:
            return
        key = (change.key[0], owner["name"])
        if change.type == "ADDED":
            self._expectations.created(key)
        if change.new is None or is_deleting(change.new):
            self._expectations.deleted(key, uid(change.object))
        self._queue.add(key)

    async def _sync(self, key: Key) -> None:
        found = self._jobs.get(key)
        if (
            found is None
            or is_deleting(found)
            or (found["spec"].get("runPolicy") or {}).get("managedBy") not in _MANAGERS
            or self._written.is_newer_than(key, found)
            or not self._expectations.are_met(key)
        ):
            return
        job = {**found, "apiVersion": PYTORCH_JOBS.api_version, "kind": PYTORCH_JOBS.kind}
        pods = self._pods.by_index(BY_CONTROLLER, uid(job))
        judgement = judging.judge(job, pods, now_ns=self._engine.now_ns())
        if judgement.is_expired:
            await self._remove(job)
            return
        await self._carry_out(key, job, judgement)

    async def _carry_out(self, key: Key, job: Object, judgement: Judgement) -> None:
        """Pods first, then what is told of them; a refusal is told as well, and the rest tried again."""
        _, failure = await self._control.delete(job, judgement.delete) if judgement.delete else ([], None)
        if judgement.create:
            _, refused = await self._control.create(job, judgement.create)
            failure = failure or refused
        if judgement.status != (job.get("status") or {}):
            answer = await self._engine.client.update(
                PYTORCH_JOBS, {**job, "status": judgement.status}, subresource="status"
            )
            self._written.note(key, answer)
        for type_, reason, message in judgement.events:
            self._engine.event(replicas.OPERATOR, job, type_, reason, message)
        if judgement.again_s is not None:
            self._queue.add_after(key, judgement.again_s)
        if failure is not None:
            raise failure

    async def _remove(self, job: Object) -> None:
        namespace, name = meta.key(job)
        try:
            await self._engine.client.delete(
                PYTORCH_JOBS, name, namespace=namespace, propagation="Background", uid=uid(job)
            )
        except ApiError as error:
            if not error.is_not_found:
                raise
