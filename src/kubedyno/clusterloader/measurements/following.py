"""Objects followed from one call of a measurement to another."""

import asyncio
from collections.abc import Callable, Mapping

from kubedyno.client.informer import Change, IndexFunction, Informer
from kubedyno.client.shaping import Shape
from kubedyno.clusterloader.measurements.measuring import Scene
from kubedyno.clusterloader.measurements.params import Selector
from kubedyno.kube.resources import Resource


class Follower:
    """An informer in the scene's background, as calls come and go in tasks of their own."""

    def __init__(self, informer: Informer, task: asyncio.Task[None]) -> None:
        self.informer = informer
        self._task = task

    async def stop(self) -> None:
        """Follow no longer; what is known stays."""
        self._task.cancel()
        await asyncio.wait([self._task])


async def follow(
    scene: Scene,
    resource: Resource,
    selector: Selector,
    *,
    on_change: Callable[[Change], None] | None = None,
    indexes: Mapping[str, IndexFunction] | None = None,
    shape: Shape | None = None,
) -> Follower:
    """Follow what a selector means; returns when all that is there now is known. `on_change` is told of it as well."""
    informer = Informer(
        scene.client,
        resource,
        namespace=selector.namespace,
        label_selector=selector.labels,
        field_selector=selector.fields,
        indexes=indexes,
        shape=shape,
    )
    if on_change is not None:
        informer.subscribe(on_change)
    known: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        try:
            async with informer:
                known.set_result(None)
                await asyncio.Event().wait()
        finally:
            if not known.done():
                known.cancel()

    task = scene.background.start(run(), name=f"follow {resource.full_name} of {selector}")
    await known
    return Follower(informer, task)
