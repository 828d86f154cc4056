"""Update: a new state of an object, from a PUT or from what a patch made, through all that a write goes through."""

from collections.abc import Callable

import msgspec

from kubedyno.kinds import admission
from kubedyno.kube import codec, problems, status
from kubedyno.kube.codec import Object
from kubedyno.server import bodies, creating, owning, reading
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import MODIFIED, Answer, Refused, Request, bad_request, conflict, other_namespace
from kubedyno.server.negotiation import representation
from kubedyno.server.options import WriteOptions, write_options
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.store.records import Record


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A write to an object that exists."""

    kind: Kind
    namespace: str
    name: str
    subresource: str
    options: WriteOptions
    owners_known: bool = False
    """Whether `managedFields` are already those after the write (server-side apply)."""
    names_state: bool = False
    """Whether a uid in the object says which one is meant (PUT); from a patch it would be a change."""


def update(state: State, route: Route, request: Request) -> Answer:
    """Answer a PUT to an object, or to its status."""
    kind = route.kind
    shown = representation(request.accept)
    options = write_options(request, "UpdateOptions")
    renewed = state.renewals.asked(route, request, options)
    replaced = state.rewrites.replaced(route, request, options)
    known = state.renewals.write(renewed) if renewed is not None else None
    known = state.rewrites.write(replaced) if replaced is not None else known
    if known is not None:
        return reading.answer(state, kind, known, shown, request)
    read = bodies.read_object(kind, request.body, request.content_type, options.validation)
    new = read.object
    check_names(new, route)
    change = Change(
        kind=kind,
        namespace=route.namespace,
        name=route.name,
        subresource=route.subresource,
        options=options,
        names_state=True,
    )
    try:
        record = reading.find(state, kind, route.namespace, route.name)
    except Refused:
        if not kind.allows_create_on_update or route.subresource:
            raise
        if new["metadata"].pop("resourceVersion", ""):
            raise conflict(kind.resource, route.name, MODIFIED) from None
        if uid := new["metadata"].get("uid"):
            raise _other_uid(change, uid, "") from None
        made, more = creating.create_object(state, kind, route.namespace, new, options)
        return reading.answer(state, kind, made, shown, request, code=201, warnings=(*read.warnings, *more))
    record, more = write(state, change, record, lambda _old: new)
    warnings = (*read.warnings, *more)
    if renewed is not None and not warnings:
        state.renewals.learn(renewed, record)
    if replaced is not None and not warnings:
        state.rewrites.learn(replaced, record)
    return reading.answer(state, kind, record, shown, request, warnings=warnings)


def check_names(obj: Object, route: Route) -> None:
    """Name and namespace of an object must be those of the path; the namespace may be left out."""
    metadata = obj.get("metadata") or {}
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if not name:
        raise bad_request(
            f"the name of the object ({route.name} based on URL) was undeterminable: name must be provided"
        )
    if name != route.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({route.name})")
    if namespace and namespace != route.namespace and route.kind.resource.namespaced:
        raise other_namespace()


def write(state: State, change: Change, record: Record, make: Callable[[Object], Object]) -> tuple[Record, list[str]]:
    """Write the state that `make` gives for the one before; the record after it, and warnings.

    A state that equals the one before is not written. An object that was only kept by its finalizers is gone with
    the last of them.
    """
    kind, resource = change.kind, change.kind.resource
    old = kind.from_stored(codec.decode(record.data))
    new = make(old)
    metadata = new["metadata"] = _in_place(new.get("metadata") or {}, old["metadata"])
    _check_version(change, metadata, old["metadata"])
    metadata.pop("selfLink", None)
    if resource.namespaced:
        metadata.setdefault("namespace", change.namespace)
    metadata.setdefault("resourceVersion", old["metadata"]["resourceVersion"])
    now = state.now()
    if not change.owners_known:
        # Of what is written through a Scale the server forgets when it was.
        when = "" if change.subresource == "scale" else now
        if change.subresource != "scale" or owning.has_owner(old, kind.replicas_path):
            owning.own_updated(kind, new, old, manager=change.options.manager, subresource=change.subresource, now=when)
    admission.admit_update(new, old, resource, state, subresource=change.subresource)
    if not change.subresource:
        state.addresses.allocate(resource, new, old)
    kind.prepare_update(new, old, now=now, subresource=change.subresource)
    found = kind.problems_updated(new, old, change.subresource)
    if found:
        raise creating.invalid(kind, new, found)
    charged = admission.validate_update(new, old, resource, state, subresource=change.subresource)
    warnings = [] if change.subresource else kind.warnings(new, old)
    written = _store(state, change, record, new, old)
    if written is not record and not change.options.dry_run:
        state.charge(charged)
    return written, warnings


def _in_place(metadata: Object, old: Object) -> Object:
    """New metadata in the order of the old one, with the owners that it does not tell: so they stay where they are."""
    told = {"managedFields": old["managedFields"], **metadata} if "managedFields" in old else metadata
    return {**{name: told[name] for name in old if name in told}, **told}


def _store(state: State, change: Change, record: Record, new: Object, old: Object) -> Record:
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if owning.differs_at_most_in_times(new, old):
        return record
    stored = change.kind.to_stored(new)
    resource_name = change.kind.stored.full_name
    if change.options.dry_run:
        return state.dry_record(stored, record)
    if is_let_go(new, old):
        # The answer is the new state, but watchers see the deletion of the one before: etcd never had the new one.
        state.store.delete(resource_name, change.namespace, change.name)
        return state.dry_record(stored, record)
    return state.store.replace(resource_name, stored)


def is_let_go(new: Object, old: Object) -> bool:
    """Whether nothing keeps an object any more that was to be deleted."""
    metadata = new["metadata"]
    return bool(
        old["metadata"].get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (new.get("spec") or {}).get("finalizers")
    )


def _check_version(change: Change, metadata: Object, old: Object) -> None:
    resource, name = change.kind.resource, change.name
    said = metadata.get("resourceVersion") or ""
    if said and not said.isdigit():
        raise Refused(status.failure(500, f'strconv.ParseUint: parsing "{said}": invalid syntax', reason=""))
    if not said and not change.kind.allows_unconditional_update:
        missing = problems.invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise Refused(problems.invalid_status(resource.plural, resource.group, name, [missing]))
    uid = metadata.get("uid") or ""
    if change.names_state and uid and uid != old["uid"]:
        raise _other_uid(change, uid, old["uid"])
    if said and said != old["resourceVersion"]:
        raise conflict(resource, name, MODIFIED)


def _other_uid(change: Change, said: str, uid: str) -> Refused:
    key = f"/registry/{registry_path(change.kind)}/{change.namespace}/{change.name}".replace("//", "/")
    return conflict(
        change.kind.resource,
        change.name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {said}, UID in object meta: {uid}",
    )


def registry_path(kind: Kind) -> str:
    """Where etcd would keep the kind, for messages."""
    if kind.is_custom:
        return f"{kind.resource.group}/{kind.resource.plural}"
    return kind.resource.plural
