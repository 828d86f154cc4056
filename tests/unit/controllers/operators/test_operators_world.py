"""Simulated operators beside the controllers on the embedded API server, in virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kubedyno.client.errors import ApiError
from kubedyno.controllers.operators.kinds import RUNAI_WORKLOADS, definitions
from kubedyno.controllers.operators.runai import priority_classes
from kubedyno.controllers.operators.running import run_runai_operator, run_training_operator
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CORE_EVENTS,
    CRDS,
    DISTRIBUTED_WORKLOADS,
    INTERACTIVE_WORKLOADS,
    JOBS,
    PODS,
    PYTORCH_JOBS,
    RESOURCE_QUOTAS,
    TRAINING_WORKLOADS,
)

pytestmark = pytest.mark.unit

Run = Callable[..., Any]

OPERATORS = (run_training_operator, partial(run_runai_operator, scheduler_name="mine"))


def job(name: str = "j", /, *, workers: int = 3, master: bool = False, **policy: Any) -> Object:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
    members = {"Worker": {"replicas": workers, "restartPolicy": "OnFailure", "template": template}}
    if master:
        members["Master"] = {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
    spec = {"pytorchReplicaSpecs": members, "runPolicy": policy}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


def workload(kind: str, name: str = "w", /, **fields: Any) -> Object:
    spec = {key: {"value": value} for key, value in fields.items()}
    return {"apiVersion": "run.ai/v2alpha1", "kind": f"{kind}Workload", "metadata": {"name": name}, "spec": spec}


async def installed(world: Any) -> None:
    for document in (*definitions((PYTORCH_JOBS, *RUNAI_WORKLOADS)), *priority_classes()):
        await world.create(document)


def names(objects: list[Object]) -> list[str]:
    return sorted(one["metadata"]["name"] for one in objects)


def having(count: int) -> Callable[[list[Object]], bool]:
    return lambda found: len(found) == count


def is_true(type_: str) -> Callable[[list[Object]], bool]:
    return lambda found: bool(found) and all(meta.is_condition_true(one, type_) for one in found)


def in_phase(phase: str) -> Callable[[list[Object]], bool]:
    return lambda found: bool(found) and all((one.get("status") or {}).get("phase") == phase for one in found)


async def report_all(world: Any, phase: str) -> None:
    ready = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
    for pod in await world.listed(PODS):
        await world.report(pod, phase, conditions=ready)


def test_a_job_runs_ends_and_goes_with_its_pods(world: Run) -> None:
    async def play(world: Any) -> tuple[list[str], list[str]]:
        await installed(world)
        await world.create(job(master=True))
        pods = await world.until(PODS, having(4))
        await report_all(world, "Running")
        await world.until(PYTORCH_JOBS, is_true("Running"))
        await report_all(world, "Succeeded")
        (ended,) = await world.until(PYTORCH_JOBS, is_true("Succeeded"))
        await world.client.delete(PYTORCH_JOBS, "j", namespace="default", propagation="Background")
        await world.until(PODS, having(0))
        return names(pods), [one["type"] for one in ended["status"]["conditions"]]

    pods, conditions = world(play, beside=OPERATORS)
    assert pods == ["j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"]
    assert conditions == ["Created", "Running", "Succeeded"]


def test_a_pod_that_was_evicted_or_failed_comes_back_under_its_name(world: Run) -> None:
    async def play(world: Any) -> tuple[set[str], list[str]]:
        await installed(world)
        await world.create(job())
        before = await world.until(PODS, having(3))
        await report_all(world, "Running")
        await world.until(PYTORCH_JOBS, is_true("Running"))
        await world.client.delete(PODS, "j-worker-0", namespace="default", grace_s=0)
        await world.report(before[1], "Failed")
        uids = {one["metadata"]["uid"] for one in before}

        def is_new(found: list[Object]) -> bool:
            return len(found) == 3 and len({one["metadata"]["uid"] for one in found} - uids) == 2

        after = await world.until(PODS, is_new)
        await report_all(world, "Running")
        await world.until(PYTORCH_JOBS, is_true("Running"))
        return uids & {one["metadata"]["uid"] for one in after}, names(after)

    kept, after = world(play, beside=OPERATORS)
    assert len(kept) == 1
    assert after == ["j-worker-0", "j-worker-1", "j-worker-2"]


def test_no_pod_is_missed_or_made_twice_over_a_bad_connection(world: Run) -> None:
    async def play(world: Any) -> list[str]:
        await installed(world)
        for index in range(20):
            await world.create(job(f"j{index}", workers=4))
        await world.until(PODS, having(80))
        await report_all(world, "Running")
        await world.until(PYTORCH_JOBS, lambda found: len(found) == 20 and is_true("Running")(found))
        await world.clock.sleep(600)
        return names(await world.listed(PODS))

    expected = [f"j{index}-worker-{member}" for index in range(20) for member in range(4)]
    assert world(play, beside=OPERATORS, losses=0.2) == sorted(expected)


def test_what_a_quota_refuses_comes_when_it_may(world: Run) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}

    async def play(world: Any) -> tuple[int, str, bool]:
        await installed(world)
        await world.create(quota)
        await world.until(RESOURCE_QUOTAS, lambda found: bool(found[0].get("status", {}).get("hard")))
        await world.create(job())
        events = await world.until(CORE_EVENTS, lambda found: any(one["reason"] == "FailedCreate" for one in found))
        before = len(await world.listed(PODS))
        (told,) = await world.listed(PYTORCH_JOBS)
        await world.client.delete(RESOURCE_QUOTAS, "q", namespace="default")
        await world.until(PODS, having(3))
        (said,) = {one["message"] for one in events if one["reason"] == "FailedCreate"}
        return before, said, meta.is_condition_true(told, "Created")

    before, said, is_created = world(play, beside=OPERATORS)
    assert (before, is_created) == (2, True)
    assert "exceeded quota: q" in said


def test_a_suspended_job_waits_and_a_finished_one_goes_after_its_time(world: Run) -> None:
    async def play(world: Any) -> tuple[int, float]:
        await installed(world)
        await world.create(job(suspend=True, ttlSecondsAfterFinished=100, cleanPodPolicy="All"))
        await world.until(PYTORCH_JOBS, is_true("Suspended"))
        before = len(await world.listed(PODS))
        on = {"spec": {"runPolicy": {"suspend": False}}}
        await world.client.patch(PYTORCH_JOBS, "j", on, kind="merge", namespace="default")
        await world.until(PODS, having(3))
        await report_all(world, "Succeeded")
        await world.until(PYTORCH_JOBS, is_true("Succeeded"))
        ended_s = world.passed_s()
        await world.until(PODS, having(0))
        await world.until(PYTORCH_JOBS, having(0))
        return before, world.passed_s() - ended_s

    before, waited_s = world(play, beside=OPERATORS)
    assert before == 0
    assert 98 < waited_s < 102


@pytest.mark.parametrize(
    ("template", "field"),
    [
        ({"spec": {"containers": "one"}}, "template.spec.containers"),
        ({"spec": {"containers": ["one"]}}, "template.spec.containers[0]"),
        ({"spec": {"containers": [{"name": "c", "env": {"A": "b"}}]}}, "template.spec.containers[0].env"),
        ({"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{"name": "c"}]}}, "template.metadata.labels.a"),
        ({"spec": {}}, "template.spec.containers"),
    ],
)
def test_a_job_that_nobody_could_make_pods_of_is_refused(world: Run, template: Object, field: str) -> None:
    broken = job()
    broken["spec"]["pytorchReplicaSpecs"]["Worker"]["template"] = template

    async def play(world: Any) -> str:
        await installed(world)
        with pytest.raises(ApiError) as caught:
            await world.create(broken)
        return str(caught.value)

    assert f"spec.pytorchReplicaSpecs.Worker.{field}: " in world(play, beside=OPERATORS)


def test_another_managers_job_is_left_alone(world: Run) -> None:
    async def play(world: Any) -> tuple[int, bool]:
        await installed(world)
        await world.create(job(managedBy="kueue.x-k8s.io/multikueue"))
        await world.clock.sleep(60)
        (found,) = await world.listed(PYTORCH_JOBS)
        return len(await world.listed(PODS)), "status" in found

    assert world(play, beside=OPERATORS) == (0, False)


def test_the_kinds_may_go_and_come_again(world: Run) -> None:
    async def play(world: Any) -> list[str]:
        await world.clock.sleep(30)  # nothing is served yet, and nothing fails
        await installed(world)
        await world.create(job())
        await world.until(PODS, having(3))
        await world.client.delete(CRDS, "pytorchjobs.kubeflow.org")
        await world.until(CRDS, lambda found: "pytorchjobs.kubeflow.org" not in names(found))
        await world.clock.sleep(120)
        for document in definitions((PYTORCH_JOBS,)):
            await world.create(document)
        await world.until(CRDS, is_true("Established"))
        await world.create(job("again", workers=1))
        await world.until(PODS, lambda found: "again-worker-0" in names(found))
        return names(await world.listed(PYTORCH_JOBS))

    assert world(play, beside=OPERATORS) == ["again"]


def test_a_job_takes_the_names_of_pods_that_are_on_their_way_out(world: Run) -> None:
    async def play(world: Any) -> int:
        await installed(world)
        old = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "j-worker-0", "finalizers": ["example.com/held"]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        await world.create(old)
        await world.create(job())
        await world.until(CORE_EVENTS, lambda found: any(one["reason"] == "FailedCreate" for one in found))
        await world.client.delete(PODS, "j-worker-0", namespace="default", grace_s=0)
        await world.client.patch(
            PODS, "j-worker-0", {"metadata": {"finalizers": None}}, kind="merge", namespace="default"
        )
        pods = await world.until(
            PODS, lambda found: len(found) == 3 and all(meta.owner_references(pod) for pod in found)
        )
        return len(pods)

    assert world(play, beside=OPERATORS) == 3


def test_workloads_of_all_three_kinds_run_and_end(world: Run) -> None:
    async def play(world: Any) -> dict[str, list[str]]:
        await installed(world)
        await world.create(workload("Training", "t", gpu="1"))
        await world.create(workload("Interactive", "i", gpu="1"))
        await world.create(workload("Distributed", "d", gpu="1", numWorkers=2))
        pods = await world.until(PODS, having(5))
        await report_all(world, "Running")
        for kind in RUNAI_WORKLOADS:
            await world.until(kind, in_phase("Running"))
        await report_all(world, "Succeeded")
        shown = {}
        for kind in RUNAI_WORKLOADS:
            (ended,) = await world.until(kind, in_phase("Completed"))
            shown[kind.kind] = [one["type"] for one in ended["status"]["conditions"]]
        return {**shown, "classes": sorted({pod["spec"]["priorityClassName"] for pod in pods})}

    shown = world(play, beside=OPERATORS)
    assert shown.pop("classes") == ["build", "train"]
    assert all(one[-2:] == ["Running", "Completed"] for one in shown.values())


def test_what_was_made_for_a_workload_goes_with_it(world: Run) -> None:
    async def play(world: Any) -> None:
        await installed(world)
        await world.create(workload("Training", "t"))
        await world.create(workload("Distributed", "d", numWorkers=2))
        await world.until(PODS, having(4))
        await world.client.delete(TRAINING_WORKLOADS, "t", namespace="default", propagation="Background")
        await world.client.delete(DISTRIBUTED_WORKLOADS, "d", namespace="default", propagation="Background")
        for kind in (JOBS, PYTORCH_JOBS, PODS):
            await world.until(kind, having(0))

    world(play, beside=OPERATORS)


def test_a_workload_is_stopped_and_goes_on(world: Run) -> None:
    async def play(world: Any) -> list[bool]:
        await installed(world)
        await world.create(workload("Interactive", active=False))
        await world.create(workload("Distributed", active=False, numWorkers=1, name="d"))
        await world.until(JOBS, having(1))
        await world.until(PYTORCH_JOBS, is_true("Suspended"))
        suspended = [one["spec"]["suspend"] for one in await world.listed(JOBS)]
        for kind in (INTERACTIVE_WORKLOADS, DISTRIBUTED_WORKLOADS):
            await world.client.patch(
                kind, "w", {"spec": {"active": {"value": True}}}, kind="merge", namespace="default"
            )
        await world.until(PODS, having(3))
        return [*suspended, *(one["spec"]["suspend"] for one in await world.listed(JOBS))]

    assert world(play, beside=OPERATORS) == [True, False]


def test_a_workload_that_cannot_be_understood_has_failed_and_says_why(world: Run) -> None:
    async def play(world: Any) -> tuple[str, int]:
        await installed(world)
        await world.create(workload("Training", gpu="many"))
        (found,) = await world.until(TRAINING_WORKLOADS, in_phase("Failed"))
        return found["status"]["conditions"][-1]["message"], len(await world.listed(JOBS))

    assert world(play, beside=OPERATORS) == ("spec.gpu.value is 'many': write a number that is not negative", 0)


def test_a_workload_whose_name_is_taken_waits_for_it(world: Run) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    taken = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "w"}, "spec": {"template": template}}

    async def play(world: Any) -> tuple[str, str]:
        await installed(world)
        await world.create(taken)
        await world.create(workload("Training"))
        events = await world.until(
            CORE_EVENTS,
            lambda found: any(
                (one["involvedObject"]["kind"], one["reason"]) == ("TrainingWorkload", "FailedCreate") for one in found
            ),
        )
        (waiting,) = await world.listed(TRAINING_WORKLOADS)
        await world.client.delete(JOBS, "w", namespace="default", propagation="Background")
        await world.until(JOBS, lambda found: bool(found) and bool(meta.owner_references(found[0])))
        said = next(one["message"] for one in events if one["involvedObject"]["kind"] == "TrainingWorkload")
        return waiting["status"]["phase"], said

    phase, said = world(play, beside=OPERATORS)
    assert phase == "Creating"
    assert said.startswith("Error creating Job w: ")
    assert "already exists" in said


def test_a_finished_workload_goes_after_its_time(world: Run) -> None:
    async def play(world: Any) -> float:
        await installed(world)
        await world.create(workload("Training", autoDeletionTimeAfterCompletionSeconds=50))
        await world.until(PODS, having(1))
        await report_all(world, "Succeeded")
        await world.until(TRAINING_WORKLOADS, in_phase("Completed"))
        ended_s = world.passed_s()
        await world.until(TRAINING_WORKLOADS, having(0))
        return float(world.passed_s() - ended_s)

    assert 48 < world(play, beside=OPERATORS) < 52


def test_the_same_seed_gives_the_same_history(digest: Callable[..., str]) -> None:
    async def play(world: Any) -> None:
        await installed(world)
        for index in range(10):
            await world.create(job(f"j{index}", workers=4))
            await world.create(workload("Distributed", f"d{index}", numWorkers=2))
            await world.create(workload("Training", f"t{index}"))
        await world.until(PODS, having(80))
        await report_all(world, "Running")
        await world.until(PYTORCH_JOBS, is_true("Running"))
        await world.clock.sleep(60)

    first, second, other = (digest(play, seed, beside=OPERATORS) for seed in (7, 7, 8))
    assert first == second
    assert first != other
