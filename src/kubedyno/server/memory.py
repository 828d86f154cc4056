"""What came out alike twice is believed, and remembered."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_SHAPES_AT_MOST: Final = 1000


class Memory(Generic[T]):
    """What became of requests, by their shapes; when there are too many, all are forgotten."""

    def __init__(self) -> None:
        self._seen_once: dict[Hashable, T] = {}
        self._known: dict[Hashable, T] = {}

    def get(self, shape: Hashable) -> T | None:
        """What becomes of all requests of that shape; None: that is not known."""
        return self._known.get(shape)

    def learn(self, shape: Hashable, outcome: T) -> None:
        """A request of that shape had this outcome."""
        chosen = self._known if self._seen_once.pop(shape, None) == outcome else self._seen_once
        if len(chosen) >= _SHAPES_AT_MOST:
            chosen.clear()
        chosen[shape] = outcome
