"""The keys of a resource in order, cheap to change and to count: what etcd's B-tree is for."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import islice
from typing import Final

_BLOCK_KEYS: Final = 512
"""A block is cut in half at twice this size: moving its tail on an insert costs less than finding the place."""


class SortedKeys:
    """A set of texts, ordered by code point as etcd orders them by UTF-8 byte.

    Blocks of sorted lists, and the last key of each: adding and removing touch one block. Ranges are half open;
    a `stop` of None is the end.
    """

    def __init__(self) -> None:
        self._blocks: list[list[str]] = []
        self._lasts: list[str] = []

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def __iter__(self) -> Iterator[str]:
        return self.walk("", None)

    def add(self, key: str) -> None:
        """Put a key that is not there to its place."""
        if not self._blocks:
            self._blocks.append([key])
            self._lasts.append(key)
            return
        index = min(bisect_left(self._lasts, key), len(self._lasts) - 1)
        block = self._blocks[index]
        insort(block, key)
        if len(block) > 2 * _BLOCK_KEYS:
            self._blocks.insert(index + 1, block[_BLOCK_KEYS:])
            self._lasts.insert(index + 1, block[-1])
            del block[_BLOCK_KEYS:]
        self._lasts[index] = block[-1]

    def remove(self, key: str) -> None:
        """Take out a key that is there."""
        index = bisect_left(self._lasts, key)
        block = self._blocks[index]
        del block[bisect_left(block, key)]
        if block:
            self._lasts[index] = block[-1]
        else:
            del self._blocks[index], self._lasts[index]

    def walk(self, start: str, stop: str | None) -> Iterator[str]:
        """The keys from `start` up to `stop`, in order; do not add or remove while walking."""
        for block in islice(self._blocks, bisect_left(self._lasts, start), None):
            first = bisect_left(block, start)
            if stop is not None and block[-1] >= stop:
                yield from islice(block, first, bisect_left(block, stop))
                return
            yield from islice(block, first, None)

    def count(self, start: str, stop: str | None) -> int:
        """How many keys there are from `start` up to `stop`."""
        end = len(self) if stop is None else self._rank(stop)
        return max(end - self._rank(start), 0)

    def _rank(self, key: str) -> int:
        """How many keys come before `key`."""
        index = bisect_left(self._lasts, key)
        before = sum(map(len, islice(self._blocks, index)))
        return before + (bisect_left(self._blocks[index], key) if index < len(self._blocks) else 0)
