"""The functions that ClusterLoader2's templates may call.

What is called Int is computed in floats and cut off at the point, as there. Randomness and files come from outside.
"""

import math
import operator
import random
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Final

from kubedyno.clusterloader.language.numbers import MOST, number, size, whole
from kubedyno.kit.randomness import stream
from kubedyno.kube.gotemplate.formatting import sprint
from kubedyno.kube.gotemplate.functions import Function, Functions, Parameter
from kubedyno.kube.gotemplate.quoting import quoted

_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_INDENT: Final = "  "
_ANY, _TEXT = Parameter.ANY, Parameter.STRING


def functions(rng: random.Random, include: Callable[[str], str]) -> Functions:
    """All of them by name. `include` reads a file by the path in a template; it raises `ValueError` with a sentence.

    `RandDataWithSeed` makes the same text of the same seed always, but not the one that Go's generator makes.
    """
    included = Function(include, (_TEXT,))
    return {
        **_NUMBERS,
        **_LISTS_AND_TEXTS,
        "IncludeFile": included,
        "IncludeEmbedFile": included,
        "IncludeEmbeddedFile": included,
        "RandData": Function(partial(_drawn_text, rng), (_ANY,)),
        "RandInt": Function(partial(_drawn_up_to, rng), (_ANY,)),
        "RandIntRange": Function(partial(_drawn_between, rng), (_ANY, _ANY)),
    }


# Numbers


def _sum(*values: Any) -> float:
    # Not `sum`, which is more exact than Go from Python 3.12 on.
    return reduce(operator.add, map(number, values), 0.0)


def _product(*values: Any) -> float:
    return reduce(operator.mul, map(number, values), 1.0)


def _difference(one: Any, other: Any) -> float:
    return number(one) - number(other)


def _quotient(one: Any, other: Any) -> float:
    divisor = number(other)
    _check_divisor(divisor)
    return number(one) / divisor


def _remainder(one: Any, other: Any) -> int:
    """Of whole numbers, with the sign of the first."""
    value, divisor = whole(number(one)), whole(number(other))
    _check_divisor(divisor)
    rest = abs(value) % abs(divisor)
    return -rest if value < 0 else rest


def _check_divisor(value: float) -> None:
    if value == 0:
        raise ValueError("the divisor is 0; look at what it is made of")


def _largest(*values: Any) -> float:
    return max(map(number, _some(values)))


def _smallest(*values: Any) -> float:
    return min(map(number, _some(values)))


def _some(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise ValueError("it is called without numbers; give at least one")
    return values


def _ceiling(value: Any) -> float:
    found = number(value)
    return float(math.ceil(found)) if math.isfinite(found) else found


def _cut_off(compute: Callable[..., float]) -> Callable[..., int]:
    return lambda *values: whole(compute(*values))


# Randomness


def _drawn_text(rng: random.Random, length: Any) -> str:
    return "".join(rng.choices(_ALPHABET, k=size(length)))


def _drawn_text_of(length: Any, seed: str) -> str:
    return _drawn_text(stream(0, f"RandDataWithSeed {seed}"), length)


def _drawn_up_to(rng: random.Random, most: Any) -> int:
    """From 0 to the number, both included."""
    last = whole(number(most))
    if last < 0:
        raise ValueError(f"there is no number from 0 to {last}; give 0 or more")
    return rng.randint(0, last)


def _drawn_between(rng: random.Random, first: Any, last: Any) -> int:
    """Both included; the first where the last is not larger."""
    low, high = whole(number(first)), whole(number(last))
    return rng.randint(low, high) if low < high else low


# Lists, texts and choices


def _zeros(length: Any) -> list[int]:
    return [0] * size(length)


def _given_or(value: Any, otherwise: Any) -> Any:
    """The other only where there is no value: false, 0 and an empty text are values."""
    return otherwise if value is None else value


def _concatenated(*values: Any) -> str:
    if any(value is None for value in values):
        raise ValueError("a value is missing; give it one with DefaultParam")
    return "".join(sprint((value,), MOST) for value in values)


def _yaml_text(text: str, indents: int) -> str:
    """A text in YAML, and the begin of a next line so far to the right.

    ClusterLoader2 prints the same text in one of several styles; double quotes are right for every text at every place.
    """
    return f"{quoted(text)}\n{_INDENT * size(indents)}"


_NUMBERS: Final[Functions] = {
    "AddFloat": Function(_sum, (), _ANY),
    "AddInt": Function(_cut_off(_sum), (), _ANY),
    "Ceil": Function(_ceiling, (_ANY,)),
    "DivideFloat": Function(_quotient, (_ANY, _ANY)),
    "DivideInt": Function(_cut_off(_quotient), (_ANY, _ANY)),
    "MaxFloat": Function(_largest, (), _ANY),
    "MaxInt": Function(_cut_off(_largest), (), _ANY),
    "MinFloat": Function(_smallest, (), _ANY),
    "MinInt": Function(_cut_off(_smallest), (), _ANY),
    "Mod": Function(_remainder, (_ANY, _ANY)),
    "MultiplyFloat": Function(_product, (), _ANY),
    "MultiplyInt": Function(_cut_off(_product), (), _ANY),
    "SubtractFloat": Function(_difference, (_ANY, _ANY)),
    "SubtractInt": Function(_cut_off(_difference), (_ANY, _ANY)),
}
_LISTS_AND_TEXTS: Final[Functions] = {
    "Concat": Function(_concatenated, (), _ANY),
    "DefaultParam": Function(_given_or, (_ANY, _ANY)),
    "IfThenElse": Function(lambda answer, yes, no: yes if answer else no, (Parameter.BOOL, _ANY, _ANY)),
    "Loop": Function(lambda length: list(range(size(length))), (_ANY,)),
    "Lowercase": Function(str.lower, (_TEXT,)),
    "RandDataWithSeed": Function(_drawn_text_of, (_ANY, _TEXT)),
    "Seq": Function(_zeros, (_ANY,)),
    "SliceOfZeros": Function(_zeros, (_ANY,)),
    "StringSplit": Function(lambda text: text.split(","), (_TEXT,)),
    # The template library that ClusterLoader2 uses has it: data that may hold YAML of its own, as all may here.
    "StructuralData": Function(lambda value: value, (_ANY,)),
    "YamlQuote": Function(_yaml_text, (_TEXT, Parameter.INT)),
}
