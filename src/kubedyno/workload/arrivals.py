"""When workloads arrive: seconds from the begin of a submission, as a plan of any length. Pure."""

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from kubedyno.kit.errors import UsageError
from kubedyno.workload.order import Order


def offsets_s(order: Order, rng: random.Random, trace_s: Sequence[float] = ()) -> Iterator[float]:
    """The seconds at which workloads are submitted, in order, without end (a trace ends with its file)."""
    match order.arrival, order.rate_per_s:
        case "constant", float(rate):
            return (index / rate for index in itertools.count())
        case "poisson", float(rate):
            return _poisson(rate, rng)
        case "burst", float(rate) if order.burst is not None:
            size = order.burst
            return (index // size * size / rate for index in itertools.count())
        case "stepped", _:
            return _stepped(order.steps)
        case "trace", _:
            return iter(trace_s)
    raise ValueError(f"an order of arrival {order.arrival} has no plan")


def _poisson(rate_per_s: float, rng: random.Random) -> Iterator[float]:
    """The first at once: a plan begins with its first workload."""
    at_s = 0.0
    while True:
        yield at_s
        at_s += rng.expovariate(rate_per_s)


def _stepped(steps: Sequence[tuple[float, float]]) -> Iterator[float]:
    begin_s = 0.0
    for rate, duration_s in steps[:-1]:
        count = round(rate * duration_s)
        yield from (begin_s + index / rate for index in range(count))
        begin_s += duration_s
    rate = steps[-1][0]
    yield from (begin_s + index / rate for index in itertools.count())


def read_trace(path: Path, *, count: int) -> tuple[float, ...]:
    """The first `count` times of a trace file, from its first line on: one a line, its first column if it has several.

    A first line that is no number is a heading.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UsageError(f"--trace {path}: {reason}; name a file with one time in seconds a line") from error
    times: list[float] = []
    for number, line in enumerate(lines, 1):
        column = line.partition(",")[0].strip()
        if not column:
            continue
        try:
            at_s = float(column)
        except ValueError:
            if number == 1:
                continue
            raise UsageError(f"--trace {path}:{number}: {column!r} is no number of seconds") from None
        if times and not at_s >= times[-1]:
            raise UsageError(f"--trace {path}:{number}: {column} comes before {times[-1]:g}; sort the lines by time")
        times.append(at_s)
    if len(times) < count:
        raise UsageError(
            f"--trace {path} has {len(times)} times for {count} workloads: give a smaller -n, or a longer trace"
        )
    return tuple(at_s - times[0] for at_s in times[:count])
