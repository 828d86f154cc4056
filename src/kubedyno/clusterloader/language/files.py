"""The files around a config: every path begins at the folder of the root config."""

import os
import stat
from pathlib import Path

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion


class ConfigFolder:
    """Reads what a config and its templates name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def place(self, path: str) -> Path:
        """The file of a module or an object: with or without a leading `/` from the folder, which `../` may leave."""
        return Path(os.path.normpath(self._folder / path.lstrip("/")))

    def read(self, path: str) -> str:
        """The text of a module or an object's template; `UsageError` names the file and what is wrong with it."""
        return read_text(self.place(path))

    def include(self, path: str) -> str:
        """The text of a file that a template includes; it must lie below the folder. `ValueError` says why not.

        Templates are made of values that others may set: what they include must not tell of the rest of the disk.
        """
        named = self._folder / path
        if not Path(os.path.realpath(named)).is_relative_to(os.path.realpath(self._folder)):
            raise ValueError(
                f"{path} does not lie below {self._folder}, the folder of the config; put a copy of it there"
            )
        try:
            return read_text(named)
        except UsageError as error:
            raise ValueError(str(error)) from error


def read_text(place: Path) -> str:
    """The text of a file in UTF-8; `UsageError` names it, and says what is wrong or which name was probably meant."""
    try:
        if stat.S_ISREG(place.stat().st_mode):
            return place.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(_missing(place)) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{place}, line {line}: it is no text in UTF-8") from error
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{str(place)!r} is no path of a file: {error}") from error
    raise UsageError(f"{place} is no file; name a file, not a folder")


def _missing(place: Path) -> str:
    if not place.parent.is_dir():
        return f"{place}: there is no folder {place.parent}; paths begin at the folder of the root config"
    names = [entry.name for entry in place.parent.iterdir() if entry.is_file()]
    return f"{place}: there is no such file; {suggestion(place.name, names)}"
