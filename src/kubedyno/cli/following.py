"""The live view of `kubedyno sample --follow`: a table on a terminal, else a line every few seconds."""

import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from rich.table import Table

    from kubedyno.kit.clock import Clock
    from kubedyno.lab.sampling import Show
    from kubedyno.measure.following import Following
    from kubedyno.measure.live import Live, LiveFigures
    from kubedyno.model.samples import Lag

_DRAW_EVERY_S: Final = 1.0
_SAY_EVERY_S: Final = 5.0
_PODS_WAY: Final = ("created", "scheduled", "running")


def shown(clock: "Clock") -> "Show":
    """What shows how it goes on standard error."""

    async def draw(live: "Live", following: "Following") -> None:
        from rich.console import Console
        from rich.live import Live as Screen

        with Screen(console=Console(stderr=True), auto_refresh=False, transient=True) as screen:
            while True:
                screen.update(table(live.figures(clock.wall_ns()), _lag(following)), refresh=True)
                await clock.sleep(_DRAW_EVERY_S)

    async def say(live: "Live", following: "Following") -> None:
        while True:
            click.echo(line(live.figures(clock.wall_ns()), _lag(following)), err=True)
            await clock.sleep(_SAY_EVERY_S)

    return draw if sys.stderr.isatty() else say


def table(figures: "LiveFigures", lag: "Lag | None") -> "Table":
    """All phases with their counts, rates and times since submission."""
    from rich.table import Table

    drawn = Table(title=_progress(figures), caption=_lag_text(lag), title_justify="left", caption_justify="left")
    drawn.add_column("object")
    drawn.add_column("phase")
    for name in ("count", "per s", "p50", "p99"):
        drawn.add_column(name, justify="right")
    for phase in figures.phases:
        drawn.add_row(
            phase.role,
            phase.phase,
            str(phase.objects),
            f"{phase.per_s:.1f}",
            time_text(phase.p50_s),
            time_text(phase.p99_s),
        )
    return drawn


def line(figures: "LiveFigures", lag: "Lag | None") -> str:
    """The same in short: how many pods got how far."""
    pods = {phase.phase: phase for phase in figures.phases if phase.role == "pod"}
    parts = [f"{pods[name].objects} {name} ({pods[name].per_s:.1f}/s)" for name in _PODS_WAY if name in pods]
    last = next((pods[name] for name in reversed(_PODS_WAY) if name in pods), None)
    if last is not None:
        parts.append(f"{last.phase} after {time_text(last.p50_s)} (p50), {time_text(last.p99_s)} (p99)")
    return "; ".join((_progress(figures), f"pods: {', '.join(parts) or 'none yet'}", _lag_text(lag)))


def time_text(duration_s: float | None) -> str:
    """A time with three digits or so: milliseconds below a second."""
    if duration_s is None:
        return ""
    return f"{duration_s * 1000:.1f} ms" if abs(duration_s) < 1 else f"{duration_s:.2f} s"


def _lag(following: "Following") -> "Lag | None":
    return following.lags.summary() if following.lags is not None else None


def _progress(figures: "LiveFigures") -> str:
    refused = f", {figures.refused} refused" if figures.refused else ""
    return f"{figures.done} of {figures.submitted} workloads run or have ended{refused}"


def _lag_text(lag: "Lag | None") -> str:
    return "lag unknown" if lag is None else f"lag {time_text(lag.p50_s)} (p50), {time_text(lag.p99_s)} (p99)"
