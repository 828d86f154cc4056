"""The grammar of jq, as gojq reads it: words in, tree out."""

import json
from collections.abc import Callable
from typing import Final, Never

from kubedyno.kube.jq.errors import QueryError
from kubedyno.kube.jq.lexing import Kind, Token, tokens
from kubedyno.kube.jq.syntax import (
    Array,
    ArrayPattern,
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
    NamePattern,
    Node,
    Object,
    ObjectPattern,
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

_LONGEST_TEXT: Final = 1 << 16
_DEEPEST: Final = 60
# How tightly an operator binds; `//` alone groups to the right, comparisons and updates not at all.
_BINDING: Final = {
    "//": 1,
    **dict.fromkeys(("=", "|=", "+=", "-=", "*=", "/=", "%=", "//="), 2),
    "or": 3,
    "and": 4,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 5),
    **dict.fromkeys("+-", 6),
    **dict.fromkeys("*/%", 7),
}
_UPDATES: Final = 2
_COMPARISONS: Final = 5
_CONSTANTS: Final = {"null": None, "true": True, "false": False}


def parsed(text: str) -> Node:
    """The tree of a query; QueryError tells where it goes wrong."""
    if len(text) > _LONGEST_TEXT:
        raise QueryError(f"the query is longer than {_LONGEST_TEXT} characters", text, 0)
    try:
        return _Parser(text, tokens(text)).whole()
    except RecursionError:
        raise QueryError("the query is nested too deeply", text, 0) from None


def definitions(text: str) -> tuple[Define, ...]:
    """The functions that a text of nothing but `def`s defines, in order; each one's `rest` is `.`."""
    return _Parser(text, tokens(text)).definitions()


