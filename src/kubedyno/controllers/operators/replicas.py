"""What a PyTorchJob asks for: its replicas with the training operator's defaults, and the pod of each."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from kubedyno.controllers.podcontrol import controller_reference
from kubedyno.kube import meta
from kubedyno.kube.codec import Object

MASTER: Final = "Master"
WORKER: Final = "Worker"

OPERATOR: Final = "pytorchjob-controller"
"""The name that the training operator gives itself on pods and in events."""

OPERATOR_NAME: Final = "training.kubeflow.org/operator-name"
JOB_NAME: Final = "training.kubeflow.org/job-name"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
JOB_ROLE: Final = "training.kubeflow.org/job-role"

CONTAINER: Final = "pytorch"
PORT_NAME: Final = "pytorchjob-port"
_PORT = 23456
_RESTART_POLICY = "OnFailure"
_RESTARTS_IN_POD = {"ExitCode": "Never"}


class Replicas(msgspec.Struct, frozen=True):
    """The replicas of one type."""

    type: str
    count: int
    restart_policy: str
    """`Never`, `OnFailure`, `Always` or `ExitCode`."""
    template: Object

    @property
    def is_restarted(self) -> bool:
        """Whether a failed replica may be replaced."""
        return self.restart_policy != "Never"


def replicas_of(job: Object) -> tuple[Replicas, ...]:
    """All replicas that a job asks for, the master first."""
    written = job["spec"].get("pytorchReplicaSpecs") or {}
    by_type = {key.lower(): value or {} for key, value in written.items()}
    return tuple(
        Replicas(
            type=type_,
            count=int(spec.get("replicas", 1)),
            restart_policy=spec.get("restartPolicy") or _RESTART_POLICY,
            template=spec.get("template") or {},
        )
        for type_ in (MASTER, WORKER)
        if (spec := by_type.get(type_.lower())) is not None
    )


def labels_of(job: Object, type_: str) -> dict[str, str]:
    """The labels that the pods of a type have in common."""
    return {OPERATOR_NAME: OPERATOR, JOB_NAME: job["metadata"]["name"], REPLICA_TYPE: type_.lower()}


def place_of(pod: Mapping[str, Any]) -> tuple[str, int] | None:
    """Type (in lower case) and index of a replica's pod; None: it is none."""
    labels = meta.labels(pod)
    index = labels.get(REPLICA_INDEX, "")
    return (labels.get(REPLICA_TYPE, ""), int(index)) if index.isascii() and index.isdigit() else None


def pod_of(job: Object, everybody: Sequence[Replicas], own: Replicas, index: int) -> Object:
    """The pod of one replica."""
    template = meta.copied(own.template)
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), **labels_of(job, own.type), REPLICA_INDEX: str(index)}
    has_master = any(one.type == MASTER for one in everybody)
    if own.type == MASTER or (not has_master and index == 0):
        labels[JOB_ROLE] = "master"
    metadata: Object = {
        "name": f"{job['metadata']['name']}-{own.type.lower()}-{index}",
        "namespace": job["metadata"]["namespace"],
        "labels": labels,
        "ownerReferences": [controller_reference(job)],
    }
    for field in ("annotations", "finalizers"):
        if given.get(field):
            metadata[field] = given[field]
    spec = template.get("spec") or {}
    spec["restartPolicy"] = _RESTARTS_IN_POD.get(own.restart_policy, own.restart_policy)
    _open_port(spec)
    added = _environment(job, everybody, own, index)
    for container in spec.get("containers") or ():
        container["env"] = [*(container.get("env") or ()), *added]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _main_container(spec: Object) -> Object | None:
    containers: list[Object] = spec.get("containers") or []
    return next((one for one in containers if one.get("name") == CONTAINER), containers[0] if containers else None)


def _port_of(spec: Object) -> int:
    ports = (_main_container(spec) or {}).get("ports") or ()
    return next((int(port["containerPort"]) for port in ports if port.get("name") == PORT_NAME), _PORT)


def _open_port(spec: Object) -> None:
    main = _main_container(spec)
    if main is not None and not any(port.get("name") == PORT_NAME for port in main.get("ports") or ()):
        main["ports"] = [*(main.get("ports") or ()), {"name": PORT_NAME, "containerPort": _PORT}]


def _environment(job: Object, everybody: Sequence[Replicas], own: Replicas, index: int) -> list[Object]:
    """What a replica is told of the others. Without a master there is no rank: workers find each other."""
    total = sum(one.count for one in everybody)
    per_node = str(job["spec"].get("nprocPerNode") or "auto")
    told: dict[str, str] = {"PYTHONUNBUFFERED": "1"}
    master = next((one for one in everybody if one.type == MASTER), None)
    if master is not None:
        port = str(_port_of(master.template.get("spec") or {}))
        address = f"{job['metadata']['name']}-master-0"
        rank = str(index if own.type == MASTER else index + 1)
        told |= {
            "MASTER_PORT": port,
            "PET_MASTER_PORT": port,
            "MASTER_ADDR": address,
            "PET_MASTER_ADDR": address,
            "WORLD_SIZE": str(total * (int(per_node) if per_node.isdigit() else 1)),
            "RANK": rank,
            "PET_NODE_RANK": rank,
        }
    told["PET_NPROC_PER_NODE"] = per_node
    elastic = job["spec"].get("elasticPolicy")
    if elastic:
        least, most = elastic.get("minReplicas"), elastic.get("maxReplicas")
        told["PET_NNODES"] = f"{least or most or total}:{most or least or total}"
    else:
        told["PET_NNODES"] = str(total)
    return [{"name": variable, "value": value} for variable, value in told.items()]
