"""Parts of pages that several of them have."""

from collections.abc import Iterable
from typing import Final

_TEXT: Final = ' class="text"'
_LARGE: Final = 10_000
"""From here on decimals say nothing."""


def line(tag: str, cells: Iterable[str], *, texts: int, kind: str = "") -> str:
    """A line of a table of cells in HTML; the first `texts` of them are text, `kind` is the line's class."""
    marked = "".join(f"<{tag}{_TEXT if place < texts else ''}>{cell}</{tag}>" for place, cell in enumerate(cells))
    return f'<tr class="{kind}">{marked}</tr>' if kind else f"<tr>{marked}</tr>"


def number(value: float) -> str:
    """Four digits are more than any of them is good for."""
    return f"{value:,.0f}" if abs(value) >= _LARGE or value == int(value) else f"{value:.4g}"
