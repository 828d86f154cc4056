"""Figures and columns for a person at a terminal."""

from collections.abc import Sequence
from typing import Final

_LARGE: Final = 10_000


def aligned(rows: Sequence[Sequence[str]], *, numbers: int) -> str:
    """Columns; the last `numbers` of them are aligned to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    first_number = len(widths) - numbers
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place >= first_number else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def number(value: float) -> str:
    """Four digits are more than any of them is good for."""
    if abs(value) >= _LARGE or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.4g}"
