"""Expressions compiled once and evaluated often."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from kubedyno.kube.cel.costs import weight
from kubedyno.kube.cel.errors import CelError, EvaluationError
from kubedyno.kube.cel.library import Library, Overload
from kubedyno.kube.cel.parsing import parsed
from kubedyno.kube.cel.planning import Planner
from kubedyno.kube.cel.running import Frame, Plan

BUDGET: Final = 1_000_000
"""Steps of one evaluation, about in cel-go's units of cost: what Kubernetes gives one expression."""


class Program(msgspec.Struct, frozen=True):
    """An expression that was understood. `evaluate` may be called from anywhere, any number of times."""

    text: str
    plan: Plan
    slots: int
    cost: int

    def evaluate(self, variables: Mapping[str, Any], *, budget: int = BUDGET) -> Any:
        """The value for these variables; an `EvaluationError` when there is none, `CostExceeded` past the budget."""
        frame = Frame(variables, self.slots, budget)
        frame.spend(self.cost)
        try:
            return self.plan(frame)
        except RecursionError:
            raise EvaluationError("expression is nested too deeply") from None


def compile(  # noqa: A001 - as the language calls it
    text: str, *, variables: Collection[str] | None = None, functions: Library | None = None
) -> Program:
    """Read an expression; a `CelSyntaxError` tells where it is wrong.

    Names that are not among the `variables` are refused (None: they are only looked for when it is evaluated).
    `functions` may be used besides the usual ones.
    """
    extra: dict[tuple[str, bool, int], list[Overload]] = {}
    for name, overloads in (functions or {}).items():
        for overload in overloads:
            extra.setdefault((name, overload.member, len(overload.takes)), []).append(overload)
    try:
        tree = parsed(text)
        planner = Planner(text, variables, extra)
        return Program(text, planner.plan(tree, {}), planner.slots, weight(tree))
    except RecursionError:
        raise CelError("expression is nested too deeply") from None
