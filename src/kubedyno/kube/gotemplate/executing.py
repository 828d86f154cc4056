"""One rendering: walks the trees with a cursor and variables, within bounds, and tells errors where Go tells them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubedyno.kube.gotemplate import nodes
from kubedyno.kube.gotemplate.arguments import (
    Mismatch,
    check_count,
    constant,
    literal,
    nil,
    not_callable,
    typed,
)
from kubedyno.kube.gotemplate.formatting import sprint
from kubedyno.kube.gotemplate.functions import Functions, Parameter
from kubedyno.kube.gotemplate.nodes import Node
from kubedyno.kube.gotemplate.problems import LimitExceeded, Limits, TemplateError
from kubedyno.kube.gotemplate.quoting import quoted
from kubedyno.kube.gotemplate.values import MISSING, NIL, Boxed, go_bytes, truth, type_name, unboxed

_NOTHING: Final = object()  # no value came down the pipeline
_CHARACTERS_PER_STEP: Final = 64
_SHORT_CIRCUITS: Final = {"and": False, "or": True}


class _Break(Exception):
    """The innermost range ends."""


class _Continue(Exception):
    """The innermost range goes on with its next element."""


class Source:
    """The text that was parsed, for the positions in errors."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def place(self, at: int) -> str:
        """`name:line:column`; lines from 1, columns in bytes from 0, as Go counts them."""
        before = self.text[:at]
        line = before.count("\n") + 1
        column = len(go_bytes(before[before.rfind("\n") + 1 :]))
        return f"{self.name}:{line}:{column}"


