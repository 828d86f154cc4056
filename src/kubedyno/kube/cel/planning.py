"""Trees made into functions: one closure per node, names and functions resolved once.

Errors are exceptions; `&&`, `||`, `all` and `exists` keep the first and raise it only when no other operand decides.
Variables of macros live in slots, one per depth of nesting, so that nothing has to be undone after a loop.
"""

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from kubedyno.kube.cel import addresses, amounts, conversions, lists, named_formats, optionals, texts, times
from kubedyno.kube.cel.combining import binary, binding, bound, choice, deciding, opposite, otherwise, priced
from kubedyno.kube.cel.costs import CALLS, weight
from kubedyno.kube.cel.errors import CelSyntaxError, ConstantError, EvaluationError, no_such_overload
from kubedyno.kube.cel.library import Function, Overload, chosen
from kubedyno.kube.cel.loops import looping
from kubedyno.kube.cel.operators import BINARY, is_there, looked_up, looked_up_optionally, negate
from kubedyno.kube.cel.regexes import BadPattern, compiled
from kubedyno.kube.cel.running import Frame, Plan
from kubedyno.kube.cel.syntax import Bind, Call, Index, ListOf, Literal, Loop, MapOf, Name, Node, Select
from kubedyno.kube.cel.times import read_duration, read_timestamp
from kubedyno.kube.cel.values import NONE, TYPE_NAMES, KeyedMap, Maybe, TypeValue, some, type_name

_LIBRARIES: Final = (
    conversions.FUNCTIONS, times.FUNCTIONS, texts.FUNCTIONS, lists.FUNCTIONS, amounts.FUNCTIONS, addresses.FUNCTIONS,
    optionals.FUNCTIONS, named_formats.FUNCTIONS,
)  # fmt: skip
# Functions of the language itself complain without naming themselves.
_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"}
)
_TERSE: Final = frozenset({"size", "contains", "startsWith", "endsWith", "matches"})


def _merged() -> dict[tuple[str, bool, int], list[Overload]]:
    found: dict[tuple[str, bool, int], list[Overload]] = {}
    for library in _LIBRARIES:
        for name, overloads in library.items():
            for overload in overloads:
                found.setdefault((name, overload.member, len(overload.takes)), []).append(overload)
    return found


_FUNCTIONS: Final = _merged()
_FUNCTION_NAMES: Final = frozenset(name for name, _, _ in _FUNCTIONS) | {"or", "orValue"}


