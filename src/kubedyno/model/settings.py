"""A setting of a component, what was asked for, what was read back, and how far that can be believed."""

from enum import StrEnum

import msgspec

from kubedyno.kit.errors import UsageError
from kubedyno.kit.units import parse_duration_s


class Evidence(StrEnum):
    """How we know a setting's value; `argv` alone is never shown as confirmed."""

    REPORTED = "reported"
    """The component says so: an endpoint or a metric."""
    BEHAVED = "behaved"
    """Its rate shows it."""
    ARGV = "argv"
    """Only the command line of its process says so."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One effective setting."""

    component: str
    field: str
    wanted: str | None
    """What was asked for; None: nobody asked, the value is the component's own."""
    value: str
    """What was read back."""
    evidence: Evidence
    source: str
    """Where it was read: a URL or `/proc/<pid>/cmdline`."""

    @property
    def contradicted(self) -> bool:
        """Whether the component runs with another value than the one asked for."""
        return self.wanted is not None and canonical(self.wanted) != canonical(self.value)


def canonical(text: str) -> str:
    """The value in a form that can be compared: numbers, booleans and durations however they are written."""
    lowered = text.strip().lower()
    if lowered in {"true", "false"}:
        return lowered
    try:
        return repr(float(lowered))
    except ValueError:
        pass
    try:
        return f"{round(parse_duration_s(text.strip()), 9)!r}s"
    except UsageError:
        return text.strip()
