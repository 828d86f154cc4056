"""Creating and deleting pods for a controlling object: the pod from its template, the writes, and their events."""

from collections.abc import Sequence
from functools import partial

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.controllers.engine import Engine, all_of
from kubedyno.controllers.events import EventType
from kubedyno.controllers.expecting import Expectations
from kubedyno.controllers.podfacts import name, uid
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import PODS

_GENERATED_NAME_CHARS = 58


def controller_reference(owner: Object) -> Object:
    """The owner reference of what `owner` controls."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of_template(owner: Object, template: Object) -> Object:
    """A new pod of `owner`: labels, annotations, finalizers and spec of the template, a name to be generated."""
    from_template = template.get("metadata") or {}
    metadata: Object = {
        "generateName": f"{owner['metadata']['name']}-",
        "namespace": owner["metadata"]["namespace"],
    }
    for field in ("labels", "annotations", "finalizers"):
        if from_template.get(field):
            metadata[field] = meta.copied(from_template[field])
    metadata["ownerReferences"] = [controller_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": meta.copied(template.get("spec") or {})}


def indexed_generate_name(owner_name: str, index: int) -> str:
    """The prefix of a pod's name that tells its index; a long name of the owner is cut, the index never."""
    tail = f"-{index}-"
    prefix = f"{owner_name}{tail}"
    return prefix if len(prefix) <= _GENERATED_NAME_CHARS else f"{prefix[: _GENERATED_NAME_CHARS - len(tail)]}{tail}"


class PodControl:
    """Writes pods in the name of one controller; every write is expected to be seen again."""

    def __init__(self, engine: Engine, component: str, expectations: Expectations) -> None:
        self._engine = engine
        self._component = component
        self._expectations = expectations

    async def create(self, owner: Object, pods: Sequence[Object]) -> tuple[int, ApiError | Unreachable | None]:
        """Create pods in batches that double, so that a quota refuses one pod and not hundreds.

        Returns how many exist now, and a failure. A namespace that is going away is no failure: nothing can be done.
        """
        key = meta.key(owner)
        self._expectations.expect_creations(key, len(pods))
        created, batch, position = 0, 1, 0
        failure: ApiError | Unreachable | None = None
        while position < len(pods) and failure is None:
            part = pods[position : position + batch]
            outcomes = await all_of([partial(self._create, owner, pod) for pod in part])
            for outcome in outcomes:
                if outcome is None:
                    created += 1
                    continue
                self._expectations.created(key)
                if not _is_terminating_namespace(outcome):
                    failure = outcome
            position += len(part)
            batch *= 2
        if position < len(pods):
            self._expectations.created(key, len(pods) - position)
        return created, failure

    async def _create(self, owner: Object, pod: Object) -> None:
        try:
            made = await self._engine.client.create(PODS, pod)
        except ApiError as error:
            if not _is_terminating_namespace(error):
                self._tell(owner, "Warning", "FailedCreate", f"Error creating: {error.message}")
            raise
        self._tell(owner, "Normal", "SuccessfulCreate", f"Created pod: {name(made)}")

    async def delete(self, owner: Object, pods: Sequence[Object]) -> tuple[list[Object], ApiError | Unreachable | None]:
        """Delete pods side by side; those that are gone or going, and a failure."""
        key = meta.key(owner)
        self._expectations.expect_deletions(key, [uid(pod) for pod in pods])
        outcomes = await all_of([partial(self._delete, owner, pod) for pod in pods])
        gone: list[Object] = []
        failure: ApiError | Unreachable | None = None
        for pod, outcome in zip(pods, outcomes, strict=True):
            if outcome is None or (isinstance(outcome, ApiError) and outcome.is_not_found):
                gone.append(pod)
            else:
                failure = outcome
            if outcome is not None:
                self._expectations.deleted(key, uid(pod))
        return gone, failure

    async def _delete(self, owner: Object, pod: Object) -> None:
        try:
            await self._engine.client.delete(PODS, name(pod), namespace=pod["metadata"]["namespace"])
        except ApiError as error:
            if not error.is_not_found:
                self._tell(owner, "Warning", "FailedDelete", f"Error deleting: {error.message}")
            raise
        self._tell(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name(pod)}")

    def _tell(self, owner: Object, type_: EventType, reason: str, message: str) -> None:
        self._engine.event(self._component, owner, type_, reason, message)


def _is_terminating_namespace(error: ApiError | Unreachable) -> bool:
    return isinstance(error, ApiError) and any(cause.reason == "NamespaceTerminating" for cause in error.causes)
