"""Parts of pages that several of them have."""

from collections.abc import Iterable
from typing import Final

_TEXT: Final = ' class="text"'


def line(tag: str, cells: Iterable[str], *, texts: int, kind: str = "") -> str:
    """A line of a table of cells in HTML; the first `texts` of them are text, `kind` is the line's class."""
    marked = "".join(f"<{tag}{_TEXT if place < texts else ''}>{cell}</{tag}>" for place, cell in enumerate(cells))
    return f'<tr class="{kind}">{marked}</tr>' if kind else f"<tr>{marked}</tr>"
