"""Settings of exporters from a file, strictly: every fault is a UsageError that names file, field and what to write."""

from pathlib import Path
from typing import Any, Final

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.nearest import suggestion
from kubedyno.kube import codec
from kubedyno.sim.exporters.settings import Settings

_MOST_S: Final = 1e9
_MOST_PER_S: Final = 1e6
_FIELDS: Final = {field.encode_name: field.name for field in msgspec.structs.fields(Settings)}


def read_file(path: Path) -> Settings:
    """The settings that a file of YAML or JSON says; what it leaves out is as usual."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; name a file with settings of exporters") from error
    documents = codec.read_yaml(text, source=str(path))
    if len(documents) > 1:
        raise UsageError(f"{path}: there are {len(documents)} documents; write one, with settings of exporters")
    with located(str(path)):
        return converted(documents[0] if documents else {})


def converted(given: dict[str, Any]) -> Settings:
    """Settings of plain data."""
    for name in given:
        if name not in _FIELDS:
            raise UsageError(f"{name}: there is no such setting of exporters; {suggestion(name, _FIELDS)}")
    try:
        found = msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$.")
        raise UsageError(f"{where.rstrip('`')}: {said[:1].lower()}{said[1:]}" if where else said) from None
    return check(found)


def check(settings: Settings) -> Settings:
    """The settings themselves, when they make sense; UsageError with the field otherwise."""
    is_timed = settings.trigger != "events"
    for field, value, is_right, right in (
        ("intervalSeconds", settings.interval_s, not is_timed or 0 < settings.interval_s <= _MOST_S, "more than 0"),
        ("jitter", settings.jitter, 0 <= settings.jitter <= 1, "a share from 0 to 1"),
        ("eventsPerS", settings.events_per_s, 0 <= settings.events_per_s <= _MOST_PER_S, "0 (no limit) or more"),
        ("fullEvery", settings.full_every, settings.full_every >= 0, "0 (never) or more"),
    ):
        if not is_right:
            raise UsageError(f"{field} is {value:g}: write {right}")
    return settings
