"""The texts that tell indexes of a Job, like `0-3,5`: whether they can be read, and what they hold."""

import re
from typing import Final

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MOST_PARTS: Final = 2


class IndexesUnreadable(ValueError):
    """The text cannot be read; the message is that of the API server."""


def counted(text: str, completions: int) -> int:
    """How many indexes the text holds."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if last >= first and total:
            raise IndexesUnreadable(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def first_common(completed: str, failed: str, completions: int) -> int | None:
    """The first index that both texts hold; parts that cannot be read are passed over."""
    both = [
        max(left[0], right[0])
        for left in _readable(completed, completions)
        for right in _readable(failed, completions)
        if left[0] <= right[1] and right[0] <= left[1]
    ]
    return min(both, default=None)


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    intervals = []
    for part in text.split(",") if text else ():
        try:
            intervals.append(_interval(part, completions))
        except IndexesUnreadable:
            continue
    return intervals


def _interval(text: str, completions: int) -> tuple[int, int]:
    parts = text.split("-")
    if len(parts) > _MOST_PARTS:
        raise IndexesUnreadable(
            f'the fragment "{text}" violates the requirement that an index interval can have at most two parts '
            "separated by '-'"
        )
    first = _index(parts[0], completions)
    if len(parts) == 1:
        return first, first
    last = _index(parts[1], completions)
    if first >= last:
        raise IndexesUnreadable(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not _INTEGER.fullmatch(text):
        raise IndexesUnreadable(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise IndexesUnreadable(f'too large index: "{text}"')
    return int(text)
