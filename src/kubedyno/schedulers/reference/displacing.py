"""Jobs that get room at the cost of others: reclaim between queues, preemption within one."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial

from kubedyno.schedulers.reference.allocating import signature
from kubedyno.schedulers.reference.jobs import Action, Job
from kubedyno.schedulers.reference.ordering import Line, next_tasks
from kubedyno.schedulers.reference.planning import Plan
from kubedyno.schedulers.reference.sharing import NOTHING, Triple, exceeds
from kubedyno.schedulers.reference.solving import Search, Solution, Step, among_few, by_node, steps
from kubedyno.schedulers.reference.standing import Standing
from kubedyno.schedulers.reference.victims import Anyone, Losses, Reclaiming, Rules, Unit, Victims, below


def reclaim(plan: Plan, victims: Victims) -> None:
    """Queues below their fair share take from those beyond theirs."""
    standing = plan.standing
    owners = {job.queue for job in plan.waiting.values()}
    hopeful = {name for name in owners if name is not None and any(_rivals(standing, victims, name, NOTHING))}
    _each(plan, victims, "reclaim", [job for job in plan.waiting.values() if job.queue in hopeful], _reclaim)


def preempt(plan: Plan, victims: Victims) -> None:
    """Jobs take the place of others of their queue that have a lower priority."""
    hopeful = [job for job in plan.waiting.values() if job.priority > victims.lowest(job.queue)]
    _each(plan, victims, "preempt", hopeful, _preempt)


def _each(
    plan: Plan,
    victims: Victims,
    action: Action,
    jobs: Iterable[Job],
    solve: Callable[[Plan, Victims, Search], Solution | None],
) -> None:
    line = Line(plan.standing, jobs)
    failed: set[Hashable] = set()
    full: dict[Hashable, int] = {}
    leftovers = 0
    while (job := line.pop()) is not None:
        tasks = next_tasks(job)
        alike = signature(job, tasks)
        kind = (job.queue, job.priority, job.preemptible, alike)
        # Where one found no victims, no other of its kind will. Who lost something himself waits for another cycle.
        if (alike is not None and kind in failed) or job.key in plan.robbed:
            continue
        search = Search(plan, job, tasks)
        solution = None
        # What others were evicted for may leave room; where there was none, there is none until it does.
        if alike is None or full.get(alike) != leftovers:
            solution = search.without_victims()
            full[alike] = leftovers
        if solution is None and not search.is_hopeless:
            solution = solve(plan, victims, search)
        if solution is None:
            failed.add(kind)
            continue
        leftovers += exceeds(sum(unit.amounts[0] for unit in solution.units), search.asked[0])
        for unit in solution.units:
            plan.evict(unit.tasks, plan.job(unit.job), action, job.key)
        victims.take(solution.units)
        plan.place(job, solution.placed)


def _rivals(standing: Standing, victims: Victims, mine: str, asked: Triple) -> Iterator[str]:
    """Other queues from which something may be taken."""
    for name in standing.accounts:
        if name != mine and victims.lowest(name) < math.inf and standing.may_lose(mine, asked, name, {}):
            yield name


def _reclaim(plan: Plan, victims: Victims, search: Search) -> Solution | None:
    standing, job, asked = plan.standing, search.job, search.asked
    if job.queue is None or not standing.may_reclaim(job, asked):
        return None
    owners = list(_rivals(standing, victims, job.queue, asked))
    start = search.room.mark()
    rules = partial(Reclaiming, standing, job, asked)
    if search.room.domains(job):
        solution = _in_a_domain(search, [unit for name in owners for unit in victims.of(name)], rules)
    else:
        solution = search.in_order(rules().in_turn({name: victims.of(name) for name in owners}))
        if solution is None:
            solution = _node_by_node(search, [unit for name in owners for unit in victims.of(name)], rules)
    if solution is None or standing.stays_fair(job.queue, asked, Losses.of(standing, solution.units).amounts):
        return solution
    search.room.back(start)
    return None


def _preempt(plan: Plan, victims: Victims, search: Search) -> Solution | None:  # noqa: ARG001 - as for reclaim
    units = below(victims.of(search.job.queue), search.job.priority, search.job.key)
    if search.room.domains(search.job):
        return _in_a_domain(search, list(units), Anyone)
    return search.in_order(units)


def _node_by_node(search: Search, units: list[Unit], rules: Callable[[], Rules]) -> Solution | None:
    """In the order of victims, what may be taken can be used up on many nodes without making room on any."""
    choices = steps(search, units)
    order = {unit.tasks[0].uid: i for i, unit in enumerate(units)}
    return by_node(search, choices, rules(), order) or among_few(search, units, rules)


def _in_a_domain(search: Search, units: list[Unit], rules: Callable[[], Rules]) -> Solution | None:
    """All must be in one domain: one after another is tried."""
    order = {unit.tasks[0].uid: i for i, unit in enumerate(units)}
    for choices in by_domain(search, steps(search, units), search.room.domains(search.job)):
        solution = by_node(search, choices, rules(), order)
        if solution is not None:
            return solution
    return among_few(search, units, rules)


def by_domain(search: Search, choices: Sequence[Step], domains: Sequence[frozenset[str]]) -> list[list[Step]]:
    """The steps in each domain that could do, that domain first in which the fewest tasks would have to go."""
    domain_of = {node: i for i, nodes in enumerate(domains) for node in nodes}
    inside: dict[int, list[Step]] = {}
    for step in choices:
        if step.node in domain_of:
            inside.setdefault(domain_of[step.node], []).append(step)
    here = {domain_of[task.node] for task in search.job.running if task.node in domain_of}
    ranked = []
    for i, members in inside.items():
        if not here or i in here:
            lacking, gone = _cost(search, members, domains[i])
            ranked.append((lacking, gone, i))
    return [inside[i] for lacking, _, i in sorted(ranked) if lacking <= 0 or not search.is_uniform]


def _cost(search: Search, choices: Iterable[Step], nodes: Iterable[str]) -> tuple[int, int]:
    """How many places all steps together would leave lacking, and how many tasks go for those that are found."""
    lacking = len(search.tasks) - sum(search.room.takes(search.sample, node) for node in nodes)
    places: dict[str, int] = {}
    going: set[str] = set()
    for step in choices:
        if lacking <= 0:
            break
        more = step.places - places.get(step.node, 0)
        if more > 0:
            places[step.node] = step.places
            lacking -= more
            going.update(task.uid for unit in step.units for task in unit.tasks)
    return max(lacking, 0), len(going)
