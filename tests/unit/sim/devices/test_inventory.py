import re
from typing import Any

import msgspec
import pytest

from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.sim import marks
from kubedyno.sim.devices import inventory
from kubedyno.sim.devices.inventory import Inventory, Mig, Plain, Sharing

pytestmark = pytest.mark.unit


def node(text: str) -> dict[str, Any]:
    return {"metadata": {"name": "n", "annotations": {marks.DEVICES: text}}}


@pytest.mark.parametrize(
    "wanted",
    [
        Inventory(model="H100", count=8),
        Inventory(model="h100", count=8, show=("extended", "dra"), delay_seconds=2.5),
        Inventory(model="A100", count=8, mig=Mig(layout={"1g.10gb": 7}, whole=2)),
        Inventory(model="T4", count=4, sharing=Sharing(replicas=4)),
        Inventory(model="B200", count=8, show=("dra",), partitionable=True),
        Inventory(model="GB200", count=4, clique="a-b.1"),
        Inventory(custom={"like": "H100", "memory_mib": 1024}, count=1),
        Inventory(plain=Plain(attributes={"gpu-type": "a"}), count=3, show=("dra",), driver="cl2-gpu.kwok.x-k8s.io"),
    ],
)
def test_what_is_written_is_read(wanted: Inventory) -> None:
    assert inventory.of(node(inventory.written(wanted))) == wanted


def test_defaults_are_not_written() -> None:
    assert inventory.written(Inventory(model="H100", count=8)) == '{"count":8,"model":"H100"}'


def test_nodes_of_a_pool_share_one_inventory() -> None:
    text = inventory.written(Inventory(model="H100", count=8))
    assert inventory.of(node(text)) is inventory.of(node(str(text)))


def test_a_node_without_the_annotation_has_none() -> None:
    assert inventory.of({"metadata": {"name": "n"}}) is None


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"model": "H1000", "count": 8}, "unknown GPU 'H1000': did you mean H100?"),
        ({"model": "H100", "count": -1}, "`count` is -1: write 0 or more"),
        ({"model": "H100", "count": 1, "delaySeconds": -2}, "`delaySeconds` is -2.0: write 0 or more"),
        ({"model": "H100", "count": 1, "sharing": {"replicas": 0}}, "`sharing.replicas` is 0: write 1 or more"),
        ({"count": 8}, "devices need one of `model` (a GPU of the catalogue), `custom` and `plain`"),
        ({"model": "H100", "custom": {}, "count": 8}, "devices need one of `model`"),
        ({"model": "H100", "count": 8, "gpus": 8}, "Object contains unknown field `gpus`"),
        ({"model": "H100", "count": "8"}, "Expected `int`, got `str`"),
        ({"model": "T4", "count": 4, "mig": {"layout": {"1g.5gb": 1}}}, "GPU T4 has no MIG"),
        ({"model": "H100", "count": 8, "mig": {"layout": {"1g.10gb": 8}}}, "holds at most 7 of MIG profile 1g.10gb"),
        ({"model": "T4", "count": 4, "show": ["dra"], "partitionable": True}, "GPU T4 has no MIG: leave `partitionab"),
        ({"model": "H100", "count": 9, "show": ["dra"]}, "`count` is 9, and a DGXH100 has places for 8 GPUs"),
        (
            {"model": "H100", "count": 8, "partitionable": True, "mig": {"layout": {"1g.10gb": 1}}},
            "`partitionable` offers every partition, `mig` fixes them",
        ),
        ({"plain": {}, "count": 8}, "`plain` devices are shown by `dra` alone"),
        ({"plain": {"capacity": {"memory": "much"}}, "count": 8, "show": ["dra"]}, "`plain.capacity.memory`: "),
    ],
)
def test_what_no_node_can_be_is_refused_with_the_field(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)) as caught:
        inventory.of(node(msgspec.json.encode(fields).decode()))
    assert str(caught.value).startswith("annotation kubedyno/devices: ")
    assert caught.value.exit_code == ExitCode.USAGE


def test_an_annotation_that_is_no_json_is_told() -> None:
    with pytest.raises(UsageError, match="annotation kubedyno/devices: Input data was truncated"):
        inventory.of(node("{"))
