"""The messages of the kubelet's pod-resources API (v1) in protobuf's wire format, from a table of their fields.

What claims hold for a container is not in the table, and not told.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kubedyno.model.numa.podresources import Devices, Holding, Memory, Pod, View
from kubedyno.server.wire import fields, text

_VARINT, _BYTES = 0, 2
_BITS: Final = 64
_POD_NAME, _POD_NAMESPACE = 1, 2


class _Field(NamedTuple):
    """A field: its number, what it is of (`text`, `number`, or a message of the table), and whether there are many."""

    number: int
    of: str
    many: bool = False


_MESSAGES: Final[Mapping[str, Mapping[str, _Field]]] = {
    "ListPodResourcesResponse": {"pod_resources": _Field(1, "PodResources", many=True)},
    "AllocatableResourcesResponse": {
        "devices": _Field(1, "ContainerDevices", many=True),
        "cpu_ids": _Field(2, "number", many=True),
        "memory": _Field(3, "ContainerMemory", many=True),
    },
    "GetPodResourcesResponse": {"pod_resources": _Field(1, "PodResources")},
    "PodResources": {
        "name": _Field(1, "text"),
        "namespace": _Field(2, "text"),
        "containers": _Field(3, "ContainerResources", many=True),
    },
    "ContainerResources": {
        "name": _Field(1, "text"),
        "devices": _Field(2, "ContainerDevices", many=True),
        "cpu_ids": _Field(3, "number", many=True),
        "memory": _Field(4, "ContainerMemory", many=True),
    },
    "ContainerMemory": {
        "memory_type": _Field(1, "text"),
        "size": _Field(2, "number"),
        "topology": _Field(3, "TopologyInfo"),
    },
    "ContainerDevices": {
        "resource_name": _Field(1, "text"),
        "device_ids": _Field(2, "text", many=True),
        "topology": _Field(3, "TopologyInfo"),
    },
    "TopologyInfo": {"nodes": _Field(1, "NUMANode", many=True)},
    "NUMANode": {"ID": _Field(1, "number")},
}


def listed(view: View) -> bytes:
    """The answer to `List`."""
    return encode("ListPodResourcesResponse", {"pod_resources": [_pod(pod) for pod in view.pods]})


def allocatable(view: View) -> bytes:
    """The answer to `GetAllocatableResources`."""
    return encode("AllocatableResourcesResponse", _holding(view.allocatable))


def got(pod: Pod) -> bytes:
    """The answer to `Get` for a pod that is there."""
    return encode("GetPodResourcesResponse", {"pod_resources": _pod(pod)})


def encode(message: str, values: Mapping[str, Any]) -> bytes:
    """The bytes of a message; fields that are not among the values, or empty, take none."""
    made = bytearray()
    for name, field in _MESSAGES[message].items():
        value = values.get(name)
        if field.many:
            _put_many(made, field, value or ())
        elif value is not None:
            _put_one(made, field, value)
    return bytes(made)


def asked(raw: bytes) -> tuple[str, str]:
    """Namespace and name of the pod that a request of `Get` means.

    `server.messages.Refused` for bytes that are no message.
    """
    values = dict(fields(raw))
    return text(values.get(_POD_NAMESPACE, b"")), text(values.get(_POD_NAME, b""))


def _pod(pod: Pod) -> dict[str, Any]:
    return {
        "name": pod.name,
        "namespace": pod.namespace,
        "containers": [{"name": name, **_holding(held)} for name, held in pod.containers.items()],
    }


def _holding(held: Holding) -> dict[str, Any]:
    return {
        "devices": [_devices(one) for one in held.devices],
        "cpu_ids": held.cpus,
        "memory": [_memory(one) for one in held.memory],
    }


def _devices(devices: Devices) -> dict[str, Any]:
    return {"resource_name": devices.resource, "device_ids": devices.ids, "topology": _topology(devices.nodes)}


def _memory(memory: Memory) -> dict[str, Any]:
    return {"memory_type": memory.type, "size": memory.size, "topology": _topology(memory.nodes)}


def _topology(nodes: tuple[int, ...]) -> dict[str, Any] | None:
    return {"nodes": [{"ID": node} for node in nodes]} if nodes else None


def _put_one(made: bytearray, field: _Field, value: Any) -> None:
    if field.of == "number":
        if value:
            _put_tag(made, field.number, _VARINT)
            _put_varint(made, value)
    elif field.of != "text" or value:
        _put_bytes(made, field.number, _content(field, value))


def _put_many(made: bytearray, field: _Field, values: Iterable[Any]) -> None:
    if field.of == "number":
        packed = bytearray()
        for value in values:
            _put_varint(packed, value)
        if packed:
            _put_bytes(made, field.number, packed)
        return
    for value in values:
        _put_bytes(made, field.number, _content(field, value))


def _content(field: _Field, value: Any) -> bytes:
    return value.encode() if field.of == "text" else encode(field.of, value)


def _put_bytes(made: bytearray, number: int, content: bytes | bytearray) -> None:
    _put_tag(made, number, _BYTES)
    _put_varint(made, len(content))
    made += content


def _put_tag(made: bytearray, number: int, wire: int) -> None:
    _put_varint(made, number << 3 | wire)


def _put_varint(made: bytearray, value: int) -> None:
    left = value & ((1 << _BITS) - 1)  # negative numbers are their 64 bits
    while left > 0x7F:  # noqa: PLR2004 - seven bits go into a byte
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
