"""The namespaces of a test: made before its steps, deleted after them."""

import random
import re
import string
from collections.abc import Sequence
from typing import Final

from kubedyno.client.errors import Overdue
from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.clusterloader.config import Config, Namespaces
from kubedyno.clusterloader.loading import reconciling
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kube.resources import NAMESPACES
from kubedyno.lab import installing
from kubedyno.lab.creating import RUN_LABEL
from kubedyno.sim.pools.sending import delete_object, in_parallel

_DRAWN: Final = 6
_STALE: Final = re.compile(r"test-[a-z0-9]+-[0-9]+")


def prefix_of(wanted: Namespaces, rng: random.Random) -> str:
    """What the names of a test's namespaces begin with."""
    drawn = "".join(rng.choices(string.ascii_lowercase + string.digits, k=_DRAWN))
    return wanted.prefix or f"test-{drawn}"


def names(wanted: Namespaces, prefix: str) -> tuple[str, ...]:
    """Of all namespaces of a test."""
    return tuple(f"{prefix}-{number}" for number in range(1, wanted.number + 1))


def all_of(config: Config, prefix: str) -> frozenset[str]:
    """All namespaces that a test has objects in: its own, and those that its phases name."""
    phases = (phase for step in config.steps for phase in step.phases)
    named = {name for phase in phases for name in reconciling.namespaces_of(phase, prefix)}
    return frozenset({*names(config.namespaces, prefix), *named} - {""})


async def prepare(client: Client, wanted: Namespaces, prefix: str, *, run_id: str) -> tuple[str, ...]:
    """Make the namespaces, ready for pods; which ones were made: those that were there before stay as they are.

    UsageError when some are there already that must not be.
    """
    there = [obj["metadata"]["name"] for obj in (await client.list_all(NAMESPACES)).items]
    if wanted.deletes_stale:
        stale = [name for name in there if _STALE.fullmatch(name) and not name.startswith(f"{prefix}-")]
        await delete(client, stale, timeout_s=wanted.delete_timeout_s)
    ours = sorted(name for name in there if name.startswith(f"{prefix}-"))
    if ours and not wanted.takes_existing:
        raise UsageError(
            f"namespace.prefix {prefix}: the cluster has {ours[0]} already ({len(ours)} in all): delete them, choose "
            "another prefix, or write enableExistingNamespaces: true"
        )
    missing = tuple(name for name in names(wanted, prefix) if name not in ours)
    # Whatever ends the test, those that are to go are known by the label of its run.
    labels = {RUN_LABEL: run_id} if wanted.deletes_own else {}
    await in_parallel(lambda name: installing.ensure_namespace(client, name, labels=labels), missing)
    return missing


async def delete(client: Client, doomed: Sequence[str], *, timeout_s: float) -> None:
    """Delete namespaces, and return when they are gone; EngineError names those that stay."""

    async def remove(name: str) -> None:
        await delete_object(client, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    await in_parallel(remove, doomed)
    gone = frozenset(doomed)
    async with Informer(client, NAMESPACES) as known:
        try:
            await known.wait_until(
                lambda there: not any(obj["metadata"]["name"] in gone for obj in there.items),
                timeout_s=timeout_s,
                what="the end of the namespaces",
            )
        except Overdue:
            left = sorted(obj["metadata"]["name"] for obj in known.items if obj["metadata"]["name"] in gone)
            raise EngineError(
                f"{len(left)} namespaces of the test did not go away within {timeout_s:g} s: {', '.join(left[:5])}; "
                "see what they still hold, or raise namespace.deleteNamespaceTimeout"
            ) from None
