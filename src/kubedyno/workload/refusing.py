"""What is looked at before the first workload is sent: that the cluster has its kinds, namespaces and projects."""

import contextlib
import shutil
from collections.abc import Iterable, Sequence

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NAMESPACES, Resource, UnknownResource
from kubedyno.model.dialects import Dialect
from kubedyno.workload.order import Order
from kubedyno.workload.preparing import Document
from kubedyno.workload.sending import Resources


async def served(client: Client, dialect: Dialect, objects: Iterable[Object]) -> Resources:
    """The resources of the kinds of these objects; a UsageError names the first that the server does not have."""
    resources: dict[tuple[str, str], Resource] = {}
    for obj in objects:
        key = obj["apiVersion"], obj["kind"]
        if key not in resources:
            resources[key] = await _served(client, dialect, *key)
    return resources


async def known(client: Client, objects: Iterable[Object]) -> Resources:
    """The resources of those of these objects whose kinds the server has."""
    resources: dict[tuple[str, str], Resource] = {}
    for obj in objects:
        with contextlib.suppress(UnknownResource):
            resources[obj["apiVersion"], obj["kind"]] = await client.resource(obj["apiVersion"], obj["kind"])
    return resources


async def _served(client: Client, dialect: Dialect, api_version: str, kind: str) -> Resource:
    remedy = "install what brings it, choose another dialect with --scheduler, or only look at the objects with --print"
    refusal = f"dialect {dialect.name} makes a {kind} of {api_version}, which the cluster does not have: {remedy}"
    try:
        resource = await client.resource(api_version, kind)
        # The table of built-in kinds also holds those behind feature gates: whether they are served, the server tells.
        await client.list(resource, limit=1, resource_version="0")
    except UnknownResource as error:
        raise UsageError(refusal) from error
    except ApiError as error:
        if error.is_not_found:
            raise UsageError(refusal) from error
        if not error.is_forbidden:  # who may create need not be allowed to list
            raise
    return resource


async def refuse_missing_namespaces(client: Client, documents: Iterable[Document]) -> None:
    """A UsageError names the first namespace that is not there."""
    for namespace in dict.fromkeys(document.namespace for document in documents if document.namespace):
        found = await _found(client, NAMESPACES, namespace)
        if found is None:
            raise UsageError(
                f"there is no namespace {namespace!r}: {await _known(client, NAMESPACES, namespace)}; "
                f"`kubectl create namespace {namespace}` makes it"
            )
        if found["metadata"].get("deletionTimestamp"):
            raise UsageError(f"namespace {namespace!r} is being deleted: wait until it is gone, and make it anew")


async def refuse_missing_projects(client: Client, order: Order, dialect: Dialect, namespaces: Sequence[str]) -> None:
    """A UsageError names the first project that is not there; `namespaces` are those of the projects."""
    kind = dialect.project_kind
    for project, namespace in zip(order.projects, namespaces, strict=True):
        name = dialect.project_name(project)
        where = namespace if kind.namespaced else None
        if await _found(client, kind, name, where) is None:
            place = f" in namespace {namespace}" if where else ""
            raise UsageError(
                f"--project {project}: there is no {kind.kind} {name!r}{place}: "
                f"{await _known(client, kind, name, where)}; make it, or name another project"
            )


async def _found(client: Client, resource: Resource, name: str, namespace: str | None = None) -> Object | None:
    """The object; None: there is none. Without the right to look it is taken to be there, and empty."""
    try:
        return await client.get(resource, name, namespace=namespace)
    except ApiError as error:
        if error.is_not_found:
            return None
        if error.is_forbidden:
            return {"metadata": {}}
        raise


def refuse_missing_program(program: str) -> None:
    """A UsageError if a program that workloads are sent with is not there."""
    if shutil.which(program) is None:
        raise UsageError(f"{program} is not there: install it, or name another program in the settings")


async def _known(client: Client, resource: Resource, wrong: str, namespace: str | None = None) -> str:
    try:
        listing = await client.list(resource, namespace=namespace, limit=500)
    except ApiError:
        return f"the cluster has no {resource.full_name}"
    return suggestion(wrong, [item["metadata"]["name"] for item in listing.get("items") or []])
