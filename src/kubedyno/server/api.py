"""The API: one request in, one answer or watch out. Synchronous; whoever calls it decides how bytes travel."""

from collections.abc import Callable

import msgspec

from kubedyno.kinds.admission import Denied
from kubedyno.kinds.strategies.refusal import Refused as StrategyRefused
from kubedyno.kit.logs import Log
from kubedyno.kube import status
from kubedyno.server import documents, messages
from kubedyno.server.dispatching import verb_and_handler
from kubedyno.server.messages import Answer, Refused, Request, refusal
from kubedyno.server.metrics import Metrics
from kubedyno.server.routing import Route, Routes
from kubedyno.server.state import State
from kubedyno.server.watching import Watch

_log = Log("server.api")

Listener = Callable[[str, str, str, int, int], None]
"""Is told of a request when it is answered: user agent, verb, resource (empty: none), code, ns that it took."""


class Api:
    """The handlers over one state."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.metrics = Metrics(state.clock)
        self.listener: Listener | None = None
        self._routes = Routes(state.catalogue)
        self._documents = documents.Documents(state.catalogue)

    def handle(self, request: Request) -> Answer | Watch:
        """Do what is asked; every refusal is an answer."""
        begun_ns = self.state.clock.monotonic_ns()
        verb = request.method
        route: Route | None = None
        made: Answer | Watch
        try:
            route = self._routes.find(request.path)
            if route is None:
                made = self._beside_resources(request)
            else:
                verb, handler = verb_and_handler(route, request)
                made = handler(self.state, route, request)
        except Refused as refused:
            made = refusal(refused)
        except (Denied, StrategyRefused) as denied:
            made = refusal(Refused(denied.status))
        except Exception as error:  # noqa: BLE001 - one bad request must not end the server; it is logged and told
            _log.exception("a request failed", method=request.method, path=request.path)
            made = refusal(Refused(status.failure(500, f"Internal error occurred: {error!r}")))
        if route is not None and route.kind.deprecation:
            made = _warned(made, route.kind.deprecation)
        code = made.status if isinstance(made, Answer) else 200
        took_ns = self.state.clock.monotonic_ns() - begun_ns
        self.metrics.observe(verb, route, code, took_ns)
        if self.listener is not None:
            resource = route.kind.resource.plural if route is not None else ""
            self.listener(request.user_agent, verb, resource, code, took_ns)
        return made

    def _beside_resources(self, request: Request) -> Answer:
        """Discovery, OpenAPI, version, health, metrics."""
        if request.path == "/metrics" and request.method == "GET":
            return Answer(200, self.metrics.text(self.state.store), messages.TEXT_METRICS)
        return self._documents.answer(request)


def _warned(made: Answer | Watch, warning: str) -> Answer | Watch:
    if isinstance(made, Answer):
        return msgspec.structs.replace(made, warnings=(warning, *made.warnings))
    return made  # a watch has no warnings: who watches has listed before
