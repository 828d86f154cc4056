"""Samples from series as they are written, and answers as they are read."""

from collections.abc import Mapping, Sequence

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql import Samples
from kubedyno.measure.promql.values import shown


def loaded(step_s: float, series: Mapping[str, Sequence[float | None]]) -> Samples:
    """Pages of one source, from the epoch on every `step_s`; None: the series is not on the page."""
    samples = Samples()
    for place in range(max(len(values) for values in series.values())):
        lines = [
            f"{name} {values[place]!r}"
            for name, values in series.items()
            if place < len(values) and values[place] is not None
        ]
        samples.append(round(place * step_s * NS_PER_S), {}, "\n".join(lines).encode())
    return samples


def rising(begin: float, step: float, count: int) -> list[float]:
    """`count` steps from a beginning on."""
    return [begin + step * place for place in range(count + 1)]


def ask(samples: Samples, query: str, at_s: float) -> dict[str, float]:
    """The answer by labels."""
    return {shown(sample.labels): sample.value for sample in samples.query(query, round(at_s * NS_PER_S))}


def number(query: str) -> float:
    """The answer of a query that reads nothing."""
    (sample,) = Samples().query(query, 0)
    return sample.value
