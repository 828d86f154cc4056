from typing import Any

import msgspec
import pytest

from kubedyno.kube import meta
from kubedyno.sim.devices.inventory import Mig
from kubedyno.sim.pools import Gpus, Pool, Taint
from kubedyno.sim.pools.changing import Patch, changes, patch_of, written_by
from kubedyno.sim.pools.nodes import device_resources, nodes

pytestmark = pytest.mark.unit

BEFORE = Pool(
    name="p", count=3, labels={"a": "1", "b": "1"}, taints=(Taint(key="t", effect="NoSchedule"),), resources={"x/y": 2}
)


def made(pool: Pool) -> list[dict[str, Any]]:
    return list(nodes(pool, now="2026-01-02T03:04:05Z"))


def live(pool: Pool = BEFORE) -> list[dict[str, Any]]:
    found = [meta.copied(node) for node in made(pool)]
    for number, node in enumerate(found):
        node["metadata"] |= {"uid": f"u{number}", "resourceVersion": "7"}
    return found


def patch(pool: Pool, seen: dict[str, Any], before: Pool = BEFORE) -> Patch | None:
    later = device_resources(pool)
    return patch_of(made(pool)[0], seen, written=written_by(made(before)), later=later)


def changed(**fields: Any) -> Pool:
    return msgspec.structs.replace(BEFORE, **fields)


def test_nothing_changes_where_all_is_as_wanted() -> None:
    assert not changes(made(BEFORE), live(), written=written_by(made(BEFORE)))


def test_nodes_are_created_and_the_last_ones_deleted_first() -> None:
    grown = changes(made(changed(count=12)), live())
    assert [node["metadata"]["name"] for node in grown.create] == [f"p-{number}" for number in range(3, 12)]
    shrunk = changes(made(changed(count=1)), live(changed(count=12)))
    assert [node["metadata"]["name"] for node in shrunk.delete] == [f"p-{number}" for number in range(11, 0, -1)]
    assert (shrunk.create, shrunk.patch, shrunk.replace) == ((), (), ())


@pytest.mark.parametrize(
    ("pool", "body", "status"),
    [
        (changed(labels={"a": "2", "c": "1"}), {"metadata": {"labels": {"a": "2", "c": "1", "b": None}}}, {}),
        (changed(annotations={"n": "1"}), {"metadata": {"annotations": {"n": "1"}}}, {}),
        (
            changed(taints=()),
            {"metadata": {"resourceVersion": "7"}, "spec": {"taints": []}},
            {},
        ),
        (
            changed(taints=(Taint(key="t", effect="NoSchedule", value="v"),)),
            {
                "metadata": {"resourceVersion": "7"},
                "spec": {"taints": [{"key": "t", "value": "v", "effect": "NoSchedule"}]},
            },
            {},
        ),
        (changed(cpu="16"), {}, {"status": {"capacity": {"cpu": "16"}, "allocatable": {"cpu": "16"}}}),
        (changed(cpu="32000m"), None, None),
        (changed(reserved={"cpu": "2"}), {}, {"status": {"allocatable": {"cpu": "30"}}}),
        (
            changed(resources={}),
            {},
            {"status": {"capacity": {"x/y": None}, "allocatable": {"x/y": None}}},
        ),
    ],
)
def test_a_node_is_changed_in_place(pool: Pool, body: dict[str, Any] | None, status: dict[str, Any] | None) -> None:
    found = patch(pool, live()[0])
    assert (found.body if found else None, found.status if found else None) == (body, status)


def test_what_others_wrote_stays() -> None:
    seen = live()[0]
    seen["metadata"]["labels"]["theirs"] = "1"
    seen["metadata"]["annotations"]["theirs"] = "1"
    seen["spec"]["unschedulable"] = True
    seen["spec"]["taints"] += [
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
        {"key": "theirs", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    ]
    seen["status"]["capacity"]["their/device"] = seen["status"]["allocatable"]["their/device"] = "3"
    assert patch(BEFORE, seen) is None
    found = patch(changed(labels={}, taints=(), resources={}), seen)
    assert found is not None
    assert found.body["metadata"]["labels"] == {"a": None, "b": None}
    assert [taint["key"] for taint in found.body["spec"]["taints"]] == ["node.kubernetes.io/unschedulable", "theirs"]
    assert found.status["status"]["capacity"] == {"x/y": None}


def test_devices_that_are_lost_at_the_moment_stay_lost() -> None:
    seen = live()[0]
    seen["status"]["allocatable"]["x/y"] = "1"
    assert patch(BEFORE, seen) is None
    found = patch(changed(resources={"x/y": 4}), seen)
    assert found is not None
    assert found.status == {"status": {"capacity": {"x/y": "4"}, "allocatable": {"x/y": "4"}}}


def test_devices_that_appear_by_themselves_are_not_removed() -> None:
    late = changed(gpus=Gpus(model="H100", delay="5s"), resources={})
    seen = live(late)[0]
    seen["status"]["capacity"]["nvidia.com/gpu"] = seen["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    assert patch(late, seen, before=late) is None


def test_other_devices_replace_those_before_in_place() -> None:
    whole = changed(gpus=Gpus(model="A100"), resources={})
    cut = changed(gpus=Gpus(model="A100", mig=Mig(layout={"1g.10gb": 7})), resources={})
    found = patch(cut, live(whole)[0], before=whole)
    assert found is not None
    assert found.status["status"]["capacity"] == {"nvidia.com/mig-1g.10gb": "56", "nvidia.com/gpu": None}
    assert found.body["metadata"]["labels"]["nvidia.com/mig.strategy"] == "mixed"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "podCIDR"), "10.9.9.0/24"),
        (("spec", "providerID"), "aws:///zone/i-1"),
        (("metadata", "labels", "kubernetes.io/arch"), "arm64"),
    ],
)
def test_what_kubernetes_keeps_for_life_makes_the_node_anew(path: tuple[str, ...], value: str) -> None:
    seen = live()
    place = seen[1]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    found = changes(made(BEFORE), seen, written=written_by(made(BEFORE)))
    assert [node["metadata"]["name"] for node in found.replace] == ["p-1"]
    assert (found.create, found.patch, found.delete) == ((), (), ())
