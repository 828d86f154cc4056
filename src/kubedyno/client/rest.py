"""The REST verbs on any resource: objects in, objects out, failures as `ApiError`."""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import msgspec

import kubedyno
from kubedyno.client import options
from kubedyno.client.access import Access
from kubedyno.client.calling import Caller
from kubedyno.client.discovery import Discovery
from kubedyno.client.errors import ApiError
from kubedyno.client.options import FieldValidation, PatchType, Propagation
from kubedyno.client.shaping import Shape
from kubedyno.client.transport import DEFAULT_CONNECTIONS, DEFAULT_TIMEOUT_S, Response, Transport
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kit.pacing import TokenBucket
from kubedyno.kube import codec
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource, known_kind

PAGE_SIZE = 500
"""Objects per page of `list_all`, as in client-go."""

MODIFY_ATTEMPTS = 20

Objects = list[Object]


class Page(msgspec.Struct, frozen=True):
    """A part of a list. One that `is_first` begins the list, again after its version has expired on the way."""

    items: Objects
    resource_version: str
    is_first: bool
    is_last: bool


class Listing(msgspec.Struct, frozen=True):
    """All objects of a list at one resource version."""

    items: Objects
    resource_version: str


class Client(Caller):
    """A client of one API server. It owns its transport: use it in `async with`, or call `close`.

    `limiter` paces all requests (client-go's QPS and burst); by default nothing does. `manager` is the field manager
    of writes that name none, and the program in the user agent; by default that is kubedyno's.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock | None = None,
        limiter: TokenBucket | None = None,
        manager: str | None = None,
    ) -> None:
        agent = None if manager is None else f"{manager}/{kubedyno.__version__}"
        super().__init__(transport, clock=clock, limiter=limiter, agent=agent)
        self._manager = manager
        self._discovery = Discovery(self._get_path)

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        access: Access,
        *,
        connections: int = DEFAULT_CONNECTIONS,
        clock: Clock | None = None,
        limiter: TokenBucket | None = None,
        manager: str | None = None,
    ) -> AsyncIterator[Self]:
        """A client over HTTP; at most `connections` requests are in flight, watches aside."""
        # The HTTP library takes a quarter of a second to load, which commands that only start a lab can save.
        from kubedyno.client.http import HttpTransport  # noqa: PLC0415 - as said

        transport = HttpTransport(access, connections=connections, clock=clock)
        client = cls(transport, clock=clock, limiter=limiter, manager=manager)
        try:
            yield client
        finally:
            await client.close()

    def known_as(self, manager: str) -> "Client":
        """The same server over the same transport, for another program. Close the first one only."""
        return Client(self.transport, clock=self.clock, limiter=self._limiter, manager=manager)

    async def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind: from the built-in table, else from the server's discovery."""
        return known_kind(api_version, kind) or await self._discovery.find(api_version, kind)

    async def resource_named(self, api_version: str, plural: str) -> Resource:
        """The resource of a plural (`jobs`), from the server's discovery."""
        return await self._discovery.named(api_version, plural)

    async def resource_of(self, obj: Mapping[str, Any]) -> Resource:
        """The resource of an object by its apiVersion and kind."""
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str):
            raise UsageError("an object without apiVersion and kind cannot be sent: write both")
        return await self.resource(api_version, kind)

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        resource_version: str | None = None,
    ) -> Object:
        """One object. `resource_version="0"` allows the server to answer from its cache."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return await self._object("GET", path, query=options.query(resourceVersion=resource_version))

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int | None = None,
        continue_token: str | None = None,
        resource_version: str | None = None,
        resource_version_match: str | None = None,
    ) -> Object:
        """One page: the list object with `items` and `metadata.continue` if there is more."""
        query = options.query(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else None,
            resourceVersion=resource_version,
            resourceVersionMatch=resource_version_match,
        )
        if continue_token:
            query["continue"] = continue_token
        return await self._object("GET", resource.path(namespace=namespace), query=query)

    async def list_all(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Listing:
        """All objects, page by page, at one resource version.

        A continue token that expired on the way (410: etcd was compacted) restarts the list; the second time it is
        asked for in one piece, as client-go does.
        """
        items: Objects = []
        version = ""
        pages = self.list_pages(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            page_size=page_size,
        )
        async for page in pages:
            if page.is_first:
                items = []
            items += page.items
            version = page.resource_version
        return Listing(items, version)

    async def list_pages(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        page_size: int = PAGE_SIZE,
        shape: Shape | None = None,
    ) -> AsyncGenerator[Page, None]:
        """The same page by page, for lists that are too long to be held; with a `shape` only that of each object.

        After a 410 a page comes that is the first once more: those before it do not count.
        """
        path = resource.path(namespace=namespace)
        query = options.query(labelSelector=label_selector, fieldSelector=field_selector, limit=str(page_size))
        is_first = True
        while True:
            try:
                response = await self._response("GET", path, query=query)
            except ApiError as error:
                if not error.is_gone or is_first:
                    raise
                query = options.query(labelSelector=label_selector, fieldSelector=field_selector)
                is_first = True
                continue
            items, version, token = self._page(response, path, shape)
            yield Page(items, version, is_first=is_first, is_last=not token)
            if not token:
                return
            is_first = False
            query["continue"] = token

    async def create(
        self,
        resource: Resource,
        obj: Mapping[str, Any] | bytes,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Create an object, or post to a subresource of `name` (binding, eviction, token).

        `obj` as bytes is sent as it is; then a namespaced resource needs `namespace`, which is otherwise taken from
        the object.
        """
        if isinstance(obj, bytes):
            body = obj
        else:
            body = codec.encode(obj)
            namespace = options.namespace_of(resource, obj, namespace)
        if resource.namespaced and not namespace:
            raise UsageError(f"{resource.full_name} are namespaced: name the namespace to create in")
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return await self._object(
            "POST",
            path,
            query=options.write_query(field_manager or self._manager, field_validation, dry_run),
            body=body,
        )

    async def update(
        self,
        resource: Resource,
        obj: Mapping[str, Any] | bytes,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Replace an object; with `metadata.resourceVersion` only if nobody changed it since.

        Name and namespace are taken from the object; bytes need both as parameters.
        """
        if isinstance(obj, bytes):
            body = obj
        else:
            body = codec.encode(obj)
            namespace = options.namespace_of(resource, obj, namespace)
            name = name or (obj.get("metadata") or {}).get("name")
        path = resource.path(namespace=namespace, name=name or "", subresource=subresource)
        return await self._object(
            "PUT", path, query=options.write_query(field_manager or self._manager, field_validation, dry_run), body=body
        )

    async def modify(
        self,
        resource: Resource,
        name: str,
        change: Callable[[Object], None],
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        field_manager: str | None = None,
    ) -> Object:
        """Read, change in place, write; on a conflict again from the start, so `change` may run several times."""
        conflicts = 0
        while True:
            obj = await self.get(resource, name, namespace=namespace, subresource=subresource)
            change(obj)
            try:
                return await self.update(
                    resource,
                    obj,
                    namespace=namespace,
                    name=name,
                    subresource=subresource,
                    field_manager=field_manager,
                )
            except ApiError as error:
                conflicts += 1
                if not error.is_conflict or conflicts == MODIFY_ATTEMPTS:
                    raise

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Mapping[str, Any] | Objects | bytes,
        *,
        kind: PatchType,
        namespace: str | None = None,
        subresource: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Patch an object: `json` (a list of operations), `merge`, `strategic`, or `apply` with a field manager."""
        if kind == "apply" and not field_manager:
            raise UsageError("a server-side apply needs a field manager")
        query = options.write_query(field_manager or self._manager, field_validation, dry_run)
        if force:
            query["force"] = "true"
        return await self._object(
            "PATCH",
            resource.path(namespace=namespace, name=name, subresource=subresource),
            query=query,
            body=patch if isinstance(patch, bytes) else msgspec.json.encode(patch),
            content_type=options.PATCH_TYPES[kind],
        )

    async def apply(
        self,
        obj: Mapping[str, Any],
        *,
        field_manager: str,
        resource: Resource | None = None,
        namespace: str | None = None,
        subresource: str | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: create the object or take over the fields it names; `force` takes them from others."""
        target = resource or await self.resource_of(obj)
        return await self.patch(
            target,
            (obj.get("metadata") or {}).get("name") or "",
            obj,
            kind="apply",
            namespace=options.namespace_of(target, obj, namespace),
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        propagation: Propagation | None = None,
        grace_s: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Delete an object: the answer is a Status, or the object while finalizers or a grace period keep it.

        `uid` and `resource_version` are preconditions: another object of that name is left alone (409).
        """
        preconditions = options.query(uid=uid, resourceVersion=resource_version)
        return await self._object(
            "DELETE",
            resource.path(namespace=namespace, name=name),
            body=options.delete_options(propagation, grace_s, dry_run, preconditions),
        )

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        propagation: Propagation | None = None,
        grace_s: int | None = None,
        dry_run: bool = False,
        timeout_s: float = DEFAULT_TIMEOUT_S,
    ) -> Object:
        """Delete all objects that match. A namespaced resource needs its namespace: the API has no wider delete.

        Many thousands take longer than the server's own limit of a minute: it answers 504 with a part of them
        deleted, and the call may be repeated.
        """
        if resource.namespaced and not namespace:
            raise UsageError(f"{resource.full_name} can be deleted in one namespace at a time: name it")
        return await self._object(
            "DELETE",
            resource.path(namespace=namespace),
            query=options.query(labelSelector=label_selector, fieldSelector=field_selector),
            body=options.delete_options(propagation, grace_s, dry_run, {}),
            timeout_s=timeout_s,
        )

    async def _get_path(self, path: str, accept: str) -> Object:
        return await self._object("GET", path, accept=accept)

    def _page(self, response: Response, path: str, shape: Shape | None) -> tuple[Objects, str, str]:
        """Items, version and continue token of one page."""
        if shape is not None:
            # What does not fit the shape is read whole: a shape saves work, it forbids nothing.
            with contextlib.suppress(msgspec.ValidationError):
                return shape.page(response.body)
        whole = self._decoded(response, "GET", path)
        metadata = whole.get("metadata") or {}
        return whole.get("items") or [], metadata.get("resourceVersion") or "", metadata.get("continue") or ""
