"""Sending what a stage does: requests to the object itself, or to another one."""

from typing import Final

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource
from kubedyno.sim.stages import steps
from kubedyno.sim.stages.stage import NODE, POD, Kind
from kubedyno.sim.stages.steps import ApplyRequest, DeleteRequest, PatchRequest

_MANAGER: Final = "kwok"
"""The field manager of objects that a stage applies, as KWOK's."""


def may_pass(error: ApiError) -> bool:
    """Whether the same request may do better later; somebody else's write, too, is soon over."""
    return error.is_conflict or retrying.may_pass(error)


async def send(
    client: Client, resource: Resource, kind: Kind, obj: Object, request: PatchRequest | ApplyRequest | DeleteRequest
) -> Object | None:
    """Send one request about an object; the answer to a patch of it, None where there is none.

    A patch that changes nothing is not sent. An object that is gone needs neither patch nor deletion.
    """
    namespace, name = meta.key(obj)
    match request:
        case PatchRequest():
            return await _patch(client, resource, obj, request) if steps.changes(obj, request, kind) else None
        case ApplyRequest():
            await _apply(client, request, namespace)
        case DeleteRequest():
            uid = obj["metadata"].get("uid")
            try:
                await client.delete(resource, name, namespace=namespace or None, grace_s=0, uid=uid)
            except ApiError as error:
                if not error.is_not_found:
                    raise
    return None


async def _patch(client: Client, resource: Resource, obj: Object, request: PatchRequest) -> Object | None:
    namespace, name = meta.key(obj)
    try:
        return await client.patch(
            resource,
            name,
            _guarded(request, obj),
            kind=request.kind,
            namespace=namespace or None,
            subresource=request.subresource or None,
        )
    except ApiError as error:
        # Without its name the answer means that there is no such subresource.
        if not error.is_not_found or f'"{name}" not found' not in error.message:
            raise
        return None


def _guarded(request: PatchRequest, obj: Object) -> Object:
    """The patch for this object only: another one of the same name, made since, refuses it."""
    uid = obj["metadata"].get("uid")
    if request.kind == "json" or not uid:
        data: Object = request.data
        return data
    metadata = request.data.get("metadata")
    return {**request.data, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "uid": uid}}


async def _apply(client: Client, request: ApplyRequest, namespace: str) -> None:
    """Create the object, or patch it where it exists."""
    obj = request.data
    target = await client.resource_of(obj)
    metadata = obj.get("metadata") or {}
    own = metadata.get("namespace") or namespace
    if target.namespaced:
        obj = {**obj, "metadata": {**metadata, "namespace": own}}
    place = own if target.namespaced else None
    name = metadata.get("name") or ""
    if not request.subresource:
        try:
            await client.create(target, obj, namespace=place)
        except ApiError as error:
            if not error.is_already_exists or not name:
                raise
        else:
            return
    elif not name:
        raise UsageError(f"an object to apply to {request.subresource} has no name: write metadata.name")
    await client.patch(
        target,
        name,
        obj,
        kind=request.kind,
        namespace=place,
        subresource=request.subresource or None,
        field_manager=_MANAGER if request.kind == "apply" else None,
        force=request.kind == "apply",
    )


def about(kind: Kind, obj: Object) -> Object:
    """The object as an event refers to it: KWOK leaves out the version, for pods and nodes also the apiVersion."""
    metadata = {name: obj["metadata"].get(name, "") for name in ("name", "namespace", "uid")}
    return {
        "apiVersion": "" if kind in {POD, NODE} else kind.api_version,
        "kind": kind.name,
        "metadata": metadata,
    }
