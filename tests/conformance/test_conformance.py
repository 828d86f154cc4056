"""The embedded server does what the real one does, behaviour by behaviour."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from tests.conformance.behaviour import BEHAVIOURS, Behaviour
from tests.conformance.comparing import differences
from tests.conformance.differences import AT_MOST, listed
from tests.conformance.recording import Recording

pytestmark = [
    pytest.mark.local,
    # Bodies that are too large are sent on purpose; behaviours run while any of these tests waits.
    pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning"),
]

BothSides = Callable[[Behaviour], Awaitable[tuple[Recording, Recording]]]

# Creating, patching, watching, binding and deleting pods: here nothing may differ, whatever the table says.
_OF_PODS = re.compile(r"^\d+\. (?:(?:POST|PATCH|DELETE) \S*/pods\b|the watch of pods )", re.MULTILINE)


async def test_both_servers_behave_alike(behaviour: Behaviour, both_sides: BothSides) -> None:
    real, embedded = await both_sides(behaviour)
    assert real.failure is None, f"the behaviour does not hold on the real server:\n{real.failure}"
    found = differences(real.entries, embedded.entries)
    if behaviour.differs is None:
        assert not found, f"{behaviour.sentence}\n{found}"
        assert embedded.failure is None, f"the behaviour does not hold on the embedded server:\n{embedded.failure}"
    else:
        assert found, f"{behaviour.sentence}: nothing differs, so the row {behaviour.differs!r} is out of date"
        assert not _OF_PODS.search(found), f"{behaviour.sentence} differs where nothing may\n{found}"


def test_each_difference_has_a_row_and_each_row_a_behaviour() -> None:
    marked = {behaviour.differs for behaviour in BEHAVIOURS.values() if behaviour.differs is not None}
    rows = listed()
    assert len(rows) == len(set(rows)), "an id stands twice in the table"
    assert marked == set(rows)
    assert len(rows) <= AT_MOST


def test_there_are_behaviours_of_all_areas() -> None:
    counted = Counter(behaviour.area for behaviour in BEHAVIOURS.values())
    assert sum(counted.values()) >= 300
    assert min(counted.values()) >= 10, counted
