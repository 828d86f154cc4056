"""Where a store lies: what is asked of a place."""

from pathlib import Path
from typing import Protocol

import msgspec

from kubedyno.kit.errors import EngineError


class StoreError(EngineError):
    """A store of results refused or did not answer: names the place, the file and what to check."""


class Stored(msgspec.Struct, frozen=True):
    """What lies under a name, and the mark by which its place knows that nobody changed it since."""

    data: bytes
    mark: str


class Place(Protocol):
    """Named files, of which one can be replaced on the condition that nobody else did meanwhile.

    Names are paths with slashes. What goes wrong is a `StoreError` that names the place and what to do.
    """

    @property
    def url(self) -> str:
        """Where it is, as the user wrote it."""

    async def read(self, name: str) -> Stored | None:
        """What lies under a name; None: nothing."""

    async def write(self, name: str, source: bytes | Path) -> None:
        """Put bytes or a file's content under a name; what was there is replaced as a whole."""

    async def replace(self, name: str, data: bytes, *, mark: str | None) -> bool:
        """Write if what lies there still has the mark, or is still not there (None); whether it was written."""

    async def names(self, below: str) -> list[str]:
        """All names that begin with a folder's name and a slash."""

    async def delete(self, names: list[str]) -> None:
        """Delete what lies under these names; what is not there is left alone."""
