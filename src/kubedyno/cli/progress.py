"""Where progress goes: to a terminal, or nowhere."""

import functools
import sys
from typing import TYPE_CHECKING

from kubedyno.kit.progress import Progress, Quiet

if TYPE_CHECKING:
    from kubedyno.cli.terminal import Terminal


def renderer() -> Progress:
    """What fits standard error."""
    return _Drawn() if sys.stderr.isatty() else Quiet()


class _Drawn:
    """A terminal that is made when there is something to draw: by then the work that takes time has begun."""

    @functools.cached_property
    def _terminal(self) -> "Terminal":
        from kubedyno.cli.terminal import Terminal

        return Terminal()

    def begin(self, what: str) -> None:
        """Start to spin."""
        self._terminal.begin(what)

    def note(self, text: str) -> None:
        """Show the note beside the current work."""
        self._terminal.note(text)

    def end(self, outcome: str = "done") -> None:
        """Leave one line."""
        self._terminal.end(outcome)
