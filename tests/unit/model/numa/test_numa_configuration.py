"""What nodes are described with: number sets, machines, policy options, and the part of a pod that counts."""

import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.kube.quantities import Quantity
from kubedyno.model.numa import bits
from kubedyno.model.numa.cpu_picking import NotEnoughCpusError, take_distributed
from kubedyno.model.numa.cpus import StaticCpus
from kubedyno.model.numa.machine import Cpu, Layout
from kubedyno.model.numa.options import CpuOptions, TopologyOptions
from kubedyno.model.numa.pods import Container, Pod, exclusive_cpus

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("text", ["", "0", "0-3", "0-3,8", "1,3,5", "0,2-3,64-127"])
def test_sets_are_read_and_written_as_the_kubelet_writes_them(text: str) -> None:
    assert bits.text(bits.parse(text)) == text


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "0-99999999", "1,,2", " 1"])
def test_what_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        bits.parse(text)


def test_smaller_subsets_come_first() -> None:
    assert [bits.members(mask) for mask in bits.subsets([2, 0, 1])] == [
        [0],
        [1],
        [2],
        [0, 1],
        [0, 2],
        [1, 2],
        [0, 1, 2],
    ]


def test_a_layout_numbers_cpus_as_linux_does() -> None:
    machine = Layout(sockets=2, nodes_per_socket=2, caches_per_node=2, cores_per_cache=1, threads_per_core=2).machine()
    assert len(machine.cpus) == 16
    assert machine.cpus[5] == Cpu(core=5, socket=1, node=2, cache=5)
    assert machine.cpus[13] == machine.cpus[5]
    assert machine.distances[0] == [10, 12, 21, 21]
    assert (machine.cpus_per_core, machine.cpus_per_cache, machine.cpus_per_socket) == (2, 2, 8)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ({"nonsense": "1"}, 'unknown Topology Manager Policy option: "nonsense"'),
        (
            {"prefer-closest-numa-nodes": "yes"},
            'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        (
            {"max-allowable-numa-nodes": "x"},
            (
                'unable to convert policy option to integer "max-allowable-numa-nodes": '
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        (
            {"max-allowable-numa-nodes": "7"},
            'the minimum value of "max-allowable-numa-nodes" should not be less than 8',
        ),
    ],
)
def test_faults_of_topology_options_are_told_in_the_words_of_the_kubelet(written: dict[str, str], fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        TopologyOptions.parse(written)
    assert str(caught.value) == fault


def test_topology_options_are_read() -> None:
    written = {"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"}
    assert TopologyOptions.parse(written) == TopologyOptions(prefer_closest=True, most_nodes=16)
    assert TopologyOptions.parse({}) == TopologyOptions(prefer_closest=False, most_nodes=8)


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (("nonsense",), 'unknown CPU Manager Policy option: "nonsense"'),
        (
            ("align-by-socket",),
            'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
        ),
    ],
)
def test_cpu_options_need_their_feature_gate(written: tuple[str, ...], fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        CpuOptions.parse(dict.fromkeys(written, "true"))
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    "pair",
    [
        ("full-pcpus-only", "distribute-cpus-across-cores"),
        ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
    ],
)
def test_some_cpu_options_exclude_each_other(pair: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=f"{pair[0]} and {pair[1]} can not be used at the same time"):
        CpuOptions.parse(dict.fromkeys(pair, "true"), alpha=True)


def test_reserved_cpus_are_chosen_where_none_are_named() -> None:
    machine = Layout(sockets=2, cores_per_cache=2, threads_per_core=2).machine()
    assert bits.text(StaticCpus.reserving(machine, 2, CpuOptions()).reserved) == "0,4"
    with pytest.raises(UsageError, match=r"size of 0-1 did not equal 3"):
        StaticCpus.reserving(machine, 3, CpuOptions(), bits.parse("0-1"))


def test_strictly_reserved_cpus_are_not_shared() -> None:
    machine = Layout(cores_per_cache=4).machine()
    policy = StaticCpus(machine, 1, CpuOptions(strict_reservation=True))
    assert bits.text(policy.empty().shared) == "1-3"


def test_cpus_in_whole_groups_are_not_looked_for_forever() -> None:
    # Each NUMA node has an odd number of free CPUs; a kubelet 1.36.3 does not come back from this request.
    machine = Layout(sockets=2, nodes_per_socket=4, cores_per_cache=4, threads_per_core=2).machine()
    free = bits.parse("1-14,17,19-22,24-29,31-38,40-43,46-55,57-63")
    assert take_distributed(machine, free, 22, group=2).bit_count() == 22
    with pytest.raises(NotEnoughCpusError):
        take_distributed(machine, bits.parse("0-3"), 6, group=2)


@pytest.mark.parametrize(("asked", "count"), [("2", 2), ("2000m", 2), ("1500m", 0), ("1999999u", 2), ("0", 0)])
def test_whole_cpus_of_guaranteed_pods_are_exclusive(asked: str, count: int) -> None:
    container = Container("c", {"cpu": Quantity.parse(asked)})
    assert exclusive_cpus(Pod("p", [container], guaranteed=True), container) == count
    assert exclusive_cpus(Pod("p", [container]), container) == 0