class Planner:
    """Makes functions of the nodes of one text.

    `variables` are all that it may use (None: any), `extra` are functions that it may use besides the usual ones.
    """

    def __init__(
        self,
        text: str,
        variables: Collection[str] | None = None,
        extra: Mapping[tuple[str, bool, int], list[Overload]] | None = None,
    ) -> None:
        self.text = text
        self.variables = variables
        self.functions = ChainMap(dict(extra or {}), _FUNCTIONS)
        self.names = _FUNCTION_NAMES | {name for name, _, _ in extra or {}}
        self.slots = 0
        self.bound: set[int] = set()
        # Values of calls that need no variables, by the identity of their nodes.
        self.constants: dict[int, Any] = {}

    def plan(self, node: Node, scope: Mapping[str, int]) -> Plan:  # noqa: PLR0911 - one line per kind of node
        """What computes the node; `scope` tells the slots of the variables of the macros around it."""
        match node:
            case Literal(value=value):
                return lambda _frame: value
            case Name():
                return self._name(node, scope)
            case Select():
                return self._select(node, scope)
            case Index():
                return self._index(node, scope)
            case ListOf():
                return self._list(node, scope)
            case MapOf():
                return self._map(node, scope)
            case Loop():
                return self._loop(node, scope)
            case Bind():
                return self._bind(node, scope)
            case Call():
                return self._call(node, scope)

    def _name(self, node: Name, scope: Mapping[str, int]) -> Plan:
        name = node.name
        slot = scope.get(name)
        if slot is not None:
            if slot in self.bound:
                return bound(slot)
            return lambda frame: frame.slots[slot]
        denoted = TypeValue(name) if name in TYPE_NAMES else None
        if denoted is None and self.variables is not None and name not in self.variables:
            raise CelSyntaxError(self.text, node.at, f"undeclared reference to '{name}' (in container '')")

        def variable(frame: Frame) -> Any:
            try:
                return frame.variables[name]
            except KeyError:
                if denoted is not None:
                    return denoted
                raise EvaluationError(f"no such attribute(s): {name}") from None

        return variable

    def _select(self, node: Select, scope: Mapping[str, int]) -> Plan:
        field = node.field
        if (dotted := _dotted(node)) in TYPE_NAMES and dotted.partition(".")[0] not in scope:
            denoted = TypeValue(dotted)
            return lambda _frame: denoted
        operand = self.plan(node.operand, scope)
        if node.testing:
            return lambda frame: is_there(operand(frame), field)
        if node.optional:
            return lambda frame: looked_up_optionally(operand(frame), field)
        return lambda frame: looked_up(operand(frame), field)

    def _index(self, node: Index, scope: Mapping[str, int]) -> Plan:
        operand, key = self.plan(node.operand, scope), self.plan(node.key, scope)
        if node.optional:
            return lambda frame: looked_up_optionally(operand(frame), key(frame))
        return lambda frame: looked_up(operand(frame), key(frame))

    def _list(self, node: ListOf, scope: Mapping[str, int]) -> Plan:
        elements = [self.plan(element, scope) for element in node.elements]
        optional = node.optional
        if not optional:
            return lambda frame: [element(frame) for element in elements]

        def present(frame: Frame) -> list[Any]:
            found: list[Any] = []
            for at, element in enumerate(elements):
                value = element(frame)
                if at not in optional:
                    found.append(value)
                elif _optional(value, "element").has:
                    found.append(value.value)
            return found

        return present

    def _map(self, node: MapOf, scope: Mapping[str, int]) -> Plan:
        entries = [(self.plan(key, scope), self.plan(value, scope), optional) for key, value, optional in node.entries]

        def made(frame: Frame) -> Any:
            found: list[tuple[Any, Any]] = []
            for plan_key, plan_value, optional in entries:
                key, value = plan_key(frame), plan_value(frame)
                if not optional:
                    found.append((key, value))
                elif _optional(value, "entry").has:
                    found.append((key, value.value))
            return map_of(found)

        return made

    def _loop(self, node: Loop, scope: Mapping[str, int]) -> Plan:
        inner = self._with(scope, node.names)
        guard = self.plan(node.guard, inner) if node.guard is not None else None
        cost = weight(node.body) + (weight(node.guard) if node.guard is not None else 0) + 1
        return looping(
            node.kind,
            self.plan(node.over, scope),
            tuple(inner[name] for name in node.names),
            self.plan(node.body, inner),
            guard,
            cost=cost,
        )

    def _with(self, scope: Mapping[str, int], names: Iterable[str]) -> Mapping[str, int]:
        inner = dict(scope)
        for name in names:
            inner[name] = self.slots
            self.slots += 1
        return inner

    def _bind(self, node: Bind, scope: Mapping[str, int]) -> Plan:
        value = self.plan(node.value, scope)
        inner = self._with(scope, (node.name,))
        slot, kind = inner[node.name], node.kind
        if kind == "bind":
            self.bound.add(slot)
        body = self.plan(node.body, inner)
        if kind == "bind":
            return binding(slot, value, body)

        def bound(frame: Frame) -> Any:
            held = value(frame)
            if type(held) is not Maybe:
                raise no_such_overload("hasValue", type_name(held))
            if not held.has:
                return NONE
            frame.slots[slot] = held.value
            result = body(frame)
            return some(result) if kind == "optMap" else result

        return bound

    def _call(self, node: Call, scope: Mapping[str, int]) -> Plan:  # noqa: PLR0911 - one line per kind of call
        function = node.function
        if node.target is not None:
            return self._member_call(node, node.target, scope)
        arguments = [self.plan(argument, scope) for argument in node.arguments]
        if function in {"_&&_", "_||_"}:
            return deciding(arguments, decided=function == "_||_")
        if function == "_?_:_":
            return choice(*arguments)
        if function == "!_":
            return opposite(arguments[0])
        if function == "-_":
            operand = arguments[0]
            return lambda frame: negate(operand(frame))
        if function in BINARY:
            return binary(function, *arguments)
        return self._function(node, function, arguments, member=False)

    def _member_call(self, node: Call, target: Node, scope: Mapping[str, int]) -> Plan:
        qualified = f"{_dotted(target)}.{node.function}"
        arguments = [self.plan(argument, scope) for argument in node.arguments]
        if qualified in self.names and qualified.partition(".")[0] not in scope:
            return self._function(node, qualified, arguments, member=False)
        operand = self.plan(target, scope)
        if node.function in {"or", "orValue"} and len(arguments) == 1:
            return otherwise(node.function, operand, arguments[0])
        return self._function(node, node.function, [operand, *arguments], member=True)

    def _function(self, node: Call, name: str, arguments: list[Plan], *, member: bool) -> Plan:
        if name not in self.names:
            raise CelSyntaxError(self.text, node.at, f"undeclared reference to '{name}' (in container '')")
        overloads = self.functions.get((name, member, len(arguments)))
        if overloads is None:
            given = ", ".join(["dyn"] * (len(arguments) - member))
            shown = f"dyn.({given})" if member else f"({given})"
            raise CelSyntaxError(self.text, node.at, f"found no matching overload for '{name}' applied to '{shown}'")
        self._check_literal(node, name)
        does = chosen(name, overloads, terse=name in _TERSE)
        if name in _CONVERSIONS and len(node.arguments) == 1 and self._is_constant(node.arguments[0]):
            return self._constant(node, does)
        if name in CALLS:
            return priced(CALLS[name], does, arguments)
        if len(arguments) == 1:
            (only,) = arguments
            return lambda frame: does(only(frame))
        if len(arguments) == 2:  # noqa: PLR2004 - the usual number, spelled out for speed
            one, other = arguments
            return lambda frame: does(one(frame), other(frame))
        return lambda frame: does(*[argument(frame) for argument in arguments])

    def _is_constant(self, node: Node) -> bool:
        return isinstance(node, Literal) or id(node) in self.constants

    def _constant(self, node: Call, does: Function) -> Plan:
        """A conversion of what is written down is made once; cel-go refuses the expression when it fails."""
        (argument,) = node.arguments
        given = argument.value if isinstance(argument, Literal) else self.constants[id(argument)]
        try:
            value = does(given)
        except EvaluationError as error:
            raise ConstantError(str(error)) from None
        self.constants[id(node)] = value
        return lambda _frame: value

    def _check_literal(self, node: Call, name: str) -> None:
        """Durations, times and patterns that are written down are read when the rule is, not when it runs."""
        argument = node.arguments[-1] if node.arguments else None
        if not isinstance(argument, Literal) or type(argument.value) is not str:
            return
        if name in {"find", "findAll"}:
            try:
                compiled(argument.value)
            except BadPattern as error:
                raise ConstantError(str(error)) from None
        check = _LITERAL_CHECKS.get(name)
        if check is not None and not check(argument.value):
            raise CelSyntaxError(self.text, argument.at, f"invalid {name} argument")


def _is_pattern(pattern: str) -> bool:
    try:
        compiled(pattern)
    except BadPattern:
        return False
    return True


def _is_timestamp(text: str) -> bool:
    try:
        return read_timestamp(text) is not None
    except EvaluationError:
        return False


_LITERAL_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "duration": lambda text: read_duration(text) is not None,
    "timestamp": _is_timestamp,
    "matches": _is_pattern,
}


def _dotted(node: Node | None) -> str:
    """`a.b.c` as a text; empty when the node is something else."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not node.optional and not node.testing and (before := _dotted(node.operand)):
        return f"{before}.{node.field}"
    return ""


def map_of(found: list[tuple[Any, Any]]) -> Any:
    """A map of entries: a plain one when all keys are texts."""
    if all(type(key) is str for key, _ in found):
        return dict(found)
    made = KeyedMap()
    for key, value in found:
        made.put(key, value)
    return made


def _optional(value: Any, what: str) -> Maybe:
    if type(value) is Maybe:
        return value
    raise EvaluationError(f"cannot initialize optional {what} from non-optional value {value}")
