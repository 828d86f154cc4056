"""The fault that one node gets of what was asked for all: its GPUs or other resources, its time, its id."""

import random

import msgspec

from kubedyno.kit.clock import NS_PER_S, rfc3339
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import meta
from kubedyno.kube.codec import Object
from kubedyno.sim.devices.inventory import gpu_count
from kubedyno.sim.faults.fault import Fault, GpuLost, KubeletRestart
from kubedyno.sim.faults.misbehaving import Misreport


class AnyGpus(msgspec.Struct, frozen=True):
    """As many GPUs of each node as `count` says, drawn."""

    count: int


def aimed(asked: Fault | AnyGpus, node: Object, rng: random.Random) -> Fault:
    """The fault as that node can have it; UsageError for GPUs or other resources that the node does not have."""
    if isinstance(asked, AnyGpus):
        there = gpu_count(node)
        if not 1 <= asked.count <= there:
            raise UsageError(f"--gpus any:{asked.count}: node {meta.key(node)[1]!r} has {_counted(there)}")
        return GpuLost(gpus=tuple(sorted(rng.sample(range(there), asked.count))))
    if isinstance(asked, GpuLost):
        there = gpu_count(node)
        for index in asked.gpus:
            if index >= there:
                indexes = f", numbered from 0 to {there - 1}" if there else ""
                raise UsageError(f"--gpus {index}: node {meta.key(node)[1]!r} has {_counted(there)}{indexes}")
    if isinstance(asked, Misreport) and asked.resource:
        _check_resource(asked.resource, node)
    return asked


def _check_resource(resource: str, node: Object) -> None:
    there = (node.get("status") or {}).get("capacity") or {}
    if there and resource not in there:  # a node that has not registered yet may have anything
        name = meta.key(node)[1]
        raise UsageError(f"--resource {resource}: node {name!r} has no such resource: {suggestion(resource, there)}")


def timed(fault: Fault, *, id_: str, at_ns: int, until_ns: int | None) -> Fault:
    """The fault from now to its end. A restart ends when the kubelet is back, which is all there is to it."""
    if isinstance(fault, KubeletRestart):
        down_s = fault.down_s if until_ns is None else (until_ns - at_ns) / NS_PER_S
        return msgspec.structs.replace(fault, id=id_, since=rfc3339(at_ns), down_s=down_s)
    until = "" if until_ns is None else rfc3339(until_ns)
    return msgspec.structs.replace(fault, id=id_, since=rfc3339(at_ns), until=until)


def _counted(gpus: int) -> str:
    return "no GPU" if gpus == 0 else f"{gpus} GPU{'s' if gpus > 1 else ''}"
