"""The Job controller: follows jobs and pods, decides with the ledger, writes pods and statuses."""

from functools import partial

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.informer import Change, Key
from kubedyno.client.rest import Client
from kubedyno.controllers.adopting import claimed
from kubedyno.controllers.engine import BY_CONTROLLER, Engine, all_of
from kubedyno.controllers.expecting import Expectations, Written
from kubedyno.controllers.jobs import judging, podwork, tracking
from kubedyno.controllers.jobs.backoff import Failures
from kubedyno.controllers.jobs.ledger import TRACKING, Ledger, opened
from kubedyno.controllers.podcontrol import PodControl
from kubedyno.controllers.podfacts import controller_of, has_finalizer, is_deleting, is_ready, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, PODS
from kubedyno.kube.selectors import LabelSelector

COMPONENT = "job-controller"

_BATCH_S = 1.0
"""Changes of pods are gathered for so long, as in Kubernetes: a Job of many pods is looked at once per second."""

_FIRST_RETRY_S = 1.0
_MOST_RETRY_S = 60.0
_WORKERS = 5

JOB_NAME = "batch.kubernetes.io/job-name"

_ALIVE = frozenset({"Pending", "Running"})
_OF_VERSIONS = frozenset({"resourceVersion", "generation", "managedFields"})

_RELEASE = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}


def is_finished(job: Object) -> bool:
    """Whether a Job is complete or failed."""
    return meta.is_condition_true(job, "Complete") or meta.is_condition_true(job, "Failed")


def is_ours(job: Object) -> bool:
    """Whether no other controller has been named for the Job."""
    return job["spec"].get("managedBy") in {None, "kubernetes.io/job-controller"}


