"""What all distortions of an exporter have in common."""

from enum import IntEnum
from typing import ClassVar

import msgspec


class Stage(IntEnum):
    """When a distortion comes: those that find zones by their numbers before those that change these."""

    COUNT = 0
    TELL = 1
    NUMBER = 2
    NAME = 3


class BaseDistortion(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """One thing that is wrong: `apply` makes of a draft another one.

    It raises UsageError where it names a zone or resource that the draft does not have.
    """

    stage: ClassVar[Stage] = Stage.TELL

    @property
    def kind(self) -> str:
        """`more-available`, `swapped-zones`, ..."""
        return str(self.__struct_config__.tag)

    def check(self) -> None:
        """Raise UsageError for values that make no sense."""
