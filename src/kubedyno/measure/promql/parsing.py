"""The grammar of PromQL: words in, a tree out whose kinds fit."""

import functools
import math
from typing import Final, Literal

import msgspec

from kubedyno.kit.clock import NS_PER_S
from kubedyno.kit.errors import UsageError
from kubedyno.kit.nearest import suggestion
from kubedyno.kube.cel import regexes
from kubedyno.measure.promql import lexing
from kubedyno.measure.promql.lexing import Token, tokens
from kubedyno.measure.promql.nodes import (
    Aggregate,
    Binary,
    Call,
    Kind,
    Matcher,
    Matching,
    MatchOperator,
    Negate,
    Node,
    Number,
    Range,
    Selector,
    Subquery,
    Text,
    kind_of,
    selectors_of,
)
from kubedyno.measure.promql.problems import refusal
from kubedyno.measure.promql.signatures import AGGREGATIONS, FUNCTIONS
from kubedyno.measure.promql.values import NAME

_DEFAULT_STEP_NS: Final = 30 * NS_PER_S
"""Of a subquery that tells none: how often the Prometheus operator, which ClusterLoader2 installs, evaluates rules."""

_SETS: Final = frozenset({"and", "or", "unless"})
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_POWER: Final = 6
# How tightly an operator binds; `^` alone groups to the right.
_BINDING: Final = {
    "or": 1,
    **dict.fromkeys(("and", "unless"), 2),
    **dict.fromkeys(_COMPARISONS, 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys(("*", "/", "%", "atan2"), 5),
    "^": _POWER,
}
_CONSTANTS: Final = {"inf": math.inf, "nan": math.nan}
_MATCH_OPERATORS: Final = frozenset({"=", "!=", "=~", "!~"})
_IN_WORDS: Final[dict[Kind, str]] = {
    "scalar": "a number",
    "string": "a string",
    "vector": "an instant vector",
    "matrix": "a range vector",
}


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> Node:
    """The tree of a query; UsageError tells where it goes wrong."""
    try:
        return _Parser(text).whole()
    except RecursionError:
        raise refusal("it is nested too deeply", text, 0) from None


def metrics_of(*texts: str) -> frozenset[str] | None:
    """The metrics that queries read; None: any, for some selector tells no name."""
    found = [selector.metric for text in texts for selector in selectors_of(parsed(text))]
    return None if None in found else frozenset(name for name in found if name is not None)


class _Parser:
    """One pass over the words, one method for each rule."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = tokens(text)
        self._next = 0

    def whole(self) -> Node:
        node = self._expression()
        if self._word.kind != "end":
            raise self._unexpected()
        return node

    # Words

    @property
    def _word(self) -> Token:
        return self._words[self._next]

    def _is(self, *choices: str, ahead: int = 0) -> bool:
        """Whether the word is one of these symbols or keywords; keywords are written in any case."""
        word = self._words[min(self._next + ahead, len(self._words) - 1)]
        return (word.text if word.kind == "symbol" else word.text.lower()) in choices and word.kind in {
            "symbol",
            "word",
        }

    def _take(self, *choices: str) -> Token | None:
        return self._advance() if self._is(*choices) else None

    def _advance(self) -> Token:
        self._next += 1
        return self._words[self._next - 1]

    def _expect(self, symbol: str) -> None:
        if not self._take(symbol):
            raise self._unexpected(symbol)

    def _unexpected(self, wanted: str = "") -> UsageError:
        found = "end of the query" if self._word.kind == "end" else repr(self._word.text)
        return self._refusal(f"unexpected {found}" + (f", expected {wanted!r}" if wanted else ""), self._word.at)

    def _refusal(self, message: str, at: int) -> UsageError:
        return refusal(message, self._text, at)

    # Operators

    def _expression(self, loosest: int = 1) -> Node:
        left = self._unary()
        while (binding := self._binding()) >= loosest:
            word = self._advance()
            operator = word.text.lower()
            is_bool = self._take("bool") is not None
            matching = self._matching(operator)
            right = self._expression(binding if operator == "^" else binding + 1)
            left = self._checked(
                Binary(operator, left, right, is_bool, matching or Matching(), word.at), is_matched=matching is not None
            )
        return left

    def _binding(self) -> int:
        return _BINDING.get(self._word.text.lower(), 0) if self._word.kind in {"symbol", "word"} else 0

    def _matching(self, operator: str) -> Matching | None:
        word = self._take("on", "ignoring")
        if word is None:
            return None
        labels, on = self._labels(), word.text.lower() == "on"
        group = self._take("group_left", "group_right")
        if group is None:
            return Matching(labels, on)
        if operator in _SETS:
            raise self._refusal(f"{group.text!r} cannot be used with {operator!r}", group.at)
        include = self._labels() if self._is("(") else ()
        both = sorted({*labels} & {*include}) if on else []
        if both:
            raise self._refusal(f"the label {both[0]!r} stands both in on and in {group.text}: leave out one", group.at)
        many: Literal["left", "right"] = "left" if group.text.lower() == "group_left" else "right"
        return Matching(labels, on, many, include)

    def _checked(self, node: Binary, *, is_matched: bool) -> Binary:
        kinds = (kind_of(node.left), kind_of(node.right))
        for kind, side in zip(kinds, (node.left, node.right), strict=True):
            if kind not in {"scalar", "vector"}:
                raise self._refusal(f"{node.operator!r} cannot take {_IN_WORDS[kind]}", side.at)
        problem = ""
        if node.is_bool and node.operator not in _COMPARISONS:
            problem = f"'bool' belongs to comparisons, not to {node.operator!r}"
        elif node.operator in _COMPARISONS and kinds == ("scalar", "scalar") and not node.is_bool:
            problem = f"two numbers are compared with {node.operator} bool"
        elif node.operator in _SETS and "scalar" in kinds:
            problem = f"{node.operator!r} takes two instant vectors: write vector(...) around a number"
        elif is_matched and "scalar" in kinds:
            problem = "'on' and 'ignoring' are for two instant vectors"
        if problem:
            raise self._refusal(problem, node.at)
        return node

    def _unary(self) -> Node:
        sign = self._take("-", "+")
        if sign is None:
            return self._modified()
        body = self._expression(_POWER)
        kind = kind_of(body)
        if kind not in {"scalar", "vector"}:
            raise self._refusal(f"the sign {sign.text!r} cannot stand before {_IN_WORDS[kind]}", sign.at)
        return body if sign.text == "+" else Negate(body, sign.at)

    # Ranges and offsets

    def _modified(self) -> Node:
        is_bare = not self._is("(")
        node = self._primary()
        has_offset = False
        while True:
            word = self._word
            if self._take("["):
                if has_offset and isinstance(node, Selector) and not self._is_subquery():
                    raise self._refusal("an offset stands behind the range: write x[5m] offset 1m", word.at)
                node = self._ranged(node, word.at, is_bare=is_bare)
                is_bare, has_offset = True, False
            elif self._take("offset"):
                if has_offset:
                    raise self._refusal("there is an offset already", word.at)
                node = self._moved(node, word.at, is_bare=is_bare)
                has_offset = True
            elif self._is("@"):
                raise self._refusal(
                    "the modifier '@' is not supported: leave it out, or write an offset such as offset 5m", word.at
                )
            else:
                return node

    def _is_subquery(self) -> bool:
        return self._is(":", ahead=1)

    def _ranged(self, node: Node, at: int, *, is_bare: bool) -> Node:
        range_ns = self._duration()
        if self._take(":"):
            step_ns = _DEFAULT_STEP_NS if self._is("]") else self._duration()
            self._expect("]")
            if kind_of(node) != "vector":
                raise self._refusal(f"a subquery is made of an instant vector, not of {_IN_WORDS[kind_of(node)]}", at)
            return Subquery(node, range_ns, step_ns, at)
        self._expect("]")
        if not isinstance(node, Selector) or not is_bare:
            raise self._refusal(
                "a range belongs directly to a metric: of anything else make a subquery such as [5m:10s]", at
            )
        return Range(node, range_ns, node.at)

    def _duration(self) -> int:
        word = self._advance()
        if word.kind not in {"number", "duration"}:
            self._next -= 1
            raise self._refusal("expected a duration such as 5m", word.at)
        duration_ns = lexing.duration_ns(word, self._text)
        if duration_ns <= 0:
            raise self._refusal("a duration must be more than nothing", word.at)
        return duration_ns

    def _moved(self, node: Node, at: int, *, is_bare: bool) -> Node:
        sign = -1 if self._take("-") else 1
        word = self._advance()
        if word.kind not in {"number", "duration"}:
            raise self._refusal("expected a duration such as 5m behind 'offset'", word.at)
        offset_ns = sign * lexing.duration_ns(word, self._text)
        if is_bare and isinstance(node, Selector | Subquery):
            return msgspec.structs.replace(node, offset_ns=offset_ns)
        if is_bare and isinstance(node, Range):
            return msgspec.structs.replace(node, selector=msgspec.structs.replace(node.selector, offset_ns=offset_ns))
        raise self._refusal("an offset belongs directly to a metric, to its range, or to a subquery", at)

    # Operands

    def _primary(self) -> Node:
        word = self._word
        if word.kind == "word":
            return self._named()
        if self._is("{"):
            return self._selector("", word.at)
        if self._take("("):
            node = self._expression()
            self._expect(")")
            return node
        if word.kind not in {"number", "duration", "string"}:
            raise self._unexpected()
        self._advance()
        if word.kind == "string":
            return Text(word.text, word.at)
        if word.kind == "number":
            return Number(lexing.number(word.text), word.at)
        return Number(lexing.duration_ns(word, self._text) / NS_PER_S, word.at)

    def _named(self) -> Node:
        """A constant, an aggregation, a call or a metric: keywords are names of metrics where nothing else fits."""
        word = self._advance()
        lowered = word.text.lower()
        if lowered in _CONSTANTS and not self._is("{"):
            return Number(_CONSTANTS[lowered], word.at)
        if lowered in AGGREGATIONS and self._is("(", "by", "without"):
            return self._aggregate(word)
        if self._is("("):
            return self._call(word)
        return self._selector(word.text, word.at)

    def _call(self, word: Token) -> Call:
        signature = FUNCTIONS.get(word.text)
        if signature is None:
            known = suggestion(word.text, [*FUNCTIONS, *AGGREGATIONS])
            raise self._refusal(f"the function {word.text!r} is not supported: {known}", word.at)
        arguments = self._arguments()
        takes = signature.takes
        if signature.repeats:
            takes = (*takes, *takes[-1:] * (len(arguments) - len(takes)))
        if not len(signature.takes) - signature.optional <= len(arguments) <= len(takes):
            wanted = ", ".join(_IN_WORDS[kind] for kind in signature.takes) or "nothing"
            raise self._refusal(f"{word.text!r} takes {wanted}: {len(arguments)} are given", word.at)
        for place, (argument, kind) in enumerate(zip(arguments, takes, strict=False), 1):
            self._require(argument, kind, f"argument {place} of {word.text!r}")
        return Call(word.text, arguments, signature.gives, word.at)

    def _arguments(self) -> tuple[Node, ...]:
        self._expect("(")
        found: list[Node] = []
        while not self._take(")"):
            if found:
                self._expect(",")
            found.append(self._expression())
        return tuple(found)

    def _require(self, node: Node, kind: Kind, what: str) -> None:
        if kind_of(node) == kind:
            return
        hint = ""
        if kind == "matrix" and isinstance(node, Selector):
            hint = ": write a range behind it, such as [5m]"
        elif kind == "vector" and isinstance(node, Range):
            hint = ": leave out the range, or put a function such as rate around it"
        raise self._refusal(f"{what} must be {_IN_WORDS[kind]}, not {_IN_WORDS[kind_of(node)]}{hint}", node.at)

    def _aggregate(self, word: Token) -> Aggregate:
        operator = word.text.lower()
        before = self._grouping()
        arguments = self._arguments()
        labels, without = before or self._grouping() or ((), False)
        kind = AGGREGATIONS[operator]
        if len(arguments) != (1 if kind is None else 2):
            wanted = "" if kind is None else f"{_IN_WORDS[kind]}, "
            raise self._refusal(f"{operator!r} takes {wanted}an instant vector: {len(arguments)} are given", word.at)
        self._require(arguments[-1], "vector", f"what {operator!r} aggregates")
        if kind is not None:
            self._require(arguments[0], kind, f"argument 1 of {operator!r}")
        parameter = None if kind is None else arguments[0]
        return Aggregate(operator, arguments[-1], parameter, labels, without, word.at)

    def _grouping(self) -> tuple[tuple[str, ...], bool] | None:
        word = self._take("by", "without")
        return (self._labels(), word.text.lower() == "without") if word else None

    def _labels(self) -> tuple[str, ...]:
        self._expect("(")
        found: list[str] = []
        while not self._take(")"):
            if found:
                self._expect(",")
                if self._take(")"):
                    break
            found.append(self._label())
        return tuple(found)

    def _label(self) -> str:
        word = self._word
        if word.kind != "word" or ":" in word.text:
            raise self._refusal("expected the name of a label", word.at)
        return self._advance().text

    def _selector(self, name: str, at: int) -> Selector:
        matchers = [Matcher(NAME, "=", name)] if name else []
        if self._take("{"):
            while not self._take("}"):
                if len(matchers) > bool(name):
                    self._expect(",")
                    if self._take("}"):
                        break
                place = self._word.at
                matcher = self._matcher()
                if name and matcher.label == NAME:
                    raise self._refusal(f"the name of the metric stands before the braces already: {name}", place)
                matchers.append(matcher)
        if all(matcher.accepts("") for matcher in matchers):
            raise self._refusal("this selects every series: name a metric, or a label that must not be empty", at)
        return Selector(tuple(matchers), at)

    def _matcher(self) -> Matcher:
        label = self._label()
        word = self._advance()
        if word.kind != "symbol" or word.text not in _MATCH_OPERATORS:
            raise self._refusal("expected =, !=, =~ or !~ behind the name of a label", word.at)
        value = self._word
        if value.kind != "string":
            raise self._refusal("the value of a label stands in quotes", value.at)
        self._advance()
        operator: MatchOperator = word.text  # type: ignore[assignment]  # one of _MATCH_OPERATORS
        if operator in {"=~", "!~"}:
            try:
                regexes.compiled(value.text)
            except regexes.BadPattern as error:
                raise self._refusal(str(error), value.at) from None
        return Matcher(label, operator, value.text)
