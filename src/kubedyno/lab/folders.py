"""The folders of labs below the state folder: who owns one, whether its owner lives, what it says of itself.

    <state>/labs/<name>/          spec.json, status.json, control.sock, kubeconfigs/, pki/, logs/, data/, records/
    <state>/labs/<name>.lock      held by the owner for as long as it lives
    <state>/runs/<run-id>/        the same for the lab of a run, which is nobody else's business

The kernel drops the lock with its holder, so a lab whose owner was killed is known to be dead without guessing at
process ids.
"""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec

from kubedyno.kit.durable import exclusive_lock, is_locked, write_atomic
from kubedyno.kit.errors import EngineError, UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.lab.spec import LabSpec

RECORDS = "records"
"""Folder with recordings, of a lab or beside a submission."""


class ComponentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One process of a running lab, or one part of its owner's own: then the program is `kubedyno`."""

    name: str
    program: str
    version: str
    pid: int
    ports: dict[str, int]


class LabStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner of a lab says of it."""

    name: str
    state: str
    """`starting`, `ready`, `stopping`, `failed`; readers find out `dead` (no owner) and `silent` (no answer)."""
    engine: str
    scheduler: str
    kubelet: str
    profile: str
    nodes: int
    owner_pid: int
    started_at: str
    kubeconfig: str
    components: tuple[ComponentStatus, ...] = ()
    settings: tuple[dict[str, str | None], ...] = ()
    """Effective settings with their evidence."""
    message: str = ""
    """Why it failed, or which replicas it lost."""


class LabFolder(msgspec.Struct, frozen=True):
    """The folder of one lab."""

    path: Path

    @property
    def name(self) -> str:
        """The lab's name."""
        return self.path.name

    @property
    def control_socket(self) -> Path:
        """Where its owner listens."""
        return self.path / "control.sock"

    def hold(self) -> AbstractContextManager[bool]:
        """Be the owner; yields False when somebody else is."""
        return exclusive_lock(self._lock, wait=False)

    def owned(self) -> bool:
        """Whether an owner lives."""
        return is_locked(self._lock)

    @property
    def _lock(self) -> Path:
        return self.path.with_name(f"{self.name}.lock")

    def write_spec(self, spec: LabSpec) -> None:
        """Keep what was asked for."""
        write_atomic(self.path / "spec.json", msgspec.json.encode(spec))

    def read_spec(self) -> LabSpec:
        """What was asked for."""
        return msgspec.json.decode((self.path / "spec.json").read_bytes(), type=LabSpec)

    def write_status(self, status: LabStatus) -> None:
        """Keep what the owner says."""
        write_atomic(self.path / "status.json", msgspec.json.encode(status))

    def read_status(self) -> LabStatus | None:
        """What the owner said last; a state that needs a living owner becomes `dead` without one."""
        try:
            status = msgspec.json.decode((self.path / "status.json").read_bytes(), type=LabStatus)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        if status.state != "failed" and not self.owned():
            return msgspec.structs.replace(status, state="dead", components=(), message="its owner process is gone")
        return status

    def remove(self) -> None:
        """Delete the folder and its lock file; the caller knows that nobody owns it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What goes wrong while a lab's folder is written is the user's disk, and told as that."""
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"the lab's folder {path} cannot be written: {error.strerror}; "
            "free some space there, or set XDG_STATE_HOME to another disk"
        ) from error


def labs(state: Path) -> Iterator[LabFolder]:
    """All labs below the state folder, dead ones too, by name."""
    parent = state / "labs"
    if parent.is_dir():
        for path in sorted(parent.iterdir()):
            if path.is_dir():
                yield LabFolder(path)


def folder(state: Path, name: str) -> LabFolder:
    """The folder of the lab of that name, whether it exists or not."""
    return LabFolder(state / "labs" / name)


def run_folder(state: Path, run_id: str) -> LabFolder:
    """The folder of a run's lab; what runs that were killed have left is removed."""
    parent = state / "runs"
    for path in parent.iterdir() if parent.is_dir() else ():
        if path.is_dir() and not LabFolder(path).owned():
            LabFolder(path).remove()
    return LabFolder(parent / run_id)


def choose(state: Path, name: str | None) -> LabFolder:
    """The lab that a command works on: the one named, else the only one there is."""
    there = {lab.name: lab for lab in labs(state)}
    if name is not None:
        if name not in there:
            raise UsageError(
                f"there is no lab {name!r}: {suggestion(name, there)}; `kubedyno up --name {name}` makes one"
            )
        return there[name]
    if not there:
        raise UsageError("there is no lab: `kubedyno up` makes one")
    if len(there) > 1:
        raise UsageError(f"there are several labs ({', '.join(there)}): choose one with --name")
    return next(iter(there.values()))
