"""Delete: at once, after a grace period, or when the last finalizer is gone; of one object or of a collection."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from kubedyno.kinds import admission
from kubedyno.kinds.strategies import deletion
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube import codec, decoding, status
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import JOBS, NAMESPACES
from kubedyno.server import bodies, protobuf, reading
from kubedyno.server.bodies import media_type
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import JSON, Answer, Refused, Request, bad_request
from kubedyno.server.negotiation import representation
from kubedyno.server.options import DeleteOptions, ListOptions, delete_options
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.store.records import Record

_ACCEPTED = 202
_ORPHANS_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
    "set propagationPolicy=Orphan to suppress this warning"
)

_RETURNED = frozenset(
    [
        *("pods", "namespaces", "services", "serviceaccounts", "podtemplates", "resourcequotas"),
        *("persistentvolumes", "persistentvolumeclaims"),
        *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses", "devicetaintrules"),
        *("storageclasses", "volumeattachments", "volumeattributesclasses", "csidrivers", "csinodes"),
    ]
)
"""Kinds whose deletion answers with the object; that of others with a Status."""


End = Callable[[State, Kind, Record, DeleteOptions], "Ended"]


def delete(state: State, route: Route, request: Request, end: End) -> Answer:
    """Answer a DELETE of one object, which ends as `end` has it."""
    kind = route.kind
    shown = representation(request.accept)
    options = delete_options(request.query, _options_body(request))
    admission.admit_delete(kind.resource, route.name)
    record = reading.find(state, kind, route.namespace, route.name)
    ended = end(state, kind, record, options)
    warnings = _warnings(kind, options)
    if not ended.gone:
        code = _ACCEPTED if options.body.get("orphanDependents") is False else 200
        return reading.answer(state, kind, ended.record, shown, request, code=code, warnings=warnings)
    if kind.resource.plural in _RETURNED and not kind.is_custom:
        return reading.answer(state, kind, ended.record, shown, request, warnings=warnings)
    return Answer(200, _success(kind, record), warnings=warnings)


def _warnings(kind: Kind, options: DeleteOptions) -> tuple[str, ...]:
    if kind.resource == JOBS and not options.propagation:
        return (_ORPHANS_PODS,)
    return ()


def _success(kind: Kind, record: Record) -> bytes:
    details = {"name": record.name, "group": kind.resource.group, "kind": kind.resource.plural, "uid": record.uid}
    return codec.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {name: value for name, value in details.items() if value},
        }
    )


class Ended(msgspec.Struct, frozen=True):
    """What a deletion came to: the last state, and whether the object is gone."""

    record: Record
    gone: bool


def delete_record(state: State, kind: Kind, record: Record, options: DeleteOptions) -> Ended:
    """Delete an object, or mark it to be deleted."""
    check_preconditions(kind, record, options)
    obj = kind.from_stored(codec.decode(record.data))
    metadata = obj["metadata"]
    finalizers = deletion.collection_finalizers(obj, kind.resource, options.body)
    graceful = deletion.is_graceful(kind.resource)
    grace_s = deletion.grace_period_s(obj, options.body) if graceful else 0
    kept = bool(finalizers) or grace_s > 0 or bool(_content_finalizers(kind, obj))
    resource_name = kind.stored.full_name
    if not kept and not graceful:
        last = record if options.dry_run else state.store.delete(resource_name, record.namespace, record.name)
        return Ended(last, gone=True)
    before = codec.encode(obj)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    _mark(state, kind, obj, grace_s)
    marked = record
    if codec.encode(obj) != before:
        if "generation" in metadata and not record.deleting:
            metadata["generation"] += 1
        stored = kind.to_stored(obj)
        marked = state.dry_record(stored, record) if options.dry_run else state.store.replace(resource_name, stored)
    if not kept and not options.dry_run:
        # A pod is marked even when it goes at once: watchers see that it was asked to, and then that it is gone.
        marked = state.store.delete(resource_name, record.namespace, record.name)
    return Ended(marked, gone=not kept)


def _mark(state: State, kind: Kind, obj: Object, grace_s: int) -> None:
    """Enter when it is to be gone; a later wish can only be for an earlier end."""
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata:
        if grace_s >= metadata.get("deletionGracePeriodSeconds", 0):
            return
        # The end is counted from when it was first asked for, as the real server does.
        asked = datetime.fromisoformat(metadata["deletionTimestamp"]).timestamp()
        asked -= metadata.get("deletionGracePeriodSeconds", 0)
        end_s = max(asked + grace_s, asked)
    else:
        end_s = state.clock.wall_ns() // NS_PER_S + grace_s
    metadata["deletionTimestamp"] = datetime.fromtimestamp(end_s, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if kind.resource == NAMESPACES:  # it is told by its phase
        obj.setdefault("status", {})["phase"] = "Terminating"
    else:
        metadata["deletionGracePeriodSeconds"] = grace_s


def _content_finalizers(kind: Kind, obj: Object) -> list[str]:
    """Of a namespace: who has to empty it first."""
    if kind.resource.plural == "namespaces" and not kind.resource.group:
        return (obj.get("spec") or {}).get("finalizers") or []
    return []


def check_preconditions(kind: Kind, record: Record, options: DeleteOptions) -> None:
    """Refuse to delete another object, or another state of it, than the one that was meant."""
    resource = kind.resource
    problem = ""
    if options.uid is not None and options.uid != record.uid:
        problem = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({record.uid}). "
            "The object might have been deleted and then recreated"
        )
    elif options.version is not None and options.version != str(record.revision):
        problem = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in "
            f"record ({record.revision}). The object might have been modified"
        )
    if problem:
        # Here the real server names the kind where it names the resource elsewhere.
        qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
        said = f'Operation cannot be fulfilled on {qualified} "{record.name}": {problem}'
        raise Refused(status.failure(409, said, name=record.name, group=resource.group, resource=resource.kind))


def delete_collection(state: State, route: Route, request: Request, listed: ListOptions) -> Answer:
    """Answer a DELETE of a collection with what was deleted."""
    kind = route.kind
    options = delete_options(request.query, _options_body(request))
    chosen = reading.selection(state, route, listed)
    page = state.store.page(kind.stored.full_name, chosen, limit=listed.limit)
    for record in page.items:
        delete_record(state, kind, record, options)
    # The answer tells what there was, not what became of it.
    metadata = {"resourceVersion": str(page.revision)}
    return reading.list_answer(state, kind, page.items, metadata, request)


def _options_body(request: Request) -> Object:
    """The DeleteOptions in the body, if there is one."""
    if not request.body:
        return {}
    media = media_type(request.content_type)
    if media == protobuf.MEDIA_TYPE:
        return protobuf.decode_delete_options(request.body)
    if media not in {bodies.YAML, JSON, ""}:
        raise bodies.unknown_format()
    try:
        options = bodies.yaml_object(request.body) if media == bodies.YAML else bodies.json_value(request.body)
    except ValueError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(options, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type v1.DeleteOptions")
    kind, version = options.get("kind") or "DeleteOptions", options.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise bad_request(f'no kind "{kind}" is registered for version "{version}" {bodies.SCHEME}')
    for name, (kinds, go_type) in _OPTION_TYPES.items():
        value = options.get(name)
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
            found = decoding.json_kind(value)
            raise bad_request(
                f"json: cannot unmarshal {found} into Go struct field DeleteOptions.{name} of type {go_type}"
            )
    return options


_OPTION_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "gracePeriodSeconds": ((int,), "int64"),
    "orphanDependents": ((bool,), "bool"),
    "propagationPolicy": ((str,), "v1.DeletionPropagation"),
    "preconditions": ((dict,), "v1.Preconditions"),
    "dryRun": ((list,), "[]string"),
}
