"""Recording the way of workloads: for as long as a lab stays, while a trial runs, or beside a submission."""

import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path

from kubedyno.client.rest import Client
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.following import Following, Probing, following
from kubedyno.measure.observer import Observer
from kubedyno.measure.spool import Spool
from kubedyno.model.lifecycles import Followed

_OF_LABS = "kube-system"  # where nobody looks for workloads


@contextlib.asynccontextmanager
async def recording(
    client: Client,
    kinds: Sequence[Followed],
    records: Path,
    *,
    namespace: str | None = None,
    only: Collection[str] | None = None,
    probe_in: str = _OF_LABS,
    sinks: Sequence[Callable[[ObjectRow], None]] = (),
    is_virtual: bool = False,
    observer: Observer | None = None,
) -> AsyncIterator[tuple[Following, Spool]]:
    """Record these kinds into a new folder below `records` while the block runs.

    Without a namespace, of all, or of those of `only`.
    The probe lives in the namespace `probe_in`; rows go to the sinks as well, and the observer is told of all objects.
    """
    with Spool(records) as spool:
        async with following(
            client,
            kinds,
            spool=spool,
            sinks=sinks,
            namespace=namespace,
            only=only,
            # Nothing takes time there but what is charged for.
            probing=None if is_virtual else Probing(namespace=probe_in),
            is_instant=is_virtual,
            observer=observer,
        ) as recorded:
            yield recorded, spool
