"""What a server tells of itself: discovery, OpenAPI, version, health."""

import msgspec

from kubedyno.kinds import discovery
from kubedyno.kinds.documents import gnostic, v2, v3
from kubedyno.kube import schema
from kubedyno.kube.codec import Object
from kubedyno.server import messages
from kubedyno.server.catalogue import Catalogue
from kubedyno.server.messages import Answer, Request
from kubedyno.server.negotiation import accepts_aggregated_discovery

_NOT_FOUND = Answer(404, b"404 page not found\n", messages.TEXT)
_AGGREGATED = "aggregated"
_GNOSTIC = "gnostic"
_HEALTH = ("/healthz", "/livez", "/readyz")
_CHECKS = ("ping", "log", "etcd")
"""Those of the real server's checks that others ask for by name."""


class Documents:
    """Pages made from the catalogue, remembered until it changes."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._pages: dict[tuple[str, str], Answer] = {}
        self._generation = -1

    def answer(self, request: Request) -> Answer:
        """The page behind a path that is no resource's; 404 as plain text where there is none."""
        path = request.path.rstrip("/") or "/"
        if path.startswith(_HEALTH):
            return _health(path, verbose="verbose" in request.query)
        if request.method != "GET":
            return messages.refusal(messages.method_not_allowed())
        if self._generation != self._catalogue.generation:
            self._generation = self._catalogue.generation
            self._pages.clear()
        form = _form(path, request.accept)
        page = self._pages.get((path, form))
        if page is None:
            page = self._pages[path, form] = self._made(path, form)
        return page

    def _made(self, path: str, form: str) -> Answer:
        served = [kind.served for kind in self._catalogue]
        if path in {"/api", "/apis"}:
            if form == _AGGREGATED:
                return _json(discovery.aggregated(served, core=path == "/api"), discovery.AGGREGATED)
            document = discovery.core_versions("127.0.0.1") if path == "/api" else discovery.groups(served)
            return _json(document)
        if path == "/version":
            return _json(_version())
        if path.startswith("/openapi/"):
            return self._openapi(path, form)
        return self._discovered(path)

    def _openapi(self, path: str, form: str) -> Answer:
        served, custom = [kind.served for kind in self._catalogue], self._catalogue.schemas()
        if path == "/openapi/v2":
            versions = dict.fromkeys(item.resource.api_version for item in served)
            swagger = v2.swagger(filter(None, (v3.document(served, version, custom) for version in versions)))
            return Answer(200, gnostic.encode(swagger), gnostic.CONTENT_TYPE) if form == _GNOSTIC else _json(swagger)
        if path == "/openapi/v3":
            return _json(v3.index(served, custom), messages.TEXT)  # the real server forgets to say that it is JSON
        version = path.removeprefix("/openapi/v3/").removeprefix("apis/").removeprefix("api/")
        found = v3.document(served, version, custom)
        return _NOT_FOUND if found is None else _json(found)

    def _discovered(self, path: str) -> Answer:
        served = [kind.served for kind in self._catalogue]
        parts = path.strip("/").split("/")
        found: Object | None = None
        match parts:
            case ["api", version]:
                found = discovery.resource_list(served, version)
            case ["apis", group]:
                found = discovery.group(served, group)
            case ["apis", group, version]:
                found = discovery.resource_list(served, f"{group}/{version}")
            case _:
                pass
        if found is not None:
            return _json(found)
        is_of_group = parts[0] == "api" or (parts[0] == "apis" and self._catalogue.has_own_group("".join(parts[1:2])))
        return messages.refusal(messages.no_such_resource()) if is_of_group else _NOT_FOUND


def _health(path: str, *, verbose: bool) -> Answer:
    """What answers is healthy."""
    name, _, check = path.strip("/").partition("/")
    if check and check not in _CHECKS:
        return _NOT_FOUND
    if verbose and not check:
        told = "".join(f"[+]{check} ok\n" for check in _CHECKS)
        return Answer(200, f"{told}{name} check passed\n".encode(), messages.TEXT)
    return Answer(200, b"ok", messages.TEXT)


def _form(path: str, accept: str) -> str:
    """Which of several forms of a page is wanted."""
    if path in {"/api", "/apis"} and accepts_aggregated_discovery(accept):
        return _AGGREGATED
    return _GNOSTIC if path == "/openapi/v2" and "proto-openapi.spec.v2" in accept else ""


def _json(document: Object, content_type: str = messages.JSON) -> Answer:
    return Answer(200, msgspec.json.encode(document), content_type)


def _version() -> Object:
    version = schema.kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": version,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "linux/amd64",
    }
