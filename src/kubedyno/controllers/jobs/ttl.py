"""Finished Jobs go away after their `ttlSecondsAfterFinished`."""

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.engine import Engine
from kubedyno.controllers.podfacts import is_deleting, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.stamps import seconds_since
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS

COMPONENT = "ttl-after-finished-controller"


def seconds_left(job: Object, now_ns: int) -> float | None:
    """Seconds until a finished Job is deleted, negative when it is overdue; None when it is not to be deleted."""
    ttl_s = job["spec"].get("ttlSecondsAfterFinished")
    if ttl_s is None or is_deleting(job):
        return None
    for type_ in ("Complete", "Failed"):
        entry = meta.condition(job, type_)
        if entry is not None and entry["status"] == "True":
            return float(ttl_s) - seconds_since(entry["lastTransitionTime"], now_ns)
    return None


class TtlController:
    """Deletes finished Jobs when their time has come."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs = engine.informer(JOBS)
        self._queue: WorkQueue[Key] = engine.queue()
        self._jobs.subscribe(self._changed)

    def start(self) -> None:
        """Work off jobs that have a time to live."""
        self._engine.work(COMPONENT, self._queue, self._sync)

    def _changed(self, change: Change) -> None:
        if change.new is not None:
            left_s = seconds_left(change.new, self._engine.now_ns())
            if left_s is not None:
                self._queue.add_after(change.key, left_s)

    async def _sync(self, key: Key) -> None:
        job = self._jobs.get(key)
        if job is None:
            return
        left_s = seconds_left(job, self._engine.now_ns())
        if left_s is None:
            return
        if left_s > 0:
            self._queue.add_after(key, left_s)
            return
        try:
            await self._engine.client.delete(
                JOBS,
                key[1],
                namespace=key[0],
                propagation="Foreground",
                uid=uid(job),
                resource_version=job["metadata"]["resourceVersion"],
            )
        except ApiError as error:
            if not error.is_not_found:
                raise
