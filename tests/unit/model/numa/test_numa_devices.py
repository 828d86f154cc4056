"""The device manager, held to the cases of Kubernetes 1.36.3's own tests of it."""

import json
from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import pytest

from kubedyno.model.numa import bits
from kubedyno.model.numa.devices import DeviceLedger, Devices, Plugin, release
from kubedyno.model.numa.hints import NOWHERE, Hint
from kubedyno.model.numa.pods import Pod
from kubedyno.model.numa.refusals import Refused

pytestmark = pytest.mark.unit

CASES = json.loads(Path(__file__).with_name("devices_cases.json").read_text())


def _plugin(devices: Mapping[str, list[int]], preferred: list[str] | None = None) -> Plugin:
    places = {device: bits.of(nodes) for device, nodes in devices.items()}
    return Plugin(places, preference=None if preferred is None else lambda *_: frozenset(preferred))


def _hint(written: list[Any]) -> Hint:
    nodes, preferred = written
    return Hint(None if nodes is None else bits.of(nodes), preferred)


@pytest.mark.parametrize("case", CASES["hints"], ids=lambda case: case["name"])
def test_device_hints_are_those_of_the_kubelet(case: dict[str, Any]) -> None:
    manager = Devices({resource: _plugin(devices) for resource, devices in case["plugins"].items()}, bits.of([0, 1]))
    assigned = {
        uid: {
            name: {resource: frozenset(devices) for resource, devices in held.items()}
            for name, held in containers.items()
        }
        for uid, containers in case["assigned"].items()
    }
    pod = Pod.read(case["pod"])
    if case["scope"] == "pod":
        found = manager.pod_hints(DeviceLedger(assigned), pod)
    else:
        found = manager.hints(DeviceLedger(assigned), pod, pod.containers[0], {})
    for resource, offer in case["hints"].items():
        expected = None if offer is None else sorted((_hint(hint) for hint in offer), key=str)
        answer = found[resource]
        assert (None if answer is None else sorted(answer, key=str)) == expected


@pytest.mark.parametrize("case", CASES["alignments"], ids=lambda case: case["name"])
def test_devices_come_from_the_nodes_that_the_kubelet_takes_them_from(case: dict[str, Any]) -> None:
    manager = Devices({"r": _plugin(case["devices"], case["preferred"])}, bits.of([0, 1]))
    chosen = manager.choose("r", case["count"], _hint(case["affinity"]), in_use=set(), reusable=set())
    assert len(chosen) == case["count"]
    assert chosen >= set(case["contains"])
    per_node = Counter(str(case["devices"][device][0]) for device in chosen if case["devices"][device])
    assert dict(per_node) == case["per_node"]


@pytest.mark.parametrize("case", CASES["preferences"], ids=lambda case: case["name"])
def test_a_plugin_is_asked_for_its_preference_with_what_the_kubelet_would_tell_it(case: dict[str, Any]) -> None:
    asked: list[tuple[list[str], int]] = []

    def preference(available: AbstractSet[str], must: AbstractSet[str], count: int) -> AbstractSet[str]:
        asked.append((sorted(available), count))
        assert sorted(must) == case["asked_must"]
        return frozenset()

    plugin = Plugin(_plugin(case["devices"]).devices, preference=preference)
    Devices({"r": plugin}, bits.of([0, 1])).choose(
        "r", case["count"], _hint(case["affinity"]), in_use=set(case["in_use"]), reusable=set(case["reusable"])
    )
    assert asked == [(case["asked_available"], case["asked_count"])]


@pytest.mark.parametrize("case", CASES["requests"], ids=lambda case: case["name"])
def test_a_pod_needs_the_devices_its_containers_need_at_a_time(case: dict[str, Any]) -> None:
    manager = Devices(dict.fromkeys(case["resources"], Plugin({})))
    assert manager.pod_requests(Pod.read(case["pod"])) == case["devices"]


