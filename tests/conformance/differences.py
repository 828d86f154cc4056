"""The page of allowed differences, as data: a row per id."""

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "embedded-differences.md"
AT_MOST = 20


def listed() -> list[str]:
    """The ids in the first column of the page's table."""
    rows = [line.strip().strip("|").split("|") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [cells[0].strip(" `") for cells in rows[2:]]
