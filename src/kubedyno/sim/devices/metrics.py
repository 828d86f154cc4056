"""Metrics of GPUs under the names of NVIDIA's DCGM exporter, as text for Prometheus."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.draws import unit
from kubedyno.sim.devices.identity import gpu_uuid
from kubedyno.sim.devices.occupying import GpuPod

_FULL: Final = 100.0
_REDRAWN_S: Final = 10
_LINES_PER_PIECE: Final = 1000


class Use(msgspec.Struct, frozen=True):
    """What a container does to a GPU: percent of its time, and MiB of its memory."""

    namespace: str
    pod: str
    container: str
    percent: float
    memory_mib: int


class GpuState(msgspec.Struct, frozen=True):
    """One GPU at one moment; nobody uses an idle one."""

    node: str
    index: int
    product: str
    memory_mib: int
    uses: tuple[Use, ...] = ()


def percent_used(pod: GpuPod, share: float, *, seed: int, now_ns: int) -> float:
    """How busy a pod keeps a GPU of which it has `share`: nothing while it does not run.

    What it says of itself is drawn anew every ten seconds; without a word it uses all that it has.
    """
    if not pod.is_running:
        return 0.0
    if pod.percent is None:
        return _FULL * share
    low, high = pod.percent
    if low == high:
        return low
    drawn = unit(seed, f"gpu-utilisation:{pod.uid}:{now_ns // (_REDRAWN_S * NS_PER_S)}")
    return float(round(low + (high - low) * drawn))


def _utilisation(_: GpuState, use: Use | None) -> float:
    return use.percent if use else 0.0


def _memory_used(_: GpuState, use: Use | None) -> float:
    return use.memory_mib if use else 0


def _memory_free(state: GpuState, _: Use | None) -> float:
    return max(0, state.memory_mib - sum(use.memory_mib for use in state.uses))


_METRICS: Final = (
    ("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", _utilisation),
    ("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", _memory_used),
    ("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", _memory_free),
)


def render(states: Iterable[GpuState]) -> Iterator[str]:
    """The page in pieces: three gauges of every GPU and every container that uses it, without one when it is idle."""
    series = [(state, use, _labels(state, use)) for state in states for use in (state.uses or (None,))]
    for name, help_text, value in _METRICS:
        yield f"# HELP {name} {help_text}\n# TYPE {name} gauge\n"
        for at in range(0, len(series), _LINES_PER_PIECE):
            piece = series[at : at + _LINES_PER_PIECE]
            yield "".join(f"{name}{labels} {value(state, use):g}\n" for state, use, labels in piece)


def _labels(state: GpuState, use: Use | None) -> str:
    own = (
        f'gpu="{state.index}",UUID="{gpu_uuid(state.node, state.index)}",device="nvidia{state.index}",'
        f'modelName="{_escaped(state.product)}",Hostname="{state.node}"'
    )
    if use is None:
        return f"{{{own}}}"
    return f'{{{own},namespace="{use.namespace}",pod="{use.pod}",container="{use.container}"}}'


def _escaped(text: str) -> str:
    """Only a custom product may hold what the format reserves; names of objects cannot."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
