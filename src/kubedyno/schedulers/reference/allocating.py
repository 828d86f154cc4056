"""The first action: jobs get what is free, queue by queue in turn."""

from collections.abc import Hashable, Sequence

from kubedyno.schedulers.reference.jobs import Job, Task
from kubedyno.schedulers.reference.ordering import Line, next_tasks
from kubedyno.schedulers.reference.planning import Plan
from kubedyno.schedulers.reference.sharing import total_of

NO_ROOM = "PodSchedulingErrors"


def allocate(plan: Plan) -> None:
    """Place what fits: of each job first its least number of tasks, then one more at a time, in turn with others."""
    line = Line(plan.standing, plan.waiting.values())
    failed: dict[Hashable, str] = {}
    while (job := line.pop()) is not None:
        tasks = next_tasks(job)
        refused = plan.standing.refusal(job, total_of(tasks), {})
        if refused is not None:
            plan.refuse(job, *refused)
            continue
        alike = signature(job, tasks)
        if alike in failed:
            plan.refuse(job, NO_ROOM, failed[alike])
            continue
        placed = plan.room.place(job, only=tasks)
        if placed:
            changed = plan.place(job, placed)
            if changed.pending:
                line.push(changed)
            continue
        said = plan.room.why_not(job)
        plan.refuse(job, NO_ROOM, said)
        # Within this action room only gets less: where one found none, no other of its kind will.
        if alike is not None:
            failed[alike] = said
            _skip_alike(plan, line, job, alike, said)


def _skip_alike(plan: Plan, line: Line, job: Job, alike: Hashable, said: str) -> None:
    """Refuse those that come next in the queue of a job as long as they are like it."""
    while (other := line.next_of(job.queue)) is not None and signature(other, next_tasks(other)) == alike:
        line.skip(job.queue)
        plan.refuse(other, NO_ROOM, said)


def signature(job: Job, tasks: Sequence[Task]) -> Hashable | None:
    """Equal for jobs that find room alike; None: only this one does."""
    if len(tasks) == 1 and job.closeness is None and len(job.groups) == 1 and job.groups[0].closeness is None:
        return None if tasks[0].claims else tasks[0].needs
    closeness = (job.closeness, *(group.closeness for group in job.groups))
    if any(task.claims for task in tasks) or (job.running and any(closeness)):
        return None
    return tuple((task.group, task.needs) for task in tasks), closeness
