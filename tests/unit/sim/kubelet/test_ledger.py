"""Who holds what on a node."""

import json
from typing import Any

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kube.codec import Object
from kubedyno.model.numa.admission import Rejection
from kubedyno.model.numa.zones import Amount
from kubedyno.sim import marks
from kubedyno.sim.kubelet import settings
from kubedyno.sim.kubelet.ledger import Holder, NodeLedger
from kubedyno.sim.kubelet.settings import KubeletSettings, Numa

pytestmark = pytest.mark.unit

GIB = 2**30
GPU = "nvidia.com/gpu"
H100S = {"model": "H100", "count": 8}
SINGLE_NODE = KubeletSettings(
    topology_manager_policy="single-numa-node",
    cpu_manager_policy="static",
    reserved_cpus=2,
    memory_manager_policy="Static",
    reserved_memory={"0": "1Gi", "1": "1Gi"},
    numa=Numa(sockets=2, threads_per_core=2),
)


def _node(devices: dict[str, Any] | None = None, kubelet: KubeletSettings | None = None, **allocatable: str) -> Object:
    annotations = {}
    if devices:
        annotations[marks.DEVICES] = json.dumps(devices)
    if kubelet:
        annotations[marks.KUBELET] = settings.written(kubelet)
    amounts = {"cpu": "32", "memory": "64Gi", "pods": "110", **allocatable}
    return {
        "metadata": {"name": "n", "annotations": annotations},
        "status": {"capacity": dict(amounts), "allocatable": amounts},
    }


def _gpu_node(kubelet: KubeletSettings | None = None, **allocatable: str) -> Object:
    return _node(H100S, kubelet, **({GPU: "8"} | allocatable))


def _pod(uid: str, *containers: dict[str, str], init: tuple[dict[str, str], ...] = (), sidecar: bool = False) -> Object:
    def written(kind: str, asked: tuple[dict[str, str], ...]) -> list[Object]:
        return [
            {"name": f"{kind}{number}", "resources": {"requests": amounts, "limits": amounts}}
            for number, amounts in enumerate(asked)
        ]

    started = written("init", init)
    if sidecar:
        started = [one | {"restartPolicy": "Always"} for one in started]
    return {
        "metadata": {"name": uid, "namespace": "d", "uid": uid},
        "spec": {"containers": written("app", containers), "initContainers": started},
        "status": {"qosClass": "Guaranteed"},
    }


def _gpus(count: int, cpu: str = "1") -> dict[str, str]:
    return {"cpu": cpu, "memory": "1Gi", GPU: str(count)}


def _unavailable(asked: int, left: int) -> Rejection:
    return Rejection(
        "UnexpectedAdmissionError",
        f"Allocate failed due to requested number of devices unavailable for {GPU}. "
        f"Requested: {asked}, Available: {left}, which is unexpected",
    )


def test_pods_are_charged_and_refunded() -> None:
    ledger = NodeLedger(_node())
    assert ledger.admit(_pod("a", {"cpu": "1500m", "memory": "1Gi"}, {"cpu": "500m"})) is None
    assert ledger.held() == {"cpu": 2000, "memory": GIB, "pods": 1}
    assert ledger.free() == {"cpu": 30_000, "memory": 63 * GIB, "pods": 109}
    assert "a" in ledger
    ledger.release("a")
    ledger.release("nobody")
    assert ledger.held() == {"pods": 0}
    assert len(ledger) == 0


@pytest.mark.parametrize(
    ("pod", "cpu"),
    [
        (_pod("p", {"cpu": "1"}, {"cpu": "2"}), 3000),
        (_pod("p", {"cpu": "1"}, init=({"cpu": "5"}, {"cpu": "2"})), 5000),
        (_pod("p", {"cpu": "1"}, init=({"cpu": "2"},), sidecar=True), 3000),
        (_pod("p", {"cpu": "1"}) | {"spec": _pod("p", {"cpu": "1"})["spec"] | {"overhead": {"cpu": "250m"}}}, 1250),
        (
            _pod("p", {"cpu": "1"})
            | {"spec": _pod("p", {"cpu": "1"})["spec"] | {"resources": {"requests": {"cpu": "4"}}}},
            4000,
        ),
    ],
    ids=["sum", "init", "sidecar", "overhead", "pod level"],
)
def test_a_pod_is_charged_with_what_it_needs_at_a_time(pod: Object, cpu: int) -> None:
    ledger = NodeLedger(_node())
    assert ledger.admit(pod) is None
    assert ledger.held()["cpu"] == cpu


