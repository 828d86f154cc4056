"""Texts of the language read into trees, macros included."""

from typing import Final

from kubedyno.kube.cel.errors import CelSyntaxError
from kubedyno.kube.cel.lexing import Token, bytes_value, string_value, tokens
from kubedyno.kube.cel.syntax import Bind, Call, Index, ListOf, Literal, Loop, MapOf, Name, Node, Select
from kubedyno.kube.cel.values import LEAST_INT, MOST_INT, MOST_UINT, Uint

_DEEPEST: Final = 250
_RELATIONS: Final = {
    "<": "_<_", "<=": "_<=_", ">=": "_>=_", ">": "_>_", "==": "_==_", "!=": "_!=_", "in": "@in",
}  # fmt: skip
_SUMS: Final = {"+": "_+_", "-": "_-_"}
_PRODUCTS: Final = {"*": "_*_", "/": "_/_", "%": "_%_"}
_RESERVED: Final = {
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "package", "namespace", "null", "return", "true", "var", "void", "while",
}  # fmt: skip
_STARTS: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_STARTING: Final = frozenset(
    {"[", "{", "(", ".", "-", "!", "true", "false", "null", "float", "int", "uint", "string", "bytes", "name"}
)
# Which macros there are on lists and maps, by how many variables and expressions they take.
_LOOPS: Final = {
    ("all", 2), ("exists", 2), ("exists_one", 2), ("filter", 2), ("map", 2), ("map", 3),
    ("sortBy", 2), ("all", 3), ("exists", 3), ("existsOne", 3), ("transformList", 3), ("transformList", 4),
    ("transformMap", 3), ("transformMap", 4), ("transformMapEntry", 3), ("transformMapEntry", 4),
}  # fmt: skip
_OF_TWO_NAMES: Final = {
    ("all", 3), ("exists", 3), ("existsOne", 3), ("transformList", 3), ("transformList", 4),
    ("transformMap", 3), ("transformMap", 4), ("transformMapEntry", 3), ("transformMapEntry", 4),
}  # fmt: skip


def parsed(text: str) -> Node:
    """The tree of an expression; a `CelSyntaxError` tells where the text stops being one."""
    parser = _Parser(text)
    node = parser.expression()
    parser.finish()
    return node


