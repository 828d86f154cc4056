"""Progress on a terminal: a spinner with the elapsed time."""

import atexit

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn


class Terminal:
    """One line for each piece of work: spinning while it lasts, then what came of it."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar: Bar | None = None
        self._task = TaskID(0)
        self._what = ""
        atexit.register(self._stop)  # an interrupted command must not leave the cursor hidden

    def begin(self, what: str) -> None:
        """Start to spin."""
        self._what = what
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[note]}"),
            console=self._console,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(what, total=None, note="")

    def note(self, text: str) -> None:
        """Show the note beside the current work, or as a line where none is going on."""
        if self._bar is not None:
            self._bar.update(self._task, note=text)
        else:
            self._console.print(f"  {text}", style="dim", highlight=False)

    def end(self, outcome: str = "done") -> None:
        """Leave one line."""
        self._stop()
        mark = "[red]✗[/red]" if outcome == "failed" else "[green]✓[/green]"
        self._console.print(f"{mark} {self._what}: {outcome}", highlight=False)

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
