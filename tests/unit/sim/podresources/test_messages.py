"""Messages against the bytes that Kubernetes' own Go types make of the same values."""

import pytest

from kubedyno.model.numa.podresources import Devices, Holding, Memory, Pod, View
from kubedyno.server.messages import Refused
from kubedyno.sim.podresources import messages

pytestmark = pytest.mark.unit

POD = Pod(
    "default",
    "a",
    {
        "main": Holding(
            cpus=(2, 3, 300),
            memory=(Memory("memory", 16 * 1024**3, (0, 1)),),
            devices=(Devices("nvidia.com/gpu", ("0", "1"), (0,)),),
        ),
        "side": Holding(),
    },
)
VIEW = View(
    pods=(POD, Pod("other", "b")),
    allocatable=Holding(
        cpus=(0, 1, 128),
        memory=(Memory("hugepages-1Gi", 1024**3, (1,)),),
        devices=(Devices("x/y", ("d",)), Devices("x/z", ("e",), (-1,))),
    ),
)
POD_BYTES = (
    "0a560a0161120764656661756c741a400a046d61696e121a0a0e6e76696469612e636f6d2f6770751201301201311a020a00"
    "1a040203ac0222160a066d656d6f72791080808080401a060a000a0208011a060a0473696465"
)


def test_the_answer_to_list_has_every_pod_and_container() -> None:
    assert messages.listed(VIEW).hex() == f"{POD_BYTES}0a0a0a016212056f74686572"


def test_the_answer_to_get_is_the_one_pod() -> None:
    assert messages.got(POD).hex() == POD_BYTES


def test_allocatable_resources_may_have_no_numa_node_or_a_negative_one() -> None:
    assert messages.allocatable(VIEW).hex() == (
        "0a080a03782f791201640a170a03782f7a1201651a0d0a0b08ffffffffffffffffff01"
        "1204000180011a1b0a0d6875676570616765732d3147691080808080041a040a020801"
    )


def test_a_kubelet_without_anything_says_nothing() -> None:
    assert messages.listed(View()) == messages.allocatable(View()) == b""


def test_the_pod_that_is_asked_for_is_read() -> None:
    assert messages.asked(bytes.fromhex("0a0161120764656661756c74")) == ("default", "a")
    assert messages.asked(b"") == ("", "")


@pytest.mark.parametrize("raw", [b"\x0a\x05a", b"\x0a", b"\x0f", b"\x08\x01"])
def test_a_broken_request_is_refused(raw: bytes) -> None:
    with pytest.raises(Refused, match="broken"):
        messages.asked(raw)
