"""What a lab's own process records: while a trial runs, or for as long as the lab stays."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from kubedyno.client.rest import Client
from kubedyno.measure.following import Following, Probing, following
from kubedyno.measure.spool import Spool
from kubedyno.model.lifecycles import Followed

_PROBING = Probing(namespace="kube-system")  # where nobody looks for workloads


@contextlib.asynccontextmanager
async def recording(
    client: Client,
    kinds: Sequence[Followed],
    records: Path,
    *,
    namespace: str | None = None,
    is_virtual: bool = False,
) -> AsyncIterator[tuple[Following, Spool]]:
    """Record these kinds into a new folder below `records` while the block runs; without a namespace, of all."""
    with Spool(records) as spool:
        async with following(
            client,
            kinds,
            spool=spool,
            namespace=namespace,
            # Nothing takes time there but what is charged for.
            probing=None if is_virtual else _PROBING,
            is_instant=is_virtual,
        ) as recorded:
            yield recorded, spool
