"""Stages that are objects of the cluster: their definition installed, and every change of them taken over at once."""

import asyncio
from importlib import resources

from kubedyno.client.errors import ApiError
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kit import randomness, tasks
from kubedyno.kit.clock import Clock
from kubedyno.kit.errors import UsageError
from kubedyno.kube import codec, meta
from kubedyno.kube.resources import CRDS, Resource
from kubedyno.sim.stages.functions import Surroundings
from kubedyno.sim.stages.playing import Manages, Say, Stagehands
from kubedyno.sim.stages.reading import read_object
from kubedyno.sim.stages.stage import Stage

STAGES = Resource("kwok.x-k8s.io", "v1alpha1", "Stage", "stages", namespaced=False, subresources=("status",))
SOURCE = "the cluster"

_SERVED_WITHIN_S = 60.0


async def play_cluster_stages(
    client: Client,
    *,
    clock: Clock,
    seed: int,
    manages: Manages | None = None,
    surroundings: Surroundings | None = None,
    say: Say | None = None,
) -> None:
    """Play the Stage objects of the cluster until cancelled; other parameters as those of `play_stages`.

    A stage that cannot be read is said and left out; a kind that the server does not serve is waited for.
    """
    await install_definition(client)
    async with tasks.owning() as group:
        stagehands = Stagehands(
            client, clock=clock, seed=seed, manages=manages, surroundings=surroundings, say=say, group=group
        )
        changed = asyncio.Event()
        objects = Informer(client, STAGES, rng=randomness.stream(seed, "stages"))
        objects.subscribe(lambda _change: changed.set())
        async with objects:
            while True:
                changed.clear()
                await stagehands.play(_read(objects, stagehands), awaited=True)
                await changed.wait()


def _read(objects: Informer, stagehands: Stagehands) -> list[Stage]:
    """The stages that can be read, by name."""
    stages: list[Stage] = []
    for obj in sorted(objects.items, key=meta.key):
        try:
            stages.append(read_object(obj, source=SOURCE))
        except UsageError as error:
            stagehands.tell(f"{error}; the stage is left out", str(error))
    return stages


async def install_definition(client: Client) -> None:
    """Define Stage objects where nobody has, and return when they are served."""
    text = (resources.files("kubedyno.sim.stages") / "definition.yaml").read_text(encoding="utf-8")
    (definition,) = codec.read_yaml(text, source="definition.yaml")
    name = definition["metadata"]["name"]
    try:
        await client.create(CRDS, definition)
    except ApiError as error:
        if not error.is_already_exists:
            raise

    def served(found: Informer) -> bool:
        known = found.get(("", name))
        return known is not None and meta.is_condition_true(known, "Established")

    async with Informer(client, CRDS, field_selector=f"metadata.name={name}") as found:
        await found.wait_until(served, timeout_s=_SERVED_WITHIN_S, what=f"the definition {name} to be served")
