"""Names to things: explicit, filled in one place, duplicates refused."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion

Item = TypeVar("Item")


class Registry(Generic[Item]):
    """A named collection of one kind of thing (`what`, for messages)."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._items: dict[str, Item] = {}

    def register(self, name: str, item: Item) -> None:
        """Add `item`; a second one of that name is a programming error."""
        if name in self._items:
            raise ValueError(f"{self._what} {name!r} is registered twice")
        self._items[name] = item

    def get(self, name: str) -> Item:
        """The item of that name, or a usage error that names the nearest one."""
        try:
            return self._items[name]
        except KeyError:
            raise UsageError(f"there is no {self._what} {name!r}: {suggestion(name, self._items)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._items))

    def __contains__(self, name: object) -> bool:
        return name in self._items
