"""Kueue's effective settings, from what the manager says itself.

It prints the configuration that it loaded, with its defaults, when it starts; its client's limits appear nowhere else.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kubedyno.kit.errors import EngineError
from kubedyno.model.settings import Evidence, Setting
from kubedyno.plane.component import Component
from kubedyno.plane.settings import lookup
from kubedyno.plane.site import Site

_LOADED = "Successfully loaded configuration"

# Where it listens and what its objects are called says nothing about how it behaves.
_PLACES = ("apiVersion", "kind", "namespace", "health.", "metrics.", "webhook.", "internalCertManagement.")


def reported(component: Component, site: Site) -> list[Setting]:
    """The value that it loaded for every field that we or the user wrote."""
    log = site.folder / "logs" / f"{component.name}.log"
    loaded = loaded_configuration(log)
    written = yaml.safe_load(component.files[0].text)
    return [
        Setting(
            component=component.name,
            field=path,
            wanted=_text(wanted),
            value=_text(lookup(loaded, path)),
            evidence=Evidence.REPORTED,
            source=str(log),
        )
        for path, wanted in _leaves(written)
        if not path.startswith(_PLACES)
    ]


def loaded_configuration(log: Path) -> dict[str, Any]:
    """The configuration that the last start of the manager told in its log."""
    for line in reversed(log.read_text(errors="replace").splitlines()):
        if _LOADED in line:
            told = line[line.index("{") :]
            document: dict[str, Any] = yaml.safe_load(msgspec.json.decode(told)["config"])
            return document
    raise EngineError(f"{log} does not tell which configuration was loaded; is its program a Kueue?")


def _leaves(document: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted paths of all values that are no objects."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from _leaves(value, f"{prefix}{key}.")
    else:
        yield prefix[:-1], document


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
