"""Single requests of an apply, patiently: what a server that is busy or away for a minute refuses is asked again."""

import functools
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from kubedyno.client.errors import ApiError
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODES
from kubedyno.sim.patience import patiently
from kubedyno.sim.pools.changing import Patch

FIELD_MANAGER: Final = "kubedyno-pools"

_PARALLEL: Final = 48

Item = TypeVar("Item")


async def in_parallel(do: Callable[[Item], Awaitable[Any]], items: Iterable[Item]) -> None:
    """`do` for every item, many at a time; an iterator is read as hands get free."""
    rest: Iterator[Item] = iter(items)

    async def work() -> None:
        for item in rest:
            await do(item)

    async with tasks.owning() as group:
        for _ in range(_PARALLEL):
            group.create_task(work())


async def create_node(client: Client, node: Object, *, in_place_of_another: bool = False) -> None:
    """Create the node. One that is there at a second attempt came by the first, whose answer was lost.

    In place of another one it is created when that one is gone: finalizers may keep it.
    """
    attempts = 0

    async def create() -> None:
        nonlocal attempts
        attempts += 1
        try:
            await client.create(NODES, node, field_manager=FIELD_MANAGER)
        except ApiError as error:
            if not error.is_already_exists or attempts == 1 or await _is_going(client, node):
                raise

    await patiently(client, create, also=lambda error: in_place_of_another and error.is_already_exists)


async def _is_going(client: Client, node: Object) -> bool:
    """Whether the node of that name is being deleted, or is gone by now."""
    try:
        there = await client.get(NODES, node["metadata"]["name"])
    except ApiError as error:
        if not error.is_not_found:
            raise
        return True
    return "deletionTimestamp" in there["metadata"]


async def replace_node(client: Client, node: Object) -> None:
    """Delete the node of that name and create this one."""
    await delete_object(client, node)
    await create_node(client, node, in_place_of_another=True)


async def change_node(client: Client, patch: Patch, again: Callable[[Object, Object], Patch | None]) -> None:
    """Send the patch; when somebody else was faster, `again` works it out anew from the wanted and the live node."""
    wanted = patch.wanted
    name = wanted["metadata"]["name"]
    current: Patch | None = patch

    async def send() -> None:
        nonlocal current
        try:
            if current is not None and current.body:
                await client.patch(NODES, name, current.body, kind="merge", field_manager=FIELD_MANAGER)
            if current is not None and current.status:
                await client.patch(
                    NODES, name, current.status, kind="merge", subresource="status", field_manager=FIELD_MANAGER
                )
        except ApiError as error:
            if error.is_conflict:
                current = again(wanted, await client.get(NODES, name))
            raise

    await patiently(client, send, also=lambda error: error.is_conflict)


async def delete_object(client: Client, document: Object) -> None:
    """Delete the object, the very one if its uid is known; one that is gone, or another by now, is left alone."""
    metadata = document["metadata"]
    resource = await client.resource_of(document) if "kind" in document else NODES

    async def remove() -> None:
        try:
            await client.delete(
                resource, metadata["name"], namespace=metadata.get("namespace"), uid=metadata.get("uid")
            )
        except ApiError as error:
            if not (error.is_not_found or error.is_conflict):
                raise

    await patiently(client, remove)


async def put_object(client: Client, document: Object) -> None:
    """Apply the object; where it refuses to change, as levels of a Topology do, it is made anew."""
    apply = functools.partial(client.apply, document, field_manager=FIELD_MANAGER, force=True)
    try:
        await patiently(client, apply)
    except ApiError as error:
        if not error.is_invalid:
            raise
        await delete_object(client, document)
        await patiently(client, apply)
