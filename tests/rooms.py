"""A room for the reference scheduler's decisions, slow and obviously right, and jobs to put into it."""

import copy
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.fitting import GPU, Amounts, Needs
from kubedyno.schedulers.reference.jobs import Job, Subgroup, Task
from kubedyno.schedulers.reference.nodes_table import facts_of
from kubedyno.schedulers.reference.room import NodesRoom

CAPACITY_PER_NODE = {"cpu": 32_000, "memory": 256_000_000_000_000, "pods": 110_000}


class SlowRoom:
    """Nodes as mappings of numbers; a mark is a copy of everything."""

    def __init__(
        self,
        allocatable: Mapping[str, Amounts],
        running: Iterable[Task] = (),
        *,
        labels: Mapping[str, Mapping[str, str]] | None = None,
        spread: bool = False,
    ) -> None:
        self.free: dict[str, Amounts] = {name: dict(amounts) for name, amounts in allocatable.items()}
        self._labels = labels or {}
        self._spread = spread
        self._marks: list[dict[str, Amounts]] = []
        for task in running:
            assert task.node is not None
            self._take(task.needs, task.node)

    def gpus(self) -> dict[str, int]:
        """Whole GPUs that are free on each node."""
        return {name: free.get(GPU, 0) // 1000 for name, free in self.free.items()}

    def mark(self) -> int:
        self._marks.append(copy.deepcopy(self.free))
        return len(self._marks) - 1

    def back(self, mark: int) -> None:
        self.free = copy.deepcopy(self._marks[mark])
        del self._marks[mark + 1 :]

    def evict(self, task: Task) -> None:
        assert task.node is not None
        for name, amount in task.needs.requests:
            self.free[task.node][name] += amount

    def restore(self, task: Task) -> bool:
        assert task.node is not None
        if not self._fits(task.needs, task.node):
            return False
        self._take(task.needs, task.node)
        return True

    def takes(self, task: Task, node: str) -> int:
        kept, count = dict(self.free[node]), 0
        while self._fits(task.needs, node):
            self._take(task.needs, node)
            count += 1
        self.free[node] = kept
        return count

    def domains(self, job: Job) -> tuple[frozenset[str], ...]:
        if job.closeness is None or job.closeness.required is None:
            return ()
        return tuple(frozenset(nodes) for nodes in self._by_label(job.closeness.required, list(self.free)).values())

    def why_not(self, job: Job) -> str:
        return f"no room for {job.key[2]}"

    def place(self, job: Job, *, only: tuple[Task, ...] | None = None) -> tuple[tuple[Task, str], ...]:
        tasks = job.pending if only is None else only
        placed = self._near(job.closeness, list(self.free), job.running, lambda nodes: self._groups(job, tasks, nodes))
        return tuple(placed)

    def _near(
        self,
        closeness: Closeness | None,
        nodes: list[str],
        running: Sequence[Task],
        place: Callable[[list[str]], list[tuple[Task, str]]],
    ) -> list[tuple[Task, str]]:
        """Try the sets of nodes that closeness allows, the fullest first, until one works."""
        for allowed in self._allowed(closeness, nodes, running):
            kept = copy.deepcopy(self.free)
            placed = place(allowed)
            if placed:
                return placed
            self.free = kept
        return []

    def _allowed(self, closeness: Closeness | None, nodes: list[str], running: Sequence[Task]) -> list[list[str]]:
        if closeness is None:
            return [nodes]
        sets = [nodes]
        if closeness.required is not None:
            sets = list(self._by_label(closeness.required, nodes).values())
            holding = {task.node for task in running}
            sets = [members for members in sets if holding <= set(members)]
        if closeness.preferred is not None:
            inner = [list(self._by_label(closeness.preferred, members).values()) for members in sets]
            ordered = [
                [node for domain in sorted(domains, key=self._free_gpus, reverse=True) for node in domain]
                for domains in inner
            ]
            sets = sorted((one for domains in inner for one in domains), key=self._free_gpus) + ordered
        return sorted(sets, key=self._free_gpus) if closeness.preferred is None else sets

    def _free_gpus(self, nodes: Iterable[str]) -> int:
        return sum(self.free[node].get(GPU, 0) for node in nodes)

    def _by_label(self, key: str, nodes: list[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for node in nodes:
            value = self._labels.get(node, {}).get(key, node if key == "kubernetes.io/hostname" else None)
            if value is not None:
                found.setdefault(value, []).append(node)
        return found

    def _groups(self, job: Job, tasks: Sequence[Task], nodes: list[str]) -> list[tuple[Task, str]]:
        kept = copy.deepcopy(self.free)
        placed: list[tuple[Task, str]] = []
        running = Counter(task.group for task in job.running)
        for group in job.groups:
            members = [task for task in tasks if task.group == group.name]
            own = [task for task in job.running if task.group == group.name]
            lacking = max(group.least - running[group.name], 0)
            alone = functools.partial(self._enough, members, max(lacking, 1))
            found = self._near(group.closeness, nodes, own, alone) if members else []
            if len(found) < lacking:
                self.free = kept
                return []
            placed += found
        return placed

    def _enough(self, tasks: Sequence[Task], least: int, nodes: list[str]) -> list[tuple[Task, str]]:
        found = self._each(tasks, nodes)
        return found if len(found) >= least else []

    def _each(self, tasks: Sequence[Task], nodes: list[str]) -> list[tuple[Task, str]]:
        """Task by task, those with the most GPUs first."""
        placed = []
        for task in sorted(tasks, key=lambda task: -task.needs.gpus):
            fitting = [node for node in nodes if self._fits(task.needs, node)]
            if fitting:
                sign = -1 if self._spread else 1
                node = min(
                    fitting, key=lambda n: (sign * self.free[n].get(GPU, 0), sign * self.free[n].get("cpu", 0), n)
                )
                self._take(task.needs, node)
                placed.append((task, node))
        return placed

    def _fits(self, needs: Needs, node: str) -> bool:
        if any(self._labels.get(node, {}).get(key) != value for key, value in needs.selector):
            return False
        return all(self.free[node].get(name, 0) >= amount for name, amount in needs.requests if amount)

    def _take(self, needs: Needs, node: str) -> None:
        for name, amount in needs.requests:
            self.free[node][name] = self.free[node].get(name, 0) - amount


def nodes(count: int, *, gpus: int = 8, prefix: str = "n") -> dict[str, Amounts]:
    """Alike nodes, numbered."""
    return {f"{prefix}{i:03}": {GPU: gpus * 1000, **CAPACITY_PER_NODE} for i in range(count)}


def needs(gpus: int, selector: Mapping[str, str] | None = None) -> Needs:
    """What a pod asks for that takes so many GPUs and little else."""
    requests = ((GPU, gpus * 1000), ("cpu", 1000), ("memory", 1_000_000_000_000), ("pods", 1000))
    return Needs(requests, tuple(sorted((selector or {}).items())), b"", b"[]")


def gang(
    name: str,
    *,
    queue: str | None = None,
    pods: int = 1,
    gpus: int = 1,
    least: int | None = None,
    on: Sequence[str] = (),
    priority: int = 50,
    preemptible: bool | None = None,
    created: int = 0,
    closeness: Closeness | None = None,
    groups: Mapping[str, int] | None = None,
) -> Job:
    """A job of alike pods; those of them run that have a node in `on`, the rest wait.

    `groups` are sub-groups with so many pods each, all of which must start.
    """
    owners = [part for part, count in groups.items() for _ in range(count)] if groups else [""] * pods
    asks = needs(gpus)
    tasks = [
        Task(("default", f"{name}-{i}"), f"{name}-{i}", asks, owner, on[i] if i < len(on) else None)
        for i, owner in enumerate(owners)
    ]
    parts = (
        tuple(Subgroup(part, count) for part, count in groups.items())
        if groups
        else (Subgroup("", pods if least is None else least),)
    )
    return Job(
        key=("PodGroup", "default", name),
        queue=queue,
        priority=priority,
        preemptible=priority < 100 if preemptible is None else preemptible,
        created=f"2026-01-01T00:{created // 60:02}:{created % 60:02}Z",
        groups=parts,
        pending=tuple(task for task in tasks if task.node is None),
        running=tuple(task for task in tasks if task.node is not None),
        closeness=closeness,
    )


def room_of(allocatable: Mapping[str, Amounts], jobs: Iterable[Job], **kwargs: object) -> SlowRoom:
    """A room in which the jobs' tasks run where they say."""
    return SlowRoom(allocatable, [task for job in jobs for task in job.running], **kwargs)  # type: ignore[arg-type]


def real_room_of(allocatable: Mapping[str, Amounts], jobs: Iterable[Job]) -> NodesRoom:
    """The same as the room that the scheduler uses."""
    room = NodesRoom()
    for name, amounts in allocatable.items():
        written = {resource: f"{amount // 1000}" for resource, amount in amounts.items()}
        ready = {"type": "Ready", "status": "True"}
        node = {"metadata": {"name": name}, "status": {"allocatable": written, "conditions": [ready]}}
        room.put_node(name, facts_of(node))
    for job in jobs:
        for task in job.running:
            room.packing.hold(task.uid, task.needs, task.node or "")
    return room


def capacity_of(allocatable: Mapping[str, Amounts]) -> dict[str, float]:
    """What nodes have together, in the units of queues."""
    totals: Counter[str] = Counter()
    for amounts in allocatable.values():
        totals.update(amounts)
    return {"gpu": totals[GPU] / 1e3, "cpu": float(totals["cpu"]), "memory": totals["memory"] / 1e9}
