"""Trials with curves and knees, for tests of pages."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from tests import records

from kubedyno.measure import statistics
from kubedyno.measure.records import CurvePoint, KneeRecord, TrialRecord

NODES: Final = {"toy": 10, "small": 100, "medium": 500, "large": 1000, "huge": 5000}
SAMPLES: Final = tuple(0.01 * (1 + number / 400) for number in range(400))
RATES: Final = (10.0, 50.0)

TRIAL: Final = msgspec.structs.replace(
    records.TRIAL, scenario="numa/sweep", scheduler="plugins", kubelet="builtin", simulated=(), settings=()
)


def point(*, scale: str = "toy", samples: Sequence[float] = SAMPLES, **fields: Any) -> CurvePoint:
    """A point of a curve through samples, in seconds."""
    found = statistics.percentiles(samples)
    known: dict[str, Any] = {
        "case": "scheduler latency",
        "metric": "creation to bound, s",
        "rate": 10.0,
        "aware": True,
        "ha": False,
    }
    return CurvePoint(
        scale=scale,
        nodes=NODES[scale],
        p50=found[0],
        p90=found[1],
        p99=found[2],
        n=len(samples),
        **{**known, **fields},
    )


def missing(*, scale: str, why: str) -> CurvePoint:
    """A point for which there was no time."""
    return CurvePoint(
        case="scheduler latency",
        scale=scale,
        nodes=NODES[scale],
        aware=True,
        ha=False,
        metric="scheduling time",
        note=why,
    )


def knee(*, scale: str = "toy", **fields: Any) -> KneeRecord:
    """A knee of the API server."""
    known: dict[str, Any] = {
        "case": "API server overload",
        "aware": True,
        "ha": False,
        "unit": "requests/s",
        "slo_s": 1.0,
        "rate": 100.0,
        "lower": 90.0,
        "upper": 110.0,
    }
    return KneeRecord(scale=scale, nodes=NODES[scale], **{**known, **fields})


def trial(
    *, aware: bool, ha: bool = False, scales: Sequence[str] = ("toy", "small"), engine: str = "local"
) -> TrialRecord:
    """A sweep; awareness makes latencies half as long again, and knees lower."""
    factor = 1.5 if aware else 1.0
    return msgspec.structs.replace(
        TRIAL,
        engine=engine,
        parameters={"aware": aware},
        curves=tuple(
            point(scale=scale, rate=rate, aware=aware, ha=ha, samples=[one * factor for one in SAMPLES])
            for scale in scales
            for rate in RATES
        ),
        knees=tuple(
            knee(scale=scale, aware=aware, ha=ha, rate=100 / factor, lower=90 / factor, upper=110 / factor)
            for scale in scales
        ),
    )
