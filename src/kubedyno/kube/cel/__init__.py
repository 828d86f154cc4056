"""The Common Expression Language as Kubernetes 1.36 uses it."""

from kubedyno.kube.cel.errors import CelError, CelSyntaxError, ConstantError, CostExceeded, EvaluationError
from kubedyno.kube.cel.program import BUDGET, Program, compile  # noqa: A004 - as the language calls it

__all__ = [
    "BUDGET",
    "CelError",
    "CelSyntaxError",
    "ConstantError",
    "CostExceeded",
    "EvaluationError",
    "Program",
    "compile",
]
