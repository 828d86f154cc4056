"""The trees of a template and of those that it defines, with Go's words for what cannot be read."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from kubedyno.kube.gotemplate import nodes
from kubedyno.kube.gotemplate.lexing import Kind, Token, tokens
from kubedyno.kube.gotemplate.nodes import Node
from kubedyno.kube.gotemplate.numerals import read_char_constant, read_number
from kubedyno.kube.gotemplate.problems import LimitExceeded, TemplateError
from kubedyno.kube.gotemplate.quoting import quoted, unquoted

# Each level costs some frames of Python's stack, of which there are about a thousand.
_MAX_NESTING: Final = 60

_OPERANDS: Final = frozenset(
    (
        Kind.BOOL,
        Kind.CHAR_CONSTANT,
        Kind.COMPLEX,
        Kind.DOT,
        Kind.FIELD,
        Kind.IDENTIFIER,
        Kind.NUMBER,
        Kind.NIL,
        Kind.RAW_STRING,
        Kind.STRING,
        Kind.VARIABLE,
        Kind.LEFT_PAREN,
    )
)
_STRINGS: Final = (Kind.STRING, Kind.RAW_STRING)
_CONTROLS: Final[dict[Kind, type[nodes.If] | type[nodes.With] | type[nodes.Range]]] = {
    Kind.IF: nodes.If,
    Kind.WITH: nodes.With,
    Kind.RANGE: nodes.Range,
}
_CHAINED_ELSE: Final = (Kind.IF, Kind.WITH)
_CONSTANTS = (nodes.Literal, nodes.NumberLiteral, nodes.Nil, nodes.Dot)

Trees = dict[str, Sequence[Node]]


class _Ending:
    """`{{end}}` or `{{else}}`: what closes a list; no part of a tree."""

    def __init__(self, word: Kind) -> None:
        self.word = word

    def __str__(self) -> str:
        return f"{{{{{self.word.value}}}}}"


def parse(name: str, text: str, functions: Collection[str]) -> Trees:
    """All trees by name, that of `name` among them; `functions`: the names that may be called."""
    parser = _Parser(name, text, functions)
    parser.whole()
    return parser.trees


class _Scope:
    """What each definition has of its own."""

    def __init__(self) -> None:
        self.variables = ["$"]
        self.ranges = 0
        self.action_line = 0
        self.last = 0  # the token read last: errors are told at its line


class _Parser:
    def __init__(self, name: str, text: str, functions: Collection[str]) -> None:
        self.name = name
        self.text = text
        self.functions = functions
        self.tokens = list(tokens(text))
        self.at = 0  # the next token
        self.scope = _Scope()
        self.nesting = 0
        self.trees: Trees = {}

    # Tokens

    def peek(self) -> Token:
        self.scope.last = max(self.scope.last, self.at)
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.peek()
        if token.kind is not Kind.EOF and token.kind is not Kind.ERROR:
            self.at += 1
        return token

    def next_word(self) -> Token:
        self.peek_word()
        return self.next()

    def peek_word(self) -> Token:
        """The next token that is no space, with the spaces before it skipped."""
        while self.peek().kind is Kind.SPACE:
            self.at += 1
        return self.peek()

    def expect(self, kinds: Collection[Kind], context: str) -> Token:
        token = self.next_word()
        if token.kind not in kinds:
            raise self.unexpected(token, context)
        return token

    # Errors

    def line(self, token: Token) -> int:
        return self.text.count("\n", 0, token.at) + 1

    def failure(self, message: str) -> TemplateError:
        token = self.tokens[self.scope.last]
        error = TemplateError(f"template: {self.name}:{self.line(token)}: {message}")
        error.column = token.at - (self.text.rfind("\n", 0, token.at) + 1)
        return error

    def unexpected(self, token: Token, context: str) -> TemplateError:
        if token.kind is Kind.ERROR:
            extra = ""
            started = self.scope.action_line
            if started and started != self.line(token):
                action = "" if token.text.endswith(" action") else " in action"
                extra = f"{action} started at {self.name}:{started}"
            return self.failure(f"{token.text}{extra}")
        return self.failure(f"unexpected {token.shown()} in {context}")

    @contextmanager
    def nested(self) -> Iterator[None]:
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            line = self.line(self.tokens[self.at])
            raise LimitExceeded(
                f"template: {self.name}:{line}: more than {_MAX_NESTING} controls or parentheses stand in one another; "
                "move the inner ones to a template of their own with define, or keep their values in variables"
            )
        yield
        self.nesting -= 1

    # Lists

    def whole(self) -> None:
        found: list[Node] = []
        while self.peek().kind is not Kind.EOF:
            if self.peek().kind is Kind.LEFT_DELIM:
                begin = self.at
                self.next()
                if self.next_word().kind is Kind.DEFINE:
                    self.definition()
                    continue
                self.at = begin
            node = self.text_or_action()
            if isinstance(node, _Ending):
                raise self.failure(f"unexpected {node}")
            found.append(node)
        self.add(self.name, found)

    def definition(self) -> None:
        outer, self.scope = self.scope, _Scope()
        self.scope.last = self.at
        name = self.string(self.expect(_STRINGS, "define clause"))
        self.expect((Kind.RIGHT_DELIM,), "define clause")
        body, ending = self.items()
        if ending.word is not Kind.END:
            raise self.failure(f"unexpected {ending} in define clause")
        self.add(name, body)
        self.scope = outer

    def add(self, name: str, body: Sequence[Node]) -> None:
        if _is_empty(self.trees.get(name, ())):
            self.trees[name] = body
        elif not _is_empty(body):
            raise self.failure(f"template: multiple definition of template {quoted(name)}")

    def items(self) -> tuple[list[Node], _Ending]:
        found: list[Node] = []
        while self.peek_word().kind is not Kind.EOF:
            node = self.text_or_action()
            if isinstance(node, _Ending):
                return found, node
            found.append(node)
        raise self.failure("unexpected EOF")

    def text_or_action(self) -> Node | _Ending:
        token = self.next_word()
        if token.kind is Kind.TEXT:
            return nodes.Text(token.at, token.text)
        if token.kind is not Kind.LEFT_DELIM:
            raise self.unexpected(token, "input")
        self.scope.action_line = self.line(token)
        with self.nested():
            found = self.action()
        self.scope.action_line = 0
        return found

    # Actions

    def action(self) -> Node | _Ending:  # noqa: PLR0911 - one case for each keyword
        token = self.peek_word()
        match token.kind:
            case Kind.BLOCK:
                self.next()
                return self.block()
            case Kind.BREAK | Kind.CONTINUE if token.text not in self.functions:
                self.next()
                return self.jump(token)
            case Kind.ELSE:
                self.next()
                if self.peek_word().kind not in _CHAINED_ELSE:
                    self.expect((Kind.RIGHT_DELIM,), "else")
                return _Ending(Kind.ELSE)
            case Kind.END:
                self.next()
                self.expect((Kind.RIGHT_DELIM,), "end")
                return _Ending(Kind.END)
            case Kind.IF | Kind.WITH | Kind.RANGE:
                self.next()
                return self.control(token.kind)
            case Kind.TEMPLATE:
                self.next()
                return self.template()
        return nodes.Action(token.at, self.pipeline("command", Kind.RIGHT_DELIM))

    def jump(self, token: Token) -> Node:
        shown = f"{{{{{token.text}}}}}"
        self.expect((Kind.RIGHT_DELIM,), shown)
        if not self.scope.ranges:
            raise self.failure(f"{shown} outside {{{{range}}}}")
        return nodes.Break(token.at) if token.kind is Kind.BREAK else nodes.Continue(token.at)

    def control(self, kind: Kind) -> nodes.If | nodes.With | nodes.Range:
        known = len(self.scope.variables)
        pipe = self.pipeline(kind.value, Kind.RIGHT_DELIM)
        is_range = kind is Kind.RANGE
        self.scope.ranges += is_range
        body, ending = self.items()
        self.scope.ranges -= is_range
        otherwise: list[Node] | None = None
        if ending.word is Kind.ELSE:
            if kind in _CHAINED_ELSE and self.peek().kind is kind:
                self.next()
                with self.nested():
                    otherwise = [self.control(kind)]
            else:
                otherwise, ending = self.items()
                if ending.word is not Kind.END:
                    raise self.failure(f"expected end; found {ending}")
        del self.scope.variables[known:]
        return _CONTROLS[kind](pipe.at, pipe, body, otherwise)

    def block(self) -> Node:
        token = self.expect(_STRINGS, "block clause")
        name = self.string(token)
        pipe = self.pipeline("block clause", Kind.RIGHT_DELIM)
        outer, self.scope = self.scope, _Scope()
        self.scope.last = self.at
        body, ending = self.items()
        if ending.word is not Kind.END:
            self.scope = outer
            raise self.failure(f"unexpected {ending} in block clause")
        self.add(name, body)
        self.scope = outer
        return nodes.Call(token.at, name, pipe)

    def template(self) -> Node:
        token = self.expect(_STRINGS, "template clause")
        name = self.string(token)
        if self.peek_word().kind is Kind.RIGHT_DELIM:
            self.next()
            return nodes.Call(token.at, name, None)
        return nodes.Call(token.at, name, self.pipeline("template clause", Kind.RIGHT_DELIM))

    # Pipelines

    def pipeline(self, context: str, end: Kind) -> nodes.Pipe:
        begin = self.peek_word().at
        variables, assigns = self.declarations(context)
        commands: list[nodes.Command] = []
        while (token := self.peek_word()).kind is not end:
            if token.kind not in _OPERANDS and not self._is_function(token):
                self.next()
                raise self.unexpected(token, context)
            commands.append(self.command())
        self.next()
        if not commands:
            raise self.failure(f"missing value for {context}")
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.args[0], _CONSTANTS):
                raise self.failure(f"non executable command in pipeline stage {stage}")
        return nodes.Pipe(begin, variables, assigns, tuple(commands))

    def _is_function(self, token: Token) -> bool:
        """`break` and `continue` are words of the language only where no function is called so."""
        return token.kind in {Kind.BREAK, Kind.CONTINUE} and token.text in self.functions

    def declarations(self, context: str) -> tuple[tuple[nodes.Variable, ...], bool]:
        """`$x :=`, `$x =`, or in a range `$i, $x :=`."""
        found: list[nodes.Variable] = []
        while (token := self.peek_word()).kind is Kind.VARIABLE:
            begin = self.at
            self.next()
            after = self.peek_word()
            if after.kind not in {Kind.ASSIGN, Kind.DECLARE} and after.text != ",":
                self.at = begin
                break
            self.next()
            found.append(nodes.Variable(token.at, tuple(token.text.split("."))))
            self.scope.variables.append(token.text)
            if after.kind is not Kind.CHAR:
                return tuple(found), after.kind is Kind.ASSIGN
            if context != "range" or len(found) > 1:
                raise self.failure(f"too many declarations in {context}")
            if self.peek_word().kind not in {Kind.VARIABLE, Kind.RIGHT_DELIM, Kind.RIGHT_PAREN}:
                raise self.failure("range can only initialize variables")
        return tuple(found), False

    def command(self) -> nodes.Command:
        begin = self.peek_word().at
        args: list[Node] = []
        while True:
            self.peek_word()
            operand = self.operand()
            if operand is not None:
                args.append(operand)
            token = self.next()
            if token.kind is Kind.SPACE:
                continue
            if token.kind in {Kind.RIGHT_DELIM, Kind.RIGHT_PAREN}:
                self.at -= 1
            elif token.kind is not Kind.PIPE:
                raise self.unexpected(token, "operand")
            break
        if not args:
            raise self.failure("empty command")
        return nodes.Command(begin, args)

    def operand(self) -> Node | None:
        node = self.term()
        if node is None or self.peek().kind is not Kind.FIELD:
            return node
        begin = self.peek().at
        names: list[str] = []
        while self.peek().kind is Kind.FIELD:
            names.append(self.next().text[1:])
        if isinstance(node, nodes.Field | nodes.Variable):
            return type(node)(begin, (*node.names, *names))
        if isinstance(node, _CONSTANTS):
            raise self.failure(f"unexpected . after term {quoted(str(node))}")
        return nodes.Chain(begin, node, tuple(names))

    def term(self) -> Node | None:  # noqa: C901, PLR0911 - one case for each kind of word
        token = self.peek_word()
        if token.kind not in _OPERANDS and not self._is_function(token):
            return None
        self.next()
        match token.kind:
            case Kind.DOT:
                return nodes.Dot(token.at)
            case Kind.NIL:
                return nodes.Nil(token.at)
            case Kind.VARIABLE:
                if token.text not in self.scope.variables:
                    raise self.failure(f"undefined variable {quoted(token.text)}")
                return nodes.Variable(token.at, (token.text,))
            case Kind.FIELD:
                return nodes.Field(token.at, (token.text[1:],))
            case Kind.BOOL:
                return nodes.Literal(token.at, token.text, token.text == "true")
            case Kind.CHAR_CONSTANT | Kind.NUMBER | Kind.COMPLEX:
                return self.number(token)
            case Kind.STRING | Kind.RAW_STRING:
                return nodes.Literal(token.at, token.text, self.string(token))
            case Kind.LEFT_PAREN:
                with self.nested():
                    return self.pipeline("parenthesized pipeline", Kind.RIGHT_PAREN)
        if token.text not in self.functions:
            raise self.failure(f"function {quoted(token.text)} not defined")
        return nodes.Identifier(token.at, token.text)

    def number(self, token: Token) -> Node:
        if token.text.endswith("i"):
            raise self.failure(f"complex numbers such as {token.text} cannot be used here; write the parts as floats")
        read = read_char_constant if token.kind is Kind.CHAR_CONSTANT else read_number
        try:
            return read(token.at, token.text)
        except ValueError as error:
            raise self.failure(str(error)) from error

    def string(self, token: Token) -> str:
        try:
            return unquoted(token.text)
        except ValueError as error:
            raise self.failure(str(error)) from error


def _is_empty(body: Sequence[Node]) -> bool:
    """Whether there is nothing but space."""
    return all(isinstance(node, nodes.Text) and not node.text.strip() for node in body)
