"""The /sys that exporters are shown."""

from pathlib import Path

import pytest

from kubedyno.model.numa.podresources import Host
from kubedyno.sim.podresources import sysfs

pytestmark = pytest.mark.unit

GIB = 1024**3
HOST = Host(
    cpus={0: (0, 2), 1: (1, 3)},
    memory={0: {"memory": 64 * GIB, "hugepages-2Mi": GIB}, 1: {"memory": 32 * GIB, "hugepages-64Ki": 640 * 1024}},
    distances={0: {0: 10, 1: 21}, 1: {0: 21, 1: 10}},
)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("node0/cpulist", "0,2\n"),
        ("node1/distance", "21 10\n"),
        ("node0/meminfo", "Node 0 MemTotal:       67108864 kB\n"),
        ("node1/cpu3/topology/core_id", "3\n"),
        ("node0/hugepages/hugepages-2048kB/nr_hugepages", "512\n"),
        ("node0/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
        ("node1/hugepages/hugepages-64kB/free_hugepages", "10\n"),
    ],
)
def test_a_numa_node_shows_its_cpus_memory_and_distances(file: str, text: str) -> None:
    assert sysfs.files_of(HOST)[f"devices/system/node/{file}"] == text


def test_numa_nodes_without_cpus_or_with_left_out_numbers_are_there() -> None:
    host = Host(cpus={0: (0,)}, memory={0: {"memory": GIB}, 2: {"memory": GIB}}, distances={0: {0: 10, 2: 31}})
    files = sysfs.files_of(host)
    assert files["devices/system/node/node0/distance"] == "10 31\n"
    assert files["devices/system/node/node2/cpulist"] == "\n"
    assert not any("/node1/" in file for file in files)


def test_the_files_are_written_below_a_folder(tmp_path: Path) -> None:
    sysfs.write(HOST, tmp_path / "sys")
    assert (tmp_path / "sys/devices/system/node/node1/cpulist").read_text() == "1,3\n"
