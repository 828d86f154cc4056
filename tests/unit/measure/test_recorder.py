from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.client.informer import Change
from kubedyno.client.watching import ChangeType
from kubedyno.kit.clock import NS_PER_S
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.recorder import Recorder, bounds, phases

pytestmark = pytest.mark.unit

T1, T2, T3 = "2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z", "2026-01-02T03:04:07Z"
N1, N2, N3 = (1767323045 * NS_PER_S, 1767323046 * NS_PER_S, 1767323047 * NS_PER_S)


def pod(
    *, node: str | None = None, phase: str | None = "Pending", scheduled: str | None = None, started: str | None = None
) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": phase} if phase else {}
    if scheduled:
        status["conditions"] = [{"type": "PodScheduled", "status": scheduled, "lastTransitionTime": T2}]
    if started:
        status["startTime"] = started
    return {
        "kind": "Pod",
        "metadata": {
            "uid": "u",
            "name": "p",
            "namespace": "ns",
            "creationTimestamp": T1,
            "labels": {"kubedyno/workload": "w"},
        },
        "spec": {"nodeName": node} if node else {},
        "status": status,
    }


PENDING = pod()
BOUND = pod(node="n", scheduled="True")
RUNNING = pod(node="n", scheduled="True", phase="Running", started=T3)


@pytest.mark.parametrize(
    ("old", "new", "happened"),
    [
        (None, PENDING, [("created", N1)]),
        (None, pod(phase=None), [("created", N1)]),
        (PENDING, PENDING, []),
        (PENDING, pod(scheduled="False"), []),
        (PENDING, BOUND, [("scheduled", N2)]),
        (PENDING, pod(node="n"), [("scheduled", None)]),
        (PENDING, pod(node="n", scheduled="False"), [("scheduled", None)]),
        (BOUND, BOUND, []),
        (BOUND, RUNNING, [("running", N3)]),
        (BOUND, pod(node="n", phase="Running"), [("running", None)]),
        (PENDING, RUNNING, [("scheduled", N2), ("running", N3)]),
        (None, RUNNING, [("created", N1), ("scheduled", N2), ("running", N3)]),
        (RUNNING, pod(node="n", phase="Succeeded"), [("succeeded", None)]),
        (RUNNING, pod(node="n", phase="Failed"), [("failed", None)]),
        (PENDING, pod(phase="Failed"), [("failed", None)]),
        (RUNNING, pod(node="n", phase="Unknown"), []),
        (RUNNING, None, [("deleted", None)]),
        (PENDING, None, [("deleted", None)]),
    ],
)
def test_what_happened_between_two_states(
    old: dict[str, Any] | None, new: dict[str, Any] | None, happened: list[tuple[str, int | None]]
) -> None:
    assert list(phases(old, new)) == happened


@pytest.mark.parametrize(
    ("server_ns", "arrival_ns", "expected"),
    [
        (None, 7, (None, 7)),
        (5 * NS_PER_S, 5 * NS_PER_S + 200, (5 * NS_PER_S, 5 * NS_PER_S + 200)),
        (5 * NS_PER_S, 6 * NS_PER_S, (5 * NS_PER_S, 6 * NS_PER_S)),
        (5 * NS_PER_S, 9 * NS_PER_S, (5 * NS_PER_S, 6 * NS_PER_S)),
    ],
)
def test_bounds(server_ns: int | None, arrival_ns: int, expected: tuple[int | None, int]) -> None:
    assert bounds(server_ns, arrival_ns) == expected


@given(st.integers(min_value=0, max_value=10**18), st.integers(min_value=0, max_value=10**12))
def test_the_truth_lies_within_the_bounds(truth_ns: int, delay_ns: int) -> None:
    stamped_ns = truth_ns // NS_PER_S * NS_PER_S  # the server cuts its stamps to the second
    lower_ns, upper_ns = bounds(stamped_ns, truth_ns + delay_ns)
    assert lower_ns is not None
    assert lower_ns <= truth_ns <= upper_ns


def change(old: dict[str, Any] | None, new: dict[str, Any] | None, wall_ns: int) -> Change:
    return Change(type=next(iter(ChangeType)), key=("ns", "p"), old=old, new=new, wall_ns=wall_ns, monotonic_ns=0)


def test_rows_carry_who_what_and_when() -> None:
    recorder = Recorder()
    recorder.note(change(None, PENDING, N1 + 5))
    recorder.note(change(PENDING, BOUND, N2 + 2 * NS_PER_S))
    recorder.note(change(BOUND, None, N3))
    assert recorder.rows == [
        ObjectRow("u", "Pod", "ns", "p", "w", None, "created", N1 + 5, N1, N1, N1 + 5),
        ObjectRow("u", "Pod", "ns", "p", "w", "n", "scheduled", N2 + 2 * NS_PER_S, N2, N2, N2 + NS_PER_S),
        ObjectRow("u", "Pod", "ns", "p", "w", "n", "deleted", N3, None, None, N3),
    ]
    assert recorder.in_phase("scheduled", frozenset({"w"})) == [recorder.rows[1]]
    assert recorder.in_phase("scheduled", frozenset({"other"})) == []
