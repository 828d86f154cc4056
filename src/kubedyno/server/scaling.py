"""The scale subresource: an object's number of replicas, read and written without knowing its kind."""

import msgspec

from kubedyno.kube import codec, patches, problems
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.server import bodies, patching, reading, updating
from kubedyno.server.bodies import Read
from kubedyno.server.builtin import built_in_kind
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import MODIFIED, Answer, Refused, Request, bad_request, conflict
from kubedyno.server.options import WriteOptions, write_options
from kubedyno.server.patching import APPLY_PATCHES, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.server.updating import Change

_SCALES = built_in_kind(Resource("autoscaling", "v1", "Scale", "scales", namespaced=True))


def get_scale(state: State, route: Route, _request: Request) -> Answer:
    """Answer a GET."""
    record = reading.find(state, route.kind, route.namespace, route.name)
    obj = route.kind.from_stored(codec.decode(record.data))
    return Answer(200, codec.encode(route.kind.scale_of(obj)))


def write_scale(state: State, route: Route, request: Request) -> Answer:
    """Answer a PUT or PATCH of a Scale."""
    kind = route.kind
    options = write_options(request, "UpdateOptions" if request.method == "PUT" else "PatchOptions")
    record = reading.find(state, kind, route.namespace, route.name)
    old = kind.from_stored(codec.decode(record.data))
    before = kind.scale_of(old, absent=0)
    read = _asked(kind, request, before, options)
    scale = read.object
    metadata = scale.get("metadata") or {}
    updating.check_names(scale, route)
    version = metadata.get("resourceVersion") or ""
    if version and version != old["metadata"]["resourceVersion"]:
        raise conflict(kind.resource, route.name, MODIFIED)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0 and not kind.is_custom:  # of custom ones its rules tell
        found = [problems.invalid("spec.replicas", replicas, "must be greater than or equal to 0")]
        raise Refused(problems.invalid_status("Scale", "autoscaling", route.name, found))
    uid, replaces = metadata.get("uid") or "", request.method == "PUT"
    if uid and uid != old["metadata"]["uid"] and not replaces:
        said = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
        raise conflict(msgspec.structs.replace(kind.resource, plural=f"{kind.resource.plural}/scale"), route.name, said)
    change = Change(
        kind=kind,
        namespace=route.namespace,
        name=route.name,
        subresource="scale",
        options=options,
        names_state=replaces,
    )

    def make(obj: Object) -> Object:
        made = kind.with_replicas(obj, replicas)
        return {**made, "metadata": {**made["metadata"], "uid": uid}} if uid else made

    written, warnings = updating.write(state, change, record, make)
    shown = kind.scale_of(kind.from_stored(codec.decode(written.data)))
    return Answer(200, codec.encode(shown), warnings=(*read.warnings, *warnings))


def _asked(kind: Kind, request: Request, before: Object, options: WriteOptions) -> Read:
    """The Scale that is asked for."""
    if request.method == "PUT":
        return bodies.read_object(_SCALES, request.body, request.content_type, options.validation)
    media = bodies.media_type(request.content_type)
    if media in APPLY_PATCHES:
        try:
            patched = patches.apply_merge_patch(before, bodies.yaml_object(request.body))
        except ValueError as error:
            raise bad_request(f"error decoding YAML: {error}") from error
    elif media in {JSON_PATCH, MERGE_PATCH} or (media == STRATEGIC_PATCH and not kind.is_custom):
        patched = patching.patched_object(_SCALES, media, request.body, before)
    else:
        raise patching.unknown_patch(kind)
    warnings: list[str] = []
    scale = patching.understood_patch(_SCALES, _object(patched), before, options, warnings)
    return Read(scale, tuple(warnings))


def _object(value: object) -> Object:
    if not isinstance(value, dict):
        raise bad_request("a Scale must be an object")
    return value
