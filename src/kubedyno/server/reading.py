"""Get and list: records from the store, in the version and form that was asked for."""

import base64
import functools
import string
from collections.abc import Iterable, Sequence
from posixpath import normpath

import msgspec

from kubedyno.kinds.tables.table import IncludeObject, table
from kubedyno.kube import codec, status
from kubedyno.kube.codec import Object
from kubedyno.kube.gojson import json_problem
from kubedyno.kube.resources import Resource
from kubedyno.kube.selectors import FieldSelector, FieldTerm
from kubedyno.server import bodies, messages
from kubedyno.server.catalogue import Kind
from kubedyno.server.messages import JSON, Answer, Refused, Request, bad_request, not_found
from kubedyno.server.negotiation import Representation, representation
from kubedyno.server.options import ListOptions
from kubedyno.server.routing import Route
from kubedyno.server.state import State
from kubedyno.store.errors import Expired, NotFound, TooLarge
from kubedyno.store.listing import Page
from kubedyno.store.records import Record
from kubedyno.store.selecting import Selection

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_BASE64 = frozenset(string.ascii_letters + string.digits + "-_")
_EXACT_GONE = "The resourceVersion for the provided list is too old."


class _Token(msgspec.Struct, rename={"version": "v", "revision": "rv"}):
    """What a continue token says: the revision of the list (-1: whatever is newest) and where it goes on."""

    version: str
    revision: int
    start: str


def get(state: State, route: Route, request: Request) -> Answer:
    """One object."""
    shown = representation(request.accept)
    wanted = exact_version(request.query.get("resourceVersion", ""))
    if wanted > state.store.revision:
        raise messages.version_too_large(wanted, state.store.revision)
    record = find(state, route.kind, route.namespace, route.name)
    return answer(state, route.kind, record, shown, request)


def find(state: State, kind: Kind, namespace: str, name: str) -> Record:
    """The newest record of an object, or 404."""
    try:
        return state.store.get(kind.stored.full_name, namespace, name)
    except NotFound:
        raise not_found(kind.resource, name) from None


def answer(
    state: State,
    kind: Kind,
    record: Record,
    shown: Representation,
    request: Request,
    *,
    code: int = 200,
    warnings: tuple[str, ...] = (),
) -> Answer:
    """The answer with one object."""
    if shown.form == "object":
        body = object_bytes(kind, record)
    else:
        body = _in_form(state, kind, [kind.from_stored(codec.decode(record.data))], request, None)
    if shown.yaml:
        return Answer(code, bodies.to_yaml(body), bodies.YAML, warnings)
    return Answer(code, body, JSON, warnings)


def object_bytes(kind: Kind, record: Record) -> bytes:
    """The JSON of an object in the version of `kind`: as it is kept, if it is kept in that version."""
    if record.data.startswith(_prefix(kind.resource)):
        return record.data
    return codec.encode(kind.from_stored(codec.decode(record.data)))


@functools.cache
def _prefix(resource: Resource) -> bytes:
    """What the JSON of all objects of a kind and version begins with."""
    return codec.encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b","


def list_objects(state: State, route: Route, request: Request, options: ListOptions) -> Answer:
    """A list, or one page of it."""
    page = _page(state, route, options)
    metadata: Object = {"resourceVersion": str(page.revision)}
    if page.next is not None:
        start = page.next if not route.namespace else page.next.removeprefix(f"{route.namespace}/")
        metadata["continue"] = _encoded(_Token("meta.k8s.io/v1", page.revision, f"{start}\0"))
        if page.remaining is not None:
            metadata["remainingItemCount"] = page.remaining
    return list_answer(state, route.kind, page.items, metadata, request)


def list_answer(state: State, kind: Kind, records: Sequence[Record], metadata: Object, request: Request) -> Answer:
    """The answer with a list of objects."""
    shown = representation(request.accept, of_list=True)
    if shown.form == "object":
        body = _list_bytes(kind, records, metadata)
    else:
        objects = [kind.from_stored(codec.decode(record.data)) for record in records]
        body = _in_form(state, kind, objects, request, metadata)
    return Answer(200, bodies.to_yaml(body), bodies.YAML) if shown.yaml else Answer(200, body)


def _list_bytes(kind: Kind, records: Iterable[Record], metadata: Object) -> bytes:
    """Joined from what is kept. Items of Kubernetes' own kinds do not repeat the kind, those of custom ones do."""
    resource = kind.resource
    items: Iterable[bytes] = (object_bytes(kind, record) for record in records)
    if kind.is_custom:
        metadata = {"continue": "", **metadata}  # of these lists the server never leaves it out
    else:
        skip = len(_prefix(resource))
        items = (b"{" + item[skip:] for item in items)
    head = codec.encode({"kind": kind.list_kind, "apiVersion": resource.api_version, "metadata": metadata})
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _in_form(state: State, kind: Kind, objects: Sequence[Object], request: Request, metadata: Object | None) -> bytes:
    """Objects as a table, or their metadata alone; without the metadata of a list it is one object."""
    shown = representation(request.accept)
    if shown.form == "table":
        made = table(
            kind.printer,
            objects,
            now_ns=state.clock.wall_ns(),
            include_object=_included(request),
            metadata=metadata,
        )
        return codec.encode(made)
    if shown.kind == "PartialObjectMetadataList" and metadata is None:
        raise _not_acceptable(f"you requested {shown.kind}, but the requested object is not a list ({_go_type(kind)})")
    if shown.kind == "PartialObjectMetadata" and metadata is not None:
        raise _not_acceptable(f"you requested {shown.kind}, but the requested object is a list ({_go_type(kind)}List)")
    partial = [partial_metadata(obj) for obj in objects]
    if metadata is None:
        return codec.encode(partial[0])
    head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    return codec.encode({**head, "items": partial or None})