def _pod(uid: str, *counts: int, init: tuple[int, ...] = (), sidecar: bool = False) -> Pod:
    def container(name: str, count: int) -> dict[str, Any]:
        return {"name": name, "resources": {"limits": {"gpu": str(count)}}}

    inits = [container(f"i{index}", count) for index, count in enumerate(init)]
    for written in inits if sidecar else ():
        written["restartPolicy"] = "Always"
    containers = [container(f"c{index}", count) for index, count in enumerate(counts)]
    return Pod.read({"metadata": {"uid": uid}, "spec": {"initContainers": inits, "containers": containers}})


def _allocated(manager: Devices, ledger: DeviceLedger, pod: Pod) -> DeviceLedger:
    reusable: Mapping[str, AbstractSet[str]] = {}
    for container in pod.containers:
        ledger, reusable = manager.allocate(ledger, pod, container, NOWHERE, reusable)
    return ledger


def _gpus(*unhealthy: str) -> Devices:
    return Devices({"gpu": Plugin({f"gpu-{number}": 1 << number // 2 for number in range(4)}, set(unhealthy))}, 3)


def test_app_containers_reuse_the_devices_of_init_containers() -> None:
    held = _allocated(_gpus(), DeviceLedger(), _pod("p", 1, 1, init=(1, 2))).assigned["p"]
    assert held["i0"]["gpu"] <= held["i1"]["gpu"]
    assert held["c0"]["gpu"] | held["c1"]["gpu"] == held["i1"]["gpu"]
    assert not held["c0"]["gpu"] & held["c1"]["gpu"]


def test_devices_of_sidecars_stay_theirs() -> None:
    held = _allocated(_gpus(), DeviceLedger(), _pod("p", 2, init=(2,), sidecar=True)).assigned["p"]
    assert not held["i0"]["gpu"] & held["c0"]["gpu"]


@pytest.mark.parametrize(
    ("unhealthy", "count", "text"),
    [
        ((), 5, "requested number of devices unavailable for gpu. Requested: 5, Available: 4"),
        (("gpu-0",), 4, "requested number of devices unavailable for gpu. Requested: 4, Available: 3"),
        (
            ("gpu-0", "gpu-1", "gpu-2", "gpu-3"),
            1,
            "no healthy devices present; cannot allocate unhealthy devices gpu",
        ),
    ],
)
def test_what_is_not_there_is_refused_in_the_words_of_the_kubelet(
    unhealthy: tuple[str, ...], count: int, text: str
) -> None:
    with pytest.raises(Refused) as caught:
        _allocated(_gpus(*unhealthy), DeviceLedger(), _pod("p", count))
    assert caught.value.reason == "UnexpectedAdmissionError"
    assert caught.value.message == f"Allocate failed due to {text}, which is unexpected"


def test_a_pod_that_comes_again_keeps_its_devices_unless_they_broke() -> None:
    pod = _pod("p", 2)
    ledger = _allocated(_gpus(), DeviceLedger(), pod)
    assert _allocated(_gpus(), ledger, pod) == ledger
    with pytest.raises(Refused, match="previously allocated devices are no longer healthy"):
        _allocated(_gpus("gpu-0"), ledger, pod)
    with pytest.raises(Refused, match='pod "p" container "c0" changed request for resource "gpu" from 2 to 1'):
        _allocated(_gpus(), ledger, _pod("p", 1))


def test_released_devices_are_free_again() -> None:
    ledger = _allocated(_gpus(), DeviceLedger(), _pod("p", 2))
    assert ledger.of("gpu") == {"gpu-0", "gpu-1"}
    assert release(ledger, "p") == DeviceLedger()


def test_devices_of_a_resource_claim_are_not_the_plugins() -> None:
    pod = Pod.read(
        {
            "metadata": {"uid": "p"},
            "spec": {"containers": [{"name": name, "resources": {"limits": {"gpu": "1"}}} for name in ("a", "b")]},
            "status": {
                "extendedResourceClaimStatus": {
                    "requestMappings": [{"containerName": "a", "resourceName": "gpu", "requestName": "r"}]
                }
            },
        }
    )
    assert _allocated(_gpus(), DeviceLedger(), pod).assigned["p"] == {"b": {"gpu": frozenset({"gpu-0"})}}
