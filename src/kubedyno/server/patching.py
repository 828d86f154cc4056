"""Patch: JSON, merge and strategic patches of the present state, and server-side apply."""

import json
from collections.abc import Mapping
from typing import Any

from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec, ownership, patches, status, strategic
from kubedyno.kube.codec import Object
from kubedyno.kube.merge_keys import merge_keys_for
from kubedyno.kube.patches import RefusedPatch
from kubedyno.kube.status import Cause
from kubedyno.server import bodies, creating, owning, reading, updating
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import Answer, Refused, Request, bad_request
from kubedyno.server.negotiation import representation
from kubedyno.server.options import WriteOptions, write_options
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.server.updating import Change
from kubedyno.store.records import Record

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
APPLY_PATCHES = frozenset({APPLY_PATCH, "application/apply-patch+cbor"})
_KNOWN_CUSTOM = APPLY_PATCHES | {JSON_PATCH, MERGE_PATCH}
_KNOWN = _KNOWN_CUSTOM | {STRATEGIC_PATCH}

_MAX_OPERATIONS = 10_000
_CANNOT_BE_APPLIED = 422
_FAULT = 500
_UNPROCESSABLE = "the server rejected our request due to an error in our request"


def patch(state: State, route: Route, request: Request) -> Answer:
    """Answer a PATCH of an object or its status."""
    kind, media = route.kind, bodies.media_type(request.content_type)
    shown = representation(request.accept)
    if media not in (_KNOWN_CUSTOM if kind.is_custom else _KNOWN):
        raise unknown_patch(kind)
    options = write_options(request, "PatchOptions")
    if media in APPLY_PATCHES:
        return _apply(state, route, request, options)
    record = reading.find(state, kind, route.namespace, route.name)
    asked = state.rewrites.asked(route, record, media, request.body, options)
    known = state.rewrites.write(asked) if asked is not None else None
    if known is not None:
        return reading.answer(state, kind, known, shown, request)
    warnings: list[str] = []

    def make(old: Object) -> Object:
        patched = patched_object(kind, media, request.body, old)
        understood = understood_patch(kind, patched, old, options, warnings)
        updating.check_names(understood, route)
        return understood

    record, more = updating.write(state, _change(route, options), record, make)
    if asked is not None and not warnings and not more:
        state.rewrites.learn(asked, record)
    return reading.answer(state, kind, record, shown, request, warnings=(*warnings, *more))


def unknown_patch(kind: Kind) -> Refused:
    """415 of a patch."""
    if not kind.is_custom:
        return Refused(status.failure(415, "415: Unsupported Media Type", empty_details=True))
    said = "the body of the request was in an unknown format - accepted media types include: "
    return Refused(status.failure(415, said + f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"))


def understood_patch(kind: Kind, patched: Object, old: Object, options: WriteOptions, warnings: list[str]) -> Object:
    """What a patch made, read like a body; what is wrong with it is the patch's fault."""
    problem = bodies.kind_problem(patched, kind)
    if problem:
        raise _invalid_patch(patched, problem)
    understood = kind.read(patched, old)
    if understood.error:
        raise _invalid_patch(patched, understood.error)
    unknown = bodies.unknown_fields(understood)
    if unknown and options.validation == "Strict":
        raise _invalid_patch(patched, f"strict decoding error: {', '.join(unknown)}")
    if options.validation != "Ignore":
        warnings += unknown
    return understood.object


def _invalid_patch(patched: Object, problem: str) -> Refused:
    """422 of a patch that makes an object which cannot be read. The server does not say which object it was."""
    message = f"Invalid value: {_quoted(patched)}: {problem}"
    return Refused(
        status.failure(
            422,
            f' "" is invalid: patch: {message}',
            causes=(Cause("FieldValueInvalid", message, "patch"),),
        )
    )


def _quoted(patched: Object) -> str:
    """The object as a quoted text, in the order in which the server holds it."""
    ordered = {name: patched[name] for name in sorted(patched)}
    metadata = ordered.get("metadata")
    if isinstance(metadata, dict):
        ranks = {name: rank for rank, name in enumerate(_METADATA_ORDER)}
        ordered["metadata"] = {
            name: metadata[name] for name in sorted(metadata, key=lambda one: ranks.get(one, len(ranks)))
        }
    return json.dumps(codec.encode(ordered).decode(), ensure_ascii=False)


_METADATA_ORDER = (
    *("name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"),
    "managedFields",
)


def _change(route: Route, options: WriteOptions, *, owners_known: bool = False) -> Change:
    return Change(
        kind=route.kind,
        namespace=route.namespace,
        name=route.name,
        subresource=route.subresource,
        options=options,
        owners_known=owners_known,
    )


def patched_object(kind: Kind, media: str, body: bytes, old: Object) -> Object:
    """The old object with the patch applied."""
    try:
        if media == JSON_PATCH:
            made = patches.apply_json_patch(old, _operations(body))
        elif media == MERGE_PATCH:
            made = patches.apply_merge_patch(old, _members(body))
        else:
            keys = merge_keys_for(kind.resource.api_version, kind.resource.kind)
            if keys is None:
                raise bad_request(f"no merge keys are known of {kind.resource.kind}")
            made = strategic.apply_strategic_patch(old, _members(body), keys)
    except RefusedPatch as error:
        raise _refused_patch(error) from error
    if not isinstance(made, dict):
        raise Refused(status.failure(422, _UNPROCESSABLE, empty_details=True))
    return made


def _refused_patch(error: RefusedPatch) -> Refused:
    if error.code == _CANNOT_BE_APPLIED and not error.told:
        return Refused(status.failure(422, _UNPROCESSABLE, empty_details=True))
    said = error.told or str(error)
    return Refused(status.failure(error.code, said, reason="")) if error.code >= _FAULT else bad_request(said)


def _operations(body: bytes) -> list[Mapping[str, Any]]:
    operations = _json(body)
    if not isinstance(operations, list) or not all(isinstance(entry, dict) for entry in operations):
        kind = "object" if isinstance(operations, dict) else "value"
        problem = f"json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {problem}")
    if len(operations) > _MAX_OPERATIONS:
        said = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(operations)}"
        raise Refused(status.failure(413, f"Request entity too large: {said}"))
    return operations


