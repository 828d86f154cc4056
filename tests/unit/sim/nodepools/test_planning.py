"""Plans of NodePools, and what a template says, as data."""

from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.patches import apply_merge_patch
from kubedyno.sim.nodepools import planning
from kubedyno.sim.nodepools.template import WRITTEN, Template

pytestmark = pytest.mark.unit

MakePool = Callable[..., Object]


def known(pool: Object) -> Object:
    return {**pool, "metadata": {**pool["metadata"], "uid": "u", "generation": 1}}


def live(template: Template, name: str, **metadata: Any) -> Object:
    node = template.node(0, slot=0)
    return {**node, "metadata": {**node["metadata"], "name": name, "uid": name, "resourceVersion": "1", **metadata}}


@pytest.mark.parametrize(
    ("there", "count", "create", "delete"),
    [
        ([], 2, [0, 1], []),
        (["p-0", "p-1"], 2, [], []),
        (["p-1"], 2, [0], []),
        (["p-0", "p-1", "p-2"], 1, [], ["p-2", "p-1"]),
        (["p-0", "p-7"], 2, [1], ["p-7"]),
        (["p-10", "p-9"], 0, [], ["p-10", "p-9"]),
        (["p-xyz", "p-0"], 2, [], []),
        (["p-xyz", "p-0"], 1, [], ["p-0"]),
        (["p-xyz", "p-abc", "p-0"], 1, [], ["p-xyz", "p-0"]),
        (["p-xyz"], 3, [0, 1], []),
        (["p-01"], 2, [0], []),
    ],
)
def test_a_plan_has_what_differs(
    pool: MakePool, there: list[str], count: int, create: list[int], delete: list[str]
) -> None:
    wanted = known(pool(count))
    template = Template(wanted)
    found = planning.plan(wanted, template, [live(template, name) for name in there])
    assert list(found.create) == create
    assert [node["metadata"]["name"] for node in found.delete] == delete
    assert found.change == ()
    assert bool(found) == bool(create or delete)


def test_nodes_that_are_going_are_waited_for(pool: MakePool) -> None:
    wanted = known(pool(1))
    template = Template(wanted)
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {}}
    assert not planning.plan(wanted, template, [live(template, "p-0", **going), live(template, "p-1", **going)])


def test_what_a_node_has_for_itself_is_not_taken_from_the_template(pool: MakePool) -> None:
    told = {"type": "Ready", "status": "True"}
    template = Template(
        known(
            pool(
                1,
                metadata={"name": "ignored", "labels": {"kubernetes.io/hostname": "same", "a": "b"}},
                spec={"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "providerID": None},
                status={
                    "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}],
                    "capacity": {"cpu": 1.5},
                    "conditions": [told],
                    "nodeInfo": {"architecture": "arm64", "bootID": None},
                },
            )
        )
    )
    node = template.node(3, slot=512)
    assert node["metadata"]["name"] == "p-3"
    assert meta.labels(node) == {
        "a": "b",
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/hostname": "p-3",
        "kubernetes.io/os": "linux",
        "kwok.x-k8s.io/controller": "p",
    }
    assert node["spec"] == {
        "podCIDR": "10.2.0.0/24",
        "podCIDRs": ["10.2.0.0/24"],
        "taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}],
    }
    assert node["status"] == {
        "addresses": [{"type": "InternalIP", "address": "172.16.2.1"}, {"type": "Hostname", "address": "p-3"}],
        "allocatable": {"cpu": "1.5"},
        "capacity": {"cpu": "1.5"},
        "conditions": [told],
        "nodeInfo": {"architecture": "arm64"},
    }


def test_kwoks_taint_in_the_template_is_not_added_twice(pool: MakePool) -> None:
    taint = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
    template = Template(known(pool(1, spec={"taints": [taint]})))
    assert template.node(0, slot=2)["spec"]["taints"] == [taint]


@pytest.mark.parametrize("spoilt", ["", "{", "[]", '"text"'])
def test_a_spoilt_record_is_written_anew(pool: MakePool, spoilt: str) -> None:
    template = Template(known(pool(1)))
    node = live(template, "p-0")
    whole = template.node(0, slot=0)
    node["metadata"]["annotations"] = {WRITTEN: spoilt}
    patched = apply_merge_patch(apply_merge_patch(node, template.status_patch(node)), template.node_patch(node))
    assert template.is_on(patched)
    assert (patched["spec"], patched["status"]) == (whole["spec"], whole["status"])
    assert meta.labels(patched) == meta.labels(whole)
