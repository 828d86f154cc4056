"""Load beside what is measured: jobs that wait in vain, and jobs that come and go."""

import contextlib
from collections.abc import AsyncIterator

from kubedyno.kit import tasks
from kubedyno.lab.lab import Lab
from kubedyno.lab.shapes import training
from kubedyno.scenarios import outcomes, sizes

_CHURN_EVERY_S = 1.0
_CHURN_RUNS_FOR = "5s"


@contextlib.asynccontextmanager
async def waiting_jobs(lab: Lab, nodes: int, share: float) -> AsyncIterator[None]:
    """During the block one-GPU jobs wait in a queue that may have none; afterwards it is checked that none ran."""
    count = sizes.share_of_gpus(nodes, share)
    if not count:
        yield
        return
    queue = await lab.queue("no-quota", quota=0, weight=0, limit=0)
    jobs = await lab.submit(training(gpus=1), count=count, queue=queue, name="waiting")
    yield
    outcomes.expect_none_placed(lab, jobs, "no job of a queue with limit 0 runs")


@contextlib.asynccontextmanager
async def churning(lab: Lab, per_s: float) -> AsyncIterator[None]:
    """During the block so many jobs a second come, work for five seconds without a GPU, and go."""
    if not per_s:
        yield
        return
    queue = await lab.queue("churn")
    async with tasks.owning() as group:
        churn = group.create_task(_churn(lab, queue, per_s), name="churn")
        yield
        churn.cancel()


async def _churn(lab: Lab, queue: str, per_s: float) -> None:
    owed = 0.0
    wave = 0
    while True:
        owed += per_s * _CHURN_EVERY_S
        if owed >= 1:
            shape = training(gpus=0, runs_for=_CHURN_RUNS_FOR)
            await lab.submit(shape, count=int(owed), queue=queue, name=f"churn-{wave}")
            owed -= int(owed)
            wave += 1
        await lab.clock.sleep(_CHURN_EVERY_S)


@contextlib.asynccontextmanager
async def load(lab: Lab, nodes: int, *, background: float, churn: float) -> AsyncIterator[None]:
    """Both: `background` is a share of the cluster's GPUs, `churn` jobs a second."""
    async with waiting_jobs(lab, nodes, background), churning(lab, churn):
        yield
