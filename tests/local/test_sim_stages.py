"""Our interpreter beside real KWOK: the same stage files, the same objects, on one real control plane at once."""

import asyncio
import contextlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kwokmodule import KwokModule
from tests.labs import lab_in_process

from kubedyno.client.informer import Informer
from kubedyno.client.rest import Client
from kubedyno.kit import tasks
from kubedyno.kit.clock import RealClock
from kubedyno.kit.places import cache_dir
from kubedyno.kit.progress import Quiet
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    CRDS,
    JOBS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    SERVICE_ACCOUNTS,
    Resource,
)
from kubedyno.lab.starting import RunningLab
from kubedyno.plane import provisioning
from kubedyno.plane.kwok import IDENTITY
from kubedyno.sim.stages.cluster import STAGES, install_definition, play_cluster_stages
from kubedyno.sim.stages.playing import play_stages
from kubedyno.sim.stages.reading import read_files

pytestmark = pytest.mark.local

SIDES = ("theirs", "ours")
WITHIN_S = 60.0
FAST = ("node/fast", "node/heartbeat", "node/chaos", "pod/fast", "pod/chaos", "volume/fast")
GENERAL = ("node/fast", "node/heartbeat-with-lease", "pod/general", "pod/chaos")
# KWOK without a stage that matches: a control plane whose nodes nobody plays.
IDLE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: idle}
spec: {resourceRef: {kind: ConfigMap}}
"""
# What the default sets do not have: JSON patches, events, finalizers, applied objects, CEL for pods, deletion in steps.
OWN = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: fails-by-json}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchAnnotations: {way: json}
    matchExpressions:
    - jq: {key: .status.phase, operator: In, values: [Running]}
  delay: {durationFrom: {cel: {expression: '"200ms"'}}}
  weightFrom: {cel: {expression: '1 + 1'}}
  steps:
  - event: {type: Warning, reason: Fails, message: it fails}
    patch:
      root: status
      subresource: status
      type: json
      template: |
        - {op: replace, path: /phase, value: Failed}
        - {op: add, path: /reason, value: {{ .metadata.name | Quote }}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: goes-in-steps}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {way: steps}
    matchExpressions:
    - cel: {expression: "self.metadata.name == 'stepping' && !has(self.metadata.deletionTimestamp)"}
    - jq: {key: .metadata.annotations.made, operator: DoesNotExist}
  weight: 10
  steps:
  - finalizers: {add: [{value: example.com/a}, {value: example.com/b}]}
  - apply:
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ .metadata.name }}}
        data: {node: {{ .spec.nodeName | Quote }}, containers: {{ len .spec.containers | Quote }}}
  - patch:
      root: metadata
      type: merge
      template: 'annotations: {made: "yes"}'
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: ends-in-steps}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {way: steps}
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: Exists
    - key: '.metadata.finalizers | length'
      operator: In
      values: ["2"]
  weight: 10
  next:
    finalizers: {remove: [{value: example.com/a}]}
    event: {type: Normal, reason: Ends, message: it ends}
    patches:
    - {subresource: status, root: status, template: 'message: ends'}
"""
MASKS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(rf"\b({'|'.join(SIDES)})\b"), "<side>"),
    (re.compile(r"\bkube-api-access-\w+"), "<token>"),
)


def masked(value: Any) -> Any:
    """Without what differs from side to side: uids, times, addresses, versions."""
    if isinstance(value, dict):
        # Taints and the TTL of nodes are the controller manager's, which takes its time.
        unsteady = {"resourceVersion", "managedFields", "taints", "node.alpha.kubernetes.io/ttl"}
        unsteady |= {"apiVersion", "kind"} if "metadata" in value else set()
        steady = {masked(key): masked(entry) for key, entry in sorted(value.items()) if key not in unsteady}
        if steady.get("annotations") == {}:
            del steady["annotations"]
        return steady
    if isinstance(value, list):
        return [masked(entry) for entry in value]
    if isinstance(value, str):
        for pattern, word in MASKS:
            value = pattern.sub(word, value)
    return value


