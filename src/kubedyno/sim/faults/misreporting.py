"""What a kubelet with faults tells through its pod-resources API, and whether it answers at all.

Pure: the view of the truth goes in, the view that is told comes out. Of a `stale` fault nothing is to be seen here:
the view as it was comes from the ledger as it was, which `Fleet.told_ledger` keeps for the nodes that have the fault.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from kubedyno.model.numa.podresources import Devices, Holding, Memory, Pod, View
from kubedyno.sim.faults import fault
from kubedyno.sim.faults.fault import Faults
from kubedyno.sim.faults.misbehaving import Misreport, Silence, ViewsUnavailable, Wrong

SOCKET: Final = "/var/lib/kubelet/pod-resources/kubelet.sock"


class Unavailable(msgspec.Struct, frozen=True):
    """What becomes of a call: it fails with `error` (its gRPC code is `code`), or is answered after `delay_s`."""

    error: str = ""
    code: str = ""
    delay_s: float = 0.0


_TROUBLES: Final[Mapping[Silence, Callable[[float], Unavailable]]] = {
    # What a kubelet says to whoever asks too often: the one error that its API has of its own.
    "error": lambda _: _failed("ResourceExhausted", "rejected by rate limit"),
    "refused": lambda _: _failed(
        "Unavailable",
        f'connection error: desc = "transport: Error while dialing: dial unix {SOCKET}: connect: connection refused"',
    ),
    "timeout": lambda delay_s: Unavailable(delay_s=delay_s),
}


def views_trouble(faults: Faults, now_ns: int) -> Unavailable | None:
    """What keeps the kubelet from telling; None when it answers at once. A kubelet that is down does not listen."""
    if not faults:
        return None
    if fault.is_down(faults, now_ns):
        return _TROUBLES["refused"](0.0)
    for one in fault.active(faults, now_ns):
        if isinstance(one, ViewsUnavailable):
            return _TROUBLES[one.how](one.delay_s)
    return None


def _failed(code: str, message: str) -> Unavailable:
    return Unavailable(error=f"rpc error: code = {code} desc = {message}", code=code)


def is_stale(faults: Faults, now_ns: int) -> bool:
    """Whether the kubelet tells what was when the fault began."""
    return any(isinstance(one, Misreport) and one.what == "stale" for one in fault.active(faults, now_ns))


def told(view: View, faults: Faults, now_ns: int) -> View:
    """What the kubelet tells of a view that is true; the same object when nothing is wrong."""
    if faults:
        for one in fault.active(faults, now_ns):
            if isinstance(one, Misreport):
                view = _WRONG[one.what](view, one)
    return view


def _as_it_is(view: View, fault: Misreport) -> View:
    del fault
    return view


def _without_numa(view: View, fault: Misreport) -> View:
    return _placed(view, fault.resource, ())


def _with_negative_numa(view: View, fault: Misreport) -> View:
    return _placed(view, fault.resource, (-1,))


def _with_several_numa(view: View, fault: Misreport) -> View:
    true = view.allocatable
    places = [*(one.nodes for one in true.devices), *(one.nodes for one in true.memory)]
    known = {node for nodes in places for node in nodes}
    # One node is not several: a machine that shows no other is told to have two.
    return _placed(view, fault.resource, tuple(sorted(known if len(known) > 1 else known | {0, 1})))


def _placed(view: View, resource: str, nodes: tuple[int, ...]) -> View:
    """The view with these NUMA nodes for one resource, or without a name for all devices."""

    def changed(holding: Holding) -> Holding:
        devices = tuple(
            msgspec.structs.replace(one, nodes=nodes) if resource in {"", one.resource} else one
            for one in holding.devices
        )
        memory = tuple(
            msgspec.structs.replace(one, nodes=nodes) if one.type == resource else one for one in holding.memory
        )
        return msgspec.structs.replace(holding, memory=memory, devices=devices)

    pods = tuple(
        msgspec.structs.replace(pod, containers={name: changed(held) for name, held in pod.containers.items()})
        for pod in view.pods
    )
    return View(pods, changed(view.allocatable))


def _with_other_amount(view: View, fault: Misreport) -> View:
    resource, by, true = fault.amount_of, fault.by, view.allocatable
    if resource == _CPU:
        changed = msgspec.structs.replace(true, cpus=_cpus(true.cpus, by))
    elif any(one.type == resource for one in true.memory):
        changed = msgspec.structs.replace(true, memory=_memory(true.memory, resource, by))
    else:
        changed = msgspec.structs.replace(true, devices=_devices(true.devices, resource, by))
    return View(view.pods, changed)


def _cpus(cpus: tuple[int, ...], by: int) -> tuple[int, ...]:
    """More: the lowest ids that are not among them, which are the reserved ones first. Fewer: without the highest."""
    if by < 0:
        return tuple(sorted(cpus)[:by])
    there = set(cpus)
    new = (number for number in itertools.count() if number not in there)
    return tuple(sorted((*cpus, *itertools.islice(new, by))))


def _memory(blocks: tuple[Memory, ...], resource: str, by: int) -> tuple[Memory, ...]:
    """More: on the first block of the type. Less: taken from the first ones as far as they go."""
    changed = []
    for block in blocks:
        change = max(by, -block.size) if block.type == resource else 0
        by -= change
        changed.append(msgspec.structs.replace(block, size=block.size + change))
    return tuple(changed)


def _devices(groups: tuple[Devices, ...], resource: str, by: int) -> tuple[Devices, ...]:
    """More: devices that do not exist, where the last ones are. Fewer: without the last ones."""
    last = max((place for place, one in enumerate(groups) if one.resource == resource), default=None)
    if by > 0:
        new = tuple(f"{_INVENTED}{number}" for number in range(by))
        if last is None:
            return (*groups, Devices(resource, new))
        grown = msgspec.structs.replace(groups[last], ids=(*groups[last].ids, *new))
        return (*groups[:last], grown, *groups[last + 1 :])
    left = list(groups)
    while by < 0 and last is not None:
        ids = left[last].ids
        if len(ids) > -by:
            left[last] = msgspec.structs.replace(left[last], ids=ids[:by])
            break
        del left[last]
        by += len(ids)
        last = max((place for place, one in enumerate(left) if one.resource == resource), default=None)
    return tuple(left)


def _without_pods(view: View, fault: Misreport) -> View:
    return View(_shown(view.pods, fault), view.allocatable)


def _shown(pods: Iterable[Pod], fault: Misreport) -> tuple[Pod, ...]:
    return tuple(pod for pod in pods if not fault.hides(pod.namespace, pod.name))


_CPU: Final = "cpu"
_INVENTED: Final = "misreported-"
_WRONG: Final[Mapping[Wrong, Callable[[View, Misreport], View]]] = {
    "no-numa": _without_numa,
    "negative-numa": _with_negative_numa,
    "several-numa": _with_several_numa,
    "stale": _as_it_is,
    "allocatable": _with_other_amount,
    "hidden-pods": _without_pods,
}