def test_a_pod_that_is_charged_is_not_charged_again() -> None:
    ledger = NodeLedger(_node())
    for _ in range(2):
        assert ledger.admit(_pod("a", {"cpu": "1"})) is None
    assert ledger.held() == {"cpu": 1000, "pods": 1}


def test_a_resized_pod_is_charged_with_its_new_amounts_and_keeps_its_devices() -> None:
    ledger = NodeLedger(_gpu_node())
    for uid in ("a", "b"):
        ledger.charge(_pod(uid, _gpus(1)))
    ledger.release("a")
    ledger.charge(_pod("b", _gpus(1, cpu="3")))
    assert ledger.held()["cpu"] == 3000
    assert list(ledger.assignments()) == [1]


def test_a_node_that_shrinks_keeps_its_pods_and_takes_no_more() -> None:
    ledger = NodeLedger(_node())
    ledger.charge(_pod("a", {"cpu": "20"}))
    ledger.update(_node(cpu="16"))
    assert ledger.free()["cpu"] == -4000
    refused = ledger.admit(_pod("b", {"cpu": "1"}))
    assert refused is not None
    assert refused.reason == "OutOfcpu"


def test_gpus_are_given_out_in_their_order_and_again_when_they_are_free() -> None:
    ledger = NodeLedger(_gpu_node())
    assert ledger.admit(_pod("a", _gpus(2), _gpus(1))) is None
    assert ledger.admit(_pod("b", _gpus(1))) is None
    ledger.release("a")
    assert ledger.admit(_pod("c", _gpus(4))) is None
    assert ledger.assignments() == {
        3: [Holder("d", "b", "app0", "3")],
        **{gpu: [Holder("d", "c", "app0", str(gpu))] for gpu in (0, 1, 2, 4)},
    }


def test_too_few_devices_are_the_plugins_error_and_no_shortage() -> None:
    ledger = NodeLedger(_gpu_node())
    assert ledger.admit(_pod("a", _gpus(6))) is None
    assert ledger.admit(_pod("b", _gpus(3))) == _unavailable(3, 2)
    assert ledger.held()[GPU] == 6


def test_app_containers_get_the_devices_of_init_containers() -> None:
    ledger = NodeLedger(_gpu_node())
    assert ledger.admit(_pod("a", _gpus(2), _gpus(1), init=(_gpus(1), _gpus(3)))) is None
    assert {gpu: sorted(one.container for one in holders) for gpu, holders in ledger.assignments().items()} == {
        0: ["app0", "init0", "init1"],
        1: ["app0", "init1"],
        2: ["app1", "init1"],
    }


def test_devices_of_sidecars_stay_theirs() -> None:
    ledger = NodeLedger(_gpu_node())
    assert ledger.admit(_pod("a", _gpus(1), init=(_gpus(1),), sidecar=True)) is None
    assert {gpu: holders[0].container for gpu, holders in ledger.assignments().items()} == {0: "init0", 1: "app0"}


def test_a_lost_gpu_is_not_given_out_until_it_is_back() -> None:
    ledger = NodeLedger(_gpu_node(), lost={0, 1})
    assert ledger.admit(_pod("a", _gpus(7))) == _unavailable(7, 6)
    assert ledger.admit(_pod("a", _gpus(1))) is None
    assert list(ledger.assignments()) == [2]
    ledger.update(_gpu_node())
    assert ledger.admit(_pod("b", _gpus(7))) is None


def test_a_node_that_lost_all_gpus_says_so() -> None:
    node = _gpu_node()
    node["status"]["allocatable"][GPU] = "0"
    assert NodeLedger(node, lost=set(range(8))).admit(_pod("a", _gpus(1))) == Rejection(
        "UnexpectedAdmissionError",
        f"Allocate failed due to no healthy devices present; cannot allocate unhealthy devices {GPU}, "
        "which is unexpected",
    )


def test_pods_with_devices_fit_though_a_lost_gpu_of_another_pod_is_no_longer_counted() -> None:
    ledger = NodeLedger(_gpu_node())
    assert ledger.admit(_pod("a", _gpus(1))) is None
    node = _gpu_node()
    node["status"]["allocatable"][GPU] = "7"
    ledger.update(node, lost={0})
    assert ledger.admit(_pod("b", _gpus(7))) is None


def test_before_the_plugin_has_registered_a_pod_is_taken_without_devices() -> None:
    ledger = NodeLedger(_node(H100S))
    assert ledger.admit(_pod("a", _gpus(1))) is None
    assert ledger.assignments() == {}


