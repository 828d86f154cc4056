"""The audit logs of a lab's API servers, as files that grow and are changed for others."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kubedyno.lab.planning import LabPlan
from kubedyno.measure.auditlog import Lines
from kubedyno.measure.bottleneck import API_SERVER
from kubedyno.plane import apiserver

_PIECE_BYTES: Final = 256 * 1024
"""That are read without letting others run: some milliseconds."""


class AuditLog:
    """The audit log of one API server, read on from where it was last read to, through changes of its file."""

    def __init__(self, path: Path) -> None:
        self.lines = Lines()
        self._path = path
        self._file: BinaryIO | None = None

    def skip(self) -> None:
        """What is there already does not count."""
        if self._path.exists():
            self._file = self._path.open("rb")
            self._file.seek(0, 2)

    def pieces(self) -> Iterator[bytes]:
        """What has come since."""
        if self._file is None and self._path.exists():
            self._file = self._path.open("rb")
        while self._file is not None:
            while piece := self._file.read(_PIECE_BYTES):
                yield piece
            following = self._following(self._file)
            if following is None:
                return
            self.lines.end()
            self._file.close()
            self._file = following.open("rb")

    def close(self) -> None:
        """No more is read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Delete it, files that it had before too."""
        for path in self._files():
            path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        """In their order: a file that is full is named after the time, and another begins."""
        full = sorted(self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}"))
        return [*full, self._path]

    def _following(self, file: BinaryIO) -> Path | None:
        """The file after the one that is open."""
        own = Path(f"/proc/self/fd/{file.fileno()}").stat().st_ino
        files = [path for path in self._files() if path.exists()]
        numbers = [path.stat().st_ino for path in files]
        at = numbers.index(own) + 1 if own in numbers else len(files)
        return files[at] if at < len(files) else None


def audit_logs(plan: LabPlan) -> list[Path]:
    """Where the API servers of a lab keep their audit logs; none if they keep none."""
    if not plan.spec.audit_log:
        return []
    return [apiserver.audit_log_of(plan.site, one.name) for one in plan.components if one.program == API_SERVER]
