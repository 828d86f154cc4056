"""Virtual time: a run with the same seed repeats to the byte, whatever the process hashes by."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit

WORLD = """
import asyncio, hashlib, sys
from pathlib import Path
from kubedyno.kit import tasks
from kubedyno.kit.progress import Quiet
from kubedyno.kit.virtualtime import LoopClock
from kubedyno.kube.resources import (
    DEPLOYMENTS, DISTRIBUTED_WORKLOADS, JOBS, NODES, PERSISTENT_VOLUME_CLAIMS, PYTORCH_JOBS, STORAGE_CLASSES
)
from kubedyno.lab import planning
from kubedyno.lab.programs import Provided
from kubedyno.lab.spec import LabSpec, check
from kubedyno.lab.starting import started
from kubedyno.plane.ports import counted_ports

LABELS = {"app": "web", "tier": "front", "zone": "east"}

def template(**metadata):
    container = {"name": "main", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    return {"metadata": metadata, "spec": {"containers": [container]}}

def typed(kind, body):
    return {"apiVersion": kind.api_version, "kind": kind.kind, **body}

async def operated(client):
    slow = {"metadata": {"annotations": {"kubedyno/delay": "exponential(3s)"}}}
    await client.patch(STORAGE_CLASSES, "kubedyno-wait", slow, kind="merge")
    for index in range(3):
        claim = {"storageClassName": "kubedyno-wait", "accessModes": ["ReadWriteMany"]}
        claim["resources"] = {"requests": {"storage": "1Gi"}}
        body = {"metadata": {"name": f"c{index}", "namespace": "default"}, "spec": claim}
        await client.create(PERSISTENT_VOLUME_CLAIMS, body)
        fields = {"gpu": "1", "numWorkers": 2}
        spec = {field: {"value": value} for field, value in fields.items()}
        spec["annotations"] = {"items": {"kubedyno/duration": {"value": "2s"}}}
        spec["pvcs"] = {"items": {"0": {"value": {"claimName": f"c{index}"}}}}
        body = {"metadata": {"name": f"d{index}", "namespace": "default"}, "spec": spec}
        await client.create(DISTRIBUTED_WORKLOADS, typed(DISTRIBUTED_WORKLOADS, body))
        worker = {"replicas": 3, "template": template(annotations={"kubedyno/duration": "uniform(1s, 9s)"})}
        spec = {"pytorchReplicaSpecs": {"Worker": worker}, "runPolicy": {"cleanPodPolicy": "All"}}
        body = {"metadata": {"name": f"p{index}", "namespace": "default"}, "spec": spec}
        await client.create(PYTORCH_JOBS, typed(PYTORCH_JOBS, body))

async def live(client, clock):
    await operated(client)
    for seconds in (1, 2, 3):
        worker = template(annotations={"kubedyno/duration": f"{seconds}s"})
        worker["spec"]["restartPolicy"] = "Never"
        spec = {"parallelism": 4, "completions": 8, "template": worker}
        await client.create(JOBS, {"metadata": {"name": f"job-{seconds}", "namespace": "default"}, "spec": spec})
    spec = {"replicas": 3, "selector": {"matchLabels": LABELS}, "template": template(labels=LABELS)}
    await client.create(DEPLOYMENTS, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    await clock.sleep(60)
    await client.delete(NODES, "default-1")
    await clock.sleep(600)
    done = [job["status"].get("succeeded") for job in (await client.list(JOBS))["items"]]
    assert done == [8, 8, 8], done
    ended = [job["status"]["conditions"][-1]["type"] for job in (await client.list(PYTORCH_JOBS))["items"]]
    assert ended == ["Succeeded"] * 6, ended
    phases = [one["status"]["phase"] for one in (await client.list(DISTRIBUTED_WORKLOADS))["items"]]
    assert phases == ["Completed"] * 3, phases

async def main():
    clock = LoopClock(asyncio.get_running_loop())
    wanted = LabSpec(name="v", scheduler="reference", time="virtual", seed=int(sys.argv[1]), nodes=8)
    plan = planning.plan(check(wanted), folder=Path("nowhere"), draw_port=counted_ports(1))
    nothing = Provided(found={}, crd_folders=())
    async with started(plan, provided=nothing, clock=clock, progress=Quiet()) as lab:
        await live(lab.client, clock)
        digest = hashlib.sha256()
        store = lab.client.transport.api.state.store
        for resource, shelf in store.shelves.items():
            for event in shelf.log:
                digest.update(b"%s %s %s\\n" % (resource.encode(), event.type.encode(), event.record.data))
        print(store.revision, clock.wall_ns(), digest.hexdigest())

tasks.run(main, virtual=True)
"""


def lived(seed: int, hash_seed: int) -> str:
    done = subprocess.run(
        [sys.executable, "-c", WORLD, str(seed)],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_seed_gives_the_same_bytes_in_processes_that_hash_differently() -> None:
    assert lived(seed=7, hash_seed=1) == lived(seed=7, hash_seed=2)


def test_another_seed_gives_another_history() -> None:
    assert lived(seed=7, hash_seed=1) != lived(seed=8, hash_seed=1)
