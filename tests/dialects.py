"""What dialects write: templates rendered as a submission renders them, and how many pods come of them."""

from collections.abc import Callable
from typing import Any

import minijinja
import yaml

from kubedyno.model.dialects import Form
from kubedyno.schedulers.dialects import DIALECTS

_DEFAULTS: dict[str, Any] = {
    "name": "w-0",
    "namespace": "default",
    "project": "",
    "queue": "",
    "gpus": 1,
    "workers": 2,
    "index": 0,
    "pvc": "",
    "image": "simulated",
    "submission": "s",
}


def rendered(name: str, form: Form, **values: Any) -> list[dict[str, Any]]:
    """The objects of a template."""
    dialect = DIALECTS.get(name)
    environment = minijinja.Environment(undefined_behavior="strict", auto_escape_callback=lambda _: False)
    given = {
        **_DEFAULTS,
        "scheduler_name": dialect.scheduler_name,
        "workload_type": "training" if form == "pvc" else form,
        **values,
    }
    documents = yaml.safe_load_all(environment.render_str(dialect.template(form), **given))
    return [document for document in documents if document is not None]


def pods_of(documents: list[dict[str, Any]]) -> int:
    """How many pods come of objects, as their operators would make them."""
    return sum(_pods(document) for document in documents)


def _pods(document: dict[str, Any]) -> int:
    count = _COUNTS.get(document["kind"])
    return 0 if count is None else count(document["spec"])


def _of_job(spec: dict[str, Any]) -> int:
    return int(spec.get("parallelism", 1))


_COUNTS: dict[str, Callable[[dict[str, Any]], int]] = {
    "Pod": lambda _: 1,
    "Job": _of_job,
    "JobSet": lambda spec: sum(job["replicas"] * _of_job(job["template"]["spec"]) for job in spec["replicatedJobs"]),
    "PyTorchJob": lambda spec: sum(replicas["replicas"] for replicas in spec["pytorchReplicaSpecs"].values()),
    "TrainingWorkload": lambda _: 1,
    "InteractiveWorkload": lambda _: 1,
    "DistributedWorkload": lambda spec: int(spec["numWorkers"]["value"]) + 1,
}
