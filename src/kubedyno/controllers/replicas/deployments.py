"""The Deployment controller: one ReplicaSet per template, and one step of a rollout per look."""

from collections.abc import Sequence

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Change, Key
from kubedyno.controllers.adopting import claimed
from kubedyno.controllers.engine import BY_CONTROLLER, Engine
from kubedyno.controllers.expecting import Written
from kubedyno.controllers.podcontrol import controller_reference
from kubedyno.controllers.podfacts import controller_of, is_deleting, is_finished, name, uid
from kubedyno.controllers.queue import WorkQueue
from kubedyno.controllers.replicas import conditions, progress, rollout
from kubedyno.controllers.replicas.rollout import count, replicas
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from kubedyno.kube.selectors import LabelSelector

COMPONENT = "deployment-controller"

_WORKERS = 5


class DeploymentController:
    """Creates and sizes the ReplicaSets of Deployments."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._client = engine.client
        self._deployments = engine.informer(DEPLOYMENTS)
        self._sets = engine.informer(REPLICA_SETS)
        self._pods = engine.informer(PODS)
        self._queue: WorkQueue[Key] = engine.queue()
        self._written = Written()
        self._written_sets = Written()
        self._deployments.subscribe(self._changed)
        self._sets.subscribe(self._set_changed)
        self._pods.subscribe(self._pod_changed)

    def start(self) -> None:
        """Work off Deployments."""
        self._engine.work(COMPONENT, self._queue, self._sync, workers=_WORKERS)

    def _changed(self, change: Change) -> None:
        if change.new is None:
            self._written.forget(change.key)
        self._queue.add(change.key)

    def _set_changed(self, change: Change) -> None:
        if change.new is None:
            self._written_sets.forget(change.key)
        owner = controller_of(change.object)
        if owner is not None:
            if owner["kind"] == DEPLOYMENTS.kind:
                self._queue.add((change.key[0], owner["name"]))
            return
        labels = meta.labels(change.object)
        for deployment in self._deployments.items:
            if deployment["metadata"]["namespace"] == change.key[0] and _selector(deployment).matches(labels):
                self._queue.add(meta.key(deployment))

    def _pod_changed(self, change: Change) -> None:
        """A Deployment that recreates waits for the last old pod to go."""
        if change.new is not None:
            return
        owner = controller_of(change.object)
        replica_set = self._sets.get((change.key[0], owner["name"])) if owner is not None else None
        above = controller_of(replica_set) if replica_set is not None else None
        if above is not None and above["kind"] == DEPLOYMENTS.kind:
            self._queue.add((change.key[0], above["name"]))

    async def _sync(self, key: Key) -> None:
        found = self._deployments.get(key)
        if found is None or self._written.is_newer_than(key, found):
            return
        deployment = {**found, "apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind}
        # Copies: a set is changed in place when it is scaled.
        sets = [dict(entry) for entry in await claimed(self._engine, deployment, _selector(found), REPLICA_SETS)]
        if any(self._written_sets.is_newer_than(meta.key(entry), entry) for entry in sets):
            return
        if is_deleting(found):
            await self._write_status(deployment, sets, rollout.find_new(deployment, sets), is_rollout=False)
            return
        deployment = await self._note_pause(deployment)
        if deployment["spec"].get("paused") or rollout.is_scaled(deployment, sets):
            await self._resize(deployment, sets)
        else:
            await self._roll_out(deployment, sets)

    async def _resize(self, deployment: Object, sets: list[Object]) -> None:
        deployment, new, old = await self._new_and_old(deployment, sets, create=False)
        for entry, size in rollout.resized(deployment, new, old):
            await self._scale(deployment, entry, size)
        if deployment["spec"].get("paused"):
            await self._forget_history(deployment, old)
        await self._write_status(deployment, [*old, *_listed(new)], new, is_rollout=False)

    async def _roll_out(self, deployment: Object, sets: list[Object]) -> None:
        if rollout.is_rolling(deployment):
            deployment, new, old = await self._new_and_old(deployment, sets, create=True)
            if new is None:
                return
            wanted = replicas(deployment)
            size = min(wanted, replicas(new))
            if replicas(new) < wanted:
                size = rollout.new_size(deployment, [*old, new], replicas(new))
            has_changed = await self._scale(deployment, new, size)
            if not has_changed:
                for entry, smaller in rollout.shrunk(deployment, old, new):
                    has_changed |= await self._scale(deployment, entry, smaller)
        else:
            deployment, new, old, has_changed = await self._recreate(deployment, sets)
        if not has_changed and progress.is_complete(deployment, deployment.get("status") or {}):
            await self._forget_history(deployment, old)
        await self._write_status(deployment, [*old, *_listed(new)], new, is_rollout=True)

    async def _recreate(
        self, deployment: Object, sets: list[Object]
    ) -> tuple[Object, Object | None, list[Object], bool]:
        """All old pods go before the first new one comes."""
        deployment, new, old = await self._new_and_old(deployment, sets, create=False)
        has_changed = False
        for entry in old:
            has_changed |= await self._scale(deployment, entry, 0)
        are_old_left = any(count(entry, "replicas") for entry in old) or any(
            not is_finished(pod) for entry in old for pod in self._pods.by_index(BY_CONTROLLER, uid(entry))
        )
        if has_changed or are_old_left:
            return deployment, new, old, True
        if new is None:
            deployment, new, old = await self._new_and_old(deployment, sets, create=True)
        if new is not None:
            has_changed = await self._scale(deployment, new, replicas(deployment))
        return deployment, new, old, has_changed

    async def _new_and_old(
        self, deployment: Object, sets: list[Object], *, create: bool
    ) -> tuple[Object, Object | None, list[Object]]:
        """The set of the template of now, made if need be, and the others; revisions are kept right."""
        new = rollout.find_new(deployment, sets)
        old = [entry for entry in sets if new is None or uid(entry) != uid(new)]
        revision = max(map(rollout.revision, old), default=0) + 1
        if new is None:
            if not create:
                return deployment, None, old
            deployment, new = await self._create(deployment, old)
            return deployment, new, old
        wanted = rollout.annotations_of(deployment, new, revision)
        min_ready_s = deployment["spec"].get("minReadySeconds", 0)
        if wanted != meta.annotations(new) or new["spec"].get("minReadySeconds", 0) != min_ready_s:
            metadata = {**new["metadata"], "annotations": wanted}
            new = await self._write_set(
                {**new, "metadata": metadata, "spec": {**new["spec"], "minReadySeconds": min_ready_s}}
            )
            return deployment, new, old
        text = f'Found new replica set "{name(new)}"'
        deployment = await self._note_revision(deployment, new, "FoundNewReplicaSet", text, is_new=False)
        return deployment, new, old

    async def _create(self, deployment: Object, old: Sequence[Object]) -> tuple[Object, Object | None]:
        body = rollout.new_set(deployment, old, controller_reference(deployment))
        try:
            made = await self._client.create(REPLICA_SETS, body)
        except ApiError as error:
            if error.is_already_exists:
                await self._avoid_collision(deployment, body)
            elif not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                text = f'Failed to create new replica set "{body["metadata"]["name"]}": {error.message}'
                self._engine.event(COMPONENT, deployment, "Warning", "ReplicaSetCreateError", text)
            raise
        self._written_sets.note(meta.key(made), made)
        if replicas(made):
            text = f"Scaled up replica set {name(made)} from 0 to {replicas(made)}"
            self._engine.event(COMPONENT, deployment, "Normal", "ScalingReplicaSet", text)
        text = f'Created new replica set "{name(made)}"'
        return await self._note_revision(deployment, made, "NewReplicaSetCreated", text, is_new=True), made

    async def _avoid_collision(self, deployment: Object, body: Object) -> None:
        """Another set has that name: the next try hashes to another one."""
        there = self._sets.get(meta.key(body))
        if there is None or (controller_of(there) or {}).get("uid") == uid(deployment):
            return
        status = {**(deployment.get("status") or {}), "collisionCount": count(deployment, "collisionCount") + 1}
        await self._put_status(deployment, status)

    async def _note_revision(self, deployment: Object, new: Object, reason: str, text: str, *, is_new: bool) -> Object:
        """Copy the revision of the new set to the Deployment, and tell of the set."""
        status: Object = meta.copied(deployment.get("status") or {})
        annotations = {**meta.annotations(deployment), rollout.REVISION: str(rollout.revision(new))}
        tells = progress.has_deadline(deployment) and (is_new or conditions.get(status, "Progressing") is None)
        if tells:
            progress.put(status, "Progressing", "True", reason, text, now_ns=self._engine.now_ns())
        if not tells and annotations == meta.annotations(deployment):
            return deployment
        metadata = {**deployment["metadata"], "annotations": annotations}
        return await self._put_status({**deployment, "metadata": metadata}, status)

    async def _note_pause(self, deployment: Object) -> Object:
        entry = conditions.get(deployment.get("status") or {}, "Progressing")
        reason = (entry or {}).get("reason")
        paused = bool(deployment["spec"].get("paused"))
        if not progress.has_deadline(deployment) or reason == "ProgressDeadlineExceeded":
            return deployment
        if paused == (reason == "DeploymentPaused"):
            return deployment
        status: Object = meta.copied(deployment.get("status") or {})
        word = "Paused" if paused else "Resumed"
        progress.put(
            status,
            "Progressing",
            "Unknown",
            f"Deployment{word}",
            f"Deployment is {word.lower()}",
            now_ns=self._engine.now_ns(),
        )
        return await self._put_status(deployment, status)

    async def _scale(self, deployment: Object, replica_set: Object, size: int) -> bool:
        """Give a set another size; whether it had another one. The set is changed in place to its new state."""
        before = replicas(replica_set)
        annotations = {**meta.annotations(replica_set), **rollout.size_annotations(deployment)}
        if before == size and not (
            rollout.is_scaled(deployment, [replica_set]) and annotations != meta.annotations(replica_set)
        ):
            return False
        metadata = {**replica_set["metadata"], "annotations": annotations}
        spec = {**replica_set["spec"], "replicas": size}
        answer = await self._write_set({**replica_set, "metadata": metadata, "spec": spec})
        replica_set["metadata"], replica_set["spec"] = answer["metadata"], answer["spec"]
        if before == size:
            return False
        way = "up" if before < size else "down"
        text = f"Scaled {way} replica set {name(replica_set)} from {before} to {size}"
        self._engine.event(COMPONENT, deployment, "Normal", "ScalingReplicaSet", text)
        return True

    async def _write_set(self, replica_set: Object) -> Object:
        answer = await self._client.update(REPLICA_SETS, replica_set)
        self._written_sets.note(meta.key(answer), answer)
        return answer

    async def _forget_history(self, deployment: Object, old: Sequence[Object]) -> None:
        for entry in rollout.expired(deployment, old):
            try:
                await self._client.delete(REPLICA_SETS, name(entry), namespace=entry["metadata"]["namespace"])
            except ApiError as error:
                if not error.is_not_found:
                    raise

    async def _write_status(
        self, deployment: Object, sets: Sequence[Object], new: Object | None, *, is_rollout: bool
    ) -> None:
        now_ns = self._engine.now_ns()
        decide = progress.rollout_status if is_rollout else progress.status_of
        status = decide(deployment, sets, new, now_ns=now_ns)
        if status != (deployment.get("status") or {}):
            await self._put_status(deployment, status)
        wait_s = progress.seconds_to_deadline(deployment, status, now_ns)
        if wait_s is not None:
            self._queue.add_after(meta.key(deployment), wait_s)

    async def _put_status(self, deployment: Object, status: Object) -> Object:
        answer = await self._client.update(DEPLOYMENTS, {**deployment, "status": status}, subresource="status")
        self._written.note(meta.key(answer), answer)
        return {**answer, "apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind}


def _listed(new: Object | None) -> list[Object]:
    return [new] if new is not None else []


def _selector(deployment: Object) -> LabelSelector:
    return LabelSelector.from_object(deployment["spec"].get("selector"))
