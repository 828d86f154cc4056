"""Run:ai's workloads: what is made of them, and how they stand."""

from typing import Any

import pytest

from kubedyno.controllers.operators import workloads
from kubedyno.kit.clock import parse_rfc3339_ns
from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object

pytestmark = pytest.mark.unit

NOW = "2026-01-01T00:01:00Z"
NOW_NS = parse_rfc3339_ns(NOW)


def workload(kind: str = "Training", /, *, labels: Object | None = None, namespace: str = "n", **spec: Any) -> Object:
    """A field that is no object becomes one with a value."""
    fields = {key: field if isinstance(field, dict) else {"value": field} for key, field in spec.items()}
    return {
        "apiVersion": "run.ai/v2alpha1",
        "kind": f"{kind}Workload",
        "metadata": {"name": "w", "namespace": namespace, "uid": "u", "labels": labels or {}},
        "spec": fields,
    }


def items(**entries: Any) -> Object:
    return {"items": {key: {"value": entry} for key, entry in entries.items()}}


def child(of: Object) -> Object:
    return workloads.child_of(of, scheduler_name="mine")


def pod_spec(of: Object) -> Object:
    found: Object = child(of)["spec"]["template"]["spec"]
    return found


def test_a_training_workload_becomes_a_job() -> None:
    claim = {"claimName": "c", "existingPvc": True, "path": "/data"}
    of = workload(
        labels={"kubedyno/workload": "w", "runai/queue": ""},
        namespace="runai-team",
        name="given",
        image="i",
        gpu="2",
        cpu="1",
        memory="1Gi",
        memoryLimit="2Gi",
        command="bash -c 'a b'",
        environment=items(A="b"),
        pvcs={"items": {"pvc--0": {"value": claim}}},
        annotations=items(note=5),
    )
    assert child(of) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "given",
            "namespace": "runai-team",
            "labels": {
                "project": "team",
                "kai.scheduler/queue": "team",
                "runai/queue": "team",
                "kubedyno/workload": "w",
                "workloadKind": "TrainingWorkload",
                "workloadName": "w",
            },
            "ownerReferences": [
                {
                    "apiVersion": "run.ai/v2alpha1",
                    "kind": "TrainingWorkload",
                    "name": "w",
                    "uid": "u",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            "suspend": False,
            "template": {
                "metadata": {"labels": child(of)["metadata"]["labels"], "annotations": {"note": "5"}},
                "spec": {
                    "schedulerName": "mine",
                    "priorityClassName": "train",
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "pytorch",
                            "image": "i",
                            "resources": {
                                "requests": {"cpu": "1", "memory": "1Gi"},
                                "limits": {"memory": "2Gi", "nvidia.com/gpu": "2"},
                            },
                            "command": ["bash", "-c", "a b"],
                            "env": [{"name": "A", "value": "b"}],
                            "volumeMounts": [{"name": "volume-0", "mountPath": "/data"}],
                        }
                    ],
                    "volumes": [{"name": "volume-0", "persistentVolumeClaim": {"claimName": "c"}}],
                },
            },
        },
    }


