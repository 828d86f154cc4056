"""Files that survive a crash: whole or not there, and locks that die with their holder."""

import contextlib
import fcntl
import os
import secrets
import struct
from collections.abc import Iterator
from pathlib import Path

_FLOCK = "hhlli"  # struct flock of fcntl(2): type, whence, start, length (0: all), pid (0 for locks of open files)
_LOCK = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
_UNLOCK = struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0)


def write_atomic(path: Path, data: bytes | str, *, mode: int = 0o644, sync: bool = True) -> None:
    """Replace `path` by `data` as a whole; readers see the old file or the new one, never a part.

    The mode holds from the first byte on, so a key is never readable by others. Without `sync` it survives a crash of
    this process but not one of the machine, and takes no longer than the copy.
    """
    content = data.encode() if isinstance(data, str) else data
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def exclusive_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file at `path`; yields False when `wait` is off and someone else has it.

    The kernel drops the lock with the holder, so a killed process leaves nothing to clean.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, _LOCK)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.fcntl(file, fcntl.F_OFD_SETLK, _UNLOCK)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock file at `path`. Asking takes nothing: nobody is refused because of it."""
    try:
        with path.open("r+b") as file:
            answer: bytes = fcntl.fcntl(file, fcntl.F_OFD_GETLK, _LOCK)
    except FileNotFoundError:
        return False
    return bool(struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK)
