"""The ways of workloads: waiting, partly bound, wholly bound, over; and how they are drawn."""

import msgspec
import pytest
from tests.unit.report.test_placement import pod, trial

from kubedyno.kit.clock import NS_PER_S
from kubedyno.report import gang_timeline
from kubedyno.report.gang_ways import GangWay, Stretch, chosen, gang_ways
from kubedyno.report.run_reading import Mark

pytestmark = pytest.mark.unit


def evicted(uid: str, at_s: float, role: str = "pod") -> Mark:
    at_ns = round(at_s * NS_PER_S)
    return Mark(uid, role, "evicted", at_ns, at_ns, at_ns)


def test_a_gang_waits_is_bound_bit_by_bit_is_evicted_and_comes_back() -> None:
    first = [*pod("a", "n1", 1.0, 5.0), *pod("b", "n2", 2.0, 5.0), evicted("a", 4.5), evicted("b", 4.5)]
    first.append(evicted("event", 4.9, role="event"))  # the news of it comes late
    again = [*pod("c", "n1", 7.0, created_s=5.0), *pod("d", "n1", 8.0, created_s=5.0)]
    (way,) = gang_ways(trial({"gang": [*first, *again]}))
    assert way.pods == 2
    assert way.stretches == (
        Stretch("waiting", 0.0, 1.0),
        Stretch("partly", 1.0, 2.0),
        Stretch("whole", 2.0, 5.0),
        Stretch("waiting", 5.0, 7.0),
        Stretch("partly", 7.0, 8.0),
        Stretch("whole", 8.0, 8.0),
    )
    assert way.evictions_s == (4.5,)
    assert (way.created_s, way.first_bound_s, way.whole_s, way.ended_s) == (0.0, 1.0, 2.0, None)


def test_workloads_that_ended_or_never_got_a_place() -> None:
    ended, waiting = gang_ways(trial({"w": pod("b", None, 0.0, created_s=1.0), "e": pod("a", "n1", 1.0, 3.0)}))
    assert (ended.name, ended.ended_s) == ("e", 3.0)
    assert waiting.stretches == (Stretch("waiting", 1.0, 3.0),)
    assert (waiting.first_bound_s, waiting.whole_s, waiting.ended_s) == (None, None, None)
    assert gang_ways(trial({})) == ()


def test_an_event_tells_of_an_eviction_that_nobody_else_does() -> None:
    (way,) = gang_ways(trial({"w": [*pod("a", "n1", 1.0, 3.0), evicted("event", 2.0, role="event")]}))
    assert way.evictions_s == (2.0,)


def way(number: int, *evictions_s: float) -> GangWay:
    stretch = Stretch("whole", float(number), number + 1.0)
    return GangWay(name=f"<w{number}>", pods=1, stretches=(stretch,), evictions_s=evictions_s, ended_s=None)


def test_of_many_the_evicted_are_chosen_first_and_the_others_evenly() -> None:
    ways = [msgspec.structs.replace(way(at), evictions_s=(1.0,) if at in {3, 77} else ()) for at in range(100)]
    names = [one.name for one in chosen(ways, 10)]
    assert len(names) == 10
    assert {"<w3>", "<w77>"} <= set(names)
    assert names[0] == "<w0>"
    assert names == sorted(names, key=lambda name: int(name[2:-1]))
    assert chosen(ways[:5], 10) == tuple(ways[:5])
    assert len(chosen([way(at, 1.0) for at in range(100)], 10)) == 10


def test_the_timeline_has_a_lane_for_each_and_says_the_same_in_words() -> None:
    text = gang_timeline.section([way(0), way(1, 1.5, 1.7)])
    assert "2 workloads, 1 of them evicted, 0 never wholly bound." in text
    assert text.count("<rect") == 2
    assert text.count('<path class="evicted"') == 2
    assert "&lt;w1&gt;, 1 pods: created 1.000 s, first bound 1.000 s, wholly bound 1.000 s, ended never" in text
    assert "1.500, 1.700" in text
    assert "<w1>" not in text
    assert gang_timeline.section([]) == ""
    assert "50 are drawn" in gang_timeline.section([way(at) for at in range(200)])