class Execution:
    """The state of one rendering; make one for each. `missing_key`: default, zero or error, as Go's option."""

    def __init__(
        self,
        source: Source,
        trees: Mapping[str, Sequence[Node]],
        functions: Functions,
        built_ins: Functions,
        *,
        missing_key: str,
        limits: Limits,
    ) -> None:
        self.source = source
        self.trees = trees
        self.functions = functions
        self.built_ins = built_ins
        self.missing_key = missing_key
        self.limits = limits
        self.running = source.name  # the template that is being rendered
        self.node: Any = None  # what is being evaluated: errors are told there
        self.variables: list[tuple[str, Any]] = []
        self.parts: list[str] = []
        self.length = self.steps = self.depth = 0

    def render(self, name: str, data: Any) -> str:
        """What the template of this name prints for the data."""
        dot = MISSING if data is None else data
        self.running = name
        self.variables = [("$", dot)]
        try:
            self._walk(dot, self.trees[name])
        except RecursionError as error:
            raise self._beyond("nesting", self.limits.nesting) from error
        return "".join(self.parts)

    # Errors and bounds

    def _failure(self, message: str) -> TemplateError:
        return TemplateError(self._told(message))

    def _told(self, message: str) -> str:
        if self.node is None:
            return f"template: {self.running}: {message}"
        place = self.source.place(self.node.at)
        return f"template: {place}: executing {quoted(self.running)} at <{self.node}>: {message}"

    def _beyond(self, what: str, bound: int) -> LimitExceeded:
        remedies = {
            "output": "characters are printed; print less, or look for a loop over too much",
            "steps": "steps are taken; look for nested loops over too much, or render less at once",
            "nesting": "levels stand in one another; look for a template that calls itself without end",
        }
        return LimitExceeded(self._told(f"more than {bound} {remedies[what]}"))

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self.limits.steps:
            raise self._beyond("steps", self.limits.steps)

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > self.limits.nesting:
            raise self._beyond("nesting", self.limits.nesting)

    def _write(self, text: str) -> None:
        self.length += len(text)
        if self.length > self.limits.output:
            raise self._beyond("output", self.limits.output)
        self.parts.append(text)

    # Lists and controls

    def _walk(self, dot: Any, body: Sequence[Node]) -> None:
        for node in body:
            self._step()
            match node:
                case nodes.Text():
                    self._write(node.text)
                case nodes.Action():
                    self.node = node
                    value = self._pipeline(dot, node.pipe)
                    if not node.pipe.variables:
                        self.node = node
                        self._print(value)
                case nodes.If() | nodes.With():
                    self._if_or_with(dot, node)
                case nodes.Range():
                    self._range(dot, node)
                case nodes.Call():
                    self._call_template(dot, node)
                case nodes.Break():
                    raise _Break
                case nodes.Continue():
                    raise _Continue

    def _print(self, value: Any) -> None:
        if value is MISSING:
            self._write("<no value>")
        elif type(value) is str:
            self._write(value)
        else:
            self._write(self._printed(value))

    def _printed(self, value: Any) -> str:
        try:
            return sprint((value,), self.limits.output)
        except LimitExceeded as error:
            raise self._beyond("output", self.limits.output) from error

    def _if_or_with(self, dot: Any, node: nodes.If | nodes.With) -> None:
        self._enter()
        known = len(self.variables)
        value = self._pipeline(dot, node.pipe)
        if truth(value):
            self._walk(value if isinstance(node, nodes.With) else dot, node.body)
        elif node.otherwise is not None:
            self._walk(dot, node.otherwise)
        del self.variables[known:]
        self.depth -= 1

    def _range(self, dot: Any, node: nodes.Range) -> None:
        self._enter()
        depth, known = self.depth, len(self.variables)
        self.node = node
        value = self._pipeline(dot, node.pipe)
        try:
            if not self._each(node, value) and node.otherwise is not None:
                self._walk(dot, node.otherwise)
        except _Break:
            pass
        del self.variables[known:]
        self.depth = depth - 1

    def _each(self, node: nodes.Range, value: Any) -> bool:
        """The body for each element; whether there was one."""
        match value:
            case list():
                for position, element in enumerate(value):
                    self._once(node, position, Boxed(element))
            case dict():
                for key in sorted(value):
                    self._once(node, key, Boxed(value[key]))
            case int() if not isinstance(value, bool):
                if len(node.pipe.variables) > 1:
                    raise self._failure(f"can't use {value:d} to iterate over more than one variable")
                for position in range(value):
                    self._once(node, MISSING, position)
                return value > 0
            case _ if value is not MISSING:
                raise self._failure(f"range can't iterate over {self._printed(value)}")
        return value is not MISSING and bool(value)

    def _once(self, node: nodes.Range, position: Any, element: Any) -> None:
        self._step()
        pipe = node.pipe
        given = (element,) if len(pipe.variables) == 1 else (position, element)
        known, depth = len(self.variables), self.depth
        for place, (variable, value) in enumerate(zip(pipe.variables, given, strict=False)):
            if pipe.assigns:
                self._assign(variable.names[0], value)
            else:
                top = known - len(pipe.variables) + place
                self.variables[top] = (variable.names[0], value)
        try:
            self._walk(element, node.body)
        except _Continue:
            pass
        finally:
            del self.variables[known:]
            self.depth = depth

    def _call_template(self, dot: Any, node: nodes.Call) -> None:
        self.node = node
        body = self.trees.get(node.name)
        if body is None:
            raise self._failure(f"template {quoted(node.name)} not defined")
        self._enter()
        dot = MISSING if node.pipe is None else self._pipeline(dot, node.pipe)
        outer = self.running, self.variables
        self.running, self.variables = node.name, [("$", dot)]
        self._walk(dot, body)
        self.running, self.variables = outer
        self.depth -= 1

    # Pipelines

    def _pipeline(self, dot: Any, pipe: nodes.Pipe) -> Any:
        self.node = pipe
        self._enter()
        value: Any = _NOTHING
        for command in pipe.commands:
            value = unboxed(self._command(dot, command, value))
        for variable in pipe.variables:
            if pipe.assigns:
                self._assign(variable.names[0], value)
            else:
                self.variables.append((variable.names[0], value))
        self.depth -= 1
        return value

    def _assign(self, name: str, value: Any) -> None:
        for place in range(len(self.variables) - 1, -1, -1):
            if self.variables[place][0] == name:
                self.variables[place] = (name, value)
                return
        raise self._failure(f"undefined variable: {name}")

    def _variable(self, name: str) -> Any:
        for known, value in reversed(self.variables):
            if known == name:
                return value
        raise self._failure(f"undefined variable: {name}")

    def _command(self, dot: Any, command: nodes.Command, final: Any) -> Any:
        self._step()
        args = command.args
        first = args[0]
        match first:
            case nodes.Field() | nodes.Variable() | nodes.Chain() | nodes.Identifier():
                return self._evaluated(dot, first, args, final, command)
            case nodes.Pipe():
                self._no_arguments(args, final)
                return self._pipeline(dot, first)
        self.node = first
        self._no_arguments(args, final)
        if isinstance(first, nodes.Dot):
            return dot
        try:
            return constant(first)
        except Mismatch as mismatch:
            raise self._failure(str(mismatch)) from mismatch

    def _no_arguments(self, args: Sequence[Node], final: Any) -> None:
        if len(args) > 1 or final is not _NOTHING:
            raise self._failure(f"can't give argument to non-function {args[0]}")

    def _evaluated(self, dot: Any, node: Node, args: Sequence[Node], final: Any, cited: Any) -> Any:
        """A field, a variable, a chain or a function with its arguments; `cited`: where a function's error is told."""
        self.node = node
        match node:
            case nodes.Field():
                return self._fields(dot, node.names, args, final)
            case nodes.Variable():
                value = self._variable(node.names[0])
                if len(node.names) == 1:
                    self._no_arguments(args, final)
                    return value
                return self._fields(value, node.names[1:], args, final)
            case nodes.Chain():
                inner = node.node
                if isinstance(inner, nodes.Pipe):
                    receiver = self._pipeline(dot, inner)
                else:
                    receiver = self._evaluated(dot, inner, (inner,), _NOTHING, inner)
                return self._fields(receiver, node.names, args, final)
            case nodes.Identifier():
                try:
                    return self._function(dot, node.name, args, final, cited)
                except Mismatch as mismatch:
                    raise self._failure(str(mismatch)) from mismatch
        raise self._failure(f"can't evaluate command {quoted(str(node))}")

    def _fields(self, receiver: Any, names: Sequence[str], args: Sequence[Node], final: Any) -> Any:
        last = len(names) - 1
        for place, name in enumerate(names):
            if receiver is MISSING:
                if self.missing_key == "error":
                    raise self._failure(f"nil data; no entry for key {quoted(name)}")
                continue
            if type(receiver) is Boxed and receiver.value is None:
                raise self._failure(f"nil pointer evaluating interface {{}}.{name}")
            held = receiver.value if type(receiver) is Boxed else receiver
            if not isinstance(held, dict):
                raise self._failure(f"can't evaluate field {name} in type {type_name(receiver)}")
            if place == last and (len(args) > 1 or final is not _NOTHING):
                raise self._failure(f"{name} is not a method but has arguments")
            if name in held:
                receiver = Boxed(held[name])
            elif self.missing_key == "error":
                raise self._failure(f"map has no entry for key {quoted(name)}")
            else:
                receiver = NIL if self.missing_key == "zero" else MISSING
        return receiver

    # Functions

    def _function(self, dot: Any, name: str, args: Sequence[Node], final: Any, cited: Any) -> Any:
        function = self.functions.get(name)
        built_in = function is None
        function = function or self.built_ins[name]
        args = args[1:]
        check_count(name, function, len(args), piped=final is not _NOTHING)
        if built_in and name in _SHORT_CIRCUITS:
            value: Any = MISSING
            for arg in args:
                value = self._argument(dot, Parameter.VALUE, arg)
                if truth(value) is _SHORT_CIRCUITS[name]:
                    return value
            return value if final is _NOTHING else final
        given = [self._argument(dot, function.parameter(place), arg) for place, arg in enumerate(args)]
        if final is not _NOTHING:
            given.append(typed(final, function.parameter(len(args))))
        if built_in and name == "call":
            self.node = cited
            raise self._failure(f"error calling call: {not_callable(str(args[0]) if args else None, given[0])}")
        try:
            result = function.call(*given)
        except ValueError as error:
            self.node = cited
            raise self._failure(f"error calling {name}: {error}") from error
        except LimitExceeded as error:
            raise self._beyond("output", self.limits.output) from error
        if isinstance(result, str):
            self.steps += len(result) // _CHARACTERS_PER_STEP
            if len(result) > self.limits.output:
                raise self._beyond("output", self.limits.output)
        return NIL if result is None else result

    def _argument(self, dot: Any, parameter: Parameter, node: Node) -> Any:
        self.node = node
        match node:
            case nodes.Nil():
                return nil(parameter)
            case nodes.Dot():
                return typed(dot, parameter)
            case nodes.Pipe():
                return typed(self._pipeline(dot, node), parameter)
            case nodes.Field() | nodes.Variable() | nodes.Chain() | nodes.Identifier():
                return typed(self._evaluated(dot, node, (node,), _NOTHING, node), parameter)
        return literal(node, parameter)