class _Parser:
    """One pass over the words, one method for each rule."""

    def __init__(self, text: str, words: tuple[Token, ...], depth: int = 0) -> None:
        self._text = text
        self._words = words
        self._next = 0
        self._depth = depth

    def whole(self) -> Node:
        if self._take("end"):
            raise QueryError('missing query (try ".")', self._text, 0)
        node = self._pipe()
        self._expect("end")
        return node

    def definitions(self) -> tuple[Define, ...]:
        found = []
        while self._take("keyword", "def"):
            found.append(self._definition(Identity))
        return tuple(found)

    # Words

    @property
    def _word(self) -> Token:
        return self._words[self._next]

    def _is(self, kind: Kind, text: str) -> bool:
        return self._word.kind == kind and self._word.text == text

    def _take(self, kind: Kind, text: str = "") -> Token | None:
        word = self._word
        if word.kind != kind or (text and word.text != text):
            return None
        self._next += 1
        return word

    def _expect(self, kind: Kind, text: str = "") -> Token:
        return self._take(kind, text) or self._refuse()

    def _refuse(self) -> Never:
        word = self._word
        match word.kind:
            case "end":
                message = "unexpected EOF"
            case "bad":
                message = word.text
            case _:
                message = f"unexpected token {json.dumps(word.text, ensure_ascii=False)}"
        raise QueryError(message, self._text, word.at)

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise QueryError(f"the query is nested more than {_DEEPEST} levels deep", self._text, self._word.at)

    # Queries, from the loosest to the tightest

    def _pipe(self) -> Node:
        self._deeper()
        steps = [self._comma()]
        while self._take("symbol", "|"):
            steps.append(self._comma())
        self._depth -= 1
        return _piped(steps)

    def _comma(self) -> Node:
        node = self._item()
        while self._take("symbol", ","):
            node = Comma(node, self._item())
        return node

    def _item(self) -> Node:
        """What `def`, `label` and `as` open reaches to the end of the query around it."""
        if self._take("keyword", "def"):
            return self._definition(self._pipe)
        if self._take("keyword", "label"):
            name = self._expect("variable").text
            self._expect("symbol", "|")
            return Label(name, self._pipe())
        source = self._expression()
        if not self._take("keyword", "as"):
            return source
        patterns = [self._pattern()]
        while self._take("symbol", "?//"):
            patterns.append(self._pattern())
        self._expect("symbol", "|")
        return Bind(source, tuple(patterns), self._pipe())

    def _definition(self, rest: Callable[[], Node]) -> Define:
        name = self._expect("ident").text
        parameters: list[str] = []
        if self._take("symbol", "("):
            parameters.append(self._parameter())
            while self._take("symbol", ";"):
                parameters.append(self._parameter())
            self._expect("symbol", ")")
        self._expect("symbol", ":")
        body = self._pipe()
        self._expect("symbol", ";")
        return Define(name, tuple(parameters), body, rest())

    def _parameter(self) -> str:
        return (self._take("ident") or self._expect("variable")).text

    def _expression(self, loosest: int = 1) -> Node:
        node = self._term()
        while (binding := self._operator_binding()) >= loosest:
            word = self._word
            self._next += 1
            right = self._expression(binding if word.text == "//" else binding + 1)
            kind = Update if binding == _UPDATES else Binary
            node = kind(word.text, node, right, word.at)
            if binding in {_UPDATES, _COMPARISONS} and self._operator_binding() == binding:
                self._refuse()
        return node

    def _operator_binding(self) -> int:
        word = self._word
        return _BINDING.get(word.text, 0) if word.kind in {"symbol", "keyword"} else 0

    def _term(self) -> Node:
        self._deeper()
        node = self._suffixed(self._primary())
        self._depth -= 1
        return node

    def _suffixed(self, node: Node) -> Node:
        whole = node
        while True:
            word = self._word
            if word.kind == "field":
                self._next += 1
                node = Index(node, _text(word.text[1:]), word.at)
            elif self._is("symbol", "["):
                node = self._bracket(node)
            elif self._take("symbol", "?"):
                node = Try(node, None) if node is whole else _optional(node)
            elif self._take("symbol", "."):
                if self._word.kind == "string":
                    node = Index(node, self._string(""), word.at)
                elif self._is("symbol", "["):
                    node = self._bracket(node)
                else:
                    self._refuse()
            else:
                return node

    def _bracket(self, target: Node) -> Node:
        at = self._expect("symbol", "[").at
        if self._take("symbol", "]"):
            return Iterate(target, at)
        start: Node = Literal(None)
        end: Node = Literal(None)
        if self._take("symbol", ":"):
            end = self._pipe()  # `[:]` is no slice
        else:
            start = self._pipe()
            if self._take("symbol", "]"):
                return Index(target, start, at)
            self._expect("symbol", ":")
            if not self._is("symbol", "]"):
                end = self._pipe()
        self._expect("symbol", "]")
        return Slice(target, start, end, at)

    def _primary(self) -> Node:  # noqa: PLR0911  # one for each kind of word
        word = self._word
        match word.kind:
            case "field":
                self._next += 1
                return Index(Identity(), _text(word.text[1:]), word.at)
            case "number":
                self._next += 1
                return Literal(number(word.text))
            case "string":
                return self._string("")
            case "format":
                self._next += 1
                if self._word.kind == "string":
                    return self._string(word.text)
                return Call("format", (_text(word.text[1:]),), word.at)
            case "variable":
                self._next += 1
                return Variable(word.text, word.at)
            case "ident":
                self._next += 1
                return Call(word.text, self._arguments(), word.at)
            case "keyword":
                return self._keyword()
            case _:
                return self._symbol()

    def _arguments(self) -> tuple[Node, ...]:
        if not self._take("symbol", "("):
            return ()
        arguments = [self._pipe()]
        while self._take("symbol", ";"):
            arguments.append(self._pipe())
        self._expect("symbol", ")")
        return tuple(arguments)

    def _symbol(self) -> Node:  # noqa: PLR0911  # one for each symbol that opens a term
        word = self._word
        if self._take("symbol", "."):
            if self._word.kind == "string":
                return Index(Identity(), self._string(""), word.at)
            return self._bracket(Identity()) if self._is("symbol", "[") else Identity()
        if self._take("symbol", ".."):
            return Call("recurse", (), word.at)
        if self._take("symbol", "("):
            node = self._pipe()
            self._expect("symbol", ")")
            return node
        if self._take("symbol", "["):
            if self._take("symbol", "]"):
                return Array(None)
            body = self._pipe()
            self._expect("symbol", "]")
            return Array(body)
        if self._take("symbol", "{"):
            return self._object(word.at)
        if self._take("symbol", "-") or self._take("symbol", "+"):
            return Sign(word.text, self._term(), word.at)
        return self._refuse()

    def _keyword(self) -> Node:
        word = self._word
        if word.text in _CONSTANTS:
            self._next += 1
            return Literal(_CONSTANTS[word.text])
        if self._take("keyword", "if"):
            return self._condition()
        if self._take("keyword", "try"):
            body = self._term()
            return Try(body, self._term() if self._take("keyword", "catch") else None)
        if self._take("keyword", "break"):
            return Break(self._expect("variable").text, word.at)
        if word.text not in {"reduce", "foreach"}:
            self._refuse()
        self._next += 1
        return self._fold(word.text)

    def _condition(self) -> Node:
        condition = self._pipe()
        self._expect("keyword", "then")
        then = self._pipe()
        if self._take("keyword", "elif"):
            return If(condition, then, self._condition())
        otherwise = self._pipe() if self._take("keyword", "else") else Identity()
        self._expect("keyword", "end")
        return If(condition, then, otherwise)

    def _fold(self, name: str) -> Node:
        source = self._expression()
        self._expect("keyword", "as")
        pattern = self._pattern()
        self._expect("symbol", "(")
        start = self._pipe()
        self._expect("symbol", ";")
        update = self._pipe()
        extract = self._pipe() if name == "foreach" and self._take("symbol", ";") else Identity()
        self._expect("symbol", ")")
        if name == "reduce":
            return Reduce(source, pattern, start, update)
        return Foreach(source, pattern, start, update, extract)

    # Strings, objects, patterns

    def _string(self, format_name: str) -> Text:
        word = self._expect("string")
        pieces: list[str | Node] = []
        for piece in word.pieces:
            if isinstance(piece, str):
                pieces.append(piece)
            else:
                inner = _Parser(self._text, piece, self._depth)
                pieces.append(inner._pipe())
                inner._expect("symbol", ")")
        return Text(tuple(pieces), format_name, word.at)

    def _object(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._take("symbol", "}"):
            if entries:
                self._expect("symbol", ",")
                if self._take("symbol", "}"):
                    break
            entries.append(self._entry())
        return Object(tuple(entries), at)

    def _entry(self) -> tuple[Node, Node]:
        word = self._word
        if self._take("symbol", "("):
            key = self._pipe()
            self._expect("symbol", ")")
            self._expect("symbol", ":")
            return key, self._entry_value()
        if word.kind == "string":
            key = self._string("")
            return key, self._entry_value() if self._take("symbol", ":") else Index(Identity(), key, word.at)
        if word.kind not in {"ident", "keyword", "variable"}:
            self._refuse()
        self._next += 1
        if self._take("symbol", ":"):
            key = Variable(word.text, word.at) if word.kind == "variable" else _text(word.text)
            return key, self._entry_value()
        if word.kind == "variable":
            return _text(word.text[1:]), Variable(word.text, word.at)
        return _text(word.text), Index(Identity(), _text(word.text), word.at)

    def _entry_value(self) -> Node:
        steps = [self._expression()]
        while self._take("symbol", "|"):
            steps.append(self._expression())
        return _piped(steps)

    def _pattern(self) -> Pattern:
        self._deeper()
        word = self._word
        pattern: Pattern
        if self._take("variable"):
            pattern = NamePattern(word.text)
        elif self._take("symbol", "["):
            items = [self._pattern()]
            while self._take("symbol", ","):
                items.append(self._pattern())
            self._expect("symbol", "]")
            pattern = ArrayPattern(tuple(items), word.at)
        else:
            self._expect("symbol", "{")
            entries = [self._pattern_entry()]
            while self._take("symbol", ","):
                entries.append(self._pattern_entry())
            self._expect("symbol", "}")
            pattern = ObjectPattern(tuple(entries), word.at)
        self._depth -= 1
        return pattern

    def _pattern_entry(self) -> tuple[str, Node, Pattern | None]:
        word = self._word
        if self._take("variable"):
            below = self._pattern() if self._take("symbol", ":") else None
            return word.text, _text(word.text[1:]), below
        key: Node
        if self._take("symbol", "("):
            key = self._pipe()
            self._expect("symbol", ")")
        elif word.kind == "string":
            key = self._string("")
        elif self._take("ident") or self._take("keyword"):
            key = _text(word.text)
        else:
            self._refuse()
        self._expect("symbol", ":")
        return "", key, self._pattern()


def number(text: str) -> float:
    """A written number: whole ones of any size without rounding, those with a point or an exponent as floats."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _text(text: str) -> Text:
    return Text((text,) if text else (), "", 0)


def _piped(steps: list[Node]) -> Node:
    node = steps.pop()
    while steps:
        node = Pipe(steps.pop(), node)
    return node


def _optional(node: Node) -> Node:
    """`?` covers the last step alone: `.a.b?` fails where `.a` fails, and evaluates a key in brackets on `.a`."""
    match node:
        case Index(target, key, at):
            return Pipe(target, Try(Index(Identity(), key, at), None))
        case Slice(target, start, end, at):
            return Pipe(target, Try(Slice(Identity(), start, end, at), None))
        case Iterate(target, at):
            return Pipe(target, Try(Iterate(Identity(), at), None))
        case _:
            return Try(node, None)
