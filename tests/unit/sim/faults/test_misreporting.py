"""What a kubelet with faults tells of the truth, and whether it tells anything."""

import pytest

from kubedyno.kit.clock import NS_PER_S, rfc3339
from kubedyno.kit.errors import ExitCode, UsageError
from kubedyno.kit.randomness import stream
from kubedyno.model.numa.podresources import Devices, Holding, Memory, Pod, View
from kubedyno.sim.faults.aiming import aimed
from kubedyno.sim.faults.fault import Crash, Fault, KubeletRestart, NotReady
from kubedyno.sim.faults.misbehaving import Misreport, ViewsUnavailable
from kubedyno.sim.faults.misreporting import Unavailable, told, views_trouble

pytestmark = pytest.mark.unit

NOW = 1_800_000_000 * NS_PER_S
GPU = "nvidia.com/gpu"
NIC = "example.com/nic"
GIB = 2**30

GPUS = (Devices(GPU, ("0", "1"), (0,)), Devices(GPU, ("2", "3"), (1,)))
NICS = (Devices(NIC, ("a",), (1,)),)
BANKS = (Memory("memory", 4 * GIB, (0,)), Memory("memory", 4 * GIB, (1,)))
TRUTH = View(
    pods=tuple(
        Pod("d", f"pod-{number}", {"main": Holding((number + 2,), (Memory("memory", GIB, (0,)),), GPUS[:1])})
        for number in range(2)
    ),
    allocatable=Holding((2, 3, 4, 5, 6, 7), BANKS, (*GPUS, *NICS)),
)


def of_gpus(view: View) -> set[tuple[int, ...]]:
    """Where GPUs are told to be, of the node and of its pods."""
    held = [view.allocatable, *(holding for pod in view.pods for holding in pod.containers.values())]
    return {one.nodes for holding in held for one in holding.devices if one.resource == GPU}


@pytest.mark.parametrize("fault", [Crash(), NotReady(), ViewsUnavailable(), Misreport(what="stale")])
def test_faults_of_another_kind_change_nothing_that_is_told(fault: Fault) -> None:
    assert told(TRUTH, (fault,), NOW) is TRUTH
    assert told(TRUTH, (), NOW) is TRUTH


def test_a_fault_that_is_not_there_yet_or_any_more_changes_nothing() -> None:
    over, later = Misreport(what="no-numa", until=rfc3339(NOW)), Misreport(what="no-numa", since=rfc3339(NOW + 1000))
    assert told(TRUTH, (over, later), NOW) is TRUTH


@pytest.mark.parametrize(
    ("fault", "nodes"),
    [
        (Misreport(what="no-numa"), ()),
        (Misreport(what="negative-numa"), (-1,)),
        (Misreport(what="several-numa"), (0, 1)),
    ],
)
def test_devices_are_told_elsewhere_than_they_are(fault: Misreport, nodes: tuple[int, ...]) -> None:
    view = told(TRUTH, (fault,), NOW)
    assert of_gpus(view) == {nodes}
    assert view.allocatable.devices[-1] == Devices(NIC, ("a",), nodes)
    assert view.allocatable.memory == BANKS
    assert view.allocatable.cpus == TRUTH.allocatable.cpus
    assert [pod.name for pod in view.pods] == ["pod-0", "pod-1"]


def test_one_resource_alone_can_be_told_elsewhere() -> None:
    view = told(TRUTH, (Misreport(what="no-numa", resource=NIC),), NOW)
    assert of_gpus(view) == {(0,), (1,)}
    assert view.allocatable.devices[-1].nodes == ()
    view = told(TRUTH, (Misreport(what="several-numa", resource="memory"),), NOW)
    assert {one.nodes for one in view.allocatable.memory} == {(0, 1)}
    assert view.pods[0].containers["main"].memory == (Memory("memory", GIB, (0, 1)),)
    assert view.allocatable.devices == TRUTH.allocatable.devices


def test_several_are_more_than_one_also_where_one_is_all_that_is_seen() -> None:
    alone = View(allocatable=Holding(devices=(Devices(GPU, ("0",), (0,)),)))
    assert of_gpus(told(alone, (Misreport(what="several-numa"),), NOW)) == {(0, 1)}


@pytest.mark.parametrize(
    ("by", "cpus"),
    [
        (1, (0, 2, 3, 4, 5, 6, 7)),
        (3, (0, 1, 2, 3, 4, 5, 6, 7, 8)),
        (-2, (2, 3, 4, 5)),
        (-9, ()),
    ],
)
def test_the_node_has_other_cpus_than_it_says(by: int, cpus: tuple[int, ...]) -> None:
    view = told(TRUTH, (Misreport(what="allocatable", by=by),), NOW)
    assert view.allocatable.cpus == cpus
    assert view.allocatable.devices == TRUTH.allocatable.devices
    assert view.pods == TRUTH.pods


