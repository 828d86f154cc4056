"""From the tree of a query to code that runs: one closure for each part, names checked on the way."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from kubedyno.kube.jq import paths
from kubedyno.kube.jq.arithmetic import OPERATORS
from kubedyno.kube.jq.calling import Known, argument_call, function_call, plain_call
from kubedyno.kube.jq.errors import EvaluationError, QueryError
from kubedyno.kube.jq.forms import FORMS, iterated
from kubedyno.kube.jq.functions import FORMATS, FUNCTIONS
from kubedyno.kube.jq.parsing import definitions
from kubedyno.kube.jq.patterns import Binder, bound_names
from kubedyno.kube.jq.prelude import PRELUDE
from kubedyno.kube.jq.running import Broken, Code, Output, Path, Scope, off, stepped, values
from kubedyno.kube.jq.syntax import (
    Array,
    Binary,
    Bind,
    Break,
    Call,
    Comma,
    Define,
    Foreach,
    Identity,
    If,
    Index,
    Iterate,
    Label,
    Literal,
    Node,
    Object,
    Pattern,
    Pipe,
    Reduce,
    Sign,
    Slice,
    Text,
    Try,
    Update,
    Variable,
)
from kubedyno.kube.jq.updating import assign, fixed_path, modify, operate
from kubedyno.kube.jq.values import described, is_number, is_true

Names = dict[str, Known]


def compiled(tree: Node, text: str, variables: tuple[str, ...]) -> Code:
    """The code of a query; `variables` (with their dollars) are bound by whoever runs it."""
    names = {**_prelude(), **dict.fromkeys(variables, Known(None))}
    return _Compiler(text).code(tree, names)


@functools.cache
def _prelude() -> Names:
    names: Names = {}
    compiler = _Compiler(None)
    for definition in definitions(PRELUDE):
        known = Known(definition.parameters)
        names[f"{definition.name}/{len(definition.parameters)}"] = known
        known.code = compiler.body(definition, names)
    return names


def _located(code: Code, at: int) -> Code:
    """Errors that do not know their place yet get this one."""

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        try:
            yield from code(scope, path, value)
        except EvaluationError as error:
            if error.offset is None:
                error.offset = at
            raise

    return run


class _Compiler:
    """`text` is what errors tell; None for the prelude, whose places mean nothing to a user."""

    def __init__(self, text: str | None) -> None:
        self._source = text

    def code(self, node: Node, names: Names) -> Code:
        """The code of one part; `names` are those that it may use."""
        made: Code = getattr(self, f"_{type(node).__name__.lower()}")(node, names)
        at = getattr(node, "at", None)
        # Fields tell their place themselves: most queries are made of little else.
        if at is None or self._source is None or _is_field(node) or isinstance(node, Variable):
            return made
        return _located(made, at)

    def body(self, definition: Define, names: Names) -> Code:
        """The code of a function's body, which may call itself."""
        inner = dict(names)
        inner[f"{definition.name}/{len(definition.parameters)}"] = names.get(
            f"{definition.name}/{len(definition.parameters)}"
        ) or Known(definition.parameters)
        for parameter in definition.parameters:
            inner[f"{parameter.removeprefix('$')}/0"] = Known(None)
            if parameter.startswith("$"):
                inner[parameter] = Known(None)
        return self.code(definition.body, inner)

    # Values and paths

    def _identity(self, _: Identity, __: Names) -> Code:
        def run(_: Scope, path: Path, value: Any) -> Iterator[Output]:
            yield path, value

        return run

    def _literal(self, node: Literal, _: Names) -> Code:
        constant = node.value

        def run(_: Scope, path: Path, __: Any) -> Iterator[Output]:
            yield off(path), constant

        return run

    def _text_code(self, pieces: list[str | Code], written: Callable[[Any], str]) -> Code:
        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for text in joined(scope, value, len(pieces)):
                yield off(path), text

        def joined(scope: Scope, value: Any, count: int) -> Iterator[str]:
            # The last interpolation is the outermost loop.
            if count == 0:
                yield ""
                return
            last = pieces[count - 1]
            for end in (last,) if isinstance(last, str) else map(written, values(last, scope, value)):
                for start in joined(scope, value, count - 1):
                    yield start + end

        return run

    def _text(self, node: Text, names: Names) -> Code:
        pieces = [piece if isinstance(piece, str) else self.code(piece, names) for piece in node.pieces]
        if all(isinstance(piece, str) for piece in pieces):
            return self._literal(Literal("".join(map(str, pieces))), names)
        if node.format not in FORMATS:
            raise QueryError(f"format not defined: {node.format}", self._source or "", node.at)
        return self._text_code(pieces, FORMATS[node.format])

    def _index(self, node: Index, names: Names) -> Code:
        target = self.code(node.target, names)
        if _is_field(node):
            (name,) = fixed_path(Index(Identity(), node.key, node.at)) or ("",)
            return _field(None if isinstance(node.target, Identity) else target, name, node.at)
        key = self.code(node.key, names)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for chosen in values(key, scope, value):
                for where, found in target(scope, path, value):
                    item = paths.at(found, chosen)
                    yield stepped(where, chosen, found), item

        return run

    def _slice(self, node: Slice, names: Names) -> Code:
        target, start, end = (self.code(part, names) for part in (node.target, node.start, node.end))

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for first in values(start, scope, value):
                for last in values(end, scope, value):
                    for where, found in target(scope, path, value):
                        part = paths.sliced(found, first, last)
                        yield stepped(where, {"start": first, "end": last}, found), part

        return run

    def _iterate(self, node: Iterate, names: Names) -> Code:
        if isinstance(node.target, Identity):
            return iterated
        target = self.code(node.target, names)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for where, found in target(scope, path, value):
                yield from iterated(scope, where, found)

        return run

    def _array(self, node: Array, names: Names) -> Code:
        if node.body is None:
            return self._literal(Literal([]), names)
        body = self.code(node.body, names)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            yield off(path), list(values(body, scope, value))

        return run

    def _object(self, node: Object, names: Names) -> Code:
        entries = [(self.code(key, names), self.code(inner, names)) for key, inner in node.entries]

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for made in combined(scope, value, 0):
                for name, _ in made:
                    if not isinstance(name, str):
                        raise EvaluationError(f"expected a string for object key but got: {described(name)}")
                yield off(path), dict(made)

        def combined(scope: Scope, value: Any, position: int) -> Iterator[list[tuple[Any, Any]]]:
            if position == len(entries):
                yield []
                return
            key, inner = entries[position]
            for name in values(key, scope, value):
                for member in values(inner, scope, value):
                    for others in combined(scope, value, position + 1):
                        yield [(name, member), *others]

        return run

    # Operators

    def _pipe(self, node: Pipe, names: Names) -> Code:
        left, right = self.code(node.left, names), self.code(node.right, names)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for where, found in left(scope, path, value):
                yield from right(scope, where, found)

        return run

    def _comma(self, node: Comma, names: Names) -> Code:
        left, right = self.code(node.left, names), self.code(node.right, names)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            yield from left(scope, path, value)
            yield from right(scope, path, value)

        return run

    def _binary(self, node: Binary, names: Names) -> Code:
        if node.operator == "//":
            return _alternative(self.code(node.left, names), self.code(node.right, names))
        if node.operator in {"and", "or"}:
            sides = self.code(node.left, names), self.code(node.right, names)
            return _logical(*sides, decided_by=node.operator == "or")
        # The right side first, as gojq compiles it: of two unknown names, that one is told.
        right, left = self.code(node.right, names), self.code(node.left, names)
        operator = OPERATORS[node.operator]

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for second in values(right, scope, value):
                for first in values(left, scope, value):
                    yield off(path), operator(first, second)

        return run

    def _sign(self, node: Sign, names: Names) -> Code:
        body = self.code(node.body, names)
        negative = node.operator == "-"

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for number in values(body, scope, value):
                if not is_number(number):
                    raise EvaluationError(f"cannot {'negate' if negative else 'plus'}: {described(number)}")
                yield off(path), -number if negative else number

        return run

    def _update(self, node: Update, names: Names) -> Code:
        left, right = self.code(node.left, names), self.code(node.right, names)
        if node.operator == "|=":
            return modify(left, right)
        if node.operator == "=":
            return assign(left if (fixed := fixed_path(node.left)) is None else fixed, right)
        return operate(left, right, OPERATORS[node.operator.removesuffix("=")])

    # Control

    def _if(self, node: If, names: Names) -> Code:
        condition, then, otherwise = (self.code(part, names) for part in (node.condition, node.then, node.otherwise))

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for held in values(condition, scope, value):
                yield from (then if is_true(held) else otherwise)(scope, path, value)

        return run

    def _try(self, node: Try, names: Names) -> Code:
        body = self.code(node.body, names)
        handler = None if node.handler is None else self.code(node.handler, names)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            try:
                yield from body(scope, path, value)
            except EvaluationError as error:
                caught = error.value
            else:
                return
            if handler is not None:
                yield from handler(scope, off(path), caught)

        return run

    def _label(self, node: Label, names: Names) -> Code:
        name = f"*{node.name}"
        body = self.code(node.body, {**names, name: Known(None)})

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            mark = object()
            try:
                yield from body(scope.binding(name, mark), path, value)
            except Broken as broken:
                if broken.label is not mark:
                    raise

        return run

    def _break(self, node: Break, names: Names) -> Code:
        name = f"*{node.name}"
        if name not in names:
            raise QueryError(f"label not defined: {node.name}", self._source or "", node.at)

        def run(scope: Scope, _: Path, __: Any) -> Iterator[Output]:
            yield from _broken(scope.found(name).bound)

        return run

    # Names

    def _variable(self, node: Variable, names: Names) -> Code:
        name = node.name
        if name not in names:
            raise QueryError(f"variable not defined: {name}", self._source or "", node.at)

        def run(scope: Scope, path: Path, _: Any) -> Iterator[Output]:
            yield off(path), scope.found(name).bound

        return run

    def _bind(self, node: Bind, names: Names) -> Code:
        source = self.code(node.source, names)
        every = [name for pattern in node.patterns for name in bound_names(pattern)]
        body = self.code(node.body, {**names, **dict.fromkeys(every, Known(None))})
        binders = [self._binder(pattern, names) for pattern in node.patterns]

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for found in values(source, scope, value):
                yield from attempts(scope, path, value, found)

        def attempts(scope: Scope, path: Path, value: Any, found: Any) -> Iterator[Output]:
            for binder in binders[:-1]:
                try:
                    for inner in binder(_unbound(scope, every), found):
                        yield from body(inner, path, value)
                except EvaluationError:
                    continue
                return
            outer = scope if len(binders) == 1 else _unbound(scope, every)
            for inner in binders[-1](outer, found):
                yield from body(inner, path, value)

        return run

    def _binder(self, pattern: Pattern, names: Names) -> Binder:
        # A key may use the names that stand before it in the pattern.
        known = {**names, **dict.fromkeys(bound_names(pattern), Known(None))}
        return Binder.of(pattern, lambda key: self.code(key, known))

    def _reduce(self, node: Reduce, names: Names) -> Code:
        source, start = self.code(node.source, names), self.code(node.start, names)
        binder = self._binder(node.pattern, names)
        update = self.code(node.update, {**names, **dict.fromkeys(bound_names(node.pattern), Known(None))})

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for state in values(start, scope, value):
                result = state
                for found in values(source, scope, value):
                    scope.budget.spend()
                    for inner in binder(scope, found):
                        for changed in values(update, inner, result):
                            result = changed  # the last output goes on
                yield off(path), result

        return run

    def _foreach(self, node: Foreach, names: Names) -> Code:
        source, start = self.code(node.source, names), self.code(node.start, names)
        binder = self._binder(node.pattern, names)
        known = {**names, **dict.fromkeys(bound_names(node.pattern), Known(None))}
        update, extract = self.code(node.update, known), self.code(node.extract, known)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            for first in values(start, scope, value):
                state = first
                for found in values(source, scope, value):
                    scope.budget.spend()
                    for inner in binder(scope, found):
                        for changed in values(update, inner, state):
                            state = changed
                            yield from extract(inner, off(path), state)

        return run

    def _define(self, node: Define, names: Names) -> Code:
        name = f"{node.name}/{len(node.parameters)}"
        known = {**names, name: Known(node.parameters)}
        body, rest = self.body(node, known), self.code(node.rest, known)

        def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
            yield from rest(scope.binding(name, body), path, value)

        return run

    def _call(self, node: Call, names: Names) -> Code:
        name = f"{node.name}/{len(node.arguments)}"
        if name not in names and name not in FORMS and name not in FUNCTIONS:
            raise QueryError(f"function not defined: {name}", self._source or "", node.at)
        arguments = [self.code(argument, names) for argument in node.arguments]
        if known := names.get(name):
            return argument_call(name) if known.parameters is None else function_call(name, known, arguments)
        if form := FORMS.get(name):
            return form(*arguments)
        return plain_call(FUNCTIONS[name], arguments)


