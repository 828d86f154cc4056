"""Whose pod is it? Objects that match a selector are adopted, own ones that match no longer are let go."""

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from kubedyno.client.errors import ApiError
from kubedyno.controllers.engine import BY_CONTROLLER, BY_ORPHANAGE, Engine, all_of
from kubedyno.controllers.podcontrol import controller_reference
from kubedyno.controllers.podfacts import is_deleting, is_finished, name, uid
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.kube.selectors import LabelSelector


class Claims(msgspec.Struct, frozen=True):
    """What becomes of the candidates: `kept` are the owner's, `adopt` shall be, `release` shall not be any more."""

    kept: Sequence[Object]
    adopt: Sequence[Object]
    release: Sequence[Object]


def claims(owner: Object, selector: LabelSelector, controlled: Iterable[Object], orphans: Iterable[Object]) -> Claims:
    """Sort candidates: `controlled` name `owner` as their controller, `orphans` name nobody."""
    kept: list[Object] = []
    release: list[Object] = []
    for obj in controlled:
        (kept if selector.matches(meta.labels(obj)) else release).append(obj)
    if is_deleting(owner):
        # An owner that goes takes nobody in, and leaves letting go to the garbage collector.
        return Claims(kept, (), ())
    adopt = [obj for obj in orphans if not is_deleting(obj) and selector.matches(meta.labels(obj))]
    return Claims(kept, adopt, release)


def adoption(owner: Object, obj: Object, finalizers: Sequence[str] = ()) -> Object:
    """The patch that makes `owner` the controller of `obj`."""
    metadata: Object = {"uid": uid(obj), "ownerReferences": [controller_reference(owner)]}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return {"metadata": metadata}


def release(owner: Object, obj: Object, finalizers: Sequence[str] = ()) -> Object:
    """The patch that ends it."""
    metadata: Object = {"uid": uid(obj), "ownerReferences": [{"$patch": "delete", "uid": uid(owner)}]}
    if finalizers:
        metadata["$deleteFromPrimitiveList/finalizers"] = list(finalizers)
    return {"metadata": metadata}


async def claimed(
    engine: Engine,
    owner: Object,
    selector: LabelSelector,
    resource: Resource,
    *,
    finalizers: Sequence[str] = (),
    orphanage: str | None = None,
) -> list[Object]:
    """The objects that `owner` controls, after adopting and letting go as its selector says.

    `orphanage` is the value of the index where orphans are looked for; by default all of the namespace.
    """
    informer = engine.informer(resource)
    namespace = owner["metadata"]["namespace"]
    found = claims(
        owner,
        selector,
        informer.by_index(BY_CONTROLLER, uid(owner)),
        informer.by_index(BY_ORPHANAGE, orphanage or namespace),
    )
    if not found.adopt and not found.release:
        return list(found.kept)
    adopted: list[Object] = []

    async def patch(obj: Object, body: Object, *, taken: bool) -> None:
        answer = await engine.client.patch(resource, name(obj), body, kind="strategic", namespace=namespace)
        if taken:
            adopted.append(answer)

    outcomes = await all_of(
        [partial(patch, obj, adoption(owner, obj, finalizers), taken=True) for obj in found.adopt if _lives(obj)]
        + [partial(patch, obj, release(owner, obj, finalizers), taken=False) for obj in found.release]
    )
    for outcome in outcomes:
        # Gone, or another object of that name: nobody's to claim.
        if outcome is not None and not (isinstance(outcome, ApiError) and (outcome.is_not_found or outcome.is_invalid)):
            raise outcome
    return [*found.kept, *sorted(adopted, key=name)]


def _lives(obj: Object) -> bool:
    return not is_finished(obj)
