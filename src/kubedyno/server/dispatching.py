"""Which handler a request on a resource belongs to, and what Kubernetes calls its verb."""

from collections.abc import Callable, Mapping

from kubedyno.kube.resources import PODS
from kubedyno.server import (
    creating,
    definitions,
    deleting,
    messages,
    patching,
    pod_actions,
    reading,
    reviews,
    scaling,
    updating,
    watching,
)
from kubedyno.server.messages import Answer, Request
from kubedyno.server.options import list_options, watches
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.server.watching import Watch

Handler = Callable[[State, Route, Request], Answer | Watch]


def verb_and_handler(route: Route, request: Request) -> tuple[str, Handler]:
    """What to do; 405 where the resource does not know the method."""
    method = request.method
    found: Handler | None
    if route.subresource:
        name = route.subresource.partition("/")[0]
        found = _SUBRESOURCES[name].get(method) if name in _SUBRESOURCES else _LIKE_OBJECTS.get(method)
        verb = method
    elif method == "GET" and (route.watch or watches(request.query)):
        verb, found = "WATCH", _watch
    else:
        verb, found = _VERBS.get((method, bool(route.name)), (method, None))
        if verb == "POST" and route.kind.resource.plural in _POSTED:
            found = _POSTED[route.kind.resource.plural]
        elif not route.kind.is_custom and _needs(verb) not in route.kind.served.verbs:
            # Custom kinds know all: of one that goes the discovery tells fewer verbs than it answers.
            found = None
    if found is None:
        raise messages.method_not_allowed()
    if method == "PATCH" and request.content_type.startswith("application/apply-patch"):
        verb = "APPLY"
    return verb, found


def _needs(verb: str) -> str:
    """The verb of discovery that a request needs."""
    return {"POST": "create", "PUT": "update"}.get(verb, verb.lower())


def _watch(state: State, route: Route, request: Request) -> Watch:
    return watching.watch(state, route, request, list_options(request.query))


def _list(state: State, route: Route, request: Request) -> Answer:
    return reading.list_objects(state, route, request, list_options(request.query))


def _create(state: State, route: Route, request: Request) -> Answer:
    if route.kind.resource == PODS:
        return creating.create_pod(state, route, request)
    before = state.store.revision
    answer = creating.create(state, route, request)
    if _is_definition(route):
        for event in state.store.events(route.kind.stored.full_name, before):
            definitions.settle(state, event.record.name)
    return answer


def _update(state: State, route: Route, request: Request) -> Answer:
    return _settled(state, route, updating.update(state, route, request))


def _patch(state: State, route: Route, request: Request) -> Answer:
    return _settled(state, route, patching.patch(state, route, request))


def _delete(state: State, route: Route, request: Request) -> Answer:
    end = definitions.begin_end if _is_definition(route) else deleting.delete_record
    return _settled(state, route, deleting.delete(state, route, request, end))


def _delete_collection(state: State, route: Route, request: Request) -> Answer:
    if route.kind.resource.namespaced and not route.namespace:
        raise messages.method_not_allowed()
    return deleting.delete_collection(state, route, request, list_options(request.query))


def _settled(state: State, route: Route, answer: Answer) -> Answer:
    """Look at what the write of a definition, or of an object of one that is to go, brings about."""
    if _is_definition(route):
        definitions.settle(state, route.name)
    elif route.kind.is_custom:
        definitions.settle_after(state, route.kind)
    return answer


def _is_definition(route: Route) -> bool:
    return route.kind.resource.plural == definitions.PLURAL and not route.kind.is_custom


_VERBS: Mapping[tuple[str, bool], tuple[str, Handler]] = {
    ("GET", True): ("GET", reading.get),
    ("GET", False): ("LIST", _list),
    ("POST", False): ("POST", _create),
    ("PUT", True): ("PUT", _update),
    ("PATCH", True): ("PATCH", _patch),
    ("DELETE", True): ("DELETE", _delete),
    ("DELETE", False): ("DELETECOLLECTION", _delete_collection),
}
"""By method and whether an object is named."""

_POSTED: Mapping[str, Handler] = {
    "bindings": pod_actions.bind,
    **dict.fromkeys(reviews.PLURALS, reviews.review),
}
"""Resources that are only ever posted."""

_LIKE_OBJECTS: Mapping[str, Handler] = {"GET": reading.get, "PUT": _update, "PATCH": _patch}
"""Subresources that are read and written as the object itself: status, approval, resize, ephemeralcontainers."""

_NO_RUNTIME: Mapping[str, Handler] = dict.fromkeys(("GET", "POST", "PUT", "DELETE"), pod_actions.no_containers)

_SUBRESOURCES: Mapping[str, Mapping[str, Handler]] = {
    "scale": {"GET": scaling.get_scale, "PUT": scaling.write_scale, "PATCH": scaling.write_scale},
    "binding": {"POST": pod_actions.bind},
    "eviction": {"POST": pod_actions.evict},
    "finalize": {"PUT": _update},
    "token": {"POST": pod_actions.no_token},
    **dict.fromkeys(("log", "exec", "attach", "portforward", "proxy"), _NO_RUNTIME),
}