def _broken(label: object) -> Iterator[Output]:
    raise Broken(label)


def _unbound(scope: Scope, names: list[str]) -> Scope:
    for name in names:
        scope = scope.binding(name, None)
    return scope


def _is_field(node: Node) -> bool:
    """Whether it is `target.name`, with a name that is known beforehand."""
    match node:
        case Index(key=Text(pieces=pieces)):
            return all(isinstance(piece, str) for piece in pieces)
        case _:
            return False


def _field(target: Code | None, name: str, at: int) -> Code:
    """`target.name`; None is `.`."""

    def taken(path: Path, value: Any) -> Output:
        try:
            found = paths.at(value, name)
            return None if path is None else stepped(path, name, value), found
        except EvaluationError as error:
            error.offset = at
            raise

    if target is None:

        def direct(_: Scope, path: Path, value: Any) -> Iterator[Output]:
            yield taken(path, value)

        return direct

    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for where, inner in target(scope, path, value):
            yield taken(where, inner)

    return run


def _alternative(left: Code, right: Code) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        found = False
        for output in left(scope, path, value):
            if is_true(output[1]):
                found = True
                yield output
        if not found:
            yield from right(scope, path, value)

    return run


def _logical(left: Code, right: Code, *, decided_by: bool) -> Code:
    def run(scope: Scope, path: Path, value: Any) -> Iterator[Output]:
        for first in values(left, scope, value):
            if is_true(first) is decided_by:
                yield off(path), decided_by
            else:
                for second in values(right, scope, value):
                    yield off(path), is_true(second)

    return run
