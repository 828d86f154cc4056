"""What can go wrong with a jq query: it cannot be read, it fails on a value, or it does not come to an end."""

from typing import Any, Final

from kubedyno.kit.errors import UsageError

_SHOWN_CHARS: Final = 80


def _place(text: str, offset: int) -> str:
    """`line 1, column 5 of jq query '...'`; both count from one, columns in characters."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
    return f"line {line}, column {column} of jq query {shown!r}"


class QueryError(UsageError):
    """The text is no query. `message` is in gojq's words; `offset` is the character where it goes wrong."""

    def __init__(self, message: str, text: str, offset: int) -> None:
        super().__init__(f"{message} at {_place(text, offset)}")
        self.message = message
        self.offset = offset


class EvaluationError(UsageError):
    """The query failed on this value. `message` is in gojq's words, `value` is what `catch` sees.

    `offset` is the character of the query that failed; None until the place is known.
    """

    def __init__(self, message: str, value: Any = None, *, has_value: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.value = value if has_value else message
        self.offset: int | None = None
        self.text = ""

    def __str__(self) -> str:
        if self.offset is None or not self.text:
            return self.message
        return f"{self.message} at {_place(self.text, self.offset)}"


class QueryLimit(UsageError):
    """The query would take too many steps, too deep calls or too much room; `try` does not catch it."""
