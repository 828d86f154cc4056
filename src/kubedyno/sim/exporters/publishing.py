"""Writing one NodeResourceTopology: in the ways in which exporters of the field do.

Patches are JSON merge patches of what changed since the last write, without a look at what is there. One that fails is
followed by the whole object at once: read, changed, written back. Server-side apply needs no reading.
"""

from collections.abc import Callable

from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.kube import codec, patches
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import NODE_RESOURCE_TOPOLOGIES, Resource
from kubedyno.sim.exporters.reporting import Operation
from kubedyno.sim.exporters.settings import Settings
from kubedyno.sim.exporters.writing import FIELD_MANAGER

Failed = Callable[[ApiError | Unreachable], None]


class Kept:
    """What an exporter remembers of its object: what it wrote last, and how many patches ago it wrote the whole."""

    __slots__ = ("last", "patches")

    def __init__(self) -> None:
        self.last: bytes | None = None
        """As JSON: there are thousands of them."""
        self.patches = 0


def resource_of(settings: Settings) -> Resource:
    """The kind in the version that is written."""
    return next(one for one in NODE_RESOURCE_TOPOLOGIES if one.version == settings.api_version)


async def publish(client: Client, wanted: Object, kept: Kept, settings: Settings, failed: Failed) -> Operation:
    """Write the object; how it was done in the end. Raises what the server answered if it could not be done.

    `failed` is told of a patch that was refused, after which another way is taken.
    """
    resource = resource_of(settings)
    if settings.update == "apply":
        await client.apply(wanted, field_manager=FIELD_MANAGER, resource=resource, force=True)
        return "apply"
    if settings.update == "patch" and kept.last is not None and not _is_whole_due(kept, settings):
        try:
            return await _patch(client, resource, wanted, kept)
        except (ApiError, Unreachable) as error:
            failed(error)
            if isinstance(error, ApiError) and error.is_conflict:
                kept.last = None
    operation = await _write_whole(client, resource, wanted)
    kept.last, kept.patches = codec.encode(wanted), 0
    return operation


def _is_whole_due(kept: Kept, settings: Settings) -> bool:
    return bool(settings.full_every) and kept.patches >= settings.full_every


async def _patch(client: Client, resource: Resource, wanted: Object, kept: Kept) -> Operation:
    last = codec.decode(kept.last or b"{}")
    new = _changed(last, wanted)
    await client.patch(resource, wanted["metadata"]["name"], patches.merge_diff(last, new), kind="merge")
    kept.last = codec.encode(new)
    kept.patches += 1
    return "patch"


async def _write_whole(client: Client, resource: Resource, wanted: Object) -> Operation:
    try:
        found = await client.get(resource, wanted["metadata"]["name"])
    except ApiError as error:
        if not error.is_not_found:
            raise
        await client.create(resource, wanted)
        return "create"
    await client.update(resource, _changed(found, wanted))
    return "update"


def _changed(found: Object, wanted: Object) -> Object:
    """What is there with all that the exporter says; annotations that it says no more stay, as do others'."""
    before, said = found["metadata"], wanted["metadata"]
    metadata = {**before, **said}
    if "annotations" in said:
        metadata["annotations"] = {**(before.get("annotations") or {}), **said["annotations"]}
    return {**found, **wanted, "metadata": metadata}
