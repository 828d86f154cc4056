"""DeviceClasses that NVIDIA's DRA driver is installed with."""

from kubedyno.kube.codec import Object
from kubedyno.sim.devices.inventory import NVIDIA_DRIVER
from kubedyno.sim.devices.versions import V1
from kubedyno.sim.hardware import GPU


def device_classes(api_version: str = V1) -> list[Object]:
    """`gpu.nvidia.com` and `mig.nvidia.com`.

    As the driver's chart does it, in v1 whole GPUs also serve pods that ask for `nvidia.com/gpu` where no device
    plugin does.
    """
    extended = {"extendedResourceName": GPU} if api_version == V1 else {}
    return [
        _class(api_version, "gpu.nvidia.com", "gpu", extended),
        _class(api_version, "mig.nvidia.com", "mig", {}),
    ]


def _class(api_version: str, name: str, kind: str, more: Object) -> Object:
    expression = f"device.driver == '{NVIDIA_DRIVER}' && device.attributes['{NVIDIA_DRIVER}'].type == '{kind}'"
    return {
        "apiVersion": api_version,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **more},
    }
