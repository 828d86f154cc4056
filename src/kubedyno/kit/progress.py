"""How long work tells what it is doing; how it is drawn is the command's business."""

from typing import Protocol


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
