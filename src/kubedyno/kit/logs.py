"""Logs for `--debug`: a constant message plus key=value pairs, on standard error."""

import logging
import sys

_ROOT = "kubedyno"


def configure(*, debug: bool = False) -> None:
    """Set up logging for a process; warnings and above unless `debug`."""
    logging.basicConfig(
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        level=logging.DEBUG if debug else logging.WARNING,
    )


class Log:
    """A logger of one component of ours."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{_ROOT}.{name}")

    def debug(self, message: str, **pairs: object) -> None:
        """Say what happens, for somebody who looks for a fault."""
        if self._logger.isEnabledFor(logging.DEBUG):
            self._logger.debug("%s", " ".join((message, *(f"{key}={value}" for key, value in pairs.items()))))

    def warning(self, message: str, **pairs: object) -> None:
        """Tell of something that is not as it should be, and goes on."""
        self._logger.warning("%s", " ".join((message, *(f"{key}={value}" for key, value in pairs.items()))))

    def exception(self, message: str, **pairs: object) -> None:
        """Tell of a fault of ours, with the traceback of the exception that is being handled."""
        self._logger.error(
            "%s",
            " ".join((message, *(f"{key}={value}" for key, value in pairs.items()))),
            exc_info=True,  # noqa: LOG014 - its callers handle one
        )
