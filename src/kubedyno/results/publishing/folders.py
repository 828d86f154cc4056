"""A store in a folder: files, and a lock that makes changes of one file happen one after the other."""

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubedyno.kit.durable import exclusive_lock, write_atomic
from kubedyno.results.publishing.places import Stored, StoreError

_LOCK: Final = ".kubedyno.lock"


class Folder:
    """A place in the file system."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def url(self) -> str:
        """Where it is."""
        return str(self._root)

    async def read(self, name: str) -> Stored | None:
        """What lies under a name, and its mark; None: nothing."""
        with self._told(name):
            try:
                data = (self._root / name).read_bytes()
            except FileNotFoundError:
                return None
        return Stored(data, hashlib.sha256(data).hexdigest())

    async def write(self, name: str, source: bytes | Path) -> None:
        """Put bytes or a file under a name."""
        path = self._root / name
        with self._told(name):
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(source, bytes):
                write_atomic(path, source)
                return
            aside = path.with_name(f".{path.name}.copying")
            await asyncio.to_thread(shutil.copyfile, source, aside)
            aside.replace(path)

    async def replace(self, name: str, data: bytes, *, mark: str | None) -> bool:
        """Write if nobody else did since the mark; whether it was written."""
        with self._told(name), exclusive_lock(self._root / _LOCK):
            now = await self.read(name)
            if (now.mark if now else None) != mark:
                return False
            await self.write(name, data)
        return True

    async def names(self, below: str) -> list[str]:
        """All names in a folder and below it."""
        with self._told(below):
            found = sorted((self._root / below).rglob("*"))
            return [
                path.relative_to(self._root).as_posix()
                for path in found
                if path.is_file() and not path.name.startswith(".")
            ]

    async def delete(self, names: list[str]) -> None:
        """Delete what lies under these names."""
        with self._told(names[0] if names else ""):
            for name in names:
                path = self._root / name
                path.unlink(missing_ok=True)
                self._clear(path.parent)

    def _clear(self, folder: Path) -> None:
        """Remove folders that are empty now, up to the store's own."""
        while folder != self._root:
            try:
                folder.rmdir()
            except OSError:  # not empty, or removed by another
                return
            folder = folder.parent

    @contextlib.contextmanager
    def _told(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(
                f"the store {self._root} refused {error.filename or name}: {error.strerror}; "
                "check that the folder is there and may be written to"
            ) from error