def test_shared_gpus_take_turns() -> None:
    shared = {"model": "L40S", "count": 2, "sharing": {"replicas": 2}}
    ledger = NodeLedger(_node(shared, None, **{GPU: "4"}))
    for uid in "abcd":
        assert ledger.admit(_pod(uid, _gpus(1))) is None
    holders = {gpu: [one.pod for one in held] for gpu, held in ledger.assignments().items()}
    assert holders == {0: ["a", "c"], 1: ["b", "d"]}


def test_partitions_are_devices_of_their_own() -> None:
    cut = {"model": "H100", "count": 2, "mig": {"layout": {"3g.40gb": 2}, "whole": 1}}
    mig = "nvidia.com/mig-3g.40gb"
    ledger = NodeLedger(_node(cut, None, **{GPU: "1", mig: "2"}))
    assert ledger.admit(_pod("a", {mig: "1"}, {GPU: "1"})) is None
    assert ledger.assignments() == {
        1: [Holder("d", "a", "app0", "1:0")],
        0: [Holder("d", "a", "app1", "0")],
    }


def test_extended_resources_that_a_claim_serves_take_no_device() -> None:
    pod = _pod("a", _gpus(8))
    pod["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "c",
        "requestMappings": [{"containerName": "app0", "resourceName": GPU, "requestName": "r"}],
    }
    ledger = NodeLedger(_gpu_node())
    assert ledger.admit(pod) is None
    assert ledger.assignments() == {}
    assert GPU not in ledger.held()


def test_an_aligned_node_refuses_what_would_span_its_sockets() -> None:
    ledger = NodeLedger(_gpu_node(SINGLE_NODE))
    assert ledger.admit(_pod("a", _gpus(3, cpu="4"))) is None
    assert ledger.admit(_pod("b", _gpus(3, cpu="4"))) is None
    assert ledger.admit(_pod("c", _gpus(2, cpu="4"))) == Rejection(
        "TopologyAffinityError", "Resources cannot be allocated with Topology locality"
    )
    assert list(ledger.assignments()) == [0, 1, 2, 4, 5, 6]
    assert ledger.zones()[1] == {
        "cpu": Amount(16, 16, 12),
        "memory": Amount(32 * GIB, 31 * GIB, 30 * GIB),
        GPU: Amount(4, 4, 1),
    }
    for uid in "ab":
        ledger.release(uid)
    assert ledger.zones() == NodeLedger(_gpu_node(SINGLE_NODE)).zones()


def test_what_the_topology_manager_gave_is_taken_back_when_a_later_check_fails() -> None:
    ledger = NodeLedger(_gpu_node(SINGLE_NODE))
    before = ledger.zones()
    pod = _pod("a", _gpus(1))
    pod["spec"]["nodeSelector"] = {"zone": "elsewhere"}
    refused = ledger.admit(pod)
    assert refused is not None
    assert refused.reason == "NodeAffinity"
    assert ledger.zones() == before


def test_unaligned_nodes_have_no_zones() -> None:
    assert NodeLedger(_gpu_node()).zones() == {}


@pytest.mark.parametrize("kubelet", [None, SINGLE_NODE], ids=["unaligned", "aligned"])
def test_a_kubelet_that_kept_its_files_gives_its_pods_what_they_had(kubelet: KubeletSettings | None) -> None:
    node = _gpu_node(kubelet)
    ledger = NodeLedger(node)
    for uid in "abc":
        assert ledger.admit(_pod(uid, _gpus(1, cpu="2"))) is None
    ledger.release("a")
    files = json.loads(json.dumps(ledger.dump()))

    restarted = NodeLedger.restored(node, files, {"b", "c"})
    # What a new pod may have is known before the old ones have come.
    assert restarted.admit(_pod("new", _gpus(1, cpu="2"))) is None
    for uid in "cb":
        assert restarted.admit(_pod(uid, _gpus(1, cpu="2"))) is None
    restarted.release("new")
    assert restarted.assignments() == ledger.assignments()
    assert restarted.zones() == ledger.zones()
    assert restarted.held() == ledger.held()


def test_what_a_pod_had_that_is_gone_is_free_after_a_restart() -> None:
    node = _gpu_node(SINGLE_NODE)
    ledger = NodeLedger(node)
    ledger.charge(_pod("a", _gpus(4)))
    restarted = NodeLedger.restored(node, ledger.dump(), set())
    assert restarted.zones() == NodeLedger(node).zones()


