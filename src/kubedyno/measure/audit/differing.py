"""What else differs between contenders than what is compared: settings, side by side. Pure.

Of components that all have, each setting is compared. Contenders of different schedulers have different processes, so
of those the limits of their clients are compared, which decide most comparisons; contenders of one scheduler are
compared in all.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kubedyno.measure.audit.clients import PROGRAMS
from kubedyno.measure.records import TrialRecord
from kubedyno.model.settings import Setting, canonical

_ABSENT: Final = "-"
_TRIAL: Final = ("engine", "time", "kubelet", "profile", "simulated")
_CLIENT_FIELDS: Final[Mapping[str, str]] = {
    field: name
    for program in PROGRAMS.values()
    for field, name in ((program.qps_field, "client qps"), (program.burst_field, "client burst"))
}


class Difference(msgspec.Struct, frozen=True):
    """A setting that is not the same for all; values in the order of the trials, `-` where there is no such setting."""

    what: str
    values: tuple[str, ...]


def differences(records: Sequence[TrialRecord]) -> list[Difference]:
    """The rows of the table of what differs; none for fewer than two trials, or where nothing does."""
    tables = [{**_trial(record), **_settings(record)} for record in records]
    alike = {record.subject for record in records}
    if len(alike) > 1:
        shared = set.intersection(*({component for component, _ in table} for table in tables))
        tables = [
            {**{key: value for key, value in table.items() if key[0] in shared}, **_clients(record.settings, shared)}
            for table, record in zip(tables, records, strict=True)
        ]
    keys = dict.fromkeys(key for table in tables for key in table)
    found = []
    for component, field in keys:
        values = tuple(table.get((component, field), _ABSENT) for table in tables)
        if len({canonical(value) for value in values}) > 1:
            found.append(Difference(f"{component}.{field}" if component else field, values))
    return found


def _trial(record: TrialRecord) -> dict[tuple[str, str], str]:
    shown = {name: getattr(record, name) for name in _TRIAL}
    shown |= {f"-p {name}": value for name, value in record.parameters.items()}
    return {("", name): ", ".join(value) if isinstance(value, tuple) else str(value) for name, value in shown.items()}


def _settings(record: TrialRecord) -> dict[tuple[str, str], str]:
    return {(setting.component, setting.field): setting.value for setting in record.settings}


def _clients(settings: Sequence[Setting], shared: set[str]) -> dict[tuple[str, str], str]:
    """The limits of the clients of a scheduler's processes, by what they are; several of different value in words."""
    by_limit: dict[str, dict[str, list[str]]] = {}
    for setting in settings:
        name = _CLIENT_FIELDS.get(setting.field)
        if name is not None and setting.component not in shared:
            by_limit.setdefault(name, {}).setdefault(setting.value, []).append(setting.component)
    return {
        ("scheduler", name): next(iter(values))
        if len(values) == 1
        else "; ".join(f"{', '.join(components)}: {value}" for value, components in values.items())
        for name, values in by_limit.items()
    }
