"""A run folder, read for its page: the records, and of each trial the times of its pods, its series and files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.measure.records import RunRecord, TrialRecord
from kubedyno.results import tables
from kubedyno.results.belonging import Belonging
from kubedyno.results.folder import SUMMARIES
from kubedyno.results.records_read import read_run

_MAGIC: Final = b"PAR1"
"""What a whole table ends with."""
_MARKS: Final = (
    "workload",
    "uid",
    "role",
    "phase",
    "arrival_ns",
    "lower_ns",
    "upper_ns",
    "node",
    "name",
    "namespace",
    "owner",
)
_CLAIMS: Final = ("created_ns", "allocated_ns", "namespace", "pod", "devices")
_OWNING: Final = ("uid", "role", "owner", "namespace", "name")


class Mark(msgspec.Struct, frozen=True, gc=False):
    """An object that reached a phase."""

    uid: str
    role: str
    phase: str
    at_ns: int
    lower_ns: int
    upper_ns: int
    node: str | None = None
    """The node that it is bound to."""
    title: str = ""
    """`namespace/name`."""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A claim of devices; ns since the epoch, None: never."""

    created_ns: int
    allocated_ns: int | None
    pod: str | None = None
    """`namespace/name` of the first pod that was allowed to use it."""
    devices: tuple[str, ...] = ()
    """`pool/device` of each."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """A node that was there."""

    name: str
    gpus: float
    place: tuple[str, ...] = ()
    """By the levels of the topology, outermost first."""


class TrialRead(msgspec.Struct, frozen=True, kw_only=True):
    """A trial as its folder tells it."""

    number: int
    folder: Path
    record: TrialRecord
    workloads: dict[str, list[Mark]]
    """What was seen of the objects of each workload, in the order of arrival."""
    series: dict[tuple[str, str], list[tuple[int, float]]]
    """(series, component): times in ns and values."""
    claims: tuple[Claim, ...] = ()
    """In the order of their creation."""
    gpus: Mapping[str, float] = MappingProxyType({})
    """What each pod holds, by uid; empty: nobody recorded it."""
    nodes: tuple[Node, ...] = ()
    """All that were there; empty: nobody recorded them."""
    summaries: tuple[Path, ...] = ()
    """Files of the scenario's own."""

    @property
    def title(self) -> str:
        """Its number, scenario and scheduler."""
        return f"{self.number} {self.record.scenario} on {self.record.subject}"

    def pods(self, phase: str) -> dict[str, int]:
        """When each pod first reached a phase, ns, by uid."""
        found: dict[str, int] = {}
        for marks in self.workloads.values():
            for mark in marks:
                if mark.role == "pod" and mark.phase == phase:
                    found.setdefault(mark.uid, mark.at_ns)
        return found


class RunRead(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its folder tells it."""

    folder: Path
    record: RunRecord
    trials: tuple[TrialRead, ...]


def read(folder: Path) -> RunRead:
    """The run in a folder; a UsageError says what is wrong with it."""
    record, records = read_run(folder)
    trials = tuple(
        _trial(number, folder / summary.folder, trial)
        for number, (summary, trial) in enumerate(zip(record.trials, records, strict=True), 1)
    )
    return RunRead(folder=folder, record=record, trials=trials)


def _trial(number: int, folder: Path, record: TrialRecord) -> TrialRead:
    objects = _table(folder / "objects.parquet", tuple(dict.fromkeys((*_MARKS, *_OWNING))))
    table = _table(folder / "series.parquet", ("time_ns", "series", "component", "value"))
    return TrialRead(
        number=number,
        folder=folder,
        record=record,
        workloads=_workloads(objects),
        series=_series(zip(table["time_ns"], table["series"], table["component"], table["value"], strict=True)),
        claims=_claims(folder / "claims.parquet"),
        gpus=_gpus(folder / "pods.parquet"),
        nodes=_nodes(folder / "nodes.parquet"),
        summaries=tuple(sorted((folder / SUMMARIES).glob("*"))),
    )


def _table(path: Path, columns: Sequence[str]) -> dict[str, list[Any]]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_MAGIC)))
            is_whole = file.read() == _MAGIC
    except FileNotFoundError as error:
        raise UsageError(f"{path} is missing: the run folder is incomplete; copy it whole") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not is_whole:
        raise UsageError(f"{path} is cut off: the run folder is incomplete; copy it whole")
    return tables.read_parquet(path, columns)


def _gpus(path: Path) -> dict[str, float]:
    """Nothing where there is no such table: there were no pods, or an older version wrote the folder."""
    if not path.exists():
        return {}
    table = _table(path, ("uid", "gpus"))
    return dict(zip(table["uid"], table["gpus"], strict=True))


def _nodes(path: Path) -> tuple[Node, ...]:
    if not path.exists():
        return ()
    table = _table(path, ("name", "gpus", "place"))
    rows = zip(table["name"], table["gpus"], table["place"], strict=True)
    # One that was gone and came back is one.
    found = {name: Node(name, gpus, tuple(place.split("/")) if place else ()) for name, gpus, place in rows}
    return tuple(found.values())


def _workloads(objects: Mapping[str, list[Any]]) -> dict[str, list[Mark]]:
    belonging = Belonging()
    of_pods: dict[str, str] = {}
    for known, uid, role, *owning in zip(objects["workload"], *(objects[name] for name in _OWNING), strict=True):
        if known is None:
            belonging.note(uid, role, *owning)
        elif role == "pod":
            of_pods[uid] = known
    workloads: dict[str, list[Mark]] = {}
    for said, uid, role, phase, at_ns, lower_ns, upper_ns, node, name, namespace, owner in zip(
        *(objects[column] for column in _MARKS), strict=True
    ):
        # Of some schedulers' evictions only an event tells, and it names the pod.
        about = owner if role == "event" and phase == "evicted" else uid
        workload = said if said is not None else of_pods.get(about) or belonging.of(about)
        if workload is not None:
            # Without a lower bound nothing is known but when the news arrived.
            workloads.setdefault(workload, []).append(
                Mark(uid, role, phase, at_ns, lower_ns or at_ns, upper_ns, node, f"{namespace}/{name}")
            )
    return workloads


def _claims(path: Path) -> tuple[Claim, ...]:
    if not path.exists():
        return ()
    table = _table(path, _CLAIMS)
    return tuple(
        Claim(
            created_ns,
            allocated_ns,
            None if pod is None else f"{namespace}/{pod}",
            tuple(devices.split(",")) if devices else (),
        )
        for created_ns, allocated_ns, namespace, pod, devices in zip(*(table[name] for name in _CLAIMS), strict=True)
    )


def _series(rows: Iterable[tuple[int, str, str | None, float]]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    found: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for time_ns, series, component, value in rows:
        found.setdefault((series, component or ""), []).append((time_ns, value))
    return found
