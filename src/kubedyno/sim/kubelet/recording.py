"""What a kubelet keeps in its state files, as plain data that JSON can carry."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubedyno.kube.codec import Object
from kubedyno.model.numa import bits
from kubedyno.model.numa.admission import Ledger
from kubedyno.model.numa.cpus import CpuLedger
from kubedyno.model.numa.devices import DeviceLedger
from kubedyno.model.numa.hints import Hint
from kubedyno.model.numa.memory import MemoryLedger
from kubedyno.sim.kubelet.unaligned import Held


def written(held: Mapping[str, Held], aligned: Ledger | None) -> Object:
    """The data: `held` are devices by pod where nothing is aligned, `aligned` all that is."""
    data: Object = {
        "devices": {
            uid: [[container, resource, bits.text(places)] for container, resource, places in devices]
            for uid, devices in held.items()
        }
    }
    if aligned is not None:
        # Sets of CPUs are larger than the numbers of JSON, and people read them like this.
        cpus = {"shared": bits.text(aligned.cpus.shared), "assigned": _mapped(aligned.cpus.assigned, bits.text)}
        data["aligned"] = {"cpus": cpus, **_plain(aligned)}
    return data


def read(data: Object, empty: Ledger | None) -> tuple[dict[str, Held], Ledger | None]:
    """What was written, for a node whose ledger begins as `empty`; what does not belong to such a node is left."""
    held = {
        uid: tuple((container, resource, bits.parse(places)) for container, resource, places in devices)
        for uid, devices in (data.get("devices") or {}).items()
    }
    aligned = data.get("aligned")
    if empty is None or aligned is None:
        return {} if empty else held, empty
    cpus = aligned["cpus"]
    return {}, Ledger(
        cpus=CpuLedger(bits.parse(cpus["shared"]), _mapped(cpus["assigned"], bits.parse)),
        memory=msgspec.convert(aligned["memory"], MemoryLedger, strict=False),
        devices=msgspec.convert(aligned["devices"], DeviceLedger),
        affinity=msgspec.convert(aligned["affinity"], dict[str, dict[str, Hint]]),
    )


def pods(aligned: Ledger) -> set[str]:
    """All pods that the ledger knows."""
    return {*aligned.cpus.assigned, *aligned.memory.assigned, *aligned.devices.assigned, *aligned.affinity}


def _plain(aligned: Ledger) -> Any:
    parts = {"memory": aligned.memory, "devices": aligned.devices, "affinity": aligned.affinity}
    return msgspec.to_builtins(parts, str_keys=True)


def _mapped(containers: Mapping[str, Mapping[str, Any]], change: Any) -> dict[str, dict[str, Any]]:
    return {uid: {name: change(value) for name, value in held.items()} for uid, held in containers.items()}