def _members(body: bytes) -> dict[str, Any]:
    members = _json(body)
    if not isinstance(members, dict):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        )
    return members


def _json(body: bytes) -> Any:
    try:
        return bodies.json_value(body)
    except ValueError as error:
        raise bad_request(f"error decoding patch: {error}") from error


def _apply(state: State, route: Route, request: Request, options: WriteOptions) -> Answer:
    """Server-side apply: what is not there is created."""
    kind = route.kind
    shown = representation(request.accept)
    config = _configuration(request.body)
    warnings = list(_check_config(kind, config, route, options))
    try:
        record: Record | None = reading.find(state, kind, route.namespace, route.name)
    except Refused:
        if route.subresource:
            raise
        record = None
    now = state.now()

    def make(old: Object | None) -> Object:
        try:
            merged = owning.applied(
                kind,
                config,
                old,
                manager=options.manager,
                subresource=route.subresource,
                force=options.force,
                now=now,
            )
        except ownership.FieldConflict as error:
            raise _apply_conflict(error) from error
        except UsageError as error:
            raise _untyped(kind, config, str(error)) from error
        return kind.read(merged).object

    if record is None:
        new = make(None)
        uid = new["metadata"].pop("uid", "")
        if uid:
            raise _uid_of_nothing(kind, route.name, uid)
        owned = new["metadata"].pop("managedFields", None)
        new["metadata"].setdefault("name", route.name)
        made, more = creating.create_object(state, kind, route.namespace, new, options, owners=owned)
        return reading.answer(state, kind, made, shown, request, code=201, warnings=(*warnings, *more))
    change = _change(route, options, owners_known=True)
    record, more = updating.write(state, change, record, make)
    return reading.answer(state, kind, record, shown, request, warnings=(*warnings, *more))


def _uid_of_nothing(kind: Kind, name: str, uid: str) -> Refused:
    return Refused(
        status.failure(
            409,
            f'Operation cannot be fulfilled on {kind.resource.full_name} "{name}": uid mismatch: the provided object '
            f"specified uid {uid}, and no existing object was found",
            name=name,
            group=kind.resource.group,
            resource=kind.resource.plural,
        )
    )


def _configuration(body: bytes) -> Object:
    try:
        return bodies.yaml_object(body)
    except ValueError as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from error


def _untyped(kind: Kind, config: Object, problem: str) -> Refused:
    """500 of a configuration that does not fit the type of its kind."""
    metadata = config["metadata"] if isinstance(config.get("metadata"), dict) else {}
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    said = f"failed to create typed patch object ({name}; {_kind_words(kind.resource.api_version, kind.resource.kind)})"
    return Refused(status.failure(500, f"{said}: {problem}", reason=""))


def _kind_words(api_version: str, kind: str) -> str:
    return f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={kind}"


def _check_config(kind: Kind, config: Object, route: Route, options: WriteOptions) -> tuple[str, ...]:
    """What an applied configuration may not be; warnings."""
    resource = kind.resource
    said_version, said_kind = config.get("apiVersion") or "", config.get("kind") or ""
    if (said_version, said_kind) != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {_kind_words(said_version, said_kind)}")
    metadata = config.get("metadata") or {}
    if isinstance(metadata, dict):
        if metadata.get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        updating.check_names(config, route)
    problem = kind.misfit(config)
    if problem:
        raise _untyped(kind, config, problem)
    understood = kind.read(config)
    if understood.error:
        raise bad_request(understood.error)
    return bodies.complaints(kind, bodies.unknown_fields(understood), options.validation)


def _apply_conflict(error: ownership.FieldConflict) -> Refused:
    causes = tuple(Cause("FieldManagerConflict", f"conflict with {who}", path) for who, path in error.conflicts)
    return Refused(status.failure(409, str(error), causes=causes))
