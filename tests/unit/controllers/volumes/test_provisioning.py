"""The provisioner that only pretends: what it decides, and what becomes of claims in virtual time."""

from collections.abc import Callable
from typing import Any

import pytest

from kubedyno.controllers.volumes import matching, provisioning
from kubedyno.controllers.volumes.provisioning import run_provisioner
from kubedyno.kit.errors import UsageError
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.kube.resources import (
    CORE_EVENTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)

pytestmark = pytest.mark.unit

Run = Callable[..., Any]

BESIDE = (run_provisioner,)
SELECTED = "volume.kubernetes.io/selected-node"


def claim(name: str = "c", /, *, mode: str = "ReadWriteOnce", size: str = "1Gi", **spec: Any) -> Object:
    wanted = {"accessModes": [mode], "resources": {"requests": {"storage": size}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {**wanted, **spec},
    }


def asked(*, selected: str | None = None, mode: str = "ReadWriteOnce", **metadata: Any) -> Object:
    found = claim(mode=mode)
    annotations = {matching.PROVISIONER: "kubedyno/fake", **({SELECTED: selected} if selected else {})}
    base = {"namespace": "n", "uid": "u", "resourceVersion": "1", "annotations": annotations}
    return {**found, "metadata": {**found["metadata"], **base, **metadata}}


def storage_class(name: str = "mine", /, *, mode: str = "Immediate", **more: Any) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": more.pop("annotations", {})},
        "provisioner": "kubedyno/fake",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": mode,
        **more,
    }


def is_bound(found: list[Object]) -> bool:
    return bool(found) and all(one["status"].get("phase") == "Bound" for one in found)


def having(count: int) -> Callable[[list[Object]], bool]:
    return lambda found: len(found) == count


def test_a_lab_has_two_classes_one_of_them_the_default() -> None:
    shown = [
        (one["metadata"]["name"], one["volumeBindingMode"], meta.annotations(one))
        for one in provisioning.storage_classes()
    ]
    assert shown == [
        ("kubedyno-immediate", "Immediate", {"storageclass.kubernetes.io/is-default-class": "true"}),
        ("kubedyno-wait", "WaitForFirstConsumer", {}),
    ]


@pytest.mark.parametrize(
    ("subject", "provisioner"),
    [
        (asked(), "kubedyno/fake"),
        (asked(annotations={matching.BETA_PROVISIONER: "other"}), "other"),
        (asked(annotations={}), None),
        (asked(annotations={matching.PROVISIONER: "kubernetes.io/no-provisioner"}), None),
        (asked(deletionTimestamp="2026-01-01T00:00:00Z"), None),
        ({**asked(), "spec": {"volumeName": "v"}}, None),
    ],
)
def test_who_is_asked_for_a_volume(subject: Object, provisioner: str | None) -> None:
    assert provisioning.provisioner_of(subject) == provisioner


@pytest.mark.parametrize(
    ("subject", "mode", "is_due", "is_pinned"),
    [
        (asked(), "Immediate", True, False),
        (asked(), "WaitForFirstConsumer", False, False),
        (asked(selected="n"), "WaitForFirstConsumer", True, True),
        (asked(selected="n", mode="ReadWriteMany"), "WaitForFirstConsumer", True, False),
    ],
)
def test_when_a_volume_is_made_and_whether_it_stays_on_a_node(
    subject: Object, mode: str, is_due: bool, is_pinned: bool
) -> None:
    assert provisioning.is_due(subject, storage_class(mode=mode)) == is_due
    assert provisioning.is_pinned(subject) == is_pinned


def test_a_volume_is_made_as_the_claim_and_its_class_want_it() -> None:
    node = {"metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "host-a"}}}
    kind = storage_class(reclaimPolicy="Retain", mountOptions=["ro"])
    host = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["host-a"]}
    assert provisioning.volume_of(asked(), kind, provisioner="kubedyno/fake", node=node) == {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pvc-u", "annotations": {"pv.kubernetes.io/provisioned-by": "kubedyno/fake"}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "storageClassName": "mine",
            "persistentVolumeReclaimPolicy": "Retain",
            "mountOptions": ["ro"],
            "claimRef": {
                "kind": "PersistentVolumeClaim",
                "apiVersion": "v1",
                "namespace": "n",
                "name": "c",
                "uid": "u",
                "resourceVersion": "1",
            },
            "hostPath": {"path": "/var/lib/kubedyno/volumes/pvc-u", "type": "DirectoryOrCreate"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}},
        },
    }
    foreign = provisioning.volume_of(asked(), kind, provisioner="ebs.example.com", node=None)["spec"]
    assert foreign["csi"] == {"driver": "ebs.example.com", "volumeHandle": "pvc-u"}
    assert "nodeAffinity" not in foreign


def test_a_delay_is_drawn_once_for_each_claim() -> None:
    kind = storage_class(annotations={"kubedyno/delay": "uniform(1s, 3s)"})
    first, again, other = (provisioning.delay_s(kind, asked(uid=uid), 5) for uid in ("u", "u", "v"))
    assert 1 <= first <= 3
    assert (first == again, first == other) == (True, False)
    assert provisioning.delay_s(storage_class(), asked(), 5) == 0


def test_a_delay_that_cannot_be_read_is_told_with_its_class() -> None:
    with pytest.raises(UsageError) as caught:
        provisioning.delay_s(storage_class(annotations={"kubedyno/delay": "soon"}), asked(), 1)
    assert str(caught.value).startswith("storage class mine: annotation kubedyno/delay: ")


