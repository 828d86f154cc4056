"""Parameters of a measurement or a dependency, read by type; what is wrong is told with its place in the config."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kubedyno.clusterloader.config import Place
from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s

T = TypeVar("T")


class Selector(msgspec.Struct, frozen=True):
    """Which objects are meant; None: no limit of that kind."""

    namespace: str | None = None
    labels: str | None = None
    fields: str | None = None

    def __str__(self) -> str:
        parts = (("namespace", self.namespace), ("labelSelector", self.labels), ("fieldSelector", self.fields))
        return ", ".join(f"{name} {value!r}" for name, value in parts if value) or "all namespaces"


SELECTOR_PARAMS = ("namespace", "labelSelector", "fieldSelector")


class Params:
    """The parameters of one call."""

    def __init__(self, values: Mapping[str, Any], *, of: str, place: Place) -> None:
        self._values = values
        self._of = of
        self._place = place

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    @property
    def selector(self) -> Selector:
        """Of the objects that are meant."""
        named = (self.text(name, "") or None for name in SELECTOR_PARAMS)
        return Selector(*named)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; without a default it must be there."""
        value = self._value(name, default)
        if isinstance(value, bool | dict | list):
            raise self._wrong(name, value, "a text")
        return str(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false, also as a text."""
        value = self._value(name, default)
        if isinstance(value, str) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def number(self, name: str, default: float | None = None) -> float:
        """A number, also as a text."""
        value = self._value(name, default)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise self._wrong(name, value, "a number") from None

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number, also as a text or as 5.0."""
        value = self.number(name, default)
        if value != int(value):
            raise self._wrong(name, value, "a whole number")
        return int(value)

    def duration_s(self, name: str, default: str | None = None) -> float:
        """A duration like 5m30s, in seconds."""
        value = self._value(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, value, 'a duration with its unit, like "5m"')
        try:
            return parse_duration_s(value)
        except UsageError as error:
            raise UsageError(f"{self._told(name)}: {error}") from None

    def listed(self, name: str, default: Sequence[Any] | None = None) -> list[Any]:
        """A list."""
        value = self._value(name, default)
        if not isinstance(value, list | tuple):
            raise self._wrong(name, value, "a list")
        return list(value)

    def mapping(self, name: str, default: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """A mapping."""
        value = self._value(name, default)
        if not isinstance(value, dict):
            raise self._wrong(name, value, "a mapping")
        return value

    def below(self, name: str, values: Mapping[str, Any]) -> "Params":
        """The parameters of a part, as one of a list."""
        return Params(values, of=f"{self._of} {name}", place=self._place)

    def also(self, values: Mapping[str, Any]) -> "Params":
        """The same parameters with others beside them, or in their place."""
        return Params({**self._values, **values}, of=self._of, place=self._place)

    def chosen(self, name: str, choices: Mapping[str, T]) -> T:
        """What one of some words stands for."""
        value = self.text(name)
        if value not in choices:
            raise self._wrong(name, value, f"one of {', '.join(choices)}")
        return choices[value]

    def _value(self, name: str, default: Any) -> Any:
        value = self._values.get(name)
        if value is None:
            value = default
        if value is None:
            raise UsageError(f"{self._told(name)} is missing: it has no default")
        return value

    def _told(self, name: str) -> str:
        return f"{self._place}: {self._of}: {name}"

    def _wrong(self, name: str, value: Any, wanted: str) -> UsageError:
        return UsageError(f"{self._told(name)}: {value!r} is not {wanted}")
