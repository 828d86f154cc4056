"""Create: from a body to a stored object."""

from collections.abc import Sequence

from kubedyno.kinds import admission
from kubedyno.kinds.admission.attributes import asked, forbidden
from kubedyno.kube import codec, problems, status
from kubedyno.kube.codec import Object
from kubedyno.kube.problems import Problem
from kubedyno.server import bodies, messages, owning, reading
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import JSON, Answer, Refused, Request
from kubedyno.server.negotiation import PLAIN, representation
from kubedyno.server.options import WriteOptions, write_options
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.store.errors import AlreadyExists
from kubedyno.store.records import Record

_CREATED = 201
_TERMINATING = "create not allowed while custom resource definition is terminating"
_NAME_ATTEMPTS = 8
"""How often another generated name is tried when one is taken."""


def create(state: State, route: Route, request: Request) -> Answer:
    """Answer a POST to a collection."""
    kind = route.kind
    shown = representation(request.accept)
    options = write_options(request, "CreateOptions")
    if route.kind.resource.namespaced and not route.namespace:
        raise messages.method_not_allowed()
    newcomer = state.newcomers.asked(route, request.body, options) if request.content_type == JSON else None
    if newcomer is not None:
        try:
            known = state.newcomers.write(newcomer)
        except AlreadyExists as error:
            raise messages.already_exists(kind.resource, error.record) from None
        if known is not None:
            return reading.answer(state, kind, known, shown, request, code=_CREATED)
    read = bodies.read_object(kind, request.body, request.content_type, options.validation)
    record, more = create_object(state, kind, route.namespace, read.object, options)
    warnings = (*read.warnings, *more)
    if newcomer is not None and not warnings:
        state.newcomers.learn(newcomer, record)
    return reading.answer(state, kind, record, shown, request, code=_CREATED, warnings=warnings)


def create_pod(state: State, route: Route, request: Request) -> Answer:
    """Answer a POST of a pod: the short way if its template is known, else the long one."""
    options = write_options(request, "CreateOptions")
    if request.content_type != JSON or options.dry_run or not route.namespace:
        return create(state, route, request)
    try:
        record = state.templates.create(route.namespace, request.body, options.manager)
    except AlreadyExists as error:
        raise messages.already_exists(route.kind.resource, error.record) from None
    if record is not None:
        return reading.answer(state, route.kind, record, representation(request.accept), request, code=_CREATED)
    answer = create(state, route, request)
    if not answer.warnings and representation(request.accept) == PLAIN:
        state.templates.learn(route.namespace, request.body, answer.body)
    return answer


def create_object(
    state: State,
    kind: Kind,
    namespace: str,
    obj: Object,
    options: WriteOptions,
    *,
    owners: list[Object] | None = None,
) -> tuple[Record, list[str]]:
    """Create an object that is understood already; the record and warnings. Takes `obj` over.

    A dry run gives a record that is stored nowhere. `owners` are its `managedFields`, where they are known already
    (server-side apply).
    """
    metadata = obj.setdefault("metadata", {})
    _check_namespace(kind, metadata, namespace)
    if metadata.pop("resourceVersion", "") and owners is None:
        said = "resourceVersion should not be set on objects to be created"
        raise Refused(status.failure(500, said, reason=""))
    generated = bool(metadata.get("generateName")) and not metadata.get("name")
    for attempt in range(_NAME_ATTEMPTS):
        tried = _copied_for_attempt(obj) if generated else obj
        if generated:
            tried["metadata"]["name"] = state.stamps.new_name(metadata["generateName"])
        try:
            return _create_named(state, kind, tried, options, owners)
        except AlreadyExists as error:
            if not generated or attempt == _NAME_ATTEMPTS - 1:
                raise messages.already_exists(kind.resource, error.record) from None
    raise AssertionError  # the loop returns or raises


def _copied_for_attempt(obj: Object) -> Object:
    return codec.decode(codec.encode(obj))


def _create_named(
    state: State, kind: Kind, obj: Object, options: WriteOptions, owners: list[Object] | None
) -> tuple[Record, list[str]]:
    metadata, now = obj["metadata"], state.now()
    metadata["uid"] = state.stamps.new_uid()
    metadata["creationTimestamp"] = now
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)
    # Ownership is of what the client sent and its defaults, not of what admission adds.
    if owners is None:
        owning.own_created(kind, obj, manager=options.manager, now=now)
    else:
        metadata["managedFields"] = owners
    if kind.is_terminating:
        raise forbidden(asked(obj, kind.resource, state), _TERMINATING)
    admission.admit_create(obj, kind.resource, state, state.rng, namespace=metadata.get("namespace", ""))
    state.addresses.allocate(kind.resource, obj, None)
    kind.prepare_create(obj, now=now)
    kind.default_again(obj)
    found = kind.problems_created(obj)
    if found:
        raise invalid(kind, obj, found)
    charged = admission.validate_create(obj, kind.resource, state)
    warnings = kind.warnings(obj, None)
    stored = kind.to_stored(obj)
    resource_name = kind.stored.full_name
    if options.dry_run:
        state.refuse_existing(resource_name, stored)
        return state.dry_record(stored, None), warnings
    record = state.store.create(resource_name, stored)
    state.charge(charged)
    return record, warnings


def invalid(kind: Kind, obj: Object, found: Sequence[Problem]) -> Refused:
    """422 of an object with problems. It is of the group that it is kept in; a custom one tells of itself."""
    group = obj["apiVersion"].rpartition("/")[0] if kind.is_custom else kind.stored.group
    return Refused(problems.invalid_status(obj["kind"], group, obj["metadata"].get("name", ""), found))


def _check_namespace(kind: Kind, metadata: Object, namespace: str) -> None:
    said = metadata.get("namespace", "")
    if kind.resource.namespaced:
        if said and said != namespace:
            raise messages.other_namespace()
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
