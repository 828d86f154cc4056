"""How long work tells what it is doing; how it is drawn is the command's business."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

from kubedyno.kit.clock import NS_PER_S, Clock
from kubedyno.kit.units import format_duration


class Progress(Protocol):
    """One line of work after another: `begin`, any number of `note`, `end`."""

    def begin(self, what: str) -> None:
        """A piece of work starts (`building etcd v3.6.16`)."""
        ...

    def note(self, text: str) -> None:
        """Something about the current piece of work (`next: kube-apiserver, about 4 min`)."""
        ...

    def end(self, outcome: str = "done") -> None:
        """The current piece of work is over."""
        ...


class Quiet:
    """Says nothing."""

    def begin(self, what: str) -> None:
        """Ignore it."""

    def note(self, text: str) -> None:
        """Ignore it."""

    def end(self, outcome: str = "done") -> None:
        """Ignore it."""


@contextlib.contextmanager
def told(progress: Progress, clock: Clock, what: str) -> Iterator[list[str]]:
    """One piece of work, told with the time that it took, or that it failed.

    The block may append another outcome to the list that it gets.
    """
    outcome: list[str] = []
    begun_ns = clock.monotonic_ns()
    progress.begin(what)
    try:
        yield outcome
    except BaseException:
        progress.end("failed")
        raise
    took_s = (clock.monotonic_ns() - begun_ns) / NS_PER_S
    progress.end(outcome[-1] if outcome else f"done in {format_duration(took_s)}")
