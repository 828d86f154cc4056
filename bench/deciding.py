"""The reference scheduler's decisions alone: how their cost grows with the nodes, and a gang of 10,000 GPUs."""

import itertools
import time
from collections.abc import Iterator

from result import Result, against_ratio, against_value

from kubedyno.model.queues import Queue
from kubedyno.model.workloads import Closeness
from kubedyno.schedulers.reference.cycle import decide
from kubedyno.schedulers.reference.fitting import GPU, Needs
from kubedyno.schedulers.reference.jobs import Job, Subgroup, Task
from kubedyno.schedulers.reference.nodes_table import Facts, facts_of
from kubedyno.schedulers.reference.room import NodesRoom
from kubedyno.schedulers.reference.settings import Settings

_ZONE = "zone"
_TREE = "tree"
_FEW, _MANY, _MOST = 500, 5_000, 100_000
_SINGLES = 4_000
_WORKERS, _GPUS = 1_250, 8
_ROUNDS = 5


def deciding() -> list[Result]:
    """4,000 jobs on 500, 5,000 and 100,000 nodes, and 10,000 GPUs at once in one zone of 100,000 nodes."""
    few, many, most = ([_cost_s(nodes, _singles()) for _ in range(_ROUNDS)] for nodes in (_FEW, _MANY, _MOST))
    gang = [_cost_s(_MOST, [_gang()]) for _ in range(_ROUNDS)]
    return [
        against_ratio("decide-5,000", many, few, unit="s", limit=_MANY / _FEW, better="lower"),
        against_ratio("decide-100,000", most, few, unit="s", limit=_MOST / _FEW, better="lower"),
        against_value("decide-gang", gang, unit="s", limit=2),
    ]


def cost_of_singles_s(nodes: int, jobs: int) -> float:
    """Seconds of a cycle that places so many jobs of one GPU."""
    return _cost_s(nodes, _singles(jobs))


def _cost_s(nodes: int, jobs: list[Job]) -> float:
    """Seconds of a cycle that places all tasks of the jobs on so many empty nodes."""
    room = NodesRoom()
    for name, facts in _nodes(nodes):
        room.put_node(name, facts)
    room.topologies[_TREE] = (_ZONE, "kubernetes.io/hostname")
    begun_s = time.monotonic()
    decisions = decide(jobs, {"team": Queue(name="team")}, room.capacity(), room, settings=Settings())
    took_s = time.monotonic() - begun_s
    wanted = sum(len(job.pending) for job in jobs)
    if len(decisions.placements) != wanted:
        raise RuntimeError(f"{len(decisions.placements)} of {wanted} tasks were placed: {decisions.refusals[:1]}")
    return took_s


def _nodes(count: int) -> Iterator[tuple[str, Facts]]:
    """Nodes of eight GPUs, 2,000 in a zone."""
    amounts = {GPU: "8", "cpu": "64", "memory": "512Gi", "pods": "110"}
    for number in range(count):
        labels = {"kubernetes.io/hostname": f"n-{number}", _ZONE: f"z-{number // 2_000}"}
        conditions = [{"type": "Ready", "status": "True"}]
        node = {"metadata": {"name": f"n-{number}", "labels": labels}}
        yield f"n-{number}", facts_of({**node, "status": {"allocatable": amounts, "conditions": conditions}})


def _singles(count: int = _SINGLES) -> list[Job]:
    return [_job(f"s-{number}", [_task(f"s-{number}", 1)]) for number in range(count)]


def _gang() -> Job:
    tasks = [_task(f"g-{number}", _GPUS) for number in range(_WORKERS)]
    return _job("g", tasks, closeness=Closeness(topology=_TREE, required=_ZONE))


_created = itertools.count()


def _job(name: str, tasks: list[Task], *, closeness: Closeness | None = None) -> Job:
    return Job(
        key=("PodGroup", "default", name),
        queue="team",
        priority=50,
        preemptible=True,
        created=f"{next(_created):012}",
        groups=(Subgroup("", len(tasks)),),
        pending=tuple(tasks),
        running=(),
        closeness=closeness,
    )


def _task(name: str, gpus: int) -> Task:
    requests = ((GPU, gpus * 1000), ("cpu", gpus * 1000), ("pods", 1000))
    return Task(("default", name), name, Needs(requests, (), b"", b"[]"))
