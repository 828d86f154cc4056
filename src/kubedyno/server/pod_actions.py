"""What pods have beside their objects: binding to a node, and eviction that asks the disruption budgets first."""

from typing import Literal

import msgspec

from kubedyno.kinds import admission
from kubedyno.kinds.admission.eviction import decide_eviction
from kubedyno.kinds.strategies.binding import bound, check_binding
from kubedyno.kube import codec, status
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import POD_DISRUPTION_BUDGETS, PODS, Resource, by_kind
from kubedyno.server import bodies, deleting, messages, reading
from kubedyno.server.bodies import Read
from kubedyno.server.builtin import built_in_kind
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import Answer, Request, bad_request
from kubedyno.server.options import DeleteOptions, WriteOptions, delete_options, write_options
from kubedyno.server.routing import Route
from kubedyno.server.state import State

_CREATED_BODY = codec.encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})

_BINDINGS = built_in_kind(by_kind("v1", "Binding"))
_EVICTIONS = built_in_kind(Resource("policy", "v1", "Eviction", "evictions", namespaced=True))
_FIRST_EVICTIONS = b'"policy/v1beta1"'


class _PlainMetadata(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    namespace: str = ""
    uid: str = ""


class _PlainTarget(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    name: str
    apiVersion: str = ""  # noqa: N815 - as Kubernetes writes it


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """A binding that says nothing unusual."""

    apiVersion: Literal["v1"]  # noqa: N815 - as Kubernetes writes it
    kind: Literal["Binding"]
    metadata: _PlainMetadata
    target: _PlainTarget


def bind(state: State, route: Route, request: Request) -> Answer:
    """Answer a POST of a Binding, to the pod's subresource or to the collection of bindings."""
    options = write_options(request, "CreateOptions")
    read = _plain_binding(request.body) or _posted(_BINDINGS, request, options)
    binding = read.object
    name = route.name or (binding.get("metadata") or {}).get("name", "")
    check_binding(binding, name)
    admission.admit_subresource_create(binding, PODS, "binding", state, namespace=route.namespace, name=name)
    kind = state.catalogue.of(PODS)
    record = reading.find(state, kind, route.namespace, name)
    old = codec.decode(record.data)
    new = bound(old, binding, state.now())
    if not options.dry_run:
        state.store.replace(PODS.full_name, new)  # without an owner: bindings have none
    return Answer(201, _CREATED_BODY, warnings=read.warnings)


def evict(state: State, route: Route, request: Request) -> Answer:
    """Answer a POST of an Eviction."""
    options = write_options(request, "CreateOptions")
    read = _posted(_EVICTIONS, request, options)
    eviction = read.object
    name = (eviction.get("metadata") or {}).get("name", "")
    if name != route.name:
        raise bad_request("name in URL does not match name in Eviction object")
    kind = state.catalogue.of(PODS)
    record = reading.find(state, kind, route.namespace, route.name)
    old = codec.decode(record.data)
    deletion = _deletion(eviction, options)
    decided = decide_eviction(old, state.list(POD_DISRUPTION_BUDGETS, route.namespace), now=state.now())
    if decided.budget is not None and not deletion.dry_run:
        state.store.replace(POD_DISRUPTION_BUDGETS.full_name, decided.budget)
    if decided.pod != old and not deletion.dry_run:
        state.store.replace(PODS.full_name, decided.pod)
        record = reading.find(state, kind, route.namespace, route.name)
    deleting.delete_record(state, kind, record, deletion)
    return Answer(201, _CREATED_BODY, warnings=read.warnings)


def _deletion(eviction: Object, options: WriteOptions) -> DeleteOptions:
    """How the pod is to be deleted; a dry run of the request is one of the deletion."""
    body = eviction.get("deleteOptions") or {}
    return delete_options({}, {**body, "dryRun": ["All"]} if options.dry_run else body)


def no_token(_state: State, _route: Route, _request: Request) -> Answer:
    """Tokens of service accounts: nothing runs that could use one."""
    raise messages.Refused(status.failure(501, "service accounts have no tokens here", reason="NotImplemented"))


def no_containers(state: State, route: Route, _request: Request) -> Answer:
    """What needs a container runtime: logs, exec, attach, port forwarding. A pod without a node has an empty log."""
    record = reading.find(state, route.kind, route.namespace, route.name)
    if route.subresource == "log" and not codec.decode(record.data)["spec"].get("nodeName"):
        return Answer(204, b"", "")
    said = (
        f"pods/{route.subresource}: no container runs behind a pod of the embedded engine; "
        "what it would print or answer cannot be had"
    )
    raise messages.Refused(status.failure(501, said, reason="NotImplemented"))


def _plain_binding(body: bytes) -> Read | None:
    """A binding as most programs send it, understood at once: there are as many bindings as pods."""
    try:
        msgspec.json.decode(body, type=_Plain)
    except (ValueError, RecursionError):
        return None
    binding = codec.decode(body)
    # A member that stands twice is the other thing to warn of.
    return Read(binding) if len(codec.encode(binding)) == len(body) else None


def _posted(kind: Kind, request: Request, options: WriteOptions) -> Read:
    # Evictions of the first version are as those of the second.
    body = request.body.replace(_FIRST_EVICTIONS, b'"policy/v1"') if kind is _EVICTIONS else request.body
    return bodies.read_object(kind, body, request.content_type, options.validation)
