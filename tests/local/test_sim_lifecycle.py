"""What the simulated kubelet writes of pods is taken by a real API server as it is meant."""

from typing import Any

import msgspec
import pytest

from kubedyno.client.rest import Client
from kubedyno.kit.clock import NS_PER_S
from kubedyno.kube.codec import Object
from kubedyno.kube.merge_keys import merge_keys_for
from kubedyno.kube.resources import PODS
from kubedyno.kube.strategic import apply_strategic_patch
from kubedyno.lab.starting import RunningLab
from kubedyno.sim.kubelet.containers import stamp_ns
from kubedyno.sim.kubelet.lifecycle import Delete, Wait, Write, decide
from kubedyno.sim.kubelet.plans import Plan

pytestmark = pytest.mark.local

NAMESPACE = "default"
INITS = [
    {"name": "first", "image": "x"},
    {"name": "side", "image": "y", "restartPolicy": "Always"},
    {"name": "last", "image": "z"},
]
HELD = {"finalizers": ["example.com/hold"]}


class Case(msgspec.Struct, frozen=True):
    """A pod, what becomes of it, and the phases that it says it is in."""

    name: str
    plan: Plan
    phases: tuple[str, ...]
    spec: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    until_s: float = 100.0
    """It is deleted then, if it is still there."""


CASES = (
    Case("plain", Plan(0.0, None, 0.0, 0), ("Running",)),
    Case("delayed", Plan(2.5, None, 3.0, 0), ("Pending", "Running", "Failed")),
    Case("done", Plan(0.0, 5.0, 0.0, 0), ("Running", "Succeeded"), {"restartPolicy": "Never"}),
    Case("failed", Plan(1.0, 5.0, 0.0, 3), ("Pending", "Running", "Failed"), {"restartPolicy": "Never"}),
    Case("crashing", Plan(0.0, 5.0, 1.0, 1), ("Running",) * 10, {"restartPolicy": "OnFailure"}),
    Case(
        "initialising",
        Plan(8.0, 5.0, 0.0, 0),
        ("Pending", "Pending", "Running", "Succeeded"),
        {"initContainers": INITS, "restartPolicy": "Never"},
    ),
    Case("deadline", Plan(0.0, None, 2.0, 0), ("Running", "Failed"), {"activeDeadlineSeconds": 20}),
    Case("host", Plan(2.0, None, 0.0, 0), ("Pending", "Running"), {"hostNetwork": True}),
    Case("gated", Plan(0.0, None, 0.0, 0), ("Running",), {"readinessGates": [{"conditionType": "example.com/warm"}]}),
    Case("held", Plan(0.0, None, 0.0, 0), ("Running", "Failed"), metadata=HELD),
    Case("held-early", Plan(60.0, None, 0.0, 0), ("Pending", "Failed"), metadata=HELD, until_s=10.0),
    Case(
        "held-initialising",
        Plan(60.0, None, 0.0, 0),
        ("Pending", "Failed"),
        {"initContainers": INITS},
        metadata=HELD,
        until_s=10.0,
    ),
    Case(
        "whole",
        Plan(0.0, 5.0, 0.0, 0),
        ("Running", "Succeeded"),
        {"resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "4"}}, "restartPolicy": "Never"},
    ),
)


class Addresses:
    host_ips = ("192.168.0.7",)

    def pod_ips(self) -> tuple[str, ...]:
        return ("10.1.0.2", "fd00::2")


def manifest(case: Case) -> Object:
    asked = {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"lifecycle-{case.name}", "namespace": NAMESPACE, **case.metadata},
        "spec": {
            "nodeName": "lifecycle-has-no-node",
            "containers": [{"name": "b", "image": "nginx", "resources": asked}, {"name": "a", "image": "j"}],
            **case.spec,
        },
    }


def as_printed(status: Object) -> Object:
    """With the members that Go's structs always have."""
    for one in status.get("conditions", ()):
        one.setdefault("lastProbeTime", None)
    for which in ("containerStatuses", "initContainerStatuses"):
        for one in status.get(which, ()):
            one.setdefault("lastState", {})
            for ended in filter(None, (one[state].get("terminated") for state in ("state", "lastState"))):
                ended.setdefault("startedAt", None)
                ended.setdefault("finishedAt", None)
    return status


class Play:
    """Does what is decided, with waits that take no time; looks at what the server makes of each write."""

    def __init__(self, client: Client, case: Case, pod: Object) -> None:
        self._client = client
        self._plan = case.plan
        self.pod: Object | None = pod
        self.now_ns = stamp_ns(pod["metadata"]["creationTimestamp"])
        self.phases: list[str] = []

    async def run(self, until_ns: int) -> None:
        while self.pod is not None:
            match decide(self.pod, self._plan, now_ns=self.now_ns, addresses=Addresses()):
                case Write(status, _):
                    await self._write(self.pod, status)
                case Delete():
                    await self.delete(grace_s=0)
                case Wait(at_ns) if at_ns <= until_ns:
                    self.now_ns = at_ns
                case _:
                    return

    async def _write(self, pod: Object, status: Object) -> None:
        keys = merge_keys_for("v1", "Pod")
        assert keys is not None
        expected = apply_strategic_patch(pod, {"status": status}, keys)
        metadata = pod["metadata"]
        self.pod = await self._client.patch(
            PODS,
            metadata["name"],
            {"metadata": {"uid": metadata["uid"]}, "status": status},
            kind="strategic",
            namespace=NAMESPACE,
            subresource="status",
            field_validation="Strict",
        )
        assert self.pod["status"] == as_printed(expected["status"])
        self.phases.append(self.pod["status"]["phase"])

    async def delete(self, grace_s: int | None = None) -> None:
        assert self.pod is not None
        metadata = self.pod["metadata"]
        await self._client.delete(PODS, metadata["name"], namespace=NAMESPACE, grace_s=grace_s, uid=metadata["uid"])
        left = await self._client.list_all(
            PODS, namespace=NAMESPACE, field_selector=f"metadata.name={metadata['name']}"
        )
        self.pod = left.items[0] if left.items else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_real_server_takes_what_is_written(shared_lab: RunningLab, case: Case) -> None:
    client = shared_lab.client
    play = Play(client, case, await client.create(PODS, manifest(case)))
    await play.run(play.now_ns + round(case.until_s * NS_PER_S))
    if play.pod is not None and play.pod["status"]["phase"] not in {"Succeeded", "Failed"}:
        await play.delete()
        assert play.pod is not None
        metadata = play.pod["metadata"]
        grace_ns = metadata["deletionGracePeriodSeconds"] * NS_PER_S
        play.now_ns = stamp_ns(metadata["deletionTimestamp"]) - grace_ns
        await play.run(play.now_ns + grace_ns)
    elif play.pod is not None:
        await play.delete()
    assert (play.pod is not None) is bool(case.metadata)
    if play.pod is not None:
        drop = {"metadata": {"finalizers": None}}
        await client.patch(PODS, play.pod["metadata"]["name"], drop, kind="merge", namespace=NAMESPACE)
    assert tuple(play.phases) == case.phases
