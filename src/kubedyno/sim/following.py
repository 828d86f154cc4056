"""Following a resource without keeping its objects: whoever listens remembers what it needs."""

import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import aclosing
from typing import TypeVar

from kubedyno.client import retrying
from kubedyno.client.errors import ApiError, Unreachable
from kubedyno.client.rest import Client
from kubedyno.client.watching import Event, Heeds, Listed, Watch
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import Resource

K = TypeVar("K", bound=Hashable)


async def follow(
    client: Client,
    resource: Resource,
    listen: Callable[[Event], None],
    *,
    rng: random.Random,
    label_selector: str | None = None,
    field_selector: str | None = None,
    heeds: Heeds | None = None,
) -> None:
    """Tell `listen` of the list and of every change, until cancelled; a server that is away is waited for.

    After a break the list comes again: what is not in it is gone.
    """
    failures = 0
    while True:
        watch = Watch(
            client,
            resource,
            label_selector=label_selector,
            field_selector=field_selector,
            rng=rng,
            heeds=heeds,
        )
        try:
            async with aclosing(watch.events()) as events:
                async for event in events:
                    listen(event)
        except (ApiError, Unreachable) as error:
            if watch.counts.lists or not retrying.may_pass(error):
                raise
            await client.clock.sleep(retrying.backoff_s(failures) * rng.uniform(0.5, 1.0))
            failures += 1


def present(
    event: Event, known: Mapping[K, object], gone: Callable[[K], None], key_of: Callable[[Object], K]
) -> Sequence[Object]:
    """The objects that an event shows; `gone` is called with each of those `known` that it says are no more."""
    if isinstance(event, Listed):
        there = {key_of(obj) for obj in event.items}
        for key in [key for key in known if key not in there]:  # in their order, so that runs repeat
            gone(key)
        return event.items
    if event.type == "DELETED":
        gone(key_of(event.object))
        return ()
    return (event.object,)
