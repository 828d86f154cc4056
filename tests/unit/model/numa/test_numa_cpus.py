"""The static CPU policy, held to the cases of Kubernetes 1.36.3's own tests of its CPU manager."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kubedyno.model.numa import bits
from kubedyno.model.numa.cpu_picking import NotEnoughCpusError, take_distributed, take_packed
from kubedyno.model.numa.cpus import CpuLedger, StaticCpus
from kubedyno.model.numa.hints import NOWHERE, Hint
from kubedyno.model.numa.machine import Cpu, Layout, Machine
from kubedyno.model.numa.options import CpuOptions
from kubedyno.model.numa.pods import Pod
from kubedyno.model.numa.refusals import Refused

pytestmark = pytest.mark.unit

CASES = json.loads(Path(__file__).with_name("cpus_cases.json").read_text())


def _machine(case: Mapping[str, Any]) -> Machine:
    """A machine of the tables: for each CPU its id, core, socket, NUMA node and cache."""
    written = CASES["machines"][case["machine"]]
    return Machine(cpus={cpu: Cpu(*place) for cpu, *place in written["cpus"]})


def _policy(case: Mapping[str, Any]) -> StaticCpus:
    options = CpuOptions.parse(dict.fromkeys(case.get("options", ()), "true"), alpha=True)
    return StaticCpus(_machine(case), bits.parse(case.get("reserved", "")), options)


def _ledger(case: Mapping[str, Any]) -> CpuLedger:
    assigned = {
        uid: {name: bits.parse(cpus) for name, cpus in containers.items()}
        for uid, containers in case.get("assigned", {}).items()
    }
    return CpuLedger(bits.parse(case["shared"]), assigned)


@pytest.mark.parametrize("case", CASES["picks"], ids=lambda case: case["name"])
def test_cpus_are_picked_as_the_kubelet_picks_them(case: dict[str, Any]) -> None:
    machine, free, count = _machine(case), bits.parse(case["free"]), case["count"]

    def picked() -> int:
        if "group" in case:
            return take_distributed(machine, free, count, group=case["group"])
        options = case["options"]
        return take_packed(
            machine,
            free,
            count,
            spread="distribute-cpus-across-cores" in options,
            by_cache="prefer-align-cpus-by-uncorecache" in options,
        )

    if "fault" in case:
        with pytest.raises(NotEnoughCpusError) as caught:
            picked()
        assert str(caught.value) == case["fault"]
    else:
        assert bits.text(picked()) == case["taken"]


@pytest.mark.parametrize("case", CASES["recorded"], ids=lambda case: case["name"])
def test_cpus_are_picked_as_was_recorded_from_a_kubelet(case: dict[str, Any]) -> None:
    # In some of them the kubelet has forgotten by then which NUMA nodes it had found to be the best.
    machine, free, count = Layout(**case["layout"]).machine(), bits.parse(case["free"]), case["count"]
    with pytest.raises(NotEnoughCpusError) if "fault" in case else contextlib.nullcontext() as caught:
        if "group" in case:
            taken = take_distributed(machine, free, count, group=case["group"], spread=case["spread"])
        else:
            taken = take_packed(machine, free, count, spread=case["spread"], by_cache=case["by_cache"])
    if caught is None:
        assert bits.text(taken) == case["taken"]
    else:
        assert str(caught.value) == case["fault"]


@pytest.mark.parametrize("case", CASES["containers"], ids=lambda case: case["name"])
def test_containers_are_given_the_cpus_that_the_kubelet_gives_them(case: dict[str, Any]) -> None:
    policy, ledger, pod = _policy(case), _ledger(case), Pod.read(case["pod"])
    nodes, preferred = case["affinity"]
    affinity = Hint(None if nodes is None else bits.of(nodes), preferred)
    containers = pod.containers if "caches" in case else pod.containers[:1]
    fault = ""
    reusable = 0
    for container in containers:
        try:
            ledger, reusable = policy.allocate(ledger, pod, container, affinity, reusable)
        except Refused as refused:
            fault = refused.message.removeprefix("Allocate failed due to ").removesuffix(", which is unexpected")
    assert fault == case.get("fault", "")
    held = ledger.assigned.get(pod.uid, {})
    if "caches" in case:
        used = {policy.machine.cpus[cpu].cache for cpus in held.values() for cpu in bits.members(cpus)}
        assert bits.text(bits.of(used)) == case["caches"]
    elif case["taken"] is None:
        assert containers[0].name not in held
    else:
        assert bits.text(held[containers[0].name]) == case["taken"]
        assert not held[containers[0].name] & ledger.shared


@pytest.mark.parametrize("case", CASES["hints"], ids=lambda case: case["name"])
def test_cpu_hints_are_those_of_the_kubelet(case: dict[str, Any]) -> None:
    policy, ledger, pod = _policy(case), _ledger(case), Pod.read(case["pod"])
    if case["scope"] == "pod":
        answer = policy.pod_hints(ledger, pod)
    else:
        container = next(container for container in pod.containers if container.name == case["container"])
        answer = policy.hints(ledger, pod, container)
    found = [] if answer is None else answer["cpu"] or []
    expected = [Hint(bits.of(nodes), preferred) for nodes, preferred in case["hints"]]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.parametrize("case", CASES["releases"], ids=lambda case: case["name"])
def test_cpus_of_a_container_that_ended_are_shared_again(case: dict[str, Any]) -> None:
    ledger = _policy(case).release(_ledger(case), case["pod"], case["container"])
    assert bits.text(ledger.shared) == case["left"]
    assert case["container"] not in ledger.assigned.get(case["pod"], {})


@pytest.mark.parametrize("case", CASES["inits"], ids=lambda case: case["name"])
def test_containers_reuse_the_cpus_of_init_containers_but_not_of_sidecars(case: dict[str, Any]) -> None:
    policy, ledger, pod = _policy(case), _ledger(case), Pod.read(case["pod"])
    before = ledger
    reusable = 0
    for container in pod.containers:
        ledger, reusable = policy.allocate(ledger, pod, container, NOWHERE, reusable)
    held = ledger.assigned[pod.uid]
    if "left" in case:
        assert bits.text(ledger.shared) == case["left"]
    else:
        assert [bits.text(held.get(container.name, 0)) for container in pod.containers] == case["taken"]
    assert policy.release(ledger, pod.uid) == before