def test_a_restarted_kubelet_refuses_a_pod_whose_gpu_broke() -> None:
    node = _gpu_node()
    ledger = NodeLedger(node)
    ledger.charge(_pod("a", _gpus(1)))
    restarted = NodeLedger.restored(node, ledger.dump(), {"a"}, lost={0})
    refused = restarted.admit(_pod("a", _gpus(1)))
    assert refused is not None
    assert "previously allocated devices are no longer healthy" in refused.message
    restarted.update(node)
    assert restarted.admit(_pod("b", _gpus(8))) is None


def test_a_kubelet_that_lost_its_files_admits_its_pods_anew_in_the_order_given() -> None:
    ledger = NodeLedger(_gpu_node())
    for uid, count in (("a", 2), ("b", 2), ("c", 4)):
        assert ledger.admit(_pod(uid, _gpus(count))) is None
    assert ledger.admit_anew(["c", "a"]) == {}
    assert {gpu: held[0].pod for gpu, held in ledger.assignments().items()} == dict.fromkeys(range(4), "c") | {
        4: "a",
        5: "a",
    }
    assert "b" not in ledger


def test_pods_that_no_longer_fit_are_told_when_they_are_admitted_anew() -> None:
    ledger = NodeLedger(_gpu_node())
    for uid in "ab":
        ledger.charge(_pod(uid, _gpus(4)))
    ledger.update(_gpu_node(), lost={7})
    assert ledger.admit_anew("ab") == {"b": _unavailable(4, 3)}
    assert ledger.held()[GPU] == 4


def test_pods_that_were_accepted_are_charged_whatever_is_free() -> None:
    ledger = NodeLedger(_gpu_node(SINGLE_NODE), lost=set(range(8)))
    for uid in "abc":
        ledger.charge(_pod(uid, _gpus(4, cpu="12")))
    assert ledger.held() == {"cpu": 36_000, "memory": 3 * GIB, GPU: 12, "pods": 3}
    assert ledger.free()["cpu"] == -4000
    for uid in "abc":
        ledger.release(uid)
    assert ledger.held() == {"pods": 0}


def test_pods_move_over_when_the_machine_becomes_another_one() -> None:
    ledger = NodeLedger(_gpu_node())
    ledger.charge(_pod("a", _gpus(2, cpu="4")))
    ledger.update(_gpu_node(SINGLE_NODE))
    assert ledger.held() == {"cpu": 4000, "memory": GIB, GPU: 2, "pods": 1}
    assert ledger.zones()[0]["cpu"].available == 10
    assert list(ledger.assignments()) == [0, 1]


@pytest.mark.parametrize(
    ("kubelet", "fault"),
    [
        (
            KubeletSettings(topology_manager_policy="strict"),
            "topologyManagerPolicy is 'strict': write one of none, best-effort, restricted, single-numa-node",
        ),
        (KubeletSettings(topology_manager_scope="node"), "topologyManagerScope is 'node': write one of container, pod"),
        (KubeletSettings(cpu_manager_policy="dynamic"), "cpuManagerPolicy is 'dynamic': write one of none, static"),
        (KubeletSettings(memory_manager_policy="static"), "memoryManagerPolicy is 'static': write one of None, Static"),
        (
            KubeletSettings(cpu_manager_policy="static"),
            "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero",
        ),
        (
            KubeletSettings(topology_manager_policy="restricted", numa=Numa(sockets=3)),
            "32 CPUs cannot be divided into 3 NUMA nodes of whole cores with 2 threads: write a multiple of 6 CPUs",
        ),
        (
            KubeletSettings(topology_manager_policy="restricted", numa=Numa(nodes_per_socket=0)),
            "numa.nodesPerSocket is 0: write 1 or more",
        ),
        (
            KubeletSettings(memory_manager_policy="Static", reserved_memory={"1": "1Gi"}),
            "reservedMemory names NUMA node '1': the machine has 0",
        ),
        (
            KubeletSettings(memory_manager_policy="Static"),
            "[memorymanager] you should specify the system reserved memory",
        ),
        (
            KubeletSettings(topology_manager_policy="restricted", topology_manager_policy_options={"fast": "true"}),
            'unknown Topology Manager Policy option: "fast"',
        ),
    ],
)
def test_settings_that_no_kubelet_would_start_with_are_refused(kubelet: KubeletSettings, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        NodeLedger(_gpu_node(kubelet))
    assert str(caught.value).startswith(f"annotation {marks.KUBELET}: ")
    assert fault in str(caught.value)
    assert caught.value.exit_code == 2
