"""Devices of nodes on which nothing is aligned: the short way gives what the device manager's model gives."""

import random
import re

import pytest

from kubedyno.kit import randomness
from kubedyno.kube.codec import Object
from kubedyno.model.numa import bits
from kubedyno.model.numa.devices import DeviceLedger, Devices, Plugin, Reusable, release
from kubedyno.model.numa.hints import NOWHERE
from kubedyno.model.numa.refusals import Refused
from kubedyno.sim.kubelet import unaligned
from kubedyno.sim.kubelet.machines import Build, Device
from kubedyno.sim.kubelet.requests import needs_of
from kubedyno.sim.kubelet.unaligned import Held

pytestmark = pytest.mark.unit

RESOURCES = {"example.com/gpu": 8, "example.com/nic": 3}
DEVICES = {
    resource: [Device(f"{resource}-{number}", number, 0) for number in range(count)]
    for resource, count in RESOURCES.items()
}
BUILD = Build(capacity={}, devices=DEVICES, numa=None, empty=None)
Given = dict[str, dict[str, set[str]]]


def _pod(rng: random.Random, uid: str) -> Object:
    def container(name: str) -> Object:
        limits = {resource: str(rng.randint(0, 3)) for resource in RESOURCES if rng.random() < 0.6}
        return {"name": name, "resources": {"requests": limits, "limits": limits}}

    started = [container(f"init{number}") for number in range(rng.randint(0, 3))]
    started = [one | ({"restartPolicy": "Always"} if rng.random() < 0.4 else {}) for one in started]
    containers = [container(f"app{number}") for number in range(rng.randint(1, 2))]
    return {"metadata": {"uid": uid}, "spec": {"initContainers": started, "containers": containers}}


def _modelled(manager: Devices, ledger: DeviceLedger, pod: Object) -> tuple[DeviceLedger, Given]:
    read = needs_of(pod).pod(pod["metadata"]["uid"])
    reusable: Reusable = {}
    for container in read.containers:
        ledger, reusable = manager.allocate(ledger, read, container, NOWHERE, reusable)
    held = ledger.assigned.get(read.uid, {})
    named = {name: {resource: set(ids) for resource, ids in given.items()} for name, given in held.items()}
    return ledger, {name: given for name, given in named.items() if given}


def _given(pod: Object, lost: frozenset[int], in_use: dict[str, int]) -> Held | str:
    try:
        return unaligned.given(pod["metadata"]["uid"], needs_of(pod), BUILD, lost=lost, in_use=in_use)
    except Refused as refusal:
        return refusal.message


def _named(held: Held) -> Given:
    named: Given = {}
    for container, resource, places in held:
        named.setdefault(container, {})[resource] = {DEVICES[resource][place].id for place in bits.members(places)}
    return named


@pytest.mark.parametrize("seed", range(40))
def test_devices_are_those_that_the_model_gives(seed: int) -> None:
    rng = randomness.stream(seed, "devices")
    lost = frozenset(rng.sample(range(8), rng.choice([0, 0, 2])))
    manager = Devices(
        {
            resource: Plugin(
                {device.id: 0 for device in listed}, frozenset(device.id for device in listed if device.gpu in lost)
            )
            for resource, listed in DEVICES.items()
        }
    )
    ledger = DeviceLedger()
    in_use: dict[str, int] = {}
    live: dict[str, Held] = {}
    for number in range(12):
        if live and rng.random() < 0.3:
            uid = rng.choice(sorted(live))
            ledger = release(ledger, uid)
            for _, resource, places in live.pop(uid):
                in_use[resource] &= ~places
            continue
        pod = _pod(rng, f"pod-{number}")
        expected: Given | str
        try:
            ledger, expected = _modelled(manager, ledger, pod)
        except Refused as refusal:
            expected = refusal.message
        held = _given(pod, lost, in_use)
        if isinstance(held, str):
            assert held == expected
            continue
        assert _named(held) == expected
        live[f"pod-{number}"] = held
        for _, resource, places in held:
            in_use[resource] = in_use.get(resource, 0) | places


def test_a_pod_that_changed_its_request_is_refused_with_what_was_recorded() -> None:
    pod = {
        "metadata": {"uid": "u"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"example.com/gpu": "2"}}}]},
    }
    told = 'pod "u" container "c" changed request for resource "example.com/gpu" from 1 to 2'
    with pytest.raises(Refused, match=re.escape(told)):
        unaligned.given(
            "u",
            needs_of(pod),
            BUILD,
            lost=frozenset(),
            in_use={"example.com/gpu": 1},
            recorded=(("c", "example.com/gpu", 1),),
        )
