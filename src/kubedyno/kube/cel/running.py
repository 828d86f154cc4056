"""The state of one evaluation."""

from collections.abc import Callable, Mapping
from typing import Any

from kubedyno.kube.cel.errors import CostExceeded


class Frame:
    """Variables, the slots of macros, and how many steps are left."""

    __slots__ = ("left", "slots", "variables")

    def __init__(self, variables: Mapping[str, Any], slots: int, budget: int) -> None:
        self.variables = variables
        self.slots: list[Any] = [None] * slots
        self.left = budget

    def spend(self, steps: int) -> None:
        """Take steps from the budget."""
        self.left -= steps
        if self.left < 0:
            raise CostExceeded


Plan = Callable[[Frame], Any]
