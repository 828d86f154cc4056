"""What a Lab computes by itself: measurements with bounds, checks, placements."""

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedyno.kit.clock import NS_PER_S, VirtualClock
from kubedyno.kit.errors import CheckFailed, UsageError
from kubedyno.lab import measuring
from kubedyno.lab.handles import Nodes, Stamp, Workloads
from kubedyno.lab.lab import Lab, over_committed
from kubedyno.lab.shapes import distributed, training
from kubedyno.measure.columns import ObjectRow
from kubedyno.measure.recorder import Recorder
from kubedyno.measure.records import Check

pytestmark = pytest.mark.unit

TIMES_NS = st.integers(min_value=0, max_value=10**13)


def lab(*rows: ObjectRow) -> Lab:
    recorder = Recorder()
    unused: object = None
    made = Lab(
        client=unused,  # type: ignore[arg-type]
        following=SimpleNamespace(recorder=recorder),  # type: ignore[arg-type]
        dialect=unused,  # type: ignore[arg-type]
        scheduler=unused,  # type: ignore[arg-type]
        namespace="ns",
        clock=VirtualClock(),
    )
    for one in rows:
        recorder.kept.add(one)
    return made


def row(uid: str, phase: str, arrival_s: float, server_s: int | None, *, node: str | None = None) -> ObjectRow:
    arrival_ns = round(arrival_s * NS_PER_S)
    server_ns = None if server_s is None else server_s * NS_PER_S
    return ObjectRow(
        uid=uid,
        kind="Pod",
        role="pod",
        namespace="ns",
        name=f"pod-{uid}",
        owner=None,
        workload="w",
        node=node,
        phase=phase,
        detail=None,
        arrival_ns=arrival_ns,
        server_ns=server_ns,
        lower_ns=server_ns,
        upper_ns=arrival_ns if server_ns is None else min(arrival_ns, server_ns + NS_PER_S),
    )


WORKLOADS = Workloads(names=frozenset({"w"}), pods=2, submitted=Stamp(0, 0, 0))


@st.composite
def stamps(draw: st.DrawFn) -> tuple[Stamp, Stamp]:
    lower_ns, at_ns, upper_ns = sorted((draw(TIMES_NS), draw(TIMES_NS), draw(TIMES_NS)))
    begun = Stamp(at_ns, lower_ns, upper_ns)
    end_lower_ns, end_at_ns, end_upper_ns = sorted((draw(TIMES_NS), at_ns + draw(TIMES_NS), at_ns + draw(TIMES_NS)))
    return begun, Stamp(max(end_at_ns, at_ns), end_lower_ns, max(end_upper_ns, at_ns))


@given(stamps())
def test_a_value_lies_between_its_bounds(pair: tuple[Stamp, Stamp]) -> None:
    since, until = pair
    measured = lab().measure("m", since=since, until=until)
    assert 0 <= measured.lower <= measured.value + 1e-6
    assert measured.value <= measured.upper
    assert measured.samples == (measured.value,)


def test_bounds_take_the_widest_reading_of_both_stamps() -> None:
    one = lab()
    measured = one.measure(
        "time to schedule",
        since=Stamp(10 * NS_PER_S, 10 * NS_PER_S, 11 * NS_PER_S),
        until=Stamp(15 * NS_PER_S, 14 * NS_PER_S, 15 * NS_PER_S),
    )
    assert (measured.name, measured.unit) == ("time to schedule", "s")
    assert (measured.lower, measured.value, measured.upper) == (3.0, 5.0, 5.0)
    assert one.measurements == [measured]


def test_a_lower_bound_is_never_negative() -> None:
    measured = lab().measure(
        "m", since=Stamp(0, 0, 10 * NS_PER_S), until=Stamp(5 * NS_PER_S, 5 * NS_PER_S, 5 * NS_PER_S)
    )
    assert measured.lower == 0


def test_the_last_of_several_pods_is_bounded_by_all_of_them() -> None:
    recorder = Recorder()
    for one in (row("a", "scheduled", 9.0, None), row("b", "scheduled", 10.0, 5)):
        recorder.kept.add(one)
    # News of b came last and late: it happened before 6 s. But a may have happened as late as 9 s.
    rows = recorder.kept.in_phase("scheduled", WORKLOADS.names)
    assert measuring.last(rows, WORKLOADS.submitted) == Stamp(10 * NS_PER_S, 5 * NS_PER_S, 9 * NS_PER_S)
    assert measuring.last([], WORKLOADS.submitted) == WORKLOADS.submitted