class JobController:
    """Creates, deletes and counts the pods of Jobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._client: Client = engine.client
        self._jobs = engine.informer(JOBS)
        self._pods = engine.informer(PODS)
        self._queue: WorkQueue[Key] = engine.queue(first_s=_FIRST_RETRY_S, most_s=_MOST_RETRY_S)
        self._orphans: WorkQueue[Key] = engine.queue(first_s=_FIRST_RETRY_S, most_s=_MOST_RETRY_S)
        self._expectations = Expectations(engine.clock)
        self._control = PodControl(engine, COMPONENT, self._expectations)
        self._written = Written()
        self._failures: dict[Key, Failures] = {}
        self._released: dict[Key, dict[str, None]] = {}
        self._finished: dict[str, None] = {}
        self._with_selector: dict[Key, None] = {}
        self._jobs.subscribe(self._job_changed)
        self._pods.subscribe(self._pod_changed)

    def start(self) -> None:
        """Work off jobs, and pods whose Job is gone."""
        self._engine.work(COMPONENT, self._queue, self._sync, workers=_WORKERS)
        self._engine.work(f"{COMPONENT} orphans", self._orphans, self._release_orphan, workers=_WORKERS)

    def _job_changed(self, change: Change) -> None:
        job = change.object
        if job["spec"].get("manualSelector"):
            self._with_selector[change.key] = None
        if change.new is None:
            self._forget(change.key)
            self._with_selector.pop(change.key, None)
            self._finished.pop(uid(job), None)
        if change.new is None or is_finished(job):
            for pod in self._pods.by_index(BY_CONTROLLER, uid(job)):
                if has_finalizer(pod, TRACKING):
                    self._orphans.add(meta.key(pod))
            return
        is_same_spec = change.old is not None and _generation(change.old) == _generation(job)
        self._queue.add_after(change.key, _BATCH_S if is_same_spec else 0.0)

    def _pod_changed(self, change: Change) -> None:
        pod = change.object
        is_tracked = has_finalizer(pod, TRACKING)
        before = controller_of(change.old) if change.old is not None else None
        owner = controller_of(pod)
        for reference in (before, owner) if before != owner else (owner,):
            if reference is not None and reference["kind"] == "Job":
                self._pod_of_job_changed(change, reference, is_tracked=is_tracked)
        if owner is None:
            if is_tracked and change.new is not None:
                self._orphans.add(change.key)
            if change.old is None or before is not None or meta.labels(change.old) != meta.labels(pod):
                self._wake_selecting(pod)

    def _pod_of_job_changed(self, change: Change, reference: Object, *, is_tracked: bool) -> None:
        key = (change.key[0], reference["name"])
        job = self._jobs.get(key)
        if change.new is None or is_deleting(change.new):
            self._expectations.deleted(key, uid(change.object))
        if change.type == "ADDED":
            self._expectations.created(key)
        if change.new is None or not is_tracked:
            self._released.get(key, {}).pop(uid(change.object), None)
        if job is None or uid(job) != reference["uid"] or is_finished(job):
            if is_tracked and change.new is not None:
                self._orphans.add(change.key)
            return
        if change.old is None or change.new is None or _concerns(change.old) != _concerns(change.new):
            self._queue.add_after(key, _BATCH_S)

    def _wake_selecting(self, pod: Object) -> None:
        """A pod without a controller may be one that a Job wants: that of its label, or one with its own selector."""
        labels, namespace = meta.labels(pod), pod["metadata"]["namespace"]
        candidates = [key for key in self._with_selector if key[0] == namespace]
        if JOB_NAME in labels:
            candidates.append((namespace, labels[JOB_NAME]))
        for key in candidates:
            job = self._jobs.get(key)
            if job is not None and not is_finished(job) and _selector(job).matches(labels):
                self._queue.add_after(key, _BATCH_S)

    def _forget(self, key: Key) -> None:
        self._expectations.forget(key)
        self._written.forget(key)
        self._failures.pop(key, None)
        self._released.pop(key, None)

    async def _sync(self, key: Key) -> None:
        found = self._jobs.get(key)
        if found is None:
            self._forget(key)
            return
        if not is_ours(found) or self._written.is_newer_than(key, found):
            return
        if is_finished(found):
            self._forget(key)
            self._finished.pop(uid(found), None)
            return
        if uid(found) in self._finished:
            return
        job = {**found, "apiVersion": JOBS.api_version, "kind": JOBS.kind}
        are_met = self._expectations.are_met(key)
        orphanage = None if job["spec"].get("manualSelector") else uid(job)
        pods = await claimed(self._engine, job, _selector(job), PODS, finalizers=(TRACKING,), orphanage=orphanage)
        ledger = opened(
            job,
            pods,
            released=frozenset(self._released.get(key, ())),
            failures=self._failures.get(key, Failures()),
            now_ns=self._engine.now_ns(),
        )
        judging.judge(ledger)
        if ledger.verdict is not None:
            failure = await self._end_pods(ledger, are_met=are_met)
        else:
            managed = are_met and not is_deleting(job)
            failure = await self._manage(ledger) if managed else None
            judging.judge_completion(ledger, managed=managed)
        await self._account(key, ledger)
        if ledger.requeue_s is not None:
            self._queue.add_after(key, ledger.requeue_s)
        if failure is not None:
            raise failure

    async def _end_pods(self, ledger: Ledger, *, are_met: bool) -> ApiError | Unreachable | None:
        """The Job is over: its active pods go, and are counted on the way."""
        gone, failure = await self._control.delete(ledger.job, ledger.active_pods)
        if len(gone) != ledger.active or not are_met:
            ledger.verdict = None
        self._note_gone(ledger, gone)
        return failure

    async def _manage(self, ledger: Ledger) -> ApiError | Unreachable | None:
        work = podwork.wanted(ledger)
        if work.wait_s:
            ledger.requeue_s = min(max(work.wait_s, _BATCH_S), ledger.requeue_s or float("inf"))
        if work.delete:
            # Without their finalizers first: what a Job deletes by itself is no failure.
            await all_of([partial(self._release, pod) for pod in work.delete])
            gone, failure = await self._control.delete(ledger.job, work.delete)
            self._note_gone(ledger, gone)
            return failure
        if work.create:
            created, failure = await self._control.create(ledger.job, work.create)
            ledger.active += created
            return failure
        return None

    @staticmethod
    def _note_gone(ledger: Ledger, gone: list[Object]) -> None:
        ledger.active -= len(gone)
        ledger.terminating += len(gone)
        ledger.ready -= sum(map(is_ready, gone))

    async def _account(self, key: Key, ledger: Ledger) -> None:
        """Write what is uncounted, release those pods, write the counts."""
        release, is_full = tracking.track(ledger)
        if ledger.is_changed:
            await self._write_status(key, ledger)
            self._failures[key] = ledger.failures
        held = {uid(pod) for pod in ledger.pods if ledger.is_tracked(pod)}
        expected = self._released.setdefault(key, {})
        expected.update(dict.fromkeys(uid(pod) for pod in release))
        outcomes = await all_of([partial(self._release, pod) for pod in release])
        failure = None
        for pod, outcome in zip(release, outcomes, strict=True):
            if outcome is None:
                held.discard(uid(pod))
            else:
                expected.pop(uid(pod), None)
                failure = outcome
        must_write = tracking.count_released(ledger, held)
        is_over = failure is None and not is_full and tracking.finish(ledger)
        if must_write or is_over:
            await self._write_status(key, ledger)
        if is_over:
            self._finished[uid(ledger.job)] = None
        for type_, reason, message in ledger.events:
            self._engine.event(COMPONENT, ledger.job, "Warning" if type_ == "Warning" else "Normal", reason, message)
        if failure is not None:
            raise failure

    async def _write_status(self, key: Key, ledger: Ledger) -> None:
        answer = await self._client.update(JOBS, {**ledger.job, "status": ledger.status}, subresource="status")
        self._written.note(key, answer)
        ledger.job = {**answer, "apiVersion": JOBS.api_version, "kind": JOBS.kind}

    async def _release(self, pod: Object) -> None:
        """Remove our finalizer; a pod that is gone has none."""
        if not has_finalizer(pod, TRACKING):
            return
        try:
            await self._client.patch(
                PODS, name(pod), _RELEASE, kind="strategic", namespace=pod["metadata"]["namespace"]
            )
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def _release_orphan(self, key: Key) -> None:
        pod = self._pods.get(key)
        if pod is None:
            return
        owner = controller_of(pod)
        if owner is not None:
            if owner["kind"] != "Job":
                return
            job = self._jobs.get((key[0], owner["name"]))
            if job is not None and uid(job) == owner["uid"] and (not is_ours(job) or not is_finished(job)):
                return
        await self._release(pod)


def _selector(job: Object) -> LabelSelector:
    return LabelSelector.from_object(job["spec"].get("selector"))


def _concerns(pod: Object) -> Object:
    """What a Job may decide upon in a pod. That it is bound, and that it gets started, are not among it."""
    status = pod.get("status") or {}
    seen = {name: value for name, value in pod["metadata"].items() if name not in _OF_VERSIONS}
    if status.get("phase") not in _ALIVE or is_deleting(pod):
        return {**seen, "status": status}
    fields = ("initContainerStatuses", "containerStatuses")
    restarts = [one.get("restartCount", 0) for field in fields for one in status.get(field) or ()]
    return {**seen, "phase": status["phase"], "ready": is_ready(pod), "restarts": sum(restarts)}


def _generation(obj: Object) -> int:
    generation: int = obj["metadata"].get("generation", 0)
    return generation
