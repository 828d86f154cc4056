from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kubedyno.kit.errors import UsageError
from kubedyno.workload import order
from kubedyno.workload.order import Order

pytestmark = pytest.mark.unit

Ordering = Callable[..., Order]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rate_per_s": 5.0, "delay_s": 1.0}, "--delay belongs to iterations"),
        ({"rate_per_s": 5.0, "num_processes": 2}, "-p/--num-processes belongs to iterations"),
        ({"parallelism": 5, "num_processes": 2}, "--parallelism keeps so many submissions in flight"),
        ({"arrival": "poisson"}, "--arrival poisson needs --rate"),
        ({"arrival": "burst", "rate_per_s": 1.0}, "--arrival burst needs --burst"),
        ({"arrival": "stepped"}, "--arrival stepped needs --steps"),
        ({"arrival": "trace"}, "--arrival trace needs --trace"),
        ({"arrival": "trace", "trace": "f", "rate_per_s": 1.0}, "--rate means nothing to --arrival trace"),
        ({"arrival": "constant", "rate_per_s": 1.0, "burst": 2}, "--burst means nothing to --arrival constant"),
        ({"rate_per_s": 0.0}, "--rate: 0 is no rate; write how many workloads a second, more than 0"),
        ({"steps": [[0.0, 1.0]]}, "--steps: 0 is no rate"),
        ({"count_per_project": True}, "--count-per-project: name the projects with --project"),
        ({"projects": ["a", "b", "a"]}, "--project a is named twice; leave one out"),
        ({"duration_s": 0.0}, "--duration 0: it must be more than nothing"),
        ({"batch": 5}, "kubectl_batch: many workloads go into one process only with --via kubectl"),
        ({"via": "cli", "fields": ["a=b"]}, "--field is about objects, and --via cli sends none"),
        ({"via": "cli", "pvc": True}, "--pvc is about objects"),
    ],
)
def test_contradictions_are_usage_errors(ordering: Ordering, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        ordering(**given)
    assert str(raised.value).startswith(sentence)


def test_what_was_asked_for_is_kept_and_restored(ordering: Ordering) -> None:
    asked = ordering(num_workloads=7, projects=["a", "b"], steps=[[1.0, 2.0]], count_per_project=True)
    assert order.restored(msgspec.json.decode(msgspec.json.encode(asked)), source="x") == asked
    assert (asked.total, asked.project(0), asked.project(3), asked.arrival) == (14, "a", "b", "stepped")
    with pytest.raises(UsageError, match=r"x: `asked` is not what this version of kubedyno writes"):
        order.restored({"num_workloads": 0}, source="x")


@pytest.mark.parametrize(
    ("given", "in_flight"),
    [({}, 8), ({"num_processes": 3}, 3), ({"parallelism": 20}, 20), ({"rate_per_s": 1.0}, 64)],
)
def test_so_many_are_in_flight(ordering: Ordering, given: dict[str, Any], in_flight: int) -> None:
    assert ordering(**given).in_flight == in_flight


def test_steps_are_read() -> None:
    assert order.parse_steps("5:60s, 10:1m30s") == ((5.0, 60.0), (10.0, 90.0))
    for wrong in ("5", "5:", "x:1s", "5:1s,", "5:0s", "nan:1s"):
        with pytest.raises(UsageError, match="write rates a second and for how long, like 5:60s,10:60s"):
            order.parse_steps(wrong)
