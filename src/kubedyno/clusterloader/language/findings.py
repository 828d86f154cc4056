"""What is found while configs are read: all that is wrong, told at once, and what is odd."""

from kubedyno.clusterloader.config import Place, Remark
from kubedyno.kit.errors import UsageError


class Findings:
    """Collects problems, which stop, and remarks, which do not."""

    def __init__(self) -> None:
        self._problems: dict[str, list[Place]] = {}
        self._remarks: dict[Remark, None] = {}

    def problem(self, place: Place, text: str) -> None:
        """Something that must be put right. The same text in several places is told once, with the first of them."""
        self._problems.setdefault(text, []).append(place)

    def remark(self, place: Place, text: str) -> None:
        """Something that one should know."""
        self._remarks[Remark(place, text)] = None

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All of them, as they were found."""
        return tuple(self._remarks)

    @property
    def has_problems(self) -> bool:
        """Whether there is anything that stops."""
        return bool(self._problems)

    def stop_at_problems(self, file: str) -> None:
        """Raise a usage error that lists all problems, one a line; `file` is what was to be read."""
        told = [f"{_placed(places)}: {text}" for text, places in self._problems.items()]
        if len(told) == 1:
            raise UsageError(told[0])
        if told:
            raise UsageError("\n  ".join((f"{file} has {len(told)} problems:", *told)))


def _placed(places: list[Place]) -> str:
    more = len(places) - 1
    return f"{places[0]} (and {more} more place{'s' if more > 1 else ''})" if more else str(places[0])
