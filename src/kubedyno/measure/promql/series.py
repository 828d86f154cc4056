"""All that was scraped, kept in memory, and queries over it."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from kubedyno.kit.errors import EngineError
from kubedyno.measure.promql import exposition
from kubedyno.measure.promql.evaluating import Evaluation
from kubedyno.measure.promql.nodes import Selector, kind_of
from kubedyno.measure.promql.parsing import parsed
from kubedyno.measure.promql.problems import refusal
from kubedyno.measure.promql.timelines import Timeline
from kubedyno.measure.promql.values import NAME, Labels, Sample, Vector, identity, shown

_UP = "up"


class _Source:
    """What is scraped together: its series as they are written, and those that the last scrape had."""

    def __init__(self) -> None:
        self.at_ns: int | None = None
        self.written: dict[bytes, Timeline] = {}
        self.present: set[Timeline] = set()


class Samples:
    """Series by metric; of `metrics` alone, where they are given: a page has tens of thousands of series.

    Which metrics queries read, `metrics_of` tells.
    """

    def __init__(self, metrics: Collection[str] | None = None) -> None:
        self._wanted = None if metrics is None else frozenset(name.encode() for name in metrics)
        self._metrics: dict[str, dict[frozenset[tuple[str, str]], Timeline]] = {}
        self._sources: dict[frozenset[tuple[str, str]], _Source] = {}

    def append(self, at_ns: int, labels: Labels, page: bytes | Iterable[Sample] | None) -> None:
        """What a source had at a moment (ns since the epoch), which must be later than its last; None: it was not up.

        The source is known by its labels, which all its series get; a label of theirs of the same name becomes
        `exported_` and that name. Series that it does not have any more end. A page also tells the series `up`.
        Several recorded rules are appended together, or with labels of their own.
        """
        source = self._sources.setdefault(identity(labels), _Source())
        if source.at_ns is not None and at_ns <= source.at_ns:
            raise ValueError(f"{shown(labels)} was appended at {source.at_ns} already: {at_ns} is not later")
        found: list[tuple[Timeline, int | None, float]]
        if page is None or isinstance(page, bytes):
            found = list(self._read(source, labels, page or b""))
            if self._is_wanted(_UP.encode()):
                found.append((self._timeline({**labels, NAME: _UP}), None, float(page is not None)))
        else:
            found = [
                (self._timeline(_together(labels, sample.labels)), None, sample.value)
                for sample in page
                if self._is_wanted(sample.labels.get(NAME, "").encode())
            ]
        present: set[Timeline] = set()
        for timeline, stamp_ns, value in found:
            timeline.add(at_ns if stamp_ns is None else stamp_ns, value)
            # Series that tell their own time may be older than the scrape: Prometheus does not end them.
            if stamp_ns is None:
                present.add(timeline)
        for timeline in source.present - present:
            timeline.end(at_ns)
        source.at_ns, source.present = at_ns, present

    def forget(self, before_ns: int) -> None:
        """Drop what is older, and series that have nothing else; queries reach back by their ranges and 5 min."""
        gone: set[Timeline] = set()
        for name, timelines in list(self._metrics.items()):
            empty = {key: timeline for key, timeline in timelines.items() if not timeline.forget(before_ns)}
            gone.update(empty.values())
            self._metrics[name] = {key: timeline for key, timeline in timelines.items() if key not in empty}
        for source in self._sources.values():
            source.present -= gone
            source.written = {line: timeline for line, timeline in source.written.items() if timeline not in gone}

    def query(self, text: str, at_ns: int) -> Vector:
        """The answer at a moment; a number is a vector of one element without labels."""
        node = parsed(text)
        evaluation = Evaluation(text, self._find)
        match kind_of(node):
            case "vector":
                return evaluation.vector(node, at_ns)
            case "scalar":
                return (Sample({}, evaluation.number(node, at_ns)),)
            case "matrix":
                raise refusal("it gives a range vector: put a function such as rate around it", text, node.at)
        raise refusal("it gives a string, but must give numbers", text, node.at)

    def _read(self, source: _Source, labels: Labels, page: bytes) -> Iterator[tuple[Timeline, int | None, float]]:
        for number, series, rest in exposition.lines(page):
            if not self._is_wanted(exposition.metric(series)):
                continue
            try:
                value, stamp_ns = exposition.reading(rest)
                timeline = source.written.get(series)
                if timeline is None:
                    timeline = self._timeline(_together(labels, exposition.labels(series)))
                    source.written[series] = timeline
            except ValueError:
                line = (series + rest).decode(errors="replace")
                raise EngineError(
                    f"line {number} of the metrics of {shown(labels)} cannot be read: {line!r}; it should be like "
                    'name{label="value"} 1.5'
                ) from None
            yield timeline, stamp_ns, value

    def _is_wanted(self, metric: bytes) -> bool:
        return self._wanted is None or metric in self._wanted

    def _timeline(self, labels: Labels) -> Timeline:
        timelines = self._metrics.setdefault(labels.get(NAME, ""), {})
        key = identity(labels)
        if key not in timelines:
            timelines[key] = Timeline(labels)
        return timelines[key]

    def _find(self, selector: Selector) -> Sequence[Timeline]:
        name = selector.metric
        chosen = self._metrics.values() if name is None else [self._metrics.get(name, {})]
        return [
            timeline for timelines in chosen for timeline in timelines.values() if selector.accepts(timeline.labels)
        ]


def _together(source: Labels, own: Labels) -> Labels:
    """The labels of a series: the source's come first, and its own of the same name are kept under another."""
    renamed = {f"exported_{name}" if name in source else name: value for name, value in own.items()}
    return {name: value for name, value in {**renamed, **source}.items() if value}