def _not_acceptable(said: str) -> Refused:
    return Refused(status.failure(406, said))


def _go_type(kind: Kind) -> str:
    """What Go calls the type of an object inside the server: its package is called for the group."""
    if kind.is_custom:
        return "*unstructured.Unstructured"
    return f"*{kind.stored.group.partition('.')[0] or 'core'}.{kind.resource.kind}"


def _included(request: Request) -> IncludeObject:
    """What each row of a table carries of its object."""
    match request.query.get("includeObject", ""):
        case "" | "Metadata":
            return "Metadata"
        case "None":
            return "None"
        case "Object":
            return "Object"
        case other:
            said = f"Invalid value: \"{other}\": must be 'Metadata', 'Object', 'None', or empty"
            raise bad_request(f"Unable to convert to Table as requested: includeObject: {said}")


def partial_metadata(obj: Object) -> Object:
    """An object's metadata as a `PartialObjectMetadata`."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj.get("metadata") or {}}


def selection(state: State, route: Route, options: ListOptions) -> Selection:
    """What a list or watch is narrowed to, with the fields named as in the store."""
    kind = route.kind
    terms = []
    for term in options.fields.terms:
        if term.path in {"metadata.name", "metadata.namespace"}:
            name = term.path
        elif term.path in kind.fields:
            name = kind.fields[term.path]
        else:
            raise bad_request(kind.unselectable(term.path))
        terms.append(FieldTerm(name, term.value, negated=term.negated))
    if route.name:
        terms.append(FieldTerm("metadata.name", route.name))
    return state.store.selection(
        kind.stored.full_name,
        namespace=route.namespace,
        labels=options.labels,
        fields=FieldSelector(tuple(terms)),
    )


def _page(state: State, route: Route, options: ListOptions) -> Page:
    store, resource = state.store, route.kind.stored.full_name
    chosen = selection(state, route, options)
    if options.continue_token:
        return _continued(state, route, options, chosen)
    wanted = _version(options.version)
    if wanted > store.revision:
        raise messages.version_too_large(wanted, store.revision)
    # A page of an exact revision is one that was asked for so, or the first of several at a revision other than "any".
    exact = options.version_match == "Exact" or (options.limit and not options.version_match and wanted > 0)
    # Who takes any version is answered from the real server's cache, which knows no pages.
    limit = 0 if options.version == "0" else options.limit
    try:
        return store.page(resource, chosen, limit=limit, revision=wanted if exact else None)
    except Expired:
        raise messages.expired(_EXACT_GONE) from None


def _continued(state: State, route: Route, options: ListOptions, chosen: Selection) -> Page:
    token = _decoded(options.continue_token)
    if options.version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    after = token.start.removesuffix("\0")
    if route.namespace:
        after = f"{route.namespace}/{after}"
    revision = None if token.revision < 0 else token.revision
    try:
        return state.store.page(
            route.kind.stored.full_name, chosen, limit=options.limit, after=after, revision=revision
        )
    except Expired:
        again = _encoded(_Token(token.version, -1, token.start))
        raise messages.expired(_INCONSISTENT, continue_token=again) from None
    except TooLarge as error:
        raise messages.version_too_large(error.revision, error.current) from None


def _encoded(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).rstrip(b"=").decode()


def _decoded(text: str) -> _Token:
    invalid = "invalid continue token: continue key is not valid: "
    strange = next((index for index, character in enumerate(text) if character not in _BASE64), None)
    if strange is not None or len(text) % 4 == 1:
        at = len(text) if strange is None else strange
        raise bad_request(f"{invalid}illegal base64 data at input byte {at}")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    try:
        token = msgspec.json.decode(data, type=_Token)
    except ValueError as error:
        raise bad_request(f"{invalid}{json_problem(data) or error}") from error
    if token.version != "meta.k8s.io/v1":
        raise bad_request(
            "invalid continue token: continue key is not valid: server does not recognize this encoded version "
            f'"{token.version}"'
        )
    if not token.start:
        raise bad_request(f"{invalid}encoded start key empty")
    place = f"/{token.start.removeprefix('/')}"
    if normpath(place) != place:
        raise bad_request(f"{invalid}{token.start}")  # it would lead out of the collection
    return token


def _version(text: str) -> int:
    """The `resourceVersion` of a list; nothing is 0."""
    if text and not _is_version(text):
        raise bad_request(f"invalid resource version: {_no_version(text)}")
    return int(text or 0)


def exact_version(text: str) -> int:
    """The `resourceVersion` of a get or a watch: one that is none is found too late for a 400."""
    if text and not _is_version(text):
        raise Refused(status.failure(500, _no_version(text), reason=""))
    return int(text or 0)


def _is_version(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _no_version(text: str) -> str:
    return f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
