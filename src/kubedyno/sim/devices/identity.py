"""Names of the GPUs of a node: the same in every process and on every engine, without anybody keeping them."""

import functools
import uuid
from typing import Final

_GPUS: Final = uuid.uuid5(uuid.NAMESPACE_DNS, "gpu.nvidia.com")


@functools.lru_cache(maxsize=65536)
def gpu_uuid(node: str, index: int) -> str:
    """`GPU-...`, as NVML and NVIDIA's device plugin name a whole GPU."""
    return f"GPU-{uuid.uuid5(_GPUS, f'{node}/{index}')}"


def mig_uuid(node: str, index: int, profile: str, start: int) -> str:
    """`MIG-...` of the partition that begins at memory slice `start`."""
    return f"MIG-{uuid.uuid5(_GPUS, f'{node}/{index}/{profile}/{start}')}"


def gpu_index(node: str, name: str, count: int) -> int | None:
    """Which of the node's `count` GPUs has this UUID; None for a name that is none of them."""
    return next((index for index in range(count) if gpu_uuid(node, index) == name), None)
