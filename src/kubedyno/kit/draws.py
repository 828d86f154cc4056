"""Quantities that are drawn: a distribution as people write it, and its value at a random number.

`2s`, `uniform(1s, 3s)`, `normal(2s, 500ms)`, `lognormal(2s, 0.4)` (median and shape), `exponential(5s)` (mean),
`choice(1s, 2s, 5s)`.
"""

import hashlib
import math
import re
from statistics import NormalDist
from typing import Literal

import msgspec

from kubedyno.kit.errors import UsageError, located
from kubedyno.kit.units import parse_duration_s

Shape = Literal["constant", "uniform", "normal", "lognormal", "exponential", "choice"]

_CALL = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*")
_SHAPES: dict[str, int] = {"uniform": 2, "normal": 2, "lognormal": 2, "exponential": 1}
_STANDARD = NormalDist()
_MOST_S = 1e9
"""Thirty years: nothing that is drawn lasts longer, so that times remain numbers."""
_MOST_DEVIATION = 700.0  # the exponential of more is no number
_EDGE = 1e-9  # the tails of an unbounded distribution end here, so that no draw is infinite
_SCALE = float(1 << 64)


class Draw(msgspec.Struct, frozen=True):
    """A distribution of seconds, never below zero."""

    shape: Shape
    numbers: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> "Draw":
        """Read a distribution; a duration alone is a constant."""
        call = _CALL.fullmatch(text)
        if call is None:
            return cls("constant", (_seconds(text),))
        name, arguments = call[1], call[2].split(",") if call[2].strip() else []
        if _SHAPES.get(name) != len(arguments) and not (name == "choice" and arguments):
            raise UsageError(
                f"{text!r} is no distribution: write a duration like 2s, or uniform(1s, 3s), normal(2s, 500ms), "
                "lognormal(2s, 0.4), exponential(5s), choice(1s, 2s)"
            )
        with located(repr(text)):
            numbers = tuple(map(_seconds, arguments))
        if name == "uniform" and numbers[0] > numbers[1]:
            raise UsageError(f"{text!r}: the lower end comes first")
        return cls(name, numbers)  # type: ignore[arg-type] # one of _SHAPES

    def at(self, unit: float) -> float:
        """The value below which the share `unit` (0 to 1) of all draws lies."""
        return min(max(self._at(unit), 0.0), _MOST_S)

    def _at(self, unit: float) -> float:
        first = self.numbers[0]
        match self.shape:
            case "constant":
                return first
            case "uniform":
                return first + (self.numbers[1] - first) * unit
            case "choice":
                return self.numbers[min(int(unit * len(self.numbers)), len(self.numbers) - 1)]
            case "exponential":
                return -first * math.log1p(-min(unit, 1 - _EDGE))
        deviations = _STANDARD.inv_cdf(min(max(unit, _EDGE), 1 - _EDGE)) * self.numbers[1]
        return first + deviations if self.shape == "normal" else first * math.exp(min(deviations, _MOST_DEVIATION))


def _seconds(part: str) -> float:
    text = part.strip()
    seconds = parse_duration_s(text)
    if seconds < 0:
        raise UsageError(f"{text!r} is less than nothing")
    if seconds > _MOST_S:
        raise UsageError(f"{text!r} is more than thirty years")
    return seconds


NOTHING = Draw("constant", (0.0,))


def unit(seed: int, purpose: str) -> float:
    """A number in [0, 1) that depends on the seed and the purpose only: the same in every process."""
    digest = hashlib.blake2b(f"{seed}:{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / _SCALE
