"""The files of the page, as the package brings them."""

import html
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

import msgspec

from kubedyno.dashboard.config import CONFIG, SiteConfig, origins

PAGE: Final = "index.html"
_ORIGINS: Final = "__STORE_ORIGINS__"
_TITLE: Final = "__TITLE__"


def site_files(config: SiteConfig) -> dict[str, bytes]:
    """All files of a site but the data, by their paths."""
    files = dict(_below(resources.files("kubedyno.dashboard") / "assets", ""))
    page = files[PAGE].decode()
    # The policy is part of the page: it must name the store before the first script runs.
    page = page.replace(_ORIGINS, html.escape(origins(config), quote=False)).replace(_TITLE, html.escape(config.title))
    return {**files, PAGE: page.encode(), CONFIG: msgspec.json.format(msgspec.json.encode(config)) + b"\n"}


def _below(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{prefix}{entry.name}/")
        else:
            yield f"{prefix}{entry.name}", entry.read_bytes()
