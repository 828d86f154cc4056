"""The part of Linux' /sys that exporters read, for a machine that is simulated.

Which CPUs are threads of one core is not told: exporters count CPUs, and each is a core of its own here.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kubedyno.kube.quantities import Quantity
from kubedyno.model.numa.podresources import Host

_NODES: Final = "devices/system/node"
_MEMORY: Final = "memory"
_HUGE_PAGES: Final = "hugepages-"
_KIB: Final = 1024
# A kernel shows both sizes of its architecture, pages or not.
_USUAL_PAGES: Final = ("hugepages-2Mi", "hugepages-1Gi")


def files_of(host: Host) -> dict[str, str]:
    """The texts of all files by their path below /sys; memory is told in whole KiB, as a kernel does."""
    numbers = sorted(host.cpus.keys() | host.memory.keys())
    found = {"devices/system/memory/block_size_bytes": "8000000\n"}
    for number in numbers:
        cpus, memory = host.cpus.get(number, ()), host.memory.get(number, {})
        distances = host.distances.get(number, {})
        folder = f"{_NODES}/node{number}"
        found[f"{folder}/cpulist"] = ",".join(map(str, cpus)) + "\n"
        found[f"{folder}/distance"] = " ".join(str(distances[other]) for other in numbers if other in distances) + "\n"
        found[f"{folder}/meminfo"] = f"Node {number} MemTotal:       {memory.get(_MEMORY, 0) // _KIB} kB\n"
        found.update((f"{folder}/cpu{cpu}/topology/core_id", f"{cpu}\n") for cpu in cpus)
        for size_kib, count in _pages(memory):
            pages = f"{folder}/hugepages/hugepages-{size_kib}kB"
            found[f"{pages}/nr_hugepages"] = found[f"{pages}/free_hugepages"] = f"{count}\n"
            found[f"{pages}/surplus_hugepages"] = "0\n"
    return found


def write(host: Host, root: Path) -> None:
    """Write these files below `root`, which is in the place of /sys: the exporter's `--sysfs`."""
    for name, text in files_of(host).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _pages(memory: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Size in KiB and number of all kinds of huge pages."""
    kinds = dict.fromkeys((*_USUAL_PAGES, *(kind for kind in memory if kind.startswith(_HUGE_PAGES))))
    for kind in kinds:
        size = Quantity.parse(kind.removeprefix(_HUGE_PAGES)).to_int()
        yield size // _KIB, memory.get(kind, 0) // size
