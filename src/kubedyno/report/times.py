"""`times.csv`: one line per workload with all that is known of it, for spreadsheets."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kubedyno.kit.clock import NS_PER_S
from kubedyno.model.lifecycles import STEPS, SUBMITTED
from kubedyno.report.ways import MICROSECOND_NS, Way
from kubedyno.results.submission_times import BACKEND, COLUMNS


def table(ways: Iterable[Way], *, resolution_ns: int = MICROSECOND_NS) -> str:
    """The text of the file: the columns of `results.submission_times`, empty where nothing is known.

    A column for each time that a backend told comes after them.

    Times have microseconds; at a resolution of whole seconds they are whole numbers.
    """
    seconds = _whole_seconds if resolution_ns % NS_PER_S == 0 else _decimal_seconds
    lines = list(ways)
    backend = sorted({name for way in lines if way.sample for name in way.sample.backend})
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*(column.name for column in COLUMNS), *(f"{BACKEND}{name}" for name in backend)])
    for way in lines:
        told = way.sample.backend if way.sample else {}
        writer.writerow(
            [
                *_information(way, seconds, resolution_ns),
                *_times(way, seconds),
                *(seconds(told[name] - told[name] % resolution_ns) if name in told else "" for name in backend),
            ]
        )
    return file.getvalue()


def _information(way: Way, seconds: Callable[[int], str], resolution_ns: int) -> Iterator[Any]:
    submitted, sample = way.submitted, way.sample
    yield submitted.name
    yield submitted.kind
    yield submitted.namespace
    yield submitted.project
    yield submitted.queue
    yield submitted.gpus
    yield submitted.workers
    yield sample.pods if sample else None
    yield sample.gang if sample else None
    yield submitted.uid
    yield submitted.template_hash
    yield submitted.error
    yield "; ".join(sample.errors) if sample else None
    yield sample.evictions if sample else None
    yield "; ".join(sample.evicted_by) if sample else None
    yield seconds(submitted.planned_ns - submitted.planned_ns % resolution_ns)


def _times(way: Way, seconds: Callable[[int], str]) -> Iterator[str]:
    submitted_ns = before_ns = way.steps[SUBMITTED].at_ns
    for step in STEPS:
        at = way.steps.get(step)
        if at is None:
            yield from ("", "", "", "")
            continue
        yield seconds(at.at_ns)
        yield seconds(at.lower_ns)
        yield seconds(at.upper_ns)
        if step != SUBMITTED:
            yield seconds(at.at_ns - before_ns)
        before_ns = at.at_ns
    yield next(reversed(way.steps))
    yield seconds(before_ns - submitted_ns)


def _decimal_seconds(time_ns: int) -> str:
    return f"{time_ns // MICROSECOND_NS / 1e6:.6f}"


def _whole_seconds(time_ns: int) -> str:
    return str(time_ns // NS_PER_S)