class _Parser:
    """A position among the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.next = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        token = self.token
        self.next += 1
        return token

    def taken(self, kind: str) -> Token | None:
        return self.take() if self.token.kind == kind else None

    def fail(self, at: int, problem: str) -> CelSyntaxError:
        return CelSyntaxError(self.text, at, problem)

    def mismatched(self, expected: str) -> CelSyntaxError:
        token = self.token
        return self.fail(token.at, f"Syntax error: mismatched input '{token.text}' expecting {expected}")

    def close(self, kind: str) -> None:
        if self.taken(kind) is None:
            if kind == ":":
                raise self.mismatched("':'")
            raise self.fail(self.token.at, f"Syntax error: missing '{kind}' at '{self.token.text}'")

    def finish(self) -> None:
        token = self.token
        if token.kind == "end":
            return
        several = self.tokens[self.next + 1].kind != "end"
        said = "mismatched" if several else "extraneous"
        raise self.fail(token.at, f"Syntax error: {said} input '{token.text}' expecting <EOF>")

    def expression(self) -> Node:
        """`a ? b : c`, or what binds closer."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fail(self.token.at, f"expression recursion limit exceeded: {_DEEPEST}")
        condition = self.either()
        if mark := self.taken("?"):
            then = self.either()
            self.close(":")
            condition = Call(mark.at, "_?_:_", None, (condition, then, self.expression()))
        self.depth -= 1
        return condition

    def either(self) -> Node:
        terms = [self.both()]
        at = self.token.at
        while self.taken("||"):
            terms.append(self.both())
        return Call(at, "_||_", None, tuple(terms)) if len(terms) > 1 else terms[0]

    def both(self) -> Node:
        terms = [self.relation()]
        at = self.token.at
        while self.taken("&&"):
            terms.append(self.relation())
        return Call(at, "_&&_", None, tuple(terms)) if len(terms) > 1 else terms[0]

    def relation(self) -> Node:
        left = self.sum()
        while self.token.kind in _RELATIONS:
            sign = self.take()
            left = Call(sign.at, _RELATIONS[sign.kind], None, (left, self.sum()))
        return left

    def sum(self) -> Node:
        left = self.product()
        while self.token.kind in _SUMS:
            sign = self.take()
            left = Call(sign.at, _SUMS[sign.kind], None, (left, self.product()))
        return left

    def product(self) -> Node:
        left = self.unary()
        while self.token.kind in _PRODUCTS:
            sign = self.take()
            left = Call(sign.at, _PRODUCTS[sign.kind], None, (left, self.unary()))
        return left

    def unary(self) -> Node:
        kind = self.token.kind
        if kind not in {"!", "-"} or (kind == "-" and self.tokens[self.next + 1].kind in {"int", "float"}):
            return self.member()
        at, count = self.token.at, 0
        while self.token.kind == kind:
            self.take()
            count += 1
        operand = self.member()
        # An even number of signs says nothing.
        return Call(at, "!_" if kind == "!" else "-_", None, (operand,)) if count % 2 else operand

    def member(self) -> Node:
        node = self.primary()
        while True:
            if dot := self.taken("."):
                node = self.selected(node, dot)
            elif bracket := self.taken("["):
                optional = self.taken("?") is not None
                key = self.expression()
                self.close("]")
                node = Index(bracket.at, node, key, optional)
            elif self.token.kind == "{" and isinstance(node, Select) and (name := _dotted(node)):
                raise self.fail(self.token.at, f"undeclared reference to '{name}' (in container '')")
            else:
                return node

    def selected(self, operand: Node, dot: Token) -> Node:
        optional = self.taken("?") is not None
        token = self.token
        if token.kind == "quoted":
            raise self.fail(token.at, "unsupported syntax: '`'")
        if token.kind != "name":
            shown = "" if token.kind == "end" else token.text
            raise self.fail(token.at, f"Syntax error: no viable alternative at input '.{shown}'")
        self.take()
        if self.token.kind == "(" and not optional:
            opened = self.take()
            return self.called(opened, token.text, operand, self.arguments())
        return Select(dot.at, operand, token.text, optional)

    def arguments(self) -> tuple[Node, ...]:
        if self.taken(")"):
            return ()
        if self.token.kind == "end":
            raise self.mismatched(_STARTS.replace("'(', '.'", "'(', ')', '.'"))
        found = [self.expression()]
        while self.taken(","):
            found.append(self.expression())
        self.close(")")
        return tuple(found)

    def primary(self) -> Node:
        token = self.token
        if token.kind == ".":
            self.take()
            if self.token.kind != "name":
                raise self.mismatched("IDENTIFIER")
            return self.named(self.take())
        if token.kind == "name":
            return self.named(self.take())
        if token.kind == "(":
            self.take()
            node = self.expression()
            self.close(")")
            return node
        if token.kind == "[":
            return self.listed(self.take())
        if token.kind == "{":
            return self.mapped(self.take())
        return self.literal()

    def named(self, token: Token) -> Node:
        if token.text in _RESERVED:
            raise self.fail(token.at, f"reserved identifier: {token.text}")
        if opened := self.taken("("):
            return self.called(opened, token.text, None, self.arguments())
        if self.token.kind == "{":
            raise self.fail(self.token.at, f"undeclared reference to '{token.text}' (in container '')")
        return Name(token.at, token.text)

    def listed(self, opened: Token) -> Node:
        elements: list[Node] = []
        optional: set[int] = set()
        if self.token.kind == "," and self.tokens[self.next + 1].kind == "]":
            self.take()
        while self.token.kind not in {"]", "end"} or not (elements or self.token.kind == "]"):
            if self.taken("?"):
                optional.add(len(elements))
            elements.append(self.expression())
            if not self.taken(","):
                break
        self.close("]")
        return ListOf(opened.at, tuple(elements), frozenset(optional))

    def mapped(self, opened: Token) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        if self.token.kind == "," and self.tokens[self.next + 1].kind == "}":
            self.take()
        while self.token.kind != "}":
            optional = self.taken("?") is not None
            key = self.expression()
            self.close(":")
            entries.append((key, self.expression(), optional))
            if not self.taken(","):
                break
        self.close("}")
        return MapOf(opened.at, tuple(entries))

    def literal(self) -> Node:
        token = self.token
        at = token.at
        negative = token.kind == "-" and self.tokens[self.next + 1].kind in {"int", "float"}
        if negative:
            self.take()
            token = self.token
        if token.kind == "int":
            number = int(token.text, 0 if token.text.startswith("0x") else 10) * (-1 if negative else 1)
            if not LEAST_INT <= number <= MOST_INT:
                raise self.fail(at, "invalid int literal")
            return self._literal(at, number)
        if token.kind == "uint":
            number = int(token.text[:-1], 0 if token.text.startswith("0x") else 10)
            if number > MOST_UINT:
                raise self.fail(at, "invalid uint literal")
            return self._literal(at, Uint(number))
        if token.kind == "float":
            return self._literal(at, float(token.text) * (-1 if negative else 1))
        if token.kind == "string":
            return self._literal(at, string_value(token, self.text))
        if token.kind == "bytes":
            return self._literal(at, bytes_value(token, self.text))
        if token.kind in {"true", "false", "null"}:
            return self._literal(at, {"true": True, "false": False, "null": None}[token.kind])
        # Like ANTLR, take one token as too much when what follows it could stand here.
        said = "extraneous" if token.kind != "end" and self.tokens[self.next + 1].kind in _STARTING else "mismatched"
        raise self.fail(token.at, f"Syntax error: {said} input '{token.text}' expecting {_STARTS}")

    def _literal(self, at: int, value: object) -> Literal:
        self.take()
        return Literal(at, value)

    def called(self, opened: Token, function: str, target: Node | None, arguments: tuple[Node, ...]) -> Node:
        """A call, or what a macro of that name makes of it."""
        count = len(arguments)
        if target is None:
            return (
                self.tested(opened, arguments)
                if function == "has" and count == 1
                else Call(opened.at, function, None, arguments)
            )
        if (function, count) == ("bind", 3) and isinstance(target, Name) and target.name == "cel":
            return Bind(opened.at, "bind", self.simple_name(arguments[0]), arguments[1], arguments[2])
        if (function, count) in {("optMap", 2), ("optFlatMap", 2)}:
            return Bind(opened.at, function, self.simple_name(arguments[0]), target, arguments[1])
        if (function, count) in _LOOPS:
            return self.loop(opened, function, target, arguments)
        return Call(opened.at, function, target, arguments)

    def tested(self, opened: Token, arguments: tuple[Node, ...]) -> Node:
        argument = arguments[0]
        if isinstance(argument, Select) and not argument.optional:
            return Select(opened.at, argument.operand, argument.field, testing=True)
        raise self.fail(argument.at, "invalid argument to has() macro")

    def loop(self, opened: Token, function: str, target: Node, arguments: tuple[Node, ...]) -> Node:
        width = 2 if (function, len(arguments)) in _OF_TWO_NAMES else 1
        names = tuple(self.simple_name(argument) for argument in arguments[:width])
        if width > 1 and names[0] == names[1]:
            raise self.fail(arguments[1].at, f"duplicate variable name: {names[1]}")
        guard = arguments[width] if len(arguments) > width + 1 else None
        kind = "exists_one" if function == "existsOne" else function
        return Loop(opened.at, kind, target, names, arguments[-1], guard)

    def simple_name(self, node: Node) -> str:
        if isinstance(node, Name):
            return node.name
        raise self.fail(node.at, "argument must be a simple name")


def _dotted(node: Node) -> str:
    if isinstance(node, Name):
        return node.name
    before = _dotted(node.operand) if isinstance(node, Select) else ""
    return f"{before}.{node.field}" if isinstance(node, Select) and before else ""
