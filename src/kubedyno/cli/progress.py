"""How progress is drawn: a spinner with the elapsed time on a terminal, silence elsewhere."""

import sys

from kubedyno.kit.progress import Progress, Quiet


def renderer() -> Progress:
    """What fits standard error."""
    return _Terminal() if sys.stderr.isatty() else Quiet()


class _Terminal:
    """One line for each piece of work: spinning while it lasts, then what came of it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console = Console(stderr=True)
        self._bar = lambda: Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=self._console,
            transient=True,
        )
        self._what = ""

    def begin(self, what: str) -> None:
        """Start to spin."""
        self._what = what
        self._live = self._bar()
        self._live.start()
        self._task = self._live.add_task(what, total=None, note="")

    def note(self, text: str) -> None:
        """Show the note beside the current work, or as a line where none is going on."""
        if self._what:
            self._live.update(self._task, note=text)
        else:
            self._console.print(f"  {text}", style="dim", highlight=False)

    def end(self, outcome: str = "done") -> None:
        """Leave one line."""
        self._live.stop()
        self._console.print(f"[green]✓[/green] {self._what}: {outcome}", highlight=False)
        self._what = ""