def test_latency_is_the_median_of_the_pods_that_reached_both_phases() -> None:
    one = lab(
        row("a", "created", 1.2, 1),
        row("b", "created", 1.3, 1),
        row("c", "created", 1.4, 1),
        row("a", "scheduled", 2.2, 2),
        row("b", "scheduled", 4.3, 4),
    )
    measured = one.measure_latency("latency", WORKLOADS, since="created", until="scheduled")
    assert measured.samples == pytest.approx((1.0, 3.0))
    assert measured.value == pytest.approx(2.0)
    assert measured.lower == pytest.approx(((2 - 1.2) + (4 - 1.3)) / 2)
    assert measured.upper == pytest.approx(((2.2 - 1) + (4.3 - 1)) / 2)


def test_checks_are_kept_in_order() -> None:
    one = lab()
    one.expect("first", holds=True)
    one.expect("second", holds=False, detail="node-1")
    one.skip("third", "nobody says")
    assert one.checks == [
        Check(name="first", passed=True, detail=""),
        Check(name="second", passed=False, detail="node-1"),
        Check(name="third", passed=True, detail="nobody says", skipped=True),
    ]


def test_placement_knows_the_pods_that_have_a_node() -> None:
    one = lab(row("a", "created", 1, 1), row("a", "scheduled", 2, 2, node="n-0"), row("b", "scheduled", 2, 2))
    assert one.placement(WORKLOADS) == {"pod-a": "n-0"}
    assert one.placement(Workloads(names=frozenset({"other"}), pods=1, submitted=Stamp(0, 0, 0))) == {}


@pytest.mark.parametrize(
    ("placement", "crowded"),
    [
        ({}, []),
        ({"a": "n-0", "b": "n-0"}, []),
        ({"a": "n-1", "b": "n-1", "c": "n-1", "d": "n-0"}, ["n-1"]),
        ({str(index): f"n-{index % 2}" for index in range(6)}, ["n-0", "n-1"]),
    ],
)
def test_nodes_with_more_gpus_than_they_have_are_found(placement: dict[str, str], crowded: list[str]) -> None:
    assert over_committed(placement, gpus_per_pod=4, gpus_per_node=8) == crowded


@given(st.lists(st.integers(min_value=0, max_value=5), max_size=60), st.integers(min_value=1, max_value=8))
def test_crowded_is_who_has_too_many_pods(nodes: list[int], gpus: int) -> None:
    placement = {str(index): f"n-{node}" for index, node in enumerate(nodes)}
    expected = sorted(f"n-{node}" for node in set(nodes) if nodes.count(node) * gpus > 8)
    assert over_committed(placement, gpus_per_pod=gpus, gpus_per_node=8) == expected


def test_shapes_of_workloads() -> None:
    assert (training(gpus=2).pods, training(gpus=2).gpus, training().is_gang) == (1, 2, False)
    assert (distributed(workers=4).pods, distributed(workers=4).is_gang) == (4, True)


def test_a_measurement_has_a_name_of_its_own() -> None:
    one = lab()
    one.record("evicted pods", "pods", 3)
    with pytest.raises(UsageError, match="the scenario measures 'evicted pods' twice: give each its own name"):
        one.record("evicted pods", "pods", (4, 5))


def test_figures_of_the_scenarios_own_are_their_median() -> None:
    found = lab().record("waits", "s", (3.0, 1.0, 2.0))
    assert (found.value, found.lower, found.upper, found.samples) == (2.0, 2.0, 2.0, (1.0, 2.0, 3.0))
    with pytest.raises(CheckFailed, match="waits: there is no sample of it"):
        lab().record("waits", "s", ())


def test_latency_of_pods_that_never_came_so_far_is_told() -> None:
    with pytest.raises(CheckFailed, match="latency: no pod reached both phases, so there is nothing to measure"):
        lab().measure_latency("latency", WORKLOADS, since="created", until="scheduled")


async def test_timed_parts_add_up() -> None:
    one = lab()
    clock = one.clock
    assert isinstance(clock, VirtualClock)
    assert one.timed_span is None
    for _ in range(2):
        with one.timed():
            sleeping = asyncio.ensure_future(clock.sleep(2.0))
            await asyncio.sleep(0)
            clock.advance_to_next()
            await sleeping
        sleeping = asyncio.ensure_future(clock.sleep(3.0))
        await asyncio.sleep(0)
        clock.advance_to_next()
        await sleeping
    assert one.timed_ns == 4 * NS_PER_S
    assert one.timed_span == (0, 7 * NS_PER_S)


def test_closeness_is_asked_for_by_names_of_levels() -> None:
    nodes = Nodes(pool="gpu", names=("gpu-0",), gpus=8, topology="gpu", levels={"rack": "example.com/rack"})
    close = nodes.close(required="rack")
    assert (close.topology, close.required, close.preferred) == ("gpu", "example.com/rack", None)
    with pytest.raises(ValueError, match="pool flat has no topology"):
        Nodes(pool="flat", names=(), gpus=8).close(required="rack")
