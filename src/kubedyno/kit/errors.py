"""The one error tree and the exit codes.

    KubedynoError
    ├── UsageError            2   the command line, a file or a field is wrong
    │   └── NotApplicable         the scheduler cannot express what was asked for
    ├── EngineError           3   the engine or the environment failed
    │   ├── ProgramError          a program is missing, broken, or could not be built
    │   ├── ProcessFailure        a component exited, did not get healthy, or did not stop
    │   ├── ApiError              an API server refused or did not answer (client.errors)
    │   └── StoreError            a store of results refused or did not answer (results.publishing.places)
    ├── CheckFailed           1   a check or a threshold failed
    └── InvalidRun            4   it ran, but the instrument was the bottleneck

A message says what happened, where, and what to do. The command prints it as one sentence; a traceback
appears with `--debug` only. Classes of upper packages derive from these: the exit code is decided once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process tells its caller."""

    PASSED = 0
    CHECK_FAILED = 1
    USAGE = 2
    ENGINE = 3
    INVALID = 4
    INTERRUPTED = 130


class KubedynoError(Exception):
    """Base of all errors that a user may see."""

    exit_code: ExitCode = ExitCode.ENGINE


class UsageError(KubedynoError):
    """Wrong usage or input: names the option, file or field and what to write instead."""

    exit_code = ExitCode.USAGE


class NotApplicable(UsageError):
    """The scheduler cannot express what a scenario needs: names the need and the reason."""


@contextmanager
def located(where: str, *also: type[Exception]) -> Iterator[None]:
    """Within the block, a UsageError gets `where` put before it; exceptions of the kinds `also` become such errors."""
    kinds: tuple[type[Exception], ...] = (UsageError, *also)
    try:
        yield
    except kinds as error:
        raise UsageError(f"{where}: {error}") from None


class EngineError(KubedynoError):
    """The engine or the environment failed: names the component, the cause and the remedy."""


class ProgramError(EngineError):
    """A program is missing, broken, or could not be fetched or built."""


class ProcessFailure(EngineError):
    """A component's process exited, did not become healthy in time, or did not stop."""


class CheckFailed(KubedynoError):
    """A check or a threshold of a scenario failed."""

    exit_code = ExitCode.CHECK_FAILED


class InvalidRun(KubedynoError):
    """The run ended, but its numbers cannot be believed."""

    exit_code = ExitCode.INVALID
