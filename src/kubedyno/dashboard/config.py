"""What the page is told: where its store lies, and how it is called. Pure, but for reading the file."""

from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from kubedyno.kit.errors import UsageError

CONFIG: Final = "config.json"
"""Beside the page."""
DATA: Final = "data"
"""Folder of the site that holds a copy of the store."""
_COMMIT: Final = "{commit}"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a team decides about its dashboard: `docs/scale-tests/dashboard.json`."""

    title: Annotated[str, Meta(description="Title of the page.")] = "Scale tests"
    store: Annotated[str, Meta(description="Address of the store; empty: it is told when the site is built.")] = ""
    commit_url: Annotated[
        str, Meta(description="Page of a commit, with {commit} in its place; empty: commits are no links.")
    ] = ""
    days: Annotated[int, Meta(description="How many days are shown at first.", ge=1)] = 30


class SiteConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`config.json`, as the page reads it."""

    format: int = 1
    title: str
    store: str
    """Base address of the store, absolute or below the page; `Public/manifest.json` lies under it."""
    commit_url: str
    days: int
    complete: bool
    """Whether all files of a run are there, or its report alone."""


def read_settings(file: Path | None) -> Settings:
    """The settings in a file; without one the usual."""
    if file is None:
        return Settings()
    try:
        settings = msgspec.json.decode(file.read_bytes(), type=Settings)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise UsageError(f"{file} is no configuration of a dashboard: {error}; see docs/dashboard.md") from error
    if settings.commit_url and not (is_web(settings.commit_url) and _COMMIT in settings.commit_url):
        raise UsageError(
            f"{file}: commit_url {settings.commit_url!r}: write an http(s) address with {_COMMIT} in the commit's place"
        )
    return settings


def is_web(url: str) -> bool:
    """Whether a browser can read there by itself."""
    parts = urlsplit(url)
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def live(settings: Settings, url: str) -> SiteConfig:
    """Of a page that reads the store where it is, each time that it is opened."""
    return _config(settings, store=url.rstrip("/") + "/", complete=True)


def beside(settings: Settings, *, complete: bool) -> SiteConfig:
    """Of a page that has the store in a folder beside it."""
    return _config(settings, store=f"{DATA}/", complete=complete)


def origins(config: SiteConfig) -> str:
    """Where the page may read from, as a Content-Security-Policy writes it."""
    if not is_web(config.store):
        return "'self'"
    parts = urlsplit(config.store)
    return f"'self' {parts.scheme}://{parts.netloc}"


def _config(settings: Settings, *, store: str, complete: bool) -> SiteConfig:
    return SiteConfig(
        title=settings.title,
        store=store,
        commit_url=settings.commit_url,
        days=settings.days,
        complete=complete,
    )