def texts_of(kwok: KwokModule, sets: tuple[str, ...]) -> dict[str, str]:
    """All stages to be played, by file name: sets of KWOK and our own."""
    texts = {
        f"{name.replace('/', '-')}-{file}": text
        for name in sets
        for file, text in kwok.sets[name].items()
        if file != "storage-class.yaml"
    }
    return {**texts, "own.yaml": OWN}


def files(texts: dict[str, str], folder: Path, side: str) -> list[Path]:
    """The texts as files; each side has a storage class of its own, because claims belong to no node."""
    folder.mkdir()
    for file, text in texts.items():
        (folder / file).write_text(text.replace("kwok-volume", f"{side}-volume"))
    return sorted(folder.iterdir())


@pytest.fixture(scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningLab]:
    """A control plane of its own: elsewhere KWOK plays all nodes."""
    folder = tmp_path_factory.mktemp("stages")
    (folder / "idle.yaml").write_text(IDLE)
    options = {"scheduler": "none", "kubelet": "kwok", "stages": (str(folder / "idle.yaml"),)}
    async with lab_in_process(folder / "lab", **options) as running:
        yield running


@contextlib.asynccontextmanager
async def real_kwok(lab: RunningLab, stages: list[Path], log: Path) -> AsyncIterator[None]:
    """A second KWOK, which plays the nodes with the label `side: theirs`."""
    found = await provisioning.provide(("kwok",), bin_dir=None, cache=cache_dir(), env=os.environ, progress=Quiet())
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            found["kwok"].path,
            f"--kubeconfig={lab.plan.site.kubeconfig(IDENTITY.name)}",
            "--manage-nodes-with-label-selector=side=theirs",
            "--node-ip=127.0.0.1",
            "--node-lease-duration-seconds=0",
            *(f"--config={path}" for path in stages),
            stdout=output,
            stderr=output,
        )
    try:
        yield
        assert process.returncode is None, log.read_text()
    finally:
        process.kill()
        await process.wait()


@contextlib.asynccontextmanager
async def both(lab: RunningLab, texts: dict[str, str], folder: Path) -> AsyncIterator[list[str]]:
    """Both play during the block; what ours said."""
    said: list[str] = []
    async with tasks.owning() as group, real_kwok(lab, files(texts, folder / "theirs", "theirs"), folder / "kwok.log"):
        playing = play_stages(
            lab.client.known_as("kwok"),
            stages=read_files(files(texts, folder / "ours", "ours")),
            clock=RealClock(),
            seed=1,
            manages=lambda name: name.startswith("ours"),
            say=said.append,
        )
        task = group.create_task(playing)
        yield said
        task.cancel()


