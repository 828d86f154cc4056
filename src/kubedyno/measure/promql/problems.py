"""What is wrong with a query, and where."""

from typing import Final

from kubedyno.kit.errors import UsageError

_SHOWN_CHARS: Final = 200


class Misfit(Exception):
    """Values that do not fit together; whoever knows the place in the query makes a `refusal` of it."""


def refusal(message: str, text: str, at: int) -> UsageError:
    """The error about the character `at` (from zero) of a query: line and column count from one."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
    return UsageError(f"line {line}, column {column} of the query {shown!r}: {message}")
