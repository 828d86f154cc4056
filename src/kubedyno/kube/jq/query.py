"""Compile a query once, run it on many values."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kubedyno.kube.jq import paths
from kubedyno.kube.jq.compiling import compiled
from kubedyno.kube.jq.errors import EvaluationError, QueryError, QueryLimit
from kubedyno.kube.jq.parsing import parsed
from kubedyno.kube.jq.running import Budget, Code, Scope
from kubedyno.kube.jq.updating import fixed_path

_STEPS: Final = 100_000
_OUTPUTS: Final = 10_000


class Query:
    """A compiled query: holds no state of its runs, and never changes the values that it is run on."""

    __slots__ = ("_code", "_path", "_variables", "text")

    def __init__(self, text: str, code: Code, path: list[Any] | None, variables: tuple[str, ...]) -> None:
        self.text = text
        self._code = code
        self._path = path
        self._variables = variables

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def run(
        self,
        value: Any,
        variables: Mapping[str, Any] | None = None,
        *,
        steps: int = _STEPS,
        outputs: int = _OUTPUTS,
    ) -> Iterator[Any]:
        """The outputs, as they are asked for.

        EvaluationError when the query fails on the value; QueryLimit when it takes more than `steps` steps or gives
        more than `outputs` outputs. Outputs may share parts with the value: copy before changing them.
        """
        if self._path is not None and not self._variables:
            # `.a.b.c`, what most selectors are; where it fails, the code below tells the place.
            try:
                found = functools.reduce(paths.at, self._path, value)
            except EvaluationError:
                pass
            else:
                yield found
                return
        given = {f"${name.removeprefix('$')}": bound for name, bound in (variables or {}).items()}
        scope = Scope(Budget(steps), None, "", None, 0)
        for name in self._variables:
            if name not in given:
                raise EvaluationError(f"variable defined but not bound: {name}")
            scope = scope.binding(name, given[name])
        try:
            for count, (_, output) in enumerate(self._code(scope, None, value)):
                if count >= outputs:
                    raise QueryLimit(f"jq query {self.text!r} gives more than {outputs} outputs")
                yield output
        except EvaluationError as error:
            error.text = self.text
            raise
        except RecursionError:
            raise QueryLimit(f"jq query {self.text!r} nests too deeply on this value") from None


def compile(text: str, variables: Iterable[str] = ()) -> Query:  # noqa: A001  # jq.compile reads as re.compile does
    """The query that `text` says; `variables` are the names, with or without dollar, that each run binds.

    QueryError tells, with line and column, what is wrong with the text.
    """
    names = tuple(f"${name.removeprefix('$')}" for name in variables)
    try:
        tree = parsed(text)
        return Query(text, compiled(tree, text, names), fixed_path(tree), names)
    except RecursionError:
        raise QueryError("the query is nested too deeply", text, 0) from None