def test_a_distributed_workload_becomes_a_pytorchjob_with_a_master() -> None:
    of = {**workload("Distributed", gpu=8, numWorkers=3), "masterSpec": {"gpu": {"value": 0}}}
    of["spec"]["labels"] = items(mine="x")
    made = child(of)
    assert (made["kind"], made["metadata"]["name"]) == ("PyTorchJob", "w")
    assert made["spec"]["runPolicy"] == {"cleanPodPolicy": "Running", "suspend": False}
    members = made["spec"]["pytorchReplicaSpecs"]
    assert {type_: (one["replicas"], one["restartPolicy"]) for type_, one in members.items()} == {
        "Master": (1, "OnFailure"),
        "Worker": (3, "OnFailure"),
    }
    containers = {type_: one["template"]["spec"]["containers"][0] for type_, one in members.items()}
    assert containers["Worker"]["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert "resources" not in containers["Master"]
    assert all(one["template"]["metadata"]["labels"]["mine"] == "x" for one in members.values())


def test_a_distributed_workload_without_workers_is_its_master() -> None:
    made = child(workload("Distributed", workers=0))
    assert list(made["spec"]["pytorchReplicaSpecs"]) == ["Master"]


@pytest.mark.parametrize(
    ("of", "field", "expected"),
    [
        (workload(), "schedulerName", "mine"),
        (workload(schedulerName="other"), "schedulerName", "other"),
        (workload(schedulerName="runai-scheduler"), "schedulerName", "mine"),
        (workload("Interactive"), "priorityClassName", "build"),
        (workload("Interactive", labels={"priorityClassName": "inference"}), "priorityClassName", "inference"),
    ],
)
def test_who_places_its_pods_and_how_urgently(of: Object, field: str, expected: str) -> None:
    assert pod_spec(of)[field] == expected


@pytest.mark.parametrize(
    ("of", "queue"),
    [
        (workload(labels={"kai.scheduler/queue": "a", "runai/queue": "b"}), "a"),
        (workload(labels={"kai.scheduler/queue": "", "runai/queue": "b", "project": "c"}), "b"),
        (workload(labels={"project": "c"}, namespace="runai-d"), "c"),
        (workload(namespace="runai-d"), "d"),
        (workload(), None),
    ],
)
def test_which_queue_it_is_in(of: Object, queue: str | None) -> None:
    assert workloads.queue_of(of) == queue
    assert child(of)["metadata"]["labels"].get("kai.scheduler/queue") == queue


def test_a_part_of_a_gpu_is_an_annotation() -> None:
    made = child(workload(gpu="0.5"))["spec"]["template"]
    assert made["metadata"]["annotations"] == {"gpu-fraction": "0.5"}
    assert "resources" not in made["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (workload(gpu="many"), "spec.gpu.value is 'many': write a number that is not negative"),
        (workload(gpu=-1), "spec.gpu.value is -1: write a number that is not negative"),
        (workload(gpu=1.5), "spec.gpu.value is 1.5: write a whole number, or a part of one GPU"),
        (workload(completions=[]), "spec.completions.value is []: write a number that is not negative"),
        (workload(command="'"), "spec.command.value cannot be split into words: No closing quotation"),
        (
            workload(autoDeletionTimeAfterCompletionSeconds="soon"),
            "spec.autoDeletionTimeAfterCompletionSeconds.value is 'soon': write a number that is not negative",
        ),
    ],
)
def test_a_field_that_cannot_be_understood_is_named(of: Object, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        child(of)
    assert str(caught.value) == sentence


def made(**status: Any) -> Object:
    return {"metadata": {}, "status": status}


def condition(type_: str, status: str = "True") -> Object:
    return {"conditions": [{"type": type_, "status": status}]}


@pytest.mark.parametrize(
    ("found", "phase"),
    [
        (None, "Creating"),
        (made(), "Creating"),
        (made(active=1, startTime=NOW), "Pending"),
        (made(active=1, ready=1, startTime=NOW), "Running"),
        (made(startTime=NOW, **condition("Created")), "Pending"),
        (made(startTime=NOW, **condition("Running")), "Running"),
        (made(startTime=NOW, **condition("Running", "False")), "Pending"),
        (made(**condition("Complete")), "Completed"),
        (made(**condition("Succeeded")), "Completed"),
        (made(**condition("Failed")), "Failed"),
    ],
)
def test_a_workload_stands_as_what_was_made_for_it(found: Object | None, phase: str) -> None:
    assert workloads.phase_of(workload(), found) == phase


def test_a_job_whose_pods_have_ended_runs_until_it_is_over() -> None:
    running = {**workload(), "status": {"phase": "Running"}}
    assert workloads.phase_of(running, made(startTime=NOW)) == "Running"
    assert workloads.phase_of(running, made(startTime=NOW, active=1)) == "Pending"


def test_what_has_ended_stays_so_and_what_goes_says_so() -> None:
    ended = {**workload(), "status": {"phase": "Completed"}}
    assert workloads.phase_of(ended, None) == "Completed"
    ended["metadata"]["deletionTimestamp"] = NOW
    assert workloads.phase_of(ended, None) == "Deleting"


def test_each_phase_leaves_a_condition() -> None:
    of = workload()
    of["status"] = workloads.status_of(of, "Pending", now_ns=NOW_NS)
    of["status"] = workloads.status_of(of, "Running", now_ns=NOW_NS + 5 * 10**9)
    assert workloads.status_of(of, "Running", now_ns=NOW_NS + 9 * 10**9) == of["status"]
    of["status"] = workloads.status_of(of, "Failed", now_ns=NOW_NS + 7 * 10**9, message="why")
    assert of["status"]["phase"] == "Failed"
    assert of["status"]["completionTime"] == "2026-01-01T00:01:07Z"
    assert [(one["type"], one["status"], one["lastTransitionTime"][-3:]) for one in of["status"]["conditions"]] == [
        ("Pending", "False", "05Z"),
        ("Running", "False", "07Z"),
        ("Failed", "True", "07Z"),
    ]
    assert of["status"]["conditions"][-1]["message"] == "why"
