"""The shapes of workloads that scenarios submit. All take `priority`, `closeness` and `runs_for`, and more by name."""

from typing import Any

from kubedyno.model.workloads import Group, Workload


def training(*, gpus: int = 1, **more: Any) -> Workload:
    """One pod with GPUs, in a Job: when it is evicted it comes back."""
    return Workload(**{"name": "training", "gpus": gpus, "as_job": True, **more})


def distributed(*, workers: int, gpus: int = 1, **more: Any) -> Workload:
    """A gang of workers: all start or none does."""
    return Workload(**{"name": "distributed", "pods": workers, "gpus": gpus, **more})


def elastic(*, workers: int, least: int, gpus: int = 1, **more: Any) -> Workload:
    """A gang that starts with its least number of workers, and grows to all of them where there is room."""
    return Workload(**{"name": "elastic", "pods": workers, "least": least, "gpus": gpus, **more})


def inference(*, groups: tuple[Group, ...], **more: Any) -> Workload:
    """A gang of several groups (`prefill`, `decode`), each with its own number of pods and closeness."""
    return Workload(**{"name": "inference", "groups": groups, **more})


def interactive(*, gpus: int = 1, **more: Any) -> Workload:
    """One pod that somebody waits for: it is never a victim, and counts against its queue's quota."""
    return Workload(**{"name": "interactive", "gpus": gpus, "priority": "build", "as_job": True, **more})


def fraction(part: float, **more: Any) -> Workload:
    """One pod with a part of a GPU."""
    return Workload(**{"name": "fraction", "gpus": 0, "fraction": part, **more})


def device(count: int = 1, **more: Any) -> Workload:
    """One pod with GPUs by DRA claims."""
    return Workload(**{"name": "device", "gpus": 0, "claims": count, **more})
