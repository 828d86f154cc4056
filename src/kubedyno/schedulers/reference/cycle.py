"""One cycle of the reference scheduler: who gets a node, who loses one for whom, and who must wait and why.

Pure: jobs, queues and room in, decisions out. Its actions are KAI's, in KAI's order: what fits is placed; running work
is moved together where that makes room; queues take back what is theirs; jobs displace others of lower priority in
their queue; and what is left of gangs that broke is cleared away.
"""

from collections.abc import Mapping, Sequence

from kubedyno.model.queues import Queue
from kubedyno.schedulers.reference.allocating import allocate
from kubedyno.schedulers.reference.consolidating import consolidate
from kubedyno.schedulers.reference.displacing import preempt, reclaim
from kubedyno.schedulers.reference.jobs import Decisions, Job, JobKey, Room
from kubedyno.schedulers.reference.ordering import BELOW, stage
from kubedyno.schedulers.reference.planning import Plan
from kubedyno.schedulers.reference.settings import Settings
from kubedyno.schedulers.reference.sharing import Books
from kubedyno.schedulers.reference.victims import Victims


def decide(
    jobs: Sequence[Job],
    queues: Mapping[str, Queue],
    capacity: Mapping[str, float],
    room: Room,
    *,
    settings: Settings,
    stale: frozenset[JobKey] = frozenset(),
) -> Decisions:
    """Decide about all jobs.

    `capacity` is what all nodes have together, in the units of `Queue`: GPUs, thousandths of CPUs, millions of bytes.
    `stale` are jobs of which too few tasks run for too long. `room` is changed.
    """
    return decide_from(Books(queues, jobs), capacity, room, settings=settings, stale=stale)


def decide_from(
    books: Books,
    capacity: Mapping[str, float],
    room: Room,
    *,
    settings: Settings,
    stale: frozenset[JobKey] = frozenset(),
) -> Decisions:
    """The same for books that are kept between cycles; they are not changed."""
    plan = Plan(books, capacity, room)
    allocate(plan)
    victims = Victims(plan)
    if plan.waiting:
        consolidate(plan, victims, most=settings.consolidation_preemptees)
        reclaim(plan, victims)
        preempt(plan, victims)
    clear(plan, stale)
    return plan.decisions()


def clear(plan: Plan, stale: frozenset[JobKey]) -> None:
    """Evict what is left of jobs that were below their least number for too long, unless they got what they lack."""
    for key in sorted(stale):
        job = plan.job(key)
        if job.running and stage(job) == BELOW:
            plan.evict(job.running, job, "stalegangeviction", None)
