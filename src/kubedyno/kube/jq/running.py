"""What the evaluation of a query passes around: bound names, paths, and the budget of steps."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from kubedyno.kube.jq.errors import EvaluationError, QueryLimit
from kubedyno.kube.jq.values import described

_DEEPEST_CALLS: Final = 100

# None: nobody asks for paths. Otherwise the keys that lead to the value, or OFF_PATH for a value made on the way.
Path = tuple[Any, ...] | None
Output = tuple[Path, Any]
OFF_PATH: Final[Path] = (object(),)


class Budget:
    """How many steps are left; shared by all that one run evaluates."""

    __slots__ = ("_left", "_steps")

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._left = steps

    def spend(self) -> None:
        """One step is taken; QueryLimit when there is none left."""
        self._left -= 1
        if self._left < 0:
            raise QueryLimit(f"a jq query takes more than {self._steps} steps; does it loop?")


class Scope:
    """One bound name and the names bound before it: variables (`$x`) and functions (`f/1`)."""

    __slots__ = ("bound", "budget", "depth", "name", "outer")

    def __init__(self, budget: Budget, outer: "Scope | None", name: str, bound: Any, depth: int) -> None:
        self.budget = budget
        self.outer = outer
        self.name = name
        self.bound = bound
        self.depth = depth

    def binding(self, name: str, bound: Any) -> "Scope":
        """This scope with one more name."""
        return Scope(self.budget, self, name, bound, self.depth)

    def called_from(self, caller: "Scope") -> "Scope":
        """This scope for the body of a function: one call deeper than the caller."""
        if caller.depth >= _DEEPEST_CALLS:
            raise QueryLimit(f"a jq query calls functions more than {_DEEPEST_CALLS} levels deep")
        return Scope(self.budget, self, "", None, caller.depth + 1)

    def found(self, name: str) -> "Scope":
        """The innermost scope that binds the name; that it is bound was checked when the query was compiled."""
        scope: Scope | None = self
        while scope is not None:
            if scope.name == name:
                return scope
            scope = scope.outer
        raise EvaluationError(f"variable defined but not bound: {name}")


Code = Callable[[Scope, Path, Any], Iterator[Output]]


class Closure:
    """An argument that is a query: its code and the scope in which it was written."""

    __slots__ = ("code", "scope")

    def __init__(self, code: Code, scope: Scope) -> None:
        self.code = code
        self.scope = scope


class Broken(Exception):
    """`break`: unwinds to the label that it names."""

    def __init__(self, label: object) -> None:
        super().__init__("break")
        self.label = label


def off(path: Path) -> Path:
    """The path of a value that was made, not found."""
    return None if path is None else OFF_PATH


def stepped(path: Path, key: Any, value: Any, doing: str = "") -> Path:
    """The path one key further; `value` is where it stood."""
    if path is None:
        return None
    if path is OFF_PATH:
        raise EvaluationError(f"invalid path {doing}against: {described(value)}")
    return (*path, key)


def values(code: Code, scope: Scope, value: Any) -> Iterator[Any]:
    """The outputs without their paths."""
    for _, output in code(scope, None, value):
        yield output


def all_paths(code: Code, scope: Scope, value: Any) -> Iterator[list[Any]]:
    """The paths of all outputs; an output that was made has none, and is refused."""
    for path, output in code(scope, (), value):
        if path is OFF_PATH or path is None:
            raise EvaluationError(f"invalid path against: {described(output)}")
        yield list(path)