class Side:
    """One side of a comparison: all its objects have its name in theirs."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name

    async def prepare(self) -> None:
        await self.client.create(NAMESPACES, {"metadata": {"name": self.name}})
        async with Informer(self.client, SERVICE_ACCOUNTS, namespace=self.name) as accounts:
            await accounts.wait_until(
                lambda found: found.get((self.name, "default")) is not None, timeout_s=WITHIN_S, what="accounts"
            )

    async def clean(self) -> None:
        for node in (await self.client.list_all(NODES, label_selector=f"side={self.name}")).items:
            await self.client.delete(NODES, node["metadata"]["name"])
        await self.client.delete_collection(PODS, namespace=self.name, grace_s=0)
        await self.client.delete(NAMESPACES, self.name)
        async with Informer(self.client, NAMESPACES) as namespaces:
            await namespaces.wait_until(
                lambda found: found.get(("", self.name)) is None, timeout_s=WITHIN_S, what="the namespace to go"
            )

    async def node(self, name: str, *, labels: Object | None = None, **more: Any) -> None:
        number = SIDES.index(self.name)
        await self.client.create(
            NODES,
            {
                "metadata": {
                    "name": f"{self.name}-{name}",
                    "labels": {"side": self.name, **(labels or {})},
                    "annotations": more.pop("annotations", {}),
                },
                "spec": {"podCIDR": f"10.{100 + number}.0.0/16"},
                **more,
            },
        )

    async def pod(self, name: str, *, metadata: Object | None = None, node: str = "node", **spec: Any) -> None:
        await self.client.create(
            PODS,
            {
                "metadata": {"name": name, "namespace": self.name, **(metadata or {})},
                "spec": {
                    "nodeName": f"{self.name}-{node}",
                    "containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
                    "terminationGracePeriodSeconds": 2,
                    **spec,
                },
            },
        )

    async def until(self, resource: Resource, name: str, predicate: Callable[[Object], object]) -> Object:
        """The object once it is so, masked."""
        key = (self.name if resource.namespaced else "", name)
        async with Informer(self.client, resource) as informer:
            await informer.wait_until(
                lambda found: (obj := found.get(key)) is not None and bool(predicate(obj)),
                timeout_s=WITHIN_S,
                what=f"{self.name}: {resource.kind} {name}",
            )
            return dict(masked(informer.get(key)))

    async def gone(self, name: str) -> None:
        async with Informer(self.client, PODS, namespace=self.name) as pods:
            await pods.wait_until(
                lambda found: found.get((self.name, name)) is None, timeout_s=WITHIN_S, what=f"{name} to go"
            )

    async def events(self) -> list[Object]:
        listed = (await self.client.list_all(CORE_EVENTS, namespace=self.name)).items
        fields = ("type", "reason", "message", "source", "involvedObject", "reportingComponent")
        kept = [event for event in listed if event["source"].get("component") == "kwok_controller"]
        return sorted((masked({field: event[field] for field in fields}) for event in kept), key=str)


def phase(wanted: str) -> Callable[[Object], object]:
    return lambda obj: (obj.get("status") or {}).get("phase") == wanted


def condition(kind: str, status: str) -> Callable[[Object], object]:
    return lambda obj: any(
        entry["type"] == kind and entry["status"] == status
        for entry in (obj.get("status") or {}).get("conditions") or ()
    )


def was_asked_to_go_at_once(pod: Object) -> bool:
    """A stage has deleted it; a finalizer keeps it."""
    return pod["metadata"].get("deletionGracePeriodSeconds") == 0


INIT = [{"name": "i", "image": "i"}, {"name": "s", "image": "i", "restartPolicy": "Always"}]


async def job_owner(side: Side) -> Object:
    """An owner that is there, so that nobody collects its pods, and that leaves them alone."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"metadata": {"name": "job", "namespace": side.name}, "spec": {"suspend": True, "template": template}}
    made = await side.client.create(JOBS, job)
    return {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": made["metadata"]["uid"]}


def sick(**annotations: str) -> Object:
    prefix = "node-not-ready.stage.kwok.x-k8s.io"
    return {
        "labels": {prefix: "true"},
        "annotations": {f"{prefix}/{name}": value for name, value in annotations.items()},
    }


def failing(stage: str, **annotations: str) -> Object:
    prefix = f"{stage}.stage.kwok.x-k8s.io"
    return {
        "labels": {prefix: "true"},
        "annotations": {f"{prefix}/{name.replace('_', '-')}": value for name, value in annotations.items()},
    }


async def fast_story(side: Side) -> Object:
    """Nodes and pods through KWOK's fast and chaos stages."""
    status = {
        "capacity": {"cpu": "8", "memory": "32Gi", "pods": "20"},
        "addresses": [{"type": "InternalIP", "address": "10.3.4.5"}],
        "nodeInfo": {"kubeletVersion": "v1.36.3", "architecture": "arm64"},
    }
    await side.node("node")
    await side.node("rich", status=status)
    await side.node("sick", **sick(reason="Broken", type="DiskPressure", delay="200ms", **{"jitter-delay": "300ms"}))
    seen: Object = {
        "node": await side.until(NODES, f"{side.name}-node", phase("Running")),
        "rich": await side.until(NODES, f"{side.name}-rich", phase("Running")),
        "sick": await side.until(NODES, f"{side.name}-sick", condition("DiskPressure", "True")),
    }
    await side.pod("plain")
    await side.pod("init", initContainers=INIT, node="rich")
    await side.pod("host", hostNetwork=True, node="rich")
    await side.pod("gated", readinessGates=[{"conditionType": "example.com/gate"}])
    await side.pod("worker", metadata={"ownerReferences": [await job_owner(side)]})
    chaos = failing("pod-container-running-failed", reason="Oops", exit_code="3", container_name="d", delay="100ms")
    await side.pod("failing", metadata=chaos)
    await side.pod("held", metadata={"finalizers": ["example.com/held"]})
    for name in ("plain", "init", "host", "gated", "held"):
        seen[name] = await side.until(PODS, name, phase("Running"))
    seen["worker"] = await side.until(PODS, "worker", phase("Succeeded"))
    seen["failing"] = await side.until(PODS, "failing", phase("Failed"))
    for name in ("plain", "held"):
        await side.client.delete(PODS, name, namespace=side.name)
    await side.gone("plain")
    seen["still held"] = await side.until(PODS, "held", was_asked_to_go_at_once)
    await side.client.patch(PODS, "held", {"metadata": {"finalizers": None}}, kind="merge", namespace=side.name)
    await side.gone("held")
    seen["events"] = await side.events()
    return seen


def soon(*stages: str) -> Object:
    """Annotations that let stages happen soon, at a certain time."""
    return {f"{stage}.stage.kwok.x-k8s.io/{what}": "300ms" for stage in stages for what in ("delay", "jitter-delay")}


async def general_story(side: Side) -> Object:
    """Pods through every state of KWOK's general stages."""
    await side.node("node")
    await side.until(NODES, f"{side.name}-node", phase("Running"))
    seen: Object = {}
    stages = ("pod-create", "pod-init-container-running", "pod-init-container-completed", "pod-ready", "pod-complete")
    quick = {"annotations": soon(*stages)}
    await side.pod("plain", metadata=quick)
    await side.pod("init", metadata=quick, initContainers=[INIT[0]])
    await side.pod("worker", metadata={**quick, "ownerReferences": [await job_owner(side)]})
    slow = {"annotations": {**soon(*stages[:2]), f"{stages[2]}.stage.kwok.x-k8s.io/delay": "1h"}}
    slow["annotations"][f"{stages[2]}.stage.kwok.x-k8s.io/jitter-delay"] = "1h"
    await side.pod("initialising", metadata=slow, initContainers=[INIT[0]])
    created = {"annotations": {**soon(stages[0]), f"{stages[3]}.stage.kwok.x-k8s.io/delay": "1h"}}
    created["annotations"][f"{stages[3]}.stage.kwok.x-k8s.io/jitter-delay"] = "1h"
    await side.pod("created", metadata=created)
    chaos = failing("pod-init-container-running-failed", delay="100ms", jitter_delay="100ms")
    await side.pod("failing", metadata=chaos, initContainers=[INIT[0]])
    for name in ("plain", "init"):
        seen[name] = await side.until(PODS, name, phase("Running"))
    seen["worker"] = await side.until(PODS, "worker", phase("Succeeded"))
    seen["failing"] = await side.until(PODS, "failing", phase("Failed"))
    seen["created"] = await side.until(PODS, "created", condition("Initialized", "True"))
    seen["initialising"] = await side.until(
        PODS, "initialising", lambda pod: "running" in json.dumps(pod["status"].get("initContainerStatuses", ""))
    )
    await side.client.delete(PODS, "plain", namespace=side.name)
    await side.gone("plain")
    seen["events"] = await side.events()
    return seen


async def volume_story(side: Side) -> Object:
    """A claim through KWOK's volume stages."""
    claim = {
        "metadata": {"name": "claim", "namespace": side.name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": f"{side.name}-volume",
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }
    made = await side.client.create(PERSISTENT_VOLUME_CLAIMS, claim)
    volume = f"pvc-{made['metadata']['uid']}"

    def provisioned(claim: Object) -> object:
        # The controller manager may bind it before the stage has done all its steps.
        annotations = claim["metadata"].get("annotations") or {}
        return phase("Bound")(claim) and "volume.kubernetes.io/storage-provisioner" in annotations

    seen = {
        "claim": await side.until(PERSISTENT_VOLUME_CLAIMS, "claim", provisioned),
        "volume": await side.until(PERSISTENT_VOLUMES, volume, phase("Bound")),
    }
    await side.client.delete(PERSISTENT_VOLUME_CLAIMS, "claim", namespace=side.name)
    async with Informer(side.client, PERSISTENT_VOLUMES) as volumes:
        await volumes.wait_until(lambda found: found.get(("", volume)) is None, timeout_s=WITHIN_S, what="its end")
    return seen


async def own_story(side: Side) -> Object:
    """Pods through stages that do what the default sets do not."""
    await side.node("node")
    await side.pod("json", metadata={"annotations": {"way": "json"}})
    await side.pod("stepping", metadata={"labels": {"way": "steps"}})
    seen = {
        "json": await side.until(PODS, "json", phase("Failed")),
        "stepping": await side.until(PODS, "stepping", lambda pod: "made" in pod["metadata"].get("annotations", {})),
        "made": await side.until(CONFIG_MAPS, "stepping", lambda _: True),
    }
    await side.client.delete(PODS, "stepping", namespace=side.name)
    seen["ending"] = await side.until(
        PODS, "stepping", lambda pod: pod["status"].get("message") and was_asked_to_go_at_once(pod)
    )
    await side.client.patch(PODS, "stepping", {"metadata": {"finalizers": None}}, kind="merge", namespace=side.name)
    await side.gone("stepping")
    await asyncio.sleep(1)  # events have no order among other writes
    seen["events"] = await side.events()
    return seen


STORIES = {
    "fast": (FAST, fast_story),
    "general": (GENERAL, general_story),
    "volume": (FAST, volume_story),
    "own": (FAST, own_story),
}


@pytest.mark.parametrize("name", STORIES)
async def test_the_same_stages_make_the_same_objects_as_in_kwok(
    name: str, lab: RunningLab, kwok_module: KwokModule, tmp_path: Path
) -> None:
    sets, story = STORIES[name]
    sides = [Side(lab.client, side) for side in SIDES]
    async with both(lab, texts_of(kwok_module, sets), tmp_path) as said:
        for side in sides:
            await side.prepare()
        theirs, ours = await asyncio.gather(*(story(side) for side in sides))
        for side in sides:
            await side.clean()
    assert ours.keys() == theirs.keys()
    for what, found in theirs.items():
        assert ours[what] == found, what
    assert said == []


async def test_stages_of_a_real_cluster_are_played(lab: RunningLab) -> None:
    said: list[str] = []
    client = lab.client
    async with tasks.owning() as group:
        task = group.create_task(play_cluster_stages(client, clock=RealClock(), seed=1, say=said.append))
        async with Informer(client, CRDS) as definitions:
            await definitions.wait_until(
                lambda found: found.get(("", "stages.kwok.x-k8s.io")) is not None, timeout_s=WITHIN_S, what="stages"
            )
        spec = {
            "resourceRef": {"kind": "ConfigMap"},
            "selector": {"matchLabels": {"step": "one"}},
            "steps": [{"patch": {"root": "metadata", "template": "labels: {step: two}"}}],
        }
        await install_definition(client)
        stage = {"apiVersion": STAGES.api_version, "kind": STAGES.kind, "metadata": {"name": "steps"}, "spec": spec}
        made = await client.create(STAGES, stage)
        assert made["spec"] == {**spec, "resourceRef": {"apiGroup": "v1", "kind": "ConfigMap"}, "weight": 0}
        await client.create(CONFIG_MAPS, {"metadata": {"name": "m", "namespace": "default", "labels": {"step": "one"}}})
        async with Informer(client, CONFIG_MAPS, namespace="default") as maps:
            await maps.wait_until(
                lambda found: (found.get(("default", "m")) or {})["metadata"]["labels"]["step"] == "two",
                timeout_s=WITHIN_S,
                what="the second step",
            )
        task.cancel()
    assert said == []
