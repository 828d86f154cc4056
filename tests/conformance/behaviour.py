"""What a behaviour is: a sentence, and a short function that speaks with one server."""

from collections.abc import Awaitable, Callable
from typing import overload

import msgspec
from tests.conformance.api import Api

Steps = Callable[[Api], Awaitable[None]]


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that an API server does.

    `differs` is the id of the row in docs/embedded-differences.md that allows the servers to differ. With `controlled`
    a controller of the real control plane writes to the same objects: their status and versions are not compared.
    """

    area: str
    name: str
    steps: Steps
    differs: str | None = None
    controlled: bool = False

    @property
    def sentence(self) -> str:
        """Area and name, as the test is called."""
        return f"{self.area}: {self.name.replace('_', ' ')}"


BEHAVIOURS: dict[str, Behaviour] = {}
"""All behaviours by their sentence, in the order of their modules."""


@overload
def behaviour(steps: Steps, /) -> Steps: ...
@overload
def behaviour(*, differs: str | None = None, controlled: bool = False) -> Callable[[Steps], Steps]: ...


def behaviour(
    steps: Steps | None = None, /, *, differs: str | None = None, controlled: bool = False
) -> Steps | Callable[[Steps], Steps]:
    """Register a function as a behaviour: its module is the area, its name the sentence."""

    def register(steps: Steps) -> Steps:
        area, name = steps.__module__.rpartition(".")[2], steps.__name__
        made = Behaviour(area=area, name=name, steps=steps, differs=differs, controlled=controlled)
        if made.sentence in BEHAVIOURS:
            raise ValueError(f"two behaviours say {made.sentence!r}")
        BEHAVIOURS[made.sentence] = made
        return steps

    return register if steps is None else register(steps)