def test_a_claim_of_the_default_class_is_bound_and_its_volume_goes_with_it(world: Run) -> None:
    async def play(world: Any) -> tuple[Object, Object]:
        for kind in provisioning.storage_classes():
            await world.create(kind)
        await world.create(claim())
        (bound,) = await world.until(PERSISTENT_VOLUME_CLAIMS, is_bound)
        (volume,) = await world.until(PERSISTENT_VOLUMES, is_bound)
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "c", namespace="default")
        await world.until(PERSISTENT_VOLUME_CLAIMS, having(0))
        await world.until(PERSISTENT_VOLUMES, having(0))
        return bound, volume

    bound, volume = world(play, beside=BESIDE)
    assert bound["spec"]["storageClassName"] == "kubedyno-immediate"
    assert bound["status"]["capacity"] == {"storage": "1Gi"}
    assert bound["spec"]["volumeName"] == volume["metadata"]["name"] == f"pvc-{bound['metadata']['uid']}"


def test_a_volume_that_is_to_be_kept_is_released_and_stays(world: Run) -> None:
    async def play(world: Any) -> str:
        await world.create(storage_class(reclaimPolicy="Retain"))
        await world.create(claim(storageClassName="mine"))
        await world.until(PERSISTENT_VOLUME_CLAIMS, is_bound)
        await world.client.delete(PERSISTENT_VOLUME_CLAIMS, "c", namespace="default")
        await world.until(PERSISTENT_VOLUME_CLAIMS, having(0))
        await world.clock.sleep(60)
        (kept,) = await world.listed(PERSISTENT_VOLUMES)
        return str(kept["status"]["phase"])

    assert world(play, beside=BESIDE) == "Released"


def test_classes_of_others_are_served_too(world: Run) -> None:
    async def play(world: Any) -> Object:
        await world.create(storage_class("fast", provisioner="disk.example.com"))
        await world.create(claim(storageClassName="fast"))
        (volume,) = await world.until(PERSISTENT_VOLUMES, is_bound)
        found: Object = volume["spec"]["csi"]
        return found

    assert world(play, beside=BESIDE)["driver"] == "disk.example.com"


def test_a_volume_takes_its_time(world: Run) -> None:
    async def play(world: Any) -> float:
        await world.create(storage_class(annotations={"kubedyno/delay": "25s"}))
        begun_s = world.passed_s()
        await world.create(claim(storageClassName="mine"))
        await world.until(PERSISTENT_VOLUME_CLAIMS, is_bound)
        return float(world.passed_s() - begun_s)

    assert 25 <= world(play, beside=BESIDE) < 26


def test_a_delay_that_cannot_be_read_is_told_until_it_can(world: Run) -> None:
    async def play(world: Any) -> str:
        await world.create(storage_class(annotations={"kubedyno/delay": "soon"}))
        await world.create(claim(storageClassName="mine"))
        events = await world.until(
            CORE_EVENTS, lambda found: any(one["reason"] == "ProvisioningFailed" for one in found)
        )
        better = {"metadata": {"annotations": {"kubedyno/delay": "1s"}}}
        await world.client.patch(STORAGE_CLASSES, "mine", better, kind="merge")
        await world.until(PERSISTENT_VOLUME_CLAIMS, is_bound)
        return next(str(one["message"]) for one in events if one["reason"] == "ProvisioningFailed")

    said = world(play, beside=BESIDE)
    assert said.startswith("failed to provision volume: storage class mine: annotation kubedyno/delay: ")


def test_a_claim_waits_for_its_first_consumers_node(world: Run) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}}}

    async def choose(world: Any, called: str) -> None:
        patch = {"metadata": {"annotations": {SELECTED: called}}}
        await world.client.patch(PERSISTENT_VOLUME_CLAIMS, "c", patch, kind="merge", namespace="default")

    async def play(world: Any) -> tuple[str, bool, Object]:
        await world.create(node)
        await world.create(storage_class(mode="WaitForFirstConsumer"))
        await world.create(claim(storageClassName="mine"))
        await world.until(CORE_EVENTS, lambda found: any(one["reason"] == "WaitForFirstConsumer" for one in found))
        await world.clock.sleep(60)
        (before,) = await world.listed(PERSISTENT_VOLUME_CLAIMS)
        await choose(world, "gone")
        (again,) = await world.until(
            PERSISTENT_VOLUME_CLAIMS,
            lambda found: (
                matching.PROVISIONER in meta.annotations(found[0]) and SELECTED not in meta.annotations(found[0])
            ),
        )
        await choose(world, "n")
        await world.until(PERSISTENT_VOLUME_CLAIMS, is_bound)
        (volume,) = await world.listed(PERSISTENT_VOLUMES)
        return before["status"]["phase"], bool(again["spec"].get("volumeName")), volume["spec"]["nodeAffinity"]

    before, had_volume, affinity = world(play, beside=BESIDE)
    assert (before, had_volume) == ("Pending", False)
    assert affinity["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == ["n"]


def test_every_claim_gets_one_volume_over_a_bad_connection(world: Run) -> None:
    async def play(world: Any) -> tuple[int, int]:
        await world.create(storage_class())
        for index in range(30):
            await world.create(claim(f"c{index}", storageClassName="mine"))
        await world.until(PERSISTENT_VOLUME_CLAIMS, lambda found: len(found) == 30 and is_bound(found))
        volumes = await world.listed(PERSISTENT_VOLUMES)
        for index in range(30):
            await world.client.delete(PERSISTENT_VOLUME_CLAIMS, f"c{index}", namespace="default")
        await world.until(PERSISTENT_VOLUMES, having(0))
        return len(volumes), len(await world.listed(NODES))

    assert world(play, beside=BESIDE, losses=0.2) == (30, 0)
