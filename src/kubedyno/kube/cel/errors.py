"""What can go wrong with an expression, in cel-go's words."""

from kubedyno.kit.errors import UsageError


class CelError(UsageError):
    """An expression cannot be read, or has no value."""


class CelSyntaxError(CelError):
    """The text is no expression. `line` and `column` count from 1, columns in characters."""

    def __init__(self, text: str, at: int, problem: str) -> None:
        before = text[:at]
        self.problem = problem
        self.line = before.count("\n") + 1
        self.column = at - (before.rfind("\n") + 1) + 1
        line = (text.split("\n") or [""])[self.line - 1].replace("\t", " ")
        dots = "." * (self.column - 1)
        super().__init__(f"ERROR: <input>:{self.line}:{self.column}: {problem}\n | {line}\n | {dots}^")


class ConstantError(CelError):
    """The text can be read, but a constant in it has no value (`int("a")`), even where it would not be reached."""


class EvaluationError(CelError):
    """The expression has no value for these variables: `no such key: x`, `division by zero`."""


class CostExceeded(EvaluationError):
    """The expression needs more steps than it was given."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload(name: str = "", *type_names: str) -> EvaluationError:
    """No function of that name takes values of these types; without a name for operators."""
    if not name:
        return EvaluationError("no such overload")
    return EvaluationError(f"no such overload: {name}({', '.join(type_names)})")
