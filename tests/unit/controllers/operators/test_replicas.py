"""What a PyTorchJob asks for, and the pods that are made of it."""

from typing import Any

import pytest

from kubedyno.controllers.operators import replicas
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

CONTAINER = {"name": "pytorch", "image": "i"}


def spec(count: int | None = 1, /, **more: Any) -> Object:
    template = more.pop("template", {"spec": {"containers": [CONTAINER]}})
    return {**({} if count is None else {"replicas": count}), "template": template, **more}


def job(replica_specs: Object, /, **more: Any) -> Object:
    metadata = {"name": "j", "namespace": "n", "uid": "u"}
    api = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
    return {**api, "metadata": metadata, "spec": {"pytorchReplicaSpecs": replica_specs, **more}}


def pod(of: Object, type_: str, index: int = 0) -> Object:
    everybody = replicas.replicas_of(of)
    (own,) = [one for one in everybody if one.type == type_]
    return replicas.pod_of(of, everybody, own, index)


def environment(made: Object) -> dict[str, str]:
    return {one["name"]: one["value"] for one in made["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({"Worker": spec(3), "Master": spec()}, [("Master", 1, "OnFailure"), ("Worker", 3, "OnFailure")]),
        ({"Worker": spec(None, restartPolicy="Never")}, [("Worker", 1, "Never")]),
        ({"worker": spec(2, restartPolicy="")}, [("Worker", 2, "OnFailure")]),
        ({}, []),
    ],
)
def test_replicas_are_read_with_the_operators_defaults(written: Object, found: list[tuple[str, int, str]]) -> None:
    assert [(one.type, one.count, one.restart_policy) for one in replicas.replicas_of(job(written))] == found


def test_a_pod_is_named_labelled_and_owned() -> None:
    template = {
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"restartPolicy": "Always", "containers": [CONTAINER]},
    }
    made = pod(job({"Master": spec(), "Worker": spec(3, template=template)}), "Worker", 2)
    assert made["metadata"] == {
        "name": "j-worker-2",
        "namespace": "n",
        "labels": {
            "a": "b",
            "training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/job-name": "j",
            "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": "2",
        },
        "annotations": {"c": "d"},
        "ownerReferences": [
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "name": "j",
                "uid": "u",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    assert made["spec"]["restartPolicy"] == "OnFailure"
    assert made["spec"]["containers"][0]["ports"] == [{"name": "pytorchjob-port", "containerPort": 23456}]
    assert "env" not in template["spec"]["containers"][0], "the job's own template stays as it is"


@pytest.mark.parametrize(
    ("written", "type_", "index", "is_master"),
    [
        ({"Master": spec(), "Worker": spec(2)}, "Master", 0, True),
        ({"Master": spec(), "Worker": spec(2)}, "Worker", 0, False),
        ({"Worker": spec(2)}, "Worker", 0, True),
        ({"Worker": spec(2)}, "Worker", 1, False),
    ],
)
def test_one_replica_has_the_masters_part(written: Object, type_: str, index: int, is_master: bool) -> None:
    labels = pod(job(written), type_, index)["metadata"]["labels"]
    assert labels.get("training.kubeflow.org/job-role") == ("master" if is_master else None)


@pytest.mark.parametrize(
    ("policy", "in_pod"), [("Never", "Never"), ("OnFailure", "OnFailure"), ("Always", "Always"), ("ExitCode", "Never")]
)
def test_restart_policies_as_pods_know_them(policy: str, in_pod: str) -> None:
    assert pod(job({"Worker": spec(restartPolicy=policy)}), "Worker")["spec"]["restartPolicy"] == in_pod


def test_replicas_with_a_master_know_their_rank() -> None:
    port = {"name": "pytorchjob-port", "containerPort": 5}
    master = spec(template={"spec": {"containers": [{**CONTAINER, "ports": [port]}]}})
    of = job({"Master": master, "Worker": spec(3)}, nprocPerNode="2")
    assert environment(pod(of, "Worker", 1)) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "5",
        "PET_MASTER_PORT": "5",
        "MASTER_ADDR": "j-master-0",
        "PET_MASTER_ADDR": "j-master-0",
        "WORLD_SIZE": "8",
        "RANK": "2",
        "PET_NODE_RANK": "2",
        "PET_NPROC_PER_NODE": "2",
        "PET_NNODES": "4",
    }
    assert environment(pod(of, "Master"))["RANK"] == "0"


def test_workers_alone_know_how_many_they_are() -> None:
    assert environment(pod(job({"Worker": spec(3)}), "Worker")) == {
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "3",
    }
    elastic = job({"Worker": spec(3)}, elasticPolicy={"minReplicas": 1, "maxReplicas": 5})
    assert environment(pod(elastic, "Worker"))["PET_NNODES"] == "1:5"


def test_what_a_container_was_told_before_comes_first() -> None:
    told = {**CONTAINER, "env": [{"name": "MINE", "value": "x"}]}
    made = pod(job({"Worker": spec(template={"spec": {"containers": [told]}})}), "Worker")
    assert made["spec"]["containers"][0]["env"][0] == {"name": "MINE", "value": "x"}


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({replicas.REPLICA_TYPE: "worker", replicas.REPLICA_INDEX: "12"}, ("worker", 12)),
        ({replicas.REPLICA_TYPE: "worker", replicas.REPLICA_INDEX: "x"}, None),
        ({}, None),
    ],
)
def test_a_pod_tells_whose_place_it_takes(labels: dict[str, str], place: tuple[str, int] | None) -> None:
    assert replicas.place_of({"metadata": {"labels": labels}}) == place
