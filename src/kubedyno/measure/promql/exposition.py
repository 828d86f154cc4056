"""The text in which components expose metrics: one line for each series.

apiserver_request_total{verb="POST",code="201"} 42
"""

import re
from collections.abc import Iterator
from typing import Final

from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.promql.values import NAME

_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL: Final = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|\Z)', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_NS_PER_MS: Final = NS_PER_S // 1000


def lines(page: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Number, series as written, and what stands behind it; comments and empty lines are left out."""
    for number, written in enumerate(page.split(b"\n"), 1):
        line = written.strip()
        if not line or line.startswith(b"#"):
            continue
        end = line.rfind(b"}") + 1 or len(line.split(None, 1)[0])
        yield number, line[:end], line[end:]


def metric(series: bytes) -> bytes:
    """The name that a series as written begins with."""
    return series.partition(b"{")[0].strip()


def labels(series: bytes) -> dict[str, str]:
    """All labels of a series as written, with its name; ValueError: it cannot be read."""
    name, braces, rest = series.decode().partition("{")
    found = {NAME: name.strip()}
    inner, at = rest.removesuffix("}"), 0
    if not _NAME.fullmatch(found[NAME]) or bool(braces) != rest.endswith("}"):
        raise ValueError(series)
    while inner[at:].strip():
        label = _LABEL.match(inner, at)
        if label is None:
            raise ValueError(series)
        found[label[1]] = _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], label[2])
        at = label.end()
    return {label: value for label, value in found.items() if value}


def reading(rest: bytes) -> tuple[float, int | None]:
    """The value behind a series, and its own time (ns) where one is told; ValueError: it cannot be read."""
    value, *stamps = rest.split()
    if len(stamps) > 1:
        raise ValueError(rest)
    return float(value), int(stamps[0]) * _NS_PER_MS if stamps else None