@pytest.mark.parametrize(
    ("resource", "by", "devices"),
    [
        (GPU, 1, (GPUS[0], Devices(GPU, ("2", "3", "misreported-0"), (1,)), *NICS)),
        (GPU, -1, (GPUS[0], Devices(GPU, ("2",), (1,)), *NICS)),
        (GPU, -2, (GPUS[0], *NICS)),
        (GPU, -3, (Devices(GPU, ("0",), (0,)), *NICS)),
        (GPU, -9, NICS),
        (NIC, -1, GPUS),
        ("example.com/new", 2, (*GPUS, *NICS, Devices("example.com/new", ("misreported-0", "misreported-1")))),
        ("example.com/new", -2, (*GPUS, *NICS)),
    ],
)
def test_the_node_has_other_devices_than_it_says(resource: str, by: int, devices: tuple[Devices, ...]) -> None:
    view = told(TRUTH, (Misreport(what="allocatable", resource=resource, by=by),), NOW)
    assert view.allocatable.devices == devices
    assert view.allocatable.memory == BANKS


@pytest.mark.parametrize(("by", "sizes"), [(GIB, (5, 4)), (-GIB, (3, 4)), (-5 * GIB, (0, 3)), (-9 * GIB, (0, 0))])
def test_the_node_has_another_amount_of_memory_than_it_says(by: int, sizes: tuple[int, int]) -> None:
    view = told(TRUTH, (Misreport(what="allocatable", resource="memory", by=by),), NOW)
    assert [one.size // GIB for one in view.allocatable.memory] == list(sizes)


def test_a_share_of_the_pods_is_hidden_and_always_the_same() -> None:
    view = View(tuple(Pod("d", f"pod-{number}") for number in range(1000)), TRUTH.allocatable)
    fault = Misreport(id="a", what="hidden-pods", share=0.3)
    shown = told(view, (fault,), NOW)
    assert len(shown.pods) == pytest.approx(700, abs=60)
    assert shown == told(view, (fault,), NOW)
    assert shown.allocatable is TRUTH.allocatable
    assert told(view, (Misreport(what="hidden-pods"),), NOW).pods == ()


def test_several_faults_add_up() -> None:
    view = told(TRUTH, (Misreport(what="no-numa"), Misreport(what="allocatable", by=-1)), NOW)
    assert of_gpus(view) == {()}
    assert view.allocatable.cpus == (2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("faults", "trouble"),
    [
        ((), None),
        ((Misreport(what="no-numa"), NotReady()), None),
        ((ViewsUnavailable(until=rfc3339(NOW)),), None),
        ((ViewsUnavailable(how="timeout"),), Unavailable(delay_s=15.0)),
        ((ViewsUnavailable(how="timeout", delay_s=3),), Unavailable(delay_s=3)),
    ],
)
def test_a_kubelet_answers_at_once_or_late(faults: tuple[Fault, ...], trouble: Unavailable | None) -> None:
    assert views_trouble(faults, NOW) == trouble


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (ViewsUnavailable(), "ResourceExhausted", "rejected by rate limit"),
        (ViewsUnavailable(how="refused"), "Unavailable", "connect: connection refused"),
        (Crash(), "Unavailable", "connect: connection refused"),
        (KubeletRestart(since=rfc3339(NOW), down_s=1), "Unavailable", "connect: connection refused"),
    ],
)
def test_a_call_fails_as_it_does_with_grpc(fault: Fault, code: str, words: str) -> None:
    trouble = views_trouble((fault,), NOW)
    assert trouble is not None
    assert trouble.code == code
    assert trouble.error.startswith(f"rpc error: code = {code} desc = ")
    assert words in trouble.error
    assert trouble.delay_s == 0


def test_a_resource_that_the_node_does_not_have_is_refused() -> None:
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "8", GPU: "4"}}}
    rng = stream(0, "test")
    fault = Misreport(what="no-numa", resource=GPU)
    assert aimed(fault, node, rng) is fault
    with pytest.raises(UsageError) as caught:
        aimed(Misreport(what="no-numa", resource="nvidia.com/gpo"), node, rng)
    assert str(caught.value) == (
        "--resource nvidia.com/gpo: node 'n' has no such resource: did you mean 'nvidia.com/gpu'?"
    )
    assert caught.value.exit_code == ExitCode.USAGE
