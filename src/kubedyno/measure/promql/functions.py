"""What functions do with their arguments. Those of windows are in `windows`."""

import math
import re
from collections.abc import Callable
from typing import Final

import msgspec

from kubedyno.kube.cel import regexes
from kubedyno.measure.promql import windows
from kubedyno.measure.promql.operators import quotient
from kubedyno.measure.promql.problems import Misfit
from kubedyno.measure.promql.quantiles import bucket_quantile, quantile
from kubedyno.measure.promql.values import NAME, Labels, Sample, Vector, Window, Windows, identity, unnamed

_BOUND: Final = "le"
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE: Final = re.compile(r"\$(?:(?P<dollar>\$)|(?P<plain>\w+)|\{(?P<braced>\w+)\})")


class Arguments(msgspec.Struct, frozen=True):
    """What a function is called with, sorted by kind; no function takes more than one vector."""

    vector: Vector = ()
    windows: Windows = ()
    numbers: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()


Function = Callable[[Arguments], Vector]


def _of_windows(function: Callable[[Window], float | None]) -> Function:
    def run(arguments: Arguments) -> Vector:
        results = ((window, function(window)) for window in arguments.windows)
        return tuple(Sample(unnamed(window.labels), value) for window, value in results if value is not None)

    return run


def _of_values(function: Callable[[float], float]) -> Function:
    def run(arguments: Arguments) -> Vector:
        return tuple(Sample(unnamed(sample.labels), function(sample.value)) for sample in arguments.vector)

    return run


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    def run(value: float) -> float:
        if value > 0:
            return function(value)
        return math.nan if value else -math.inf

    return run


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(function(value)) if math.isfinite(value) else value


def _round(arguments: Arguments) -> Vector:
    """To the nearest multiple; halves go up."""
    (nearest,) = arguments.numbers or (1.0,)
    parts = quotient(1.0, nearest)
    floor = _whole(math.floor)
    return _of_values(lambda value: quotient(floor(value * parts + 0.5), parts))(arguments)


def _clamped(vector: Vector, lowest: float, highest: float) -> Vector:
    if highest < lowest:
        return ()

    def clamp(value: float) -> float:
        if math.isnan(value) or math.isnan(lowest) or math.isnan(highest):
            return math.nan
        return max(lowest, min(highest, value))

    return _of_values(clamp)(Arguments(vector))


def _sorted(arguments: Arguments, sign: float) -> Vector:
    """NaN comes last in either order."""
    return tuple(sorted(arguments.vector, key=lambda sample: (math.isnan(sample.value), sign * sample.value)))


def _quantile_over_time(arguments: Arguments) -> Vector:
    (share,) = arguments.numbers
    return _of_windows(lambda window: quantile(share, window.values))(arguments)


def _histogram_quantile(arguments: Arguments) -> Vector:
    """One element for each set of buckets, which differ in their bound alone; what has no bound is left out."""
    (share,) = arguments.numbers
    groups: dict[frozenset[tuple[str, str]], tuple[Labels, list[tuple[float, float]]]] = {}
    for sample in arguments.vector:
        try:
            bound = float(sample.labels.get(_BOUND, ""))
        except ValueError:
            continue
        labels = {name: value for name, value in sample.labels.items() if name not in {NAME, _BOUND}}
        groups.setdefault(identity(labels), (labels, []))[1].append((bound, sample.value))
    return tuple(Sample(labels, bucket_quantile(share, buckets)) for labels, buckets in groups.values())


def _label_replace(arguments: Arguments) -> Vector:
    target, template, source, written = arguments.texts
    _check_label(target)
    try:
        regexes.compiled(written)
    except regexes.BadPattern as error:
        raise Misfit(str(error)) from None
    pattern = regexes.compiled(f"(?s:{written})")
    found = []
    for sample in arguments.vector:
        match = pattern.fullmatch(sample.labels.get(source, ""))
        labels = sample.labels if match is None else _with_label(sample.labels, target, _filled(template, match))
        found.append(Sample(labels, sample.value))
    return tuple(found)


def _filled(template: str, match: re.Match[str]) -> str:
    """`$1`, `${1}` and `${name}` are what the groups matched; those that are not there are empty, as in Go."""

    def part(reference: re.Match[str]) -> str:
        if reference["dollar"]:
            return "$"
        group = reference["plain"] or reference["braced"]
        if group.isascii() and group.isdigit():
            return (match[int(group)] or "") if int(group) <= match.re.groups else ""
        return (match[group] or "") if group in match.re.groupindex else ""

    return _REFERENCE.sub(part, template)


def _label_join(arguments: Arguments) -> Vector:
    target, separator, *sources = arguments.texts
    _check_label(target)
    return tuple(
        Sample(
            _with_label(sample.labels, target, separator.join(sample.labels.get(source, "") for source in sources)),
            sample.value,
        )
        for sample in arguments.vector
    )


def _check_label(name: str) -> None:
    if not _LABEL.fullmatch(name):
        raise Misfit(f"{name!r} cannot be the name of a label: it is made of letters, digits and _")


def _with_label(labels: Labels, name: str, value: str) -> Labels:
    """An empty value takes the label away."""
    others = {other: kept for other, kept in labels.items() if other != name}
    return {**others, name: value} if value else others


FUNCTIONS: Final[dict[str, Function]] = {
    **{name: _of_windows(function) for name, function in windows.FUNCTIONS.items()},
    # A value that was there is still that metric.
    "last_over_time": lambda arguments: tuple(Sample(window.labels, window.values[-1]) for window in arguments.windows),
    "quantile_over_time": _quantile_over_time,
    "histogram_quantile": _histogram_quantile,
    "abs": _of_values(abs),
    "ceil": _of_values(_whole(math.ceil)),
    "floor": _of_values(_whole(math.floor)),
    "exp": _of_values(_exp),
    "ln": _of_values(_logarithm(math.log)),
    "log2": _of_values(_logarithm(math.log2)),
    "log10": _of_values(_logarithm(math.log10)),
    "sqrt": _of_values(lambda value: math.nan if value < 0 else math.sqrt(value)),
    "sgn": _of_values(lambda value: math.copysign(1.0, value) if value and not math.isnan(value) else value),
    "round": _round,
    "clamp": lambda arguments: _clamped(arguments.vector, *arguments.numbers),
    "clamp_min": lambda arguments: _clamped(arguments.vector, arguments.numbers[0], math.inf),
    "clamp_max": lambda arguments: _clamped(arguments.vector, -math.inf, arguments.numbers[0]),
    "vector": lambda arguments: (Sample({}, arguments.numbers[0]),),
    "sort": lambda arguments: _sorted(arguments, 1.0),
    "sort_desc": lambda arguments: _sorted(arguments, -1.0),
    "label_replace": _label_replace,
    "label_join": _label_join,
}
"""By name: those that need no more than their arguments. The others are in `evaluating`."""
