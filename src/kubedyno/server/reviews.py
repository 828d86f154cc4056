"""Questions that are asked by creating an object which nobody keeps: may I, who am I, is this token good.

Whoever has the server's token may do everything: there is one user.
"""

from collections.abc import Callable, Mapping

from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.server import bodies, owning
from kubedyno.server.messages import Answer, Request
from kubedyno.server.options import write_options
from kubedyno.server.routing import Route
from kubedyno.server.state import State

USER = "kubedyno-admin"
GROUPS = ("system:masters", "system:authenticated")

_USER_INFO: Object = {"username": USER, "groups": list(GROUPS)}


def _allowed(_review: Object) -> Object:
    return {"allowed": True}


def _rules(_review: Object) -> Object:
    return {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


_ANSWERS: Mapping[str, Callable[[Object], Object]] = {
    "subjectaccessreviews": _allowed,
    "selfsubjectaccessreviews": _allowed,
    "localsubjectaccessreviews": _allowed,
    "selfsubjectrulesreviews": _rules,
    "selfsubjectreviews": lambda _review: {"userInfo": _USER_INFO},
    "tokenreviews": lambda _review: {"user": {}, "error": "tokens of service accounts are not known here"},
}


PLURALS = tuple(_ANSWERS)
"""The resources that are only ever asked, never kept."""


def review(state: State, route: Route, request: Request) -> Answer:
    """Answer a POST of a review."""
    options = write_options(request, "CreateOptions")
    read = bodies.read_object(route.kind, request.body, request.content_type, options.validation)
    obj = read.object
    owning.own_created(route.kind, obj, manager=options.manager, now=state.now())
    obj["status"] = _ANSWERS[route.kind.resource.plural](obj)
    return Answer(201, codec.encode(obj), warnings=read.warnings)
