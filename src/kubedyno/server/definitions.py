"""Custom resource definitions at work: when one is written its kinds are served, when it goes they go with it.

In the real server controllers do this a moment after the write. Here it is done right after it, by writes of the same
kind: watchers see the same states.
"""

from typing import Final

from kubedyno.kinds.custom import definitions
from kubedyno.kinds.custom.kinds import kinds_of
from kubedyno.kube import codec, meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import CRDS, Resource
from kubedyno.server import deleting, owning
from kubedyno.server.catalogue import Kind
from kubedyno.server.custom import Custom, custom
from kubedyno.server.options import DeleteOptions
from kubedyno.server.state import State
from kubedyno.store.errors import NotFound
from kubedyno.store.records import Field, Record

PLURAL: Final = CRDS.plural

_MANAGER: Final = "kube-apiserver"
"""Its controllers live in the server."""


def settle(state: State, name: str) -> None:
    """Bring a definition that was written, and what is served, in line with each other."""
    try:
        definition = codec.decode(state.store.get(CRDS.full_name, "", name).data)
    except NotFound:
        _withdraw(state, name, keeping=frozenset())
        return
    if definition["metadata"].get("deletionTimestamp"):
        _end(state, definition)
        return
    others = [other for other in state.list(CRDS, "") if other["metadata"]["name"] != name]
    now = state.now()
    settled = definitions.approval_noted(definitions.named(definition, others, now=now), now=now)
    settled = _written(state, definition, settled)
    settled = _written(state, settled, definitions.established(settled, now=now))
    if meta.is_condition_true(settled, "Established"):
        _serve(state, settled)


def begin_end(state: State, kind: Kind, record: Record, options: DeleteOptions) -> deleting.Ended:
    """Mark a definition for deletion: it stays until its objects are gone."""
    deleting.check_preconditions(kind, record, options)
    definition = codec.decode(record.data)
    if options.dry_run or definition["metadata"].get("deletionTimestamp"):
        return deleting.Ended(record, gone=False)
    pending = state.store.replace(CRDS.full_name, definitions.deletion_pending(definition, now=state.now()))
    return deleting.Ended(pending, gone=False)


def settle_after(state: State, kind: Kind) -> None:
    """Look again at the end of a definition after one of its objects was written."""
    if kind.is_terminating:
        settle(state, f"{kind.resource.plural}.{kind.resource.group}")


def _written(state: State, before: Object, after: Object) -> Object:
    if after != before:
        kind = state.catalogue.of(CRDS)
        after = {**after, "metadata": {**after["metadata"]}}
        owning.own_updated(kind, after, before, manager=_MANAGER, subresource="status", now=state.now())
        state.store.replace(CRDS.full_name, after)
    return after


def _serve(state: State, definition: Object) -> None:
    """Serve all versions that a definition says are served, and no others."""
    kinds = kinds_of(definition)
    keeper = next(kind for kind in kinds.values() if kind.resource.version == kind.storage_version)
    state.store.declare(keeper.resource.full_name, _fields(definition), starts_now=True)
    served = {kind.resource for kind in kinds.values() if kind.served}
    for kind in kinds.values():
        if kind.served:
            state.catalogue.add(custom(kind, keeper, definition))
    _withdraw(state, definition["metadata"]["name"], keeping=frozenset(served))


def _fields(definition: Object) -> list[Field]:
    """The fields that any version can be selected by; the store is told once."""
    paths = [
        one["jsonPath"].removeprefix(".")
        for version in definition["spec"]["versions"]
        for one in version.get("selectableFields") or ()
    ]
    return [Field(path, path) for path in dict.fromkeys(paths)]


def _withdraw(state: State, name: str, *, keeping: frozenset[Resource]) -> None:
    for kind in list(state.catalogue):
        resource = kind.resource
        if kind.is_custom and f"{resource.plural}.{resource.group}" == name and resource not in keeping:
            state.catalogue.remove(resource)


def _end(state: State, definition: Object) -> None:
    """Delete the objects of a definition that is to go; when all are gone, so is it."""
    name, now = definition["metadata"]["name"], state.now()
    kinds = [kind for kind in state.catalogue if isinstance(kind, Custom) and _is_of(kind, name)]
    if kinds:
        _serve(state, definition)  # from now on nothing new is created
        definition = _written(state, definition, definitions.deletion_begun(definition, now=now))
        keeper = state.catalogue.of(kinds[0].resource)
        left = [
            record
            for record in state.store.page(keeper.stored.full_name).items
            if record.deleting or not deleting.delete_record(state, keeper, record, DeleteOptions()).gone
        ]
        if left:
            return
    done = definitions.deletion_done(definition, now=now)
    _written(state, definition, done)
    if not done["metadata"].get("finalizers"):
        state.store.delete(CRDS.full_name, "", name)
        _withdraw(state, name, keeping=frozenset())


def _is_of(kind: Custom, name: str) -> bool:
    return f"{kind.resource.plural}.{kind.resource.group}" == name
