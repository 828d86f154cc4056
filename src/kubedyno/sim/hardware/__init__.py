"""GPUs and the servers they come in: what a node says about them in labels, extended resources and DRA devices.

The catalogue knows the usual ones; `custom` describes any other in the same words. Labels are those of NVIDIA's GPU
feature discovery, devices those of NVIDIA's DRA driver (`gpu.nvidia.com`).
"""

from kubedyno.sim.hardware.catalogue import Gpu, MigProfile, Server, UnknownGpu, catalogue, custom, gpu, placed
from kubedyno.sim.hardware.dra import dra_counter_set, dra_device, dra_mig_device, dra_partitionable_devices
from kubedyno.sim.hardware.labels import CUDA, DRIVER, GPU, MigStrategy, Sharing, gpu_feature_labels, gpu_resources

__all__ = [
    "CUDA",
    "DRIVER",
    "GPU",
    "Gpu",
    "MigProfile",
    "MigStrategy",
    "Server",
    "Sharing",
    "UnknownGpu",
    "catalogue",
    "custom",
    "dra_counter_set",
    "dra_device",
    "dra_mig_device",
    "dra_partitionable_devices",
    "gpu",
    "gpu_feature_labels",
    "gpu_resources",
    "placed",
]
